//! The latest states of a connection, with their times and reasons.
//!
//! Recorded by `connection::task` with each state that it publishes. Used by `Engine::state_history`, for a person who
//! looks at a server. Bounded, in memory; it does not decide anything.

use std::collections::VecDeque;
use std::time::SystemTime;

use parking_lot::Mutex;
use switchboard_wire::error_chain;

use super::{Connection, ConnectionState};

/// How many changes are kept.
const MAX_CHANGES: usize = 32;

/// A change of a connection's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateChange {
    /// When it happened.
    pub at: SystemTime,
    /// The new state, as [`ConnectionState::word`] has it.
    pub state: &'static str,
    /// Why, where there is a reason. Part of the text may come from the server: sanitize it before showing it.
    pub reason: Option<String>,
}

/// The latest changes of one connection.
#[derive(Debug, Default)]
pub(super) struct StateHistory(Mutex<VecDeque<StateChange>>);

// === impl StateHistory ===

impl StateHistory {
    pub(super) fn record(&self, state: &ConnectionState) {
        let reason = match state {
            ConnectionState::Failed(failure) => Some(error_chain(&failure.error).join(": ")),
            ConnectionState::NeedsAuth(needed) => Some(needed.reason.clone()),
            ConnectionState::Pending(attempt) if attempt.retries > 0 => {
                Some(format!("attempt {} in a row", attempt.retries + 1))
            }
            _ => None,
        };
        self.push(StateChange { at: SystemTime::now(), state: state.word(), reason });
    }

    fn push(&self, change: StateChange) {
        let mut changes = self.0.lock();
        // The same state again, such as the next attempt after a failure that is told already.
        let is_again =
            |last: &StateChange| (last.state, &last.reason) == (change.state, &change.reason);
        if changes.back().is_some_and(is_again) {
            return;
        }
        if changes.len() >= MAX_CHANGES {
            changes.pop_front();
        }
        changes.push_back(change);
    }

    /// The changes, oldest first.
    pub(super) fn changes(&self) -> Vec<StateChange> {
        self.0.lock().iter().cloned().collect()
    }
}

// === impl Connection ===

impl Connection {
    /// Returns the latest changes of state, oldest first.
    pub(crate) fn state_history(&self) -> Vec<StateChange> {
        self.core.tally.history.changes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_changes_are_kept_and_none_twice_in_a_row() {
        let history = StateHistory::default();
        let change = |state, reason: Option<&str>| {
            let reason = reason.map(str::to_owned);
            history.push(StateChange { at: SystemTime::UNIX_EPOCH, state, reason });
        };
        change("pending", None);
        change("failed", Some("no"));
        change("failed", Some("no"));
        change("failed", Some("never"));
        assert_eq!(history.changes().len(), 3);
        for _ in 0..MAX_CHANGES {
            change("pending", None);
            change("connected", None);
        }
        let kept = history.changes();
        assert_eq!((kept.len(), kept[MAX_CHANGES - 1].state), (MAX_CHANGES, "connected"));
    }
}
