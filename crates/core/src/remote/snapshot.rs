//! The snapshot of a workspace as JSON ([`crate::WorkspaceSnapshot`]).
//!
//! Used by the hub's admin interface, which writes it, and by its client, which reads it. It does not describe single
//! servers (`remote::server` does).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{ErrorAdvice, RemoteServer};
use crate::catalog::RemoteCatalog as Catalog;
use crate::engine::ExtensionReport;
use crate::problem::EngineProblem;

/// A [`crate::WorkspaceSnapshot`] as JSON.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RemoteSnapshot {
    /// Every server that is shown, highest precedence first.
    pub servers: Vec<RemoteServer>,
    /// The tools, prompts and resources of the servers.
    pub catalog: Catalog,
    /// All problems of the workspace.
    pub problems: Vec<EngineProblem>,
    /// The ids of the attached sessions.
    pub sessions: Vec<String>,
    /// The extensions that clients and servers declare.
    #[serde(default)]
    pub extensions: ExtensionReport,
}

// === impl RemoteSnapshot ===

impl RemoteSnapshot {
    /// Converts a snapshot, with advice on the errors of servers.
    pub fn from_snapshot(snapshot: &crate::WorkspaceSnapshot, advice: &dyn ErrorAdvice) -> Self {
        Self {
            servers: snapshot
                .servers
                .iter()
                .map(|view| RemoteServer::from_view(view, advice))
                .collect(),
            catalog: Catalog::from_catalog(&snapshot.catalog),
            problems: snapshot.problems.clone(),
            sessions: snapshot.sessions.clone(),
            extensions: snapshot.extensions.clone(),
        }
    }

    /// Converts to a snapshot of the engine.
    pub fn into_snapshot(self) -> crate::WorkspaceSnapshot {
        let mut snapshot = crate::WorkspaceSnapshot::default();
        snapshot.servers = self.servers.into_iter().map(RemoteServer::into_view).collect();
        snapshot.catalog = Arc::new(self.catalog.into_catalog());
        snapshot.problems = self.problems;
        snapshot.sessions = self.sessions;
        snapshot.extensions = self.extensions;
        snapshot
    }
}
