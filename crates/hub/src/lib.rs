//! The hub: the one long-running process of a user that holds the connections of all clients.
//!
//! [`LocalHub`] is the hub in this process: a [`WorkspaceRegistry`] behind [`socket`], where it listens, and
//! [`admin`], its API and console over HTTP. [`attach`] is how `connect` reaches or starts it. [`ServedWorkspace`] is
//! a workspace as clients see it, [`WorkspaceFaces`] serves one over the network, [`AgentBridges`] opens the
//! workspaces of single agents. [`engine_options`] and [`CredentialSources`] make the engine, also that of a command
//! without a hub.
//!
//! Used by the program's commands. It does not parse arguments or print anything.
#![forbid(unsafe_code)]

#[cfg(unix)]
mod access;
#[cfg(unix)]
mod accounts;
pub mod admin;
mod agents;
mod apps_options;
pub mod attach;
#[cfg(unix)]
mod credentials;
#[cfg(unix)]
mod engine_options;
#[cfg(unix)]
mod error;
#[cfg(unix)]
mod faces;
#[cfg(unix)]
pub mod limits;
#[cfg(unix)]
mod local_hub;
#[cfg(unix)]
mod program;
#[cfg(unix)]
mod served_workspace;
pub mod socket;
mod view_options;
#[cfg(unix)]
mod workspace_registry;

pub use agents::AgentBridges;
pub use apps_options::{AppsOptions, AppsOrigin, InvalidAppsOrigin};
pub use view_options::{AccessOptions, ClientAuth, FacesOptions, ViewOptions};
#[cfg(unix)]
pub use {
    access::AccessSetup,
    access::sign_in_links::SignInLinkTable,
    accounts::{AccountInfo, EndedAccount, end_account, list_accounts},
    credentials::{CredentialSources, pool_options, sign_in_target},
    engine_options::{connect_timeout, engine_options, invalid_number_variables},
    error::{ErrorExplanation, HubAdvice, HubError},
    faces::{BoundAddress, WorkspaceFaces},
    local_hub::{LocalHub, hub_paths},
    program::{ProgramContext, ProgramPlugins, ProgramReplicas, process_guard},
    served_workspace::{ServedWorkspace, WorkspaceInputs, start_engine},
    workspace_registry::WorkspaceRegistry,
};
