//! A workspace at one moment, told.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Advice, Server};
use crate::catalog::Told as Catalog;
use crate::problem::Problem;

/// A [`crate::Snapshot`], told.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// Every server that is shown, greatest precedence first.
    pub servers: Vec<Server>,
    /// Their tools, prompts and resources.
    pub catalog: Catalog,
    /// Everything that is wrong.
    pub problems: Vec<Problem>,
    /// The sessions that are there.
    pub sessions: Vec<String>,
}

// === impl Snapshot ===

impl Snapshot {
    /// Tells a snapshot, with advice on what is wrong with servers.
    pub fn of(snapshot: &crate::Snapshot, advice: &dyn Advice) -> Self {
        Self {
            servers: snapshot.servers.iter().map(|view| Server::of(view, advice)).collect(),
            catalog: Catalog::of(&snapshot.catalog),
            problems: snapshot.problems.clone(),
            sessions: snapshot.sessions.clone(),
        }
    }

    /// The snapshot that was told.
    pub fn snapshot(self) -> crate::Snapshot {
        let mut snapshot = crate::Snapshot::default();
        snapshot.servers = self.servers.into_iter().map(Server::view).collect();
        snapshot.catalog = Arc::new(self.catalog.catalog());
        snapshot.problems = self.problems;
        snapshot.sessions = self.sessions;
        snapshot
    }
}
