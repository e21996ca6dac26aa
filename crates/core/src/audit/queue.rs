//! The bounded queue of call records between calls and the writer thread of the audit log.
//!
//! Used by `audit::log`. It holds at most `MAX_WAITING_RECORDS` and counts the records beyond. It does not touch
//! the disk.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::CallRecord;

/// How many records may wait. Records beyond are counted, and the count is written to the log.
const MAX_WAITING_RECORDS: usize = 8192;
/// How long the writer gathers records before it writes them together.
const BATCH_INTERVAL: Duration = Duration::from_millis(20);

/// The queue. `push` holds the lock only for the push, and wakes the writer only when the writer sleeps.
#[derive(Debug, Default)]
pub(super) struct AuditQueue {
    state: Mutex<AuditQueueState>,
    /// Signals that a record waits, or that the queue is closed.
    filled: Condvar,
    /// Signals that more records are written or lost.
    written: Condvar,
}

#[derive(Debug, Default)]
struct AuditQueueState {
    batch: AuditBatch,
    /// The writer is at work, and takes new records when it has finished.
    is_awake: bool,
    /// How many records ever came, how many are written or lost, and up to which record a settling caller waits.
    came: u64,
    over: u64,
    wanted: u64,
    is_closed: bool,
    trouble: Option<WriteFailure>,
}

/// Records that are written together.
#[derive(Debug, Default)]
pub(super) struct AuditBatch {
    pub(super) calls: Vec<Arc<CallRecord>>,
    /// How many records did not fit into the queue.
    pub(super) lost: u64,
}

/// The error of the disk, and how many records it cost.
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
        // Callers that push before the writer is awake need not wake it too.
        let was_awake = std::mem::replace(&mut state.is_awake, true);
        drop(state);
        if !was_awake {
            self.filled.notify_one();
        }
    }

    /// Waits for records and swaps them for the written batch; `false` once the queue is closed and empty.
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
            self.filled.wait(&mut state);
        }
        state.is_awake = true;
        let more = |state: &mut AuditQueueState| state.wanted <= state.over && !state.is_closed;
        self.filled.wait_while_for(&mut state, more, BATCH_INTERVAL);
        std::mem::swap(&mut state.batch, batch);
        true
    }

    /// Waits until all records that have come so far are written or lost; `false` if that takes longer than
    /// `patience`.
    pub(super) fn wait_written(&self, patience: Duration) -> bool {
        let mut state = self.state();
        let all = state.came;
        state.wanted = state.wanted.max(all);
        self.filled.notify_one();
        let missing = |state: &mut AuditQueueState| state.over < all;
        self.written.wait_while_for(&mut state, missing, patience);
        state.over >= all
    }

    /// Closes the queue: no more records will come.
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
        self.state.lock()
    }
}

// === impl AuditBatch ===

impl AuditBatch {
    /// Keeps the capacity: the next batch needs it at once.
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
    use crate::principal::Principal;

    fn called() -> Arc<CallRecord> {
        let empty = String::new;
        let workspace = PathBuf::new();
        let (session, client, principal) = (empty(), empty(), Principal::local());
        let who =
            Arc::new(CallerIdentity { workspace, session, client, principal, transport: "cli" });
        Arc::new(CallRecord {
            at: SystemTime::UNIX_EPOCH,
            caller: who,
            server: empty(),
            secrets: Arc::default(),
            method: empty().into(),
            name: empty(),
            decision: None,
            end: CallEnd::Result,
            duration: Duration::ZERO,
            stages: crate::audit::StageTimes::default(),
            sent: 0,
            received: 0,
            recent_id: None,
        })
    }

    /// `wait_written` returns once the records that came before it are written, even while others push.
    #[test]
    fn what_came_before_is_waited_for_and_no_more() {
        let queue = AuditQueue::default();
        let mut batch = AuditBatch::default();
        assert!(queue.wait_written(Duration::ZERO), "there was nothing to write");
        queue.push(&called());
        assert!(queue.take(&mut batch));
        assert!(!queue.wait_written(Duration::ZERO), "it is only being written");
        // Another record comes while the first is written.
        queue.push(&called());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| queue.wait_written(Duration::from_mins(1)));
            while queue.state().wanted < 2 {
                std::thread::yield_now();
            }
            queue.push(&called());
            assert!(queue.take(&mut batch));
            queue.push(&called());
            // The writer comes back for more: the awaited records are written.
            scope.spawn(|| queue.take(&mut batch));
            assert!(waiting.join().unwrap());
        });
        assert!(!queue.wait_written(Duration::ZERO), "the last is not written");
    }
}
