//! Results kept as private files: capped in all, gone after some days, readable by whom they belong to.
//!
//! A file's name cannot be guessed, and beside it stands whose it is. The store refuses to know what is in a
//! file; it reads and searches it as text.

mod entry;
mod read;
mod sweep;

use std::{
    fs, io,
    io::{BufWriter, Read as _, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::Semaphore;

pub use read::{LineHit, ResultSlice, SearchPattern};

use super::SpilledFile;
use entry::{OwnerCard, is_id};

/// How often old files are looked for.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);
/// About how long a card is, and more than that.
const MAX_CARD_BYTES: u64 = 128;
/// Readers at once.
const MAX_READERS: usize = 4;
/// How long a reader waits, for its turn and for the disk.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// The results of one user, on this machine.
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
    /// About how much there is; other processes may add to it.
    bytes: u64,
}

/// Why a result could not be kept or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultStoreError {
    /// The disk refused.
    #[error("cannot {doing} {}", .path.display())]
    Io {
        /// What was to be done.
        doing: &'static str,
        /// To which file or folder.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// No such result, or it is another's.
    #[error("there is no such result; it may have expired")]
    Missing,
    /// The pattern to search for is not one.
    #[error("the pattern is not valid: {0}")]
    Pattern(String),
    /// It took too long.
    #[error("reading a result took too long")]
    Timeout,
}

// === impl ResultStore ===

impl ResultStore {
    /// Opens the store in `dir`, which is made if it is not there: at most `cap` bytes, each file for at most
    /// `keep`.
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
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
        made.map_err(|source| io_error("make", dir, source))?;
        self.sweep(None);
        Ok(())
    }

    /// Keeps what `write` writes, for `owner`. Blocks; on failure nothing is left behind.
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
            // Whose it is stands there before it can be found.
            OwnerCard { owner: owner.to_owned(), file: file.clone() }.write(dir, &id)?;
            let path = dir.join(file);
            fs::rename(&part, &path)?;
            Ok(SpilledFile { id: id.clone(), path, bytes })
        });
        match written {
            Ok(spilled) => {
                self.sweep_if_due(&id, spilled.bytes);
                Ok(spilled)
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

    /// Removes what is too old or too much, if it is time or there is too much.
    fn sweep_if_due(&self, id: &str, bytes: u64) {
        let due = {
            let mut state = self.state();
            state.bytes += bytes + MAX_CARD_BYTES;
            let rested = state.swept.is_some_and(|at| at.elapsed() < SWEEP_INTERVAL);
            !rested || state.bytes > self.inner.cap
        };
        if due {
            self.sweep(Some(id));
        }
    }

    fn sweep(&self, writing: Option<&str>) {
        let left = sweep::sweep(&self.inner.dir, self.inner.cap, self.inner.keep, writing);
        *self.state() = ResultStoreState { swept: Some(Instant::now()), bytes: left };
    }

    /// A part of the result `id`, from about byte `offset` on, about `length` bytes long: both are moved to
    /// where characters begin.
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

    /// The first lines of the result `id` that match, at most `limit`.
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

    /// The file of result `id`, if `owner` may see it. Whose it is not learns nothing.
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
                // Held by the work and not by whoever waits: a disk that hangs must not gather threads.
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

    fn state(&self) -> std::sync::MutexGuard<'_, ResultStoreState> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file that may not grow past what the whole store may hold.
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

/// 128 bits that nobody can guess, in hex.
fn new_id() -> io::Result<String> {
    let mut bytes = [0; entry::ID_BYTES];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}
