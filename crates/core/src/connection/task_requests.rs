//! What others ask of a connection's task. Asking twice is asking once, so nothing here can pile up.

use std::sync::{Mutex, MutexGuard, PoisonError};

use switchboard_wire::client::ListKind;
use tokio::sync::Notify;

use super::ConnectionError;

/// Things asked of a task and not yet done.
#[derive(Debug, Default)]
pub(super) struct TaskRequests {
    asked: Mutex<RequestedWork>,
    changed: Notify,
}

/// What is asked just now.
#[derive(Debug, Default)]
pub(super) struct RequestedWork {
    /// Begin anew, by hand.
    pub(super) reconnect: bool,
    /// A call waits for the connection.
    pub(super) wanted: bool,
    /// A person or a client looks at the server: one that is down is tried now.
    pub(super) looked_at: bool,
    /// A person wants to know whether a connected server answers.
    pub(super) checked: bool,
    /// A person has signed in or out since the attempt of this number.
    pub(super) sign_in_changed: Option<u64>,
    /// This session is no good, and why.
    pub(super) lost: Option<(u64, ConnectionError)>,
    /// Lists to read again.
    pub(super) refresh: Vec<(ListKind, ReadUrgency)>,
}

/// How soon a list is to be read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadUrgency {
    /// It has changed, or somebody asks by hand.
    Now,
    /// It is old: soon enough, and not too often.
    WhenOld,
}

// === impl TaskRequests ===

impl TaskRequests {
    /// Asks for something.
    pub(super) fn ask(&self, what: impl FnOnce(&mut RequestedWork)) {
        what(&mut self.lock());
        // The only one who waits is the task; a permit is kept for it if it does not just now.
        self.changed.notify_one();
    }

    /// Asks for a list to be read again.
    pub(super) fn refresh(&self, list: ListKind, urgency: ReadUrgency) {
        self.ask(|asked| {
            if !asked.refresh.contains(&(list, urgency)) {
                asked.refresh.push((list, urgency));
            }
        });
    }

    /// Waits until something was asked since the last time. Safe to cancel.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Waits until `so` holds of what is asked.
    pub(super) async fn wait_until(&self, so: impl Fn(&RequestedWork) -> bool) {
        while !so(&self.lock()) {
            self.changed.notified().await;
        }
    }

    /// What is asked, to be looked at and taken out.
    pub(super) fn lock(&self) -> MutexGuard<'_, RequestedWork> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
