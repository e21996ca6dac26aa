//! Records on their way to the disk: so many and no more.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::CallRecord;

/// How many may wait. Past that they are counted, and the count is written down.
const MAX_WAITING_RECORDS: usize = 8192;
/// For how long records are gathered before they are written together.
const BATCH_INTERVAL: Duration = Duration::from_millis(20);

/// What waits. Pushing takes a lock for as long as one push takes, and wakes the writer only when it sleeps.
#[derive(Debug, Default)]
pub(super) struct AuditQueue {
    state: Mutex<AuditQueueState>,
    /// Something waits, or nothing more will.
    filled: Condvar,
    /// More is written, or lost.
    written: Condvar,
}

#[derive(Debug, Default)]
struct AuditQueueState {
    batch: AuditBatch,
    /// The writer is about something, and looks by itself for more.
    is_awake: bool,
    /// How many records ever came, how many of them are written or lost, and up to which somebody waits for that.
    came: u64,
    over: u64,
    wanted: u64,
    is_closed: bool,
    trouble: Option<WriteFailure>,
}

/// What is written together.
#[derive(Debug, Default)]
pub(super) struct AuditBatch {
    pub(super) calls: Vec<Arc<CallRecord>>,
    /// How many there was no room for.
    pub(super) lost: u64,
}

/// What the disk said, and what that cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WriteFailure {
    pub(super) why: String,
    pub(super) lost: u64,
}

// === impl AuditQueue ===

impl AuditQueue {
    pub(super) fn push(&self, called: &Arc<CallRecord>) {
        let mut state = self.state();
        state.came += 1;
        if state.batch.calls.len() < MAX_WAITING_RECORDS {
            state.batch.calls.push(Arc::clone(called));
        } else {
            state.batch.lost += 1;
        }
        // Those who push before it is awake need not wake it too.
        let was_awake = std::mem::replace(&mut state.is_awake, true);
        drop(state);
        if !was_awake {
            self.filled.notify_one();
        }
    }

    /// Waits for something to write, and exchanges it for what was written before; `false` once all is written and
    /// nothing more will come.
    pub(super) fn take(&self, batch: &mut AuditBatch) -> bool {
        let mut state = self.state();
        state.over += batch.count();
        batch.clear();
        state.is_awake = false;
        self.written.notify_all();
        while state.batch.is_empty() {
            if state.is_closed {
                return false;
            }
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.is_awake = true;
        let more = |state: &mut AuditQueueState| state.wanted <= state.over && !state.is_closed;
        let gathered = self.filled.wait_timeout_while(state, BATCH_INTERVAL, more);
        let mut state = gathered.unwrap_or_else(PoisonError::into_inner).0;
        std::mem::swap(&mut state.batch, batch);
        true
    }

    /// Waits until all that has come is written or lost, whatever comes meanwhile; `false` if that takes longer.
    pub(super) fn wait_written(&self, patience: Duration) -> bool {
        let mut state = self.state();
        let all = state.came;
        state.wanted = state.wanted.max(all);
        self.filled.notify_one();
        let missing = |state: &mut AuditQueueState| state.over < all;
        let waited = self.written.wait_timeout_while(state, patience, missing);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Nothing more will come.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.filled.notify_one();
    }

    pub(super) fn set_trouble(&self, trouble: Option<WriteFailure>) {
        self.state().trouble = trouble;
    }

    pub(super) fn trouble(&self) -> Option<WriteFailure> {
        self.state().trouble.clone()
    }

    fn state(&self) -> MutexGuard<'_, AuditQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl AuditBatch ===

impl AuditBatch {
    /// The room is kept: the next ones need it at once.
    fn clear(&mut self) {
        self.calls.clear();
        self.lost = 0;
    }

    fn is_empty(&self) -> bool {
        self.count() == 0
    }

    fn count(&self) -> u64 {
        self.calls.len() as u64 + self.lost
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::SystemTime;

    use super::*;
    use crate::audit::{CallEnd, CallerIdentity};

    fn called() -> Arc<CallRecord> {
        let empty = String::new;
        let workspace = PathBuf::new();
        let (session, client, principal) = (empty(), empty(), empty());
        let who =
            Arc::new(CallerIdentity { workspace, session, client, principal, transport: "cli" });
        Arc::new(CallRecord {
            at: SystemTime::UNIX_EPOCH,
            who,
            server: empty(),
            method: empty().into(),
            name: empty(),
            decision: None,
            ended: CallEnd::Result,
            took: Duration::ZERO,
            sent: 0,
            received: 0,
            kept: None,
        })
    }

    /// Whoever waits need not see the end of what others do.
    #[test]
    fn what_came_before_is_waited_for_and_no_more() {
        let queue = AuditQueue::default();
        let mut batch = AuditBatch::default();
        assert!(queue.wait_written(Duration::ZERO), "there was nothing to write");
        queue.push(&called());
        assert!(queue.take(&mut batch));
        assert!(!queue.wait_written(Duration::ZERO), "it is only being written");
        // One comes while that one is written.
        queue.push(&called());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| queue.wait_written(Duration::from_mins(1)));
            while queue.state().wanted < 2 {
                std::thread::yield_now();
            }
            queue.push(&called());
            assert!(queue.take(&mut batch));
            queue.push(&called());
            // The writer comes back for more: what was waited for is written.
            scope.spawn(|| queue.take(&mut batch));
            assert!(waiting.join().unwrap());
        });
        assert!(!queue.wait_written(Duration::ZERO), "the last is not written");
    }
}
