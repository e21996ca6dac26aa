//! Cancellations that found the way to the server full. They wait here until there is room, since a server that never
//! hears of one runs the call to its end. Only ids are kept.

use std::collections::VecDeque;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// Ids that may wait. More calls than that cannot have reached a server that takes no messages.
const MAX_UNSENT_CANCELLATIONS: usize = 4096;

/// Ids of calls whose cancellation is still to be sent, oldest first.
#[derive(Debug, Default)]
pub(crate) struct UnsentCancellations {
    ids: Mutex<VecDeque<u64>>,
    added: Notify,
}

// === impl UnsentCancellations ===

impl UnsentCancellations {
    pub(crate) fn add(&self, id: u64) {
        let mut ids = self.ids.lock();
        if ids.len() == MAX_UNSENT_CANCELLATIONS {
            return tracing::warn!(id, "a call is not cancelled: the server takes no messages");
        }
        ids.push_back(id);
        drop(ids);
        self.added.notify_one();
    }

    /// The next id, which is the caller's to send. One task waits at a time.
    pub(crate) async fn next(&self) -> u64 {
        loop {
            let first = self.ids.lock().pop_front();
            match first {
                Some(id) => return id,
                None => self.added.notified().await,
            }
        }
    }
}
