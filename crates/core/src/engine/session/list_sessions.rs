//! Who is there, and what they use.

use crate::engine::{Engine, SessionInfo};

// === impl Engine ===

impl Engine {
    /// The servers that a session has called, each with how often.
    pub fn servers_used_by(&self, session: &str) -> Vec<(String, u64)> {
        let standing: Vec<_> = self.0.lock().values().cloned().collect();
        standing.iter().flat_map(|standing| standing.used_by(session)).collect()
    }

    /// The sessions that have calls to make, whoever came first first.
    pub fn sessions(&self) -> Vec<SessionInfo> {
        let standing: Vec<_> = self.0.lock().values().cloned().collect();
        let mut seated: Vec<_> =
            standing.iter().flat_map(|standing| standing.session_infos()).collect();
        seated.sort_by_key(|seated| seated.since);
        seated
    }

    /// How many calls of a session are under way at servers.
    pub fn calls_in_flight_of(&self, session: &str) -> usize {
        self.0.under_way.count_of_session(session)
    }
}
