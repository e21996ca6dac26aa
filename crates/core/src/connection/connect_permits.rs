//! Turns: a machine that starts two hundred servers at once starts none of them well.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{spec::ConnectGroup, timing::ConnectionTiming};

/// Who may connect now.
#[derive(Debug)]
pub(super) struct ConnectPermits {
    local: Arc<Semaphore>,
    remote: Arc<Semaphore>,
}

/// A turn, until it is dropped.
pub(super) type ConnectPermit = OwnedSemaphorePermit;

// === impl ConnectPermits ===

impl ConnectPermits {
    pub(super) fn new(timing: &ConnectionTiming) -> Self {
        // None at all would mean that nothing ever connects.
        let slots = |count: usize| Arc::new(Semaphore::new(count.clamp(1, Semaphore::MAX_PERMITS)));
        Self { local: slots(timing.local_slots), remote: slots(timing.remote_slots) }
    }

    /// Waits for a turn, first come, first served. Nothing only if there will never be one.
    pub(super) async fn acquire(&self, place: ConnectGroup) -> Option<ConnectPermit> {
        let slots = match place {
            ConnectGroup::Local => &self.local,
            ConnectGroup::Remote => &self.remote,
        };
        slots.clone().acquire_owned().await.ok()
    }
}
