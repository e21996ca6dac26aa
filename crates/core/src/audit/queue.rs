//! Records on their way to the disk: so many and no more.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Called;

/// How many may wait. Past that they are counted, and the count is written down.
const MOST: usize = 8192;
/// For how long records are gathered before they are written together.
const GATHERED: Duration = Duration::from_millis(20);

/// What waits. Pushing takes a lock for as long as one push takes, and wakes the writer only when it sleeps.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// Something waits, or nothing more will.
    filled: Condvar,
    /// All that waited is written, or lost.
    written: Condvar,
}

#[derive(Debug, Default)]
struct State {
    batch: Batch,
    writer: Writer,
    /// Somebody waits for the writer.
    is_urgent: bool,
    is_closed: bool,
    trouble: Option<Trouble>,
}

/// What the writer is about.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Writer {
    #[default]
    Asleep,
    Gathering,
    Writing,
}

/// What is written together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) calls: Vec<Arc<Called>>,
    /// How many there was no room for.
    pub(super) lost: u64,
}

/// What the disk said, and what that cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) why: String,
    pub(super) lost: u64,
}

// === impl Queue ===

impl Queue {
    pub(super) fn push(&self, called: &Arc<Called>) {
        let mut state = self.state();
        if state.batch.calls.len() < MOST {
            state.batch.calls.push(Arc::clone(called));
        } else {
            state.batch.lost += 1;
        }
        let is_asleep = state.writer == Writer::Asleep;
        if is_asleep {
            // Those who push before it is awake need not wake it too.
            state.writer = Writer::Gathering;
        }
        drop(state);
        if is_asleep {
            self.filled.notify_one();
        }
    }

    /// Waits for something to write, and exchanges it for what was written before; `false` once all is written and
    /// nothing more will come.
    pub(super) fn take(&self, batch: &mut Batch) -> bool {
        batch.clear();
        let mut state = self.state();
        state.writer = Writer::Asleep;
        if state.batch.is_empty() {
            state.is_urgent = false;
            self.written.notify_all();
        }
        while state.batch.is_empty() {
            if state.is_closed {
                return false;
            }
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.writer = Writer::Gathering;
        let more = |state: &mut State| !state.is_urgent && !state.is_closed;
        let gathered = self.filled.wait_timeout_while(state, GATHERED, more);
        let mut state = gathered.unwrap_or_else(PoisonError::into_inner).0;
        state.writer = Writer::Writing;
        std::mem::swap(&mut state.batch, batch);
        true
    }

    /// Waits until all is written or lost; `false` if that takes longer.
    pub(super) fn wait_written(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut state = self.state();
        while state.writer == Writer::Writing || !state.batch.is_empty() {
            state.is_urgent = true;
            self.filled.notify_one();
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.written.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Nothing more will come.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.filled.notify_one();
    }

    pub(super) fn set_trouble(&self, trouble: Option<Trouble>) {
        self.state().trouble = trouble;
    }

    pub(super) fn trouble(&self) -> Option<Trouble> {
        self.state().trouble.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Batch ===

impl Batch {
    /// The room is kept: the next ones need it at once.
    fn clear(&mut self) {
        self.calls.clear();
        self.lost = 0;
    }

    fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.lost == 0
    }
}
