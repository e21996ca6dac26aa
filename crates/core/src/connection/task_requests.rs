//! Requests to a connection's task: reconnect, probe, read a list.
//!
//! Used by the handle (`Connection`), which writes them, and by `connection::task` and `connection::session`, which
//! do them. Repeated requests are merged, so that they cannot pile up. It does not carry calls (`dispatch` does).

use parking_lot::{Mutex, MutexGuard};
use switchboard_wire::client::ListKind;
use tokio::sync::Notify;

use super::ConnectionError;

/// The requests that the task has not done yet.
#[derive(Debug, Default)]
pub(super) struct TaskRequests {
    asked: Mutex<RequestedWork>,
    changed: Notify,
}

/// The open requests.
#[derive(Debug, Default)]
pub(super) struct RequestedWork {
    /// Reconnect, requested by hand.
    pub(super) reconnect: bool,
    /// A call waits for the connection.
    pub(super) wanted: bool,
    /// A person or a client looks at the server: a server that is down is tried now.
    pub(super) looked_at: bool,
    /// A person wants to know whether a connected server answers.
    pub(super) checked: bool,
    /// A person has signed in or out since the attempt of this number.
    pub(super) sign_in_changed: Option<u64>,
    /// The session of this number is broken, and why.
    pub(super) lost: Option<(u64, ConnectionError)>,
    /// Lists to read again.
    pub(super) refresh: Vec<(ListKind, ReadUrgency)>,
}

// === impl RequestedWork ===

impl RequestedWork {
    /// Whether a request can only be done in a session with the server.
    pub(super) fn needs_session(&self) -> bool {
        self.reconnect || self.wanted || self.sign_in_changed.is_some() || self.needs_list_now()
    }

    /// Whether a list is to be read for a person, or because it has changed.
    pub(super) fn needs_list_now(&self) -> bool {
        self.refresh.iter().any(|(_, urgency)| *urgency == ReadUrgency::Now)
    }
}

/// How soon a list is to be read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadUrgency {
    /// At once: the list has changed, or a person asks.
    Now,
    /// Within the minimum interval: the list is old.
    WhenOld,
}

// === impl TaskRequests ===

impl TaskRequests {
    /// Adds a request.
    pub(super) fn ask(&self, what: impl FnOnce(&mut RequestedWork)) {
        what(&mut self.lock());
        // Only the task waits; `Notify` stores a permit if the task is busy.
        self.changed.notify_one();
    }

    /// Requests that a list is read again.
    pub(super) fn refresh(&self, list: ListKind, urgency: ReadUrgency) {
        self.ask(|asked| {
            if !asked.refresh.contains(&(list, urgency)) {
                asked.refresh.push((list, urgency));
            }
        });
    }

    /// Waits for a new request. Cancel-safe.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Waits until `so` holds for the open requests.
    pub(super) async fn wait_until(&self, so: impl Fn(&RequestedWork) -> bool) {
        while !so(&self.lock()) {
            self.changed.notified().await;
        }
    }

    /// Locks the open requests, to read and remove them.
    pub(super) fn lock(&self) -> MutexGuard<'_, RequestedWork> {
        self.asked.lock()
    }
}
