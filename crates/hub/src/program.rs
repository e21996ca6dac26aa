//! The program around the hub: its folder, user and configuration, and the plugins and process guard that it lends
//! the hub.
//!
//! Used by the hub and its engines; the command line fills it in from its arguments and its process. It does not read
//! the environment.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use switchboard_auth::SignInStore;
use switchboard_config::{HostContext, ResolveOptions};
use switchboard_core::engine::InProcessServer;
use switchboard_core::sealing::HandleSealer;
use switchboard_gateway::bridge::BridgeReplica;
use switchboard_gateway::face::replicas::ReplicaGroup;
use switchboard_process::ProcessGuard;
use switchboard_sources::{ConnectorCredentials, PluginHost};

use crate::HubError;
use crate::access::sign_in_links::SignInLinkTable;

/// The facts that an engine needs of the program that runs it, a hub or one command.
#[derive(Clone)]
pub struct ProgramContext {
    /// The user's folders, environment and clock.
    pub host: HostContext,
    /// Configuration of this run, and the connector catalog.
    pub resolve: ResolveOptions,
    /// The environment, also variables that are not UTF-8.
    pub variables: Vec<(OsString, OsString)>,
    /// The credentials for servers of the connector catalog.
    pub connector_credentials: Option<Arc<ConnectorCredentials>>,
    /// The store of sign-ins.
    pub sign_ins: Arc<dyn SignInStore>,
    /// The links by which people of other machines sign in to servers.
    pub sign_in_links: SignInLinkTable,
    /// The program's own file, if it is known.
    pub program: Option<PathBuf>,
    /// The program's version.
    pub version: &'static str,
    /// The replicas that answer for the same clients as this program, if there are any.
    pub replicas: Option<ProgramReplicas>,
}

/// The replicas that answer for the same clients as this program.
#[derive(Clone)]
pub struct ProgramReplicas {
    /// What handles of clients are bound to: equal for all replicas.
    pub place: String,
    /// Seals handles that every replica opens.
    pub sealer: Arc<dyn HandleSealer>,
    /// The replicas, for the faces.
    pub group: ReplicaGroup,
}

/// Servers that run inside the program's own process.
#[derive(Clone)]
pub struct ProgramPlugins {
    /// The built-in server, for a workspace where no server is configured.
    pub builtin: InProcessServer,
    /// Runs the native plugins of workspaces.
    pub host: Arc<dyn PluginHost>,
}

// === impl ProgramReplicas ===

impl ProgramReplicas {
    pub(crate) fn for_bridge(&self) -> BridgeReplica {
        BridgeReplica { tag: self.group.tag, place: self.place.clone() }
    }
}

/// The guard of every process that this program starts.
pub fn process_guard() -> Result<ProcessGuard, HubError> {
    ProcessGuard::this_program().map_err(HubError::Guard)
}
