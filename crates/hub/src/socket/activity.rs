//! Who is there and what is in flight: counted, so that a hub knows when it is not needed.

use std::sync::Arc;

use tokio::{sync::watch, time::Instant};

/// Counts clients and their calls. Whoever waits is woken only when a count becomes zero or leaves it.
#[derive(Debug)]
pub(super) struct Activity {
    counts: watch::Sender<Counts>,
}

/// How many there are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    pub(super) clients: usize,
    pub(super) calls: usize,
    /// When a count last changed.
    pub(super) changed: Instant,
}

#[derive(Debug, Clone, Copy)]
enum What {
    Client,
    Call,
}

/// One that counts until it is dropped.
#[derive(Debug)]
pub(crate) struct Counted {
    activity: Arc<Activity>,
    what: What,
}

// === impl Activity ===

impl Default for Activity {
    fn default() -> Self {
        let none = Counts { clients: 0, calls: 0, changed: Instant::now() };
        Self { counts: watch::Sender::new(none) }
    }
}

impl Activity {
    pub(super) fn client(self: &Arc<Self>) -> Counted {
        Counted::begin(self.clone(), What::Client)
    }

    pub(super) fn call(self: &Arc<Self>) -> Counted {
        Counted::begin(self.clone(), What::Call)
    }

    pub(super) fn now(&self) -> Counts {
        *self.counts.borrow()
    }

    /// Waits until it is so.
    pub(super) async fn until(&self, so: impl FnMut(&Counts) -> bool) {
        // The sender is ours.
        let _ = self.counts.subscribe().wait_for(so).await;
    }

    fn change(&self, what: What, change: impl FnOnce(&mut usize)) {
        self.counts.send_if_modified(|counts| {
            counts.changed = Instant::now();
            let count = match what {
                What::Client => &mut counts.clients,
                What::Call => &mut counts.calls,
            };
            let before = *count;
            change(count);
            (before == 0) != (*count == 0)
        });
    }
}

// === impl Counts ===

impl Counts {
    /// Neither a client nor a call.
    pub(super) fn is_unused(&self) -> bool {
        self.clients == 0 && self.calls == 0
    }
}

// === impl Counted ===

impl Counted {
    fn begin(activity: Arc<Activity>, what: What) -> Self {
        activity.change(what, |count| *count += 1);
        Self { activity, what }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.activity.change(self.what, |count| *count -= 1);
    }
}
