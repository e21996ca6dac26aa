//! The snapshot that sources publish: the desired state with all problems.
//!
//! Used by `workspace`, `hub::served_workspace` and subscribers of `Sources`.

use std::fmt;

use switchboard_config::Desired;

use super::problem::SourceProblem;

/// The desired state at one moment, complete and immutable.
pub struct DesiredSnapshot {
    /// Counts the snapshots of one [`Sources`](super::Sources), from 1.
    pub generation: u64,
    /// The desired state in force. Its own list of problems belongs to the files it was built from, which are
    /// older while a file is broken; show [`DesiredSnapshot::problems`] instead.
    pub desired: Desired,
    /// All present problems.
    pub problems: Vec<SourceProblem>,
}

// === impl DesiredSnapshot ===

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
