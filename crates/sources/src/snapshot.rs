//! What is handed over.

use std::fmt;

use switchboard_config::Desired;

use super::problem::SourceProblem;

/// What is desired at one moment, whole and immutable.
pub struct DesiredSnapshot {
    /// Counts the snapshots of one [`Sources`](super::Sources), from 1.
    pub generation: u64,
    /// What is in force. Its own list of problems belongs to the files it was made from, which are older while an edit
    /// is broken; show [`DesiredSnapshot::problems`] instead.
    pub desired: Desired,
    /// Everything that is wrong now.
    pub problems: Vec<SourceProblem>,
}

// === impl Snapshot ===

impl fmt::Debug for DesiredSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let servers = self.desired.servers.iter();
        let servers: Vec<_> = servers.map(|server| (&server.name, server.state.name())).collect();
        f.debug_struct("Snapshot")
            .field("generation", &self.generation)
            .field("servers", &servers)
            .field("problems", &self.problems)
            .finish_non_exhaustive()
    }
}
