//! The audit log of the engine: a queue, a writer thread and a rotated file of JSON lines.
//!
//! Used by `engine::storage`, which opens it, and by `switchboard audit`, which asks it for the path of the file. It
//! does not read the log (`audit::history` does).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Serialize;

use super::file::{AuditFile, PartialWrite};
use super::line::{AuditCallLine, AuditGap};
use super::queue::{AuditBatch, AuditQueue, WriteFailure};
use super::{AuditSink, CallRecord};
use crate::problem::{EngineProblem, EngineProblemKind};

/// The name of the current file; older files stand beside it as `.1`, `.2` and `.3`.
const AUDIT_FILE_NAME: &str = "audit.jsonl";
/// The size at which a file is rotated.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// How long [`AuditSink::settle`] waits for the disk.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(2);
/// How many bytes of the write buffer are kept between batches.
const MAX_KEPT_BUFFER_BYTES: usize = 256 << 10;
const QUEUE_FULL_MESSAGE: &str = "calls ended faster than they could be written";

/// Writes JSON lines to a rotated, private file, on a thread of its own. When the disk is too slow, or fails, calls
/// go on: the log counts the missing calls, reports them as a problem, and writes the count as soon as the disk
/// works again.
#[derive(Debug)]
pub struct AuditLog {
    queue: Arc<AuditQueue>,
}

/// The state of the writer thread.
struct AuditWriter {
    queue: Arc<AuditQueue>,
    file: AuditFile,
    /// Calls that are missing from the file, as long as no line says so.
    missing: Option<WriteFailure>,
    /// The lines that are written next.
    page: Vec<u8>,
}

// === impl AuditLog ===

impl AuditLog {
    /// Opens the log in the log folder `dir`. The file is created with the first line.
    pub fn open(dir: &Path) -> io::Result<Self> {
        Self::with_size(dir, MAX_FILE_BYTES)
    }

    /// Like [`AuditLog::open`], with another maximum file size.
    pub fn with_size(dir: &Path, most_bytes: u64) -> io::Result<Self> {
        let queue = Arc::new(AuditQueue::default());
        let file = AuditFile::new(Self::path(dir), most_bytes);
        let taken = Arc::clone(&queue);
        let write = move || {
            let page = Vec::new();
            let mut writer = AuditWriter { queue: taken, file, missing: None, page };
            let mut batch = AuditBatch::default();
            while writer.queue.take(&mut batch) {
                writer.write(&batch);
            }
        };
        thread::Builder::new().name("audit".to_owned()).spawn(write)?;
        Ok(Self { queue })
    }

    /// The path of the current audit file in the log folder `dir`.
    pub fn path(dir: &Path) -> PathBuf {
        dir.join(AUDIT_FILE_NAME)
    }
}

impl AuditSink for AuditLog {
    fn record_call(&self, called: &Arc<CallRecord>) {
        self.queue.push(called);
    }

    fn problem(&self) -> Option<EngineProblem> {
        let WriteFailure { why, lost } = self.queue.trouble()?;
        let text = format!("the audit log is not written: {why}; calls missing from it: {lost}");
        Some(EngineProblem::new(EngineProblemKind::Storage, text))
    }

    fn settle(&self) -> BoxFuture<'_, ()> {
        let queue = Arc::clone(&self.queue);
        Box::pin(async move {
            let waited =
                tokio::task::spawn_blocking(move || queue.wait_written(SETTLE_TIMEOUT)).await;
            if !waited.unwrap_or(false) {
                tracing::warn!("the audit log is still being written");
            }
        })
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        self.queue.close();
    }
}

// === impl AuditWriter ===

impl AuditWriter {
    fn write(&mut self, batch: &AuditBatch) {
        if batch.lost > 0 {
            self.miss(batch.lost, QUEUE_FULL_MESSAGE);
        }
        self.page.clear();
        self.page.shrink_to(MAX_KEPT_BUFFER_BYTES);
        let told = self.missing.take();
        if let Some(WriteFailure { why, lost }) = &told {
            push(&mut self.page, &AuditGap::new(*lost, why));
        }
        for called in &batch.calls {
            push(&mut self.page, &AuditCallLine::from_record(called));
        }
        if let Err(PartialWrite { lines, why }) = self.file.append(&self.page) {
            let calls = match told {
                Some(told) if lines == 0 => {
                    self.missing = Some(told);
                    0
                }
                Some(_) => lines - 1,
                None => lines,
            };
            self.miss((batch.calls.len() - calls) as u64, &why.to_string());
        }
        self.queue.set_trouble(self.missing.clone());
    }

    fn miss(&mut self, count: u64, why: &str) {
        if self.missing.is_none() {
            tracing::error!(why, "calls are missing from the audit log");
        }
        let before = self.missing.take().map_or(0, |missing| missing.lost);
        self.missing = Some(WriteFailure { why: why.to_owned(), lost: before + count });
    }
}

fn push(page: &mut Vec<u8>, line: &impl Serialize) {
    let before = page.len();
    // A line holds strings and numbers only, so serialization does not fail.
    if serde_json::to_writer(&mut *page, line).is_err() {
        page.truncate(before);
        return;
    }
    page.push(b'\n');
}
