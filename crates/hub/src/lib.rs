//! The hub: the one long-running process of a user that holds the connections of all clients.
//!
//! [`socket`] is where it listens, [`attach`] is how `connect` reaches or starts it, [`admin`] is its API and console over
//! HTTP, [`AgentBridges`] opens the workspaces of single agents. The program's commands use this crate. It parses no arguments and
//! prints nothing.
#![forbid(unsafe_code)]

pub mod admin;
mod agents;
pub mod attach;
#[cfg(unix)]
mod error;
#[cfg(unix)]
pub mod limits;
#[cfg(unix)]
mod program;
pub mod socket;
mod view_options;

pub use agents::AgentBridges;
#[cfg(unix)]
pub use error::{ErrorExplanation, HubAdvice, HubError};
#[cfg(unix)]
pub use program::{ProgramContext, ProgramPlugins, process_guard};
pub use view_options::{AccessOptions, ClientAuth, FacesOptions, ViewOptions};
