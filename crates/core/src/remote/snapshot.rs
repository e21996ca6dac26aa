//! A workspace at one moment, told.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{ErrorAdvice, RemoteServer};
use crate::catalog::RemoteCatalog as Catalog;
use crate::problem::EngineProblem;

/// A [`crate::WorkspaceSnapshot`] as JSON.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RemoteSnapshot {
    /// Every server that is shown, greatest precedence first.
    pub servers: Vec<RemoteServer>,
    /// Their tools, prompts and resources.
    pub catalog: Catalog,
    /// Everything that is wrong.
    pub problems: Vec<EngineProblem>,
    /// The sessions that are there.
    pub sessions: Vec<String>,
}

// === impl RemoteSnapshot ===

impl RemoteSnapshot {
    /// Tells a snapshot, with advice on what is wrong with servers.
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
        }
    }

    /// The snapshot that was told.
    pub fn into_snapshot(self) -> crate::WorkspaceSnapshot {
        let mut snapshot = crate::WorkspaceSnapshot::default();
        snapshot.servers = self.servers.into_iter().map(RemoteServer::into_view).collect();
        snapshot.catalog = Arc::new(self.catalog.into_catalog());
        snapshot.problems = self.problems;
        snapshot.sessions = self.sessions;
        snapshot
    }
}
