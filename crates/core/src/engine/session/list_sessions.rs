//! Lists the attached sessions and the servers that they use.
//!
//! Used by the hub, for `switchboard status` and the console.

use crate::engine::{Engine, SessionInfo};

// === impl Engine ===

impl Engine {
    /// Returns the servers that a session has called, each with how often.
    pub fn servers_used_by(&self, session: &str) -> Vec<(String, u64)> {
        let standing: Vec<_> = self.0.lock().values().cloned().collect();
        standing.iter().flat_map(|standing| standing.used_by(session)).collect()
    }

    /// Returns the attached sessions, oldest first.
    pub fn sessions(&self) -> Vec<SessionInfo> {
        let standing: Vec<_> = self.0.lock().values().cloned().collect();
        let mut seated: Vec<_> =
            standing.iter().flat_map(|standing| standing.session_infos()).collect();
        seated.sort_by_key(|seated| seated.since);
        seated
    }

    /// Returns how many calls of a session are in flight.
    pub fn calls_in_flight_of(&self, session: &str) -> usize {
        self.0.under_way.count_of_session(session)
    }
}
