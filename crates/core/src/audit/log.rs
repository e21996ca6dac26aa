//! The audit log that comes with the engine.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Serialize;

use super::file::{AuditFile, PartialWrite};
use super::line::AuditGap;
use super::line_writer::Pen;
use super::queue::{AuditBatch, AuditQueue, WriteFailure};
use super::{AuditSink, CallRecord};
use crate::problem::{EngineProblem, EngineProblemKind};

/// The name of the file that is written to; older ones stand beside it as `.1`, `.2` and `.3`.
const AUDIT_FILE_NAME: &str = "audit.jsonl";
/// How large a file becomes.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// How long whoever settles waits for the disk.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(2);
/// How much of the memory that a batch took is kept for the next.
const MAX_KEPT_BUFFER_BYTES: usize = 256 << 10;
const QUEUE_FULL_MESSAGE: &str = "calls ended faster than they could be written";

/// Lines of JSON in a rotated, private file, written by a thread of their own. When the disk cannot follow, or fails,
/// calls go on; what is missing is counted, told as a problem, and written down as soon as it can be.
#[derive(Debug)]
pub struct AuditLog {
    queue: Arc<AuditQueue>,
}

/// The thread's side.
struct AuditWriter {
    queue: Arc<AuditQueue>,
    file: AuditFile,
    /// What is missing and not written down yet.
    missing: Option<WriteFailure>,
    pen: Pen,
    /// What is written next.
    page: Vec<u8>,
}

// === impl AuditLog ===

impl AuditLog {
    /// The log in a folder of logs. Nothing is written before there is something to write.
    pub fn open(dir: &Path) -> io::Result<Self> {
        Self::with_size(dir, MAX_FILE_BYTES)
    }

    /// The same, with files of another size.
    pub fn with_size(dir: &Path, most_bytes: u64) -> io::Result<Self> {
        let queue = Arc::new(AuditQueue::default());
        let file = AuditFile::new(Self::path(dir), most_bytes);
        let taken = Arc::clone(&queue);
        let write = move || {
            let (pen, page) = (Pen::default(), Vec::new());
            let mut writer = AuditWriter { queue: taken, file, missing: None, pen, page };
            let mut batch = AuditBatch::default();
            while writer.queue.take(&mut batch) {
                writer.write(&batch);
            }
        };
        thread::Builder::new().name("audit".to_owned()).spawn(write)?;
        Ok(Self { queue })
    }

    /// The file that is written to in a folder of logs.
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
            self.pen.write(&mut self.page, called);
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
    // Strings and numbers: there is nothing in them that could fail.
    if serde_json::to_writer(&mut *page, line).is_err() {
        page.truncate(before);
        return;
    }
    page.push(b'\n');
}
