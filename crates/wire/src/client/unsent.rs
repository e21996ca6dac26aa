//! Cancellations that found the channel full, kept until it has room.
//!
//! Used by `session`. A server that never receives a cancellation runs the call to its end. It keeps ids only, no
//! messages.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use tokio::sync::Notify;

/// The most ids that may wait. A server that takes no messages cannot have received more calls than that.
const MAX_UNSENT_CANCELLATIONS: usize = 4096;

/// Ids of calls with an unsent cancellation, oldest first.
#[derive(Debug, Default)]
pub(crate) struct UnsentCancellations {
    ids: Mutex<VecDeque<u64>>,
    added: Notify,
}

// === impl UnsentCancellations ===

impl UnsentCancellations {
    pub(crate) fn add(&self, id: u64) {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        if ids.len() == MAX_UNSENT_CANCELLATIONS {
            return tracing::warn!(id, "a call is not cancelled: the server takes no messages");
        }
        ids.push_back(id);
        drop(ids);
        self.added.notify_one();
    }

    /// Removes and returns the next id, for the caller to send. Only one task may wait at a time.
    pub(crate) async fn next(&self) -> u64 {
        loop {
            let first = self.ids.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            match first {
                Some(id) => return id,
                None => self.added.notified().await,
            }
        }
    }
}
