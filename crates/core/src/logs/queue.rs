//! The bounded queue of log output between servers and the writer thread.
//!
//! Used by `logs` (push) and `logs::writer` (take). Each log may have `MAX_WAITING_BYTES` waiting; bytes beyond are
//! dropped and counted. It does not touch the disk.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// How many bytes of one server's output may wait.
const MAX_WAITING_BYTES: usize = 1024 * 1024;
/// How many bytes of notes may wait beside the output: the note on how a noisy server ended must not be dropped
/// because of its output.
const MAX_NOTE_BYTES: usize = 64 * 1024;

/// The queues of all logs. `push` holds the lock only while it copies a chunk, and never waits for the disk.
#[derive(Debug, Default)]
pub(super) struct LogQueues {
    state: Mutex<LogQueueState>,
    /// Signals that output waits, or that the queues are closed.
    filled: Condvar,
    /// Signals that all waiting output is written.
    written: Condvar,
}

#[derive(Debug, Default)]
struct LogQueueState {
    waiting: HashMap<PathBuf, LogBatch>,
    /// The writer has taken batches and writes them.
    writing: bool,
    closed: bool,
    trouble: Option<String>,
}

/// The entries that wait for one log, in order.
#[derive(Debug, Default)]
pub(super) struct LogBatch {
    pub(super) entries: Vec<LogEntry>,
    output: usize,
    notes: usize,
}

/// An entry of a log.
#[derive(Debug)]
pub(super) enum LogEntry {
    /// Output of the server, cut at any byte.
    Output(Vec<u8>),
    /// A note of Switchboard's own.
    Note(String),
    /// How many bytes were dropped because the writer was too slow.
    Dropped(u64),
}

// === impl LogQueues ===

impl LogQueues {
    /// Adds a chunk of a server's output; bytes that do not fit are counted and dropped.
    pub(super) fn push(&self, path: &Path, chunk: &[u8]) {
        self.add(path, |batch| batch.push(chunk));
    }

    /// Adds a note.
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

    /// Waits for batches; `None` once the queues are closed and empty.
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

    /// Waits until all batches are written; `false` if that takes longer than `patience`.
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

    /// Closes the queues: no more output will come.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.filled.notify_one();
    }

    /// Stores the last error of the disk; `None` once a write succeeds again.
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
