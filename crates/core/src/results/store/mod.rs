//! The store of spilled results: private files with an owner, a total size limit and an expiry.
//!
//! Opened by `engine::storage`; written by `results::spill` and `results::blob`, read by the gateway for clients.
//! File names cannot be guessed, and a card beside each file names its owner.
//!
//! It does not know the format of a file; it reads and searches it as text.

mod entry;
mod read;
mod sweep;

use std::{
    fs, io,
    io::{BufWriter, Read as _, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use switchboard_config::private_file::create_private_folder;
use tokio::sync::Semaphore;

pub use read::{LineHit, ResultSlice, SearchPattern};

use super::SpilledFile;
use entry::{OwnerCard, is_id};

/// How often old files are removed.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);
/// An upper bound for the size of a card.
const MAX_CARD_BYTES: u64 = 128;
/// How many reads run at once.
const MAX_READERS: usize = 4;
/// How long a read may wait for its turn and for the disk.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// The spilled results of one user on this machine.
#[derive(Debug, Clone)]
pub struct ResultStore {
    inner: Arc<ResultStoreInner>,
}

#[derive(Debug)]
struct ResultStoreInner {
    dir: PathBuf,
    cap: u64,
    keep: Duration,
    state: Mutex<ResultStoreState>,
    readers: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct ResultStoreState {
    swept: Option<Instant>,
    /// The estimated size of the store; other processes may add files.
    bytes: u64,
}

/// Why a result could not be stored or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultStoreError {
    /// Reading or writing failed.
    #[error("cannot {doing} {}", .path.display())]
    Io {
        /// The operation that failed.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// There is no result of this id, or another principal owns it.
    #[error("there is no such result; it may have expired")]
    Missing,
    /// The search pattern is not a valid regular expression.
    #[error("the pattern is not valid: {0}")]
    Pattern(String),
    /// The disk took too long.
    #[error("reading a result took too long")]
    Timeout,
}

// === impl ResultStore ===

impl ResultStore {
    /// Opens the store in `dir`, which is created if it is missing. It holds at most `cap` bytes, and each file for
    /// at most `keep`.
    pub async fn open(dir: PathBuf, cap: u64, keep: Duration) -> Result<Self, ResultStoreError> {
        let inner = ResultStoreInner {
            dir,
            cap,
            keep,
            state: Mutex::default(),
            readers: Arc::new(Semaphore::new(MAX_READERS)),
        };
        let store = Self { inner: Arc::new(inner) };
        let opened = store.clone();
        store.off_the_runtime(move || opened.prepare()).await?;
        Ok(store)
    }

    fn prepare(&self) -> Result<(), ResultStoreError> {
        let dir = &self.inner.dir;
        create_private_folder(dir).map_err(|source| io_error("make", dir, source))?;
        self.sweep(None);
        Ok(())
    }

    /// Stores the output of `write` as a file of `owner`. Blocks; on failure no file is left behind.
    pub(super) fn keep(
        &self,
        owner: &str,
        extension: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<SpilledFile, ResultStoreError> {
        let dir = &self.inner.dir;
        let id = new_id().map_err(|source| io_error("name a file in", dir, source))?;
        let part = dir.join(format!("{id}.part"));
        let written = self.write_part(&part, write).and_then(|bytes| {
            let file = format!("{id}.{extension}");
            // The card is written before the file gets its name, so that a file is never found without an owner.
            OwnerCard { owner: owner.to_owned(), file: file.clone() }.write(dir, &id)?;
            let path = dir.join(file);
            fs::rename(&part, &path)?;
            Ok(SpilledFile { id: id.clone(), path, bytes })
        });
        match written {
            Ok(spilled) if self.sweep_if_due(&id, spilled.bytes) => Ok(spilled),
            Ok(_) => {
                let text = "no room beside the results of other users";
                let source = io::Error::new(io::ErrorKind::FileTooLarge, text);
                Err(io_error("keep a result in", dir, source))
            }
            Err(source) => {
                entry::remove(dir, &id);
                Err(io_error("write a result to", dir, source))
            }
        }
    }

    fn write_part(
        &self,
        part: &Path,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<u64> {
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(part)?;
        let mut out = BufWriter::new(CappedFile { file, left: self.inner.cap });
        write(&mut out)?;
        let out = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(self.inner.cap - out.left)
    }

    /// Removes old files, if the interval has passed or the store is too large. Returns whether the result `id`, which
    /// was just written, is still there.
    fn sweep_if_due(&self, id: &str, bytes: u64) -> bool {
        let due = {
            let mut state = self.state();
            state.bytes += bytes + MAX_CARD_BYTES;
            let rested = state.swept.is_some_and(|at| at.elapsed() < SWEEP_INTERVAL);
            !rested || state.bytes > self.inner.cap
        };
        !due || self.sweep(Some(id))
    }

    /// Returns whether `writing` is still there.
    fn sweep(&self, writing: Option<&str>) -> bool {
        let left = sweep::sweep(&self.inner.dir, self.inner.cap, self.inner.keep, writing);
        *self.state() = ResultStoreState { swept: Some(Instant::now()), bytes: left.bytes };
        !left.removed_writing
    }

    /// Reads a part of the result `id`, from about byte `offset` on, about `length` bytes long: both are moved to
    /// character boundaries.
    pub async fn read(
        &self,
        owner: &str,
        id: &str,
        offset: u64,
        length: usize,
    ) -> Result<ResultSlice, ResultStoreError> {
        let (store, owner, id) = (self.clone(), owner.to_owned(), id.to_owned());
        self.off_the_runtime(move || {
            let path = store.find(&owner, &id)?;
            read::slice(&path, offset, length).map_err(|source| io_error("read", &path, source))
        })
        .await
    }

    /// Returns the first lines of the result `id` that match, at most `limit`.
    pub async fn search(
        &self,
        owner: &str,
        id: &str,
        pattern: SearchPattern,
        limit: usize,
    ) -> Result<Vec<LineHit>, ResultStoreError> {
        let (store, owner, id) = (self.clone(), owner.to_owned(), id.to_owned());
        self.off_the_runtime(move || {
            let path = store.find(&owner, &id)?;
            let regex = pattern.compile()?;
            read::search(&path, &regex, limit).map_err(|source| io_error("read", &path, source))
        })
        .await
    }

    /// Finds the file of result `id` for `owner`. For other principals the error equals that of a missing result.
    fn find(&self, owner: &str, id: &str) -> Result<PathBuf, ResultStoreError> {
        if !is_id(id) {
            return Err(ResultStoreError::Missing);
        }
        let card = OwnerCard::read(&self.inner.dir, id).ok_or(ResultStoreError::Missing)?;
        if card.owner != owner {
            return Err(ResultStoreError::Missing);
        }
        Ok(self.inner.dir.join(card.file))
    }

    async fn off_the_runtime<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, ResultStoreError> + Send + 'static,
    ) -> Result<T, ResultStoreError> {
        let turn = async {
            let turn = Arc::clone(&self.inner.readers).acquire_owned().await;
            let work = move || {
                // The worker holds the permit, not the waiting caller: workers that hang on a disk must not pile
                // up.
                let _turn = turn;
                work()
            };
            tokio::task::spawn_blocking(work).await
        };
        match tokio::time::timeout(READ_TIMEOUT, turn).await {
            Ok(Ok(done)) => done,
            Ok(Err(_)) | Err(_) => Err(ResultStoreError::Timeout),
        }
    }

    fn state(&self) -> parking_lot::MutexGuard<'_, ResultStoreState> {
        self.inner.state.lock()
    }
}

/// A writer that fails beyond the size limit of the whole store.
struct CappedFile {
    file: fs::File,
    left: u64,
}

// === impl CappedFile ===

impl Write for CappedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.left {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "larger than all results may be",
            ));
        }
        let written = self.file.write(bytes)?;
        self.left -= written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn io_error(doing: &'static str, path: &Path, source: io::Error) -> ResultStoreError {
    ResultStoreError::Io { doing, path: path.to_owned(), source }
}

/// Makes an id of 128 random bits, in hex.
fn new_id() -> io::Result<String> {
    let mut bytes = [0; entry::ID_BYTES];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}
