//! What waits to be written: for each log so many bytes and no more.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// How much of one log may wait.
const MAX_WAITING_BYTES: usize = 1024 * 1024;
/// How much of our own notes may wait beside it: how a loud server ended must not drown in its output.
const MAX_NOTE_BYTES: usize = 64 * 1024;

/// All logs' queues. Pushing takes a lock for as long as copying a chunk takes, and never waits for the disk.
#[derive(Debug, Default)]
pub(super) struct LogQueues {
    state: Mutex<LogQueueState>,
    /// Something waits, or nothing more will.
    filled: Condvar,
    /// All that waited is written.
    written: Condvar,
}

#[derive(Debug, Default)]
struct LogQueueState {
    waiting: HashMap<PathBuf, LogBatch>,
    /// The writer has something in its hands.
    writing: bool,
    closed: bool,
    trouble: Option<String>,
}

/// What waits for one log, in order.
#[derive(Debug, Default)]
pub(super) struct LogBatch {
    pub(super) entries: Vec<LogEntry>,
    output: usize,
    notes: usize,
}

/// Something to write.
#[derive(Debug)]
pub(super) enum LogEntry {
    /// Output of the server, cut anywhere.
    Output(Vec<u8>),
    /// A note of our own.
    Note(String),
    /// So many bytes that nobody could write in time.
    Dropped(u64),
}

// === impl LogQueues ===

impl LogQueues {
    /// Adds a chunk of a server's output; what does not fit is counted and dropped.
    pub(super) fn push(&self, path: &Path, chunk: &[u8]) {
        self.add(path, |batch| batch.push(chunk));
    }

    /// Adds a note of our own.
    pub(super) fn push_line(&self, path: &Path, text: &str) {
        self.add(path, |batch| batch.push_note(text));
    }

    fn add(&self, path: &Path, add: impl FnOnce(&mut LogBatch)) {
        let mut state = self.state();
        if state.closed {
            return;
        }
        match state.waiting.get_mut(path) {
            Some(batch) => add(batch),
            None => add(state.waiting.entry(path.to_owned()).or_default()),
        }
        drop(state);
        self.filled.notify_one();
    }

    /// Waits for something to write; `None` once all is written and nothing more will come.
    pub(super) fn take(&self) -> Option<HashMap<PathBuf, LogBatch>> {
        let mut state = self.state();
        state.writing = false;
        self.written.notify_all();
        while state.waiting.is_empty() {
            if state.closed {
                return None;
            }
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.writing = true;
        Some(std::mem::take(&mut state.waiting))
    }

    /// Waits until all is written; `false` if that takes longer.
    pub(super) fn wait_written(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut state = self.state();
        while state.writing || !state.waiting.is_empty() {
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
        self.state().closed = true;
        self.filled.notify_one();
    }

    /// Remembers what the disk said last; nothing once it works again.
    pub(super) fn set_trouble(&self, trouble: Option<String>) {
        self.state().trouble = trouble;
    }

    pub(super) fn trouble(&self) -> Option<String> {
        self.state().trouble.clone()
    }

    fn state(&self) -> MutexGuard<'_, LogQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl LogBatch ===

impl LogBatch {
    fn push(&mut self, chunk: &[u8]) {
        let room = MAX_WAITING_BYTES - self.output;
        let (taken, rest) = chunk.split_at(chunk.len().min(room));
        if !taken.is_empty() {
            self.output += taken.len();
            match self.entries.last_mut() {
                Some(LogEntry::Output(bytes)) => bytes.extend_from_slice(taken),
                _ => self.entries.push(LogEntry::Output(taken.to_vec())),
            }
        }
        if !rest.is_empty() {
            self.drop_bytes(rest.len());
        }
    }

    fn push_note(&mut self, text: &str) {
        if self.notes + text.len() > MAX_NOTE_BYTES {
            return self.drop_bytes(text.len());
        }
        self.notes += text.len();
        self.entries.push(LogEntry::Note(text.to_owned()));
    }

    fn drop_bytes(&mut self, count: usize) {
        match self.entries.last_mut() {
            Some(LogEntry::Dropped(dropped)) => *dropped += count as u64,
            _ => self.entries.push(LogEntry::Dropped(count as u64)),
        }
    }
}
