//! Limits how many servers connect at once: hundreds of processes that start together slow one another down.
//!
//! Used by `connection::task` before each attempt. Local and remote servers have separate limits.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{spec::ConnectGroup, timing::ConnectionTiming};

/// The free slots for local and for remote servers.
#[derive(Debug)]
pub(super) struct ConnectPermits {
    local: Arc<Semaphore>,
    remote: Arc<Semaphore>,
}

/// A slot, until it is dropped.
pub(super) type ConnectPermit = OwnedSemaphorePermit;

// === impl ConnectPermits ===

impl ConnectPermits {
    pub(super) fn new(timing: &ConnectionTiming) -> Self {
        // With zero slots no server would ever connect.
        let slots = |count: usize| Arc::new(Semaphore::new(count.clamp(1, Semaphore::MAX_PERMITS)));
        Self { local: slots(timing.local_slots), remote: slots(timing.remote_slots) }
    }

    /// Waits for a slot, first come, first served. `None` only if the semaphore is closed.
    pub(super) async fn acquire(&self, place: ConnectGroup) -> Option<ConnectPermit> {
        let slots = match place {
            ConnectGroup::Local => &self.local,
            ConnectGroup::Remote => &self.remote,
        };
        slots.clone().acquire_owned().await.ok()
    }
}
