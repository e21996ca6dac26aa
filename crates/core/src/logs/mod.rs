//! Server logs: the standard error of server processes, kept in rotated files.
//!
//! Used by the engine, by `switchboard logs`, by plugin workers and by the hub's admin page. A child's output is
//! taken without waiting: it goes to a bounded queue, and one thread writes it, each line with its time. Output
//! that the disk cannot keep up with is dropped and counted; it never holds up the child, the runtime, or another
//! server's log.
//!
//! It stores text unchanged. Code that shows a log to a person sanitizes it first.

mod file;
mod follow;
mod queue;
mod rotation;
mod tail;
mod timestamp;
mod writer;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use sha2::{Digest as _, Sha256};
use switchboard_config::private_file::create_private_folder;
use switchboard_config::server_name::normalize_server_name;
use switchboard_process::StderrSink;

use crate::{EngineProblem, EngineProblemKind};

pub use follow::LogFollower;
pub use timestamp::format_timestamp;

pub use rotation::rotate_files;
pub(crate) use rotation::{FILES_PER_LOG, ends_in_line, rotated_path};

use queue::LogQueues;

/// How many characters of a server's name go into its file's name.
const MAX_NAME_CHARS: usize = 64;
/// How long a reader waits for lines that are not on the disk yet.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(1);

/// How long reading a log may take.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// The logs of all servers. Clones share them. When the last clone is dropped, the writer thread writes the rest
/// and ends.
#[derive(Debug, Clone)]
pub struct ServerLogs {
    inner: Arc<LogsInner>,
}

#[derive(Debug)]
struct LogsInner {
    dir: PathBuf,
    queues: Arc<LogQueues>,
}

/// Takes the standard error of one server.
struct LogSink {
    queues: Arc<LogQueues>,
    path: PathBuf,
}

/// The log folder could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the logs in {}", .dir.display())]
pub struct LogsError {
    /// The folder.
    pub dir: PathBuf,
    /// The error of the system.
    #[source]
    pub source: io::Error,
}

// === impl ServerLogs ===

impl ServerLogs {
    /// Opens the logs in the folder `dir`, which is created, private, if it is missing.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, LogsError> {
        let dir = dir.into();
        let opened = create_private_folder(&dir).and_then(|()| {
            let queues = Arc::new(LogQueues::default());
            writer::start(Arc::clone(&queues))?;
            Ok(queues)
        });
        match opened {
            Ok(queues) => Ok(Self { inner: Arc::new(LogsInner { dir, queues }) }),
            Err(source) => Err(LogsError { dir, source }),
        }
    }

    /// Returns the folder of the logs.
    pub fn folder(&self) -> &Path {
        &self.inner.dir
    }

    /// Returns the sink for a server's standard error. It takes chunks without waiting.
    pub fn sink(&self, server: &str, workspace: &str) -> Arc<dyn StderrSink> {
        let path = self.path(server, workspace);
        Arc::new(LogSink { queues: Arc::clone(&self.inner.queues), path })
    }

    /// Writes a note of Switchboard's own into a server's log, on a line of its own.
    pub fn write_note(&self, server: &str, workspace: &str, text: &str) {
        let text = text.replace(['\n', '\r'], " ");
        self.inner.queues.push_line(&self.path(server, workspace), &text);
    }

    /// Returns the current file of a server's log; older files stand beside it as `.1`, `.2` and `.3`.
    pub fn path(&self, server: &str, workspace: &str) -> PathBuf {
        let digest = Sha256::digest(format!("{server}\0{workspace}"));
        let hash = digest.first_chunk().map_or(0, |start| u32::from_be_bytes(*start));
        let name: String = normalize_server_name(server).chars().take(MAX_NAME_CHARS).collect();
        self.inner.dir.join(format!("{name}-{hash:08x}.log"))
    }

    /// Returns the last lines of a server's log, oldest first; empty if there is no log.
    pub async fn tail(
        &self,
        server: &str,
        workspace: &str,
        lines: usize,
    ) -> io::Result<Vec<String>> {
        self.settle().await;
        let path = self.path(server, workspace);
        off_the_runtime(move || tail::tail(&path, lines)).await
    }

    /// Follows a server's log from its end on.
    pub async fn follow(&self, server: &str, workspace: &str) -> io::Result<LogFollower> {
        self.settle().await;
        LogFollower::open(self.path(server, workspace)).await
    }

    /// Waits, for a moment at most, until the output taken so far is in the files.
    pub async fn settle(&self) {
        let queues = Arc::clone(&self.inner.queues);
        let waited = tokio::task::spawn_blocking(move || queues.wait_written(SETTLE_TIMEOUT)).await;
        if !waited.unwrap_or(false) {
            tracing::debug!("logs are still being written");
        }
    }

    /// Returns the last error of the disk, unless a write has succeeded since.
    pub fn problem(&self) -> Option<EngineProblem> {
        let message = self.inner.queues.trouble()?;
        Some(EngineProblem::new(
            EngineProblemKind::Storage,
            format!("logs are not written: {message}"),
        ))
    }
}

// === impl LogsInner ===

impl Drop for LogsInner {
    fn drop(&mut self) {
        self.queues.close();
    }
}

// === impl LogSink ===

impl StderrSink for LogSink {
    fn write(&self, chunk: &[u8]) {
        self.queues.push(&self.path, chunk);
    }
}

/// Runs blocking file work off the runtime's threads, with a timeout.
pub(crate) async fn off_the_runtime<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    match tokio::time::timeout(READ_TIMEOUT, tokio::task::spawn_blocking(work)).await {
        Ok(done) => done.map_err(io::Error::other)?,
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}
