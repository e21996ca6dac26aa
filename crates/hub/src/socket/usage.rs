//! Counters of clients and running calls, which tell a hub when it is idle.
//!
//! Used by `hub_state` (idle timeout, draining), `status` and, through [`HubUsage`](super::HubUsage), by the admin API.
//! It does not know which clients they are (`clients` does).

use std::sync::Arc;

use tokio::{sync::watch, time::Instant};

/// Counts clients and their calls. A waiting task is woken only when a count becomes zero or leaves zero.
#[derive(Debug)]
pub(super) struct UsageCounters {
    counts: watch::Sender<UsageCounts>,
}

/// The counts at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct UsageCounts {
    pub(super) clients: usize,
    pub(super) calls: usize,
    /// When a count last changed.
    pub(super) changed: Instant,
}

#[derive(Debug, Clone, Copy)]
enum UsageKind {
    Client,
    Call,
}

/// Counts one client or call until dropped.
#[derive(Debug)]
pub(crate) struct UsageLease {
    activity: Arc<UsageCounters>,
    what: UsageKind,
}

// === impl UsageCounters ===

impl Default for UsageCounters {
    fn default() -> Self {
        let none = UsageCounts { clients: 0, calls: 0, changed: Instant::now() };
        Self { counts: watch::Sender::new(none) }
    }
}

impl UsageCounters {
    pub(super) fn count_client(self: &Arc<Self>) -> UsageLease {
        UsageLease::begin(self.clone(), UsageKind::Client)
    }

    pub(super) fn count_call(self: &Arc<Self>) -> UsageLease {
        UsageLease::begin(self.clone(), UsageKind::Call)
    }

    pub(super) fn current(&self) -> UsageCounts {
        *self.counts.borrow()
    }

    /// Waits until `so` holds.
    pub(super) async fn wait_until(&self, so: impl FnMut(&UsageCounts) -> bool) {
        // `wait_for` fails only when the sender is dropped, and `self` holds the sender.
        let _ = self.counts.subscribe().wait_for(so).await;
    }

    fn change(&self, what: UsageKind, change: impl FnOnce(&mut usize)) {
        self.counts.send_if_modified(|counts| {
            counts.changed = Instant::now();
            let count = match what {
                UsageKind::Client => &mut counts.clients,
                UsageKind::Call => &mut counts.calls,
            };
            let before = *count;
            change(count);
            (before == 0) != (*count == 0)
        });
    }
}

// === impl UsageCounts ===

impl UsageCounts {
    /// Whether there is neither a client nor a call.
    pub(super) fn is_unused(&self) -> bool {
        self.clients == 0 && self.calls == 0
    }
}

// === impl UsageLease ===

impl UsageLease {
    fn begin(activity: Arc<UsageCounters>, what: UsageKind) -> Self {
        activity.change(what, |count| *count += 1);
        Self { activity, what }
    }
}

impl Drop for UsageLease {
    fn drop(&mut self) {
        self.activity.change(self.what, |count| *count -= 1);
    }
}
