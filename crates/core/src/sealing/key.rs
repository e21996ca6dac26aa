//! The key, and the file it is kept in: private, made once under a lock, the same for every process of one user.
//!
//! A key that others could have read, or that is no key, is not used. Another is made, and what was sealed with the
//! old one is refused from then on.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::libc;
use ring::rand::{SecureRandom as _, SystemRandom};

use super::CannotSeal;
use crate::problem::{Problem, ProblemKind};

/// 256 bits.
pub(super) type Key = [u8; 32];

/// How long another process may hold the lock: it makes a key, which takes no time.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often the lock is tried meanwhile.
const LOOK: Duration = Duration::from_millis(5);

/// A key, and what was wrong with the one before.
pub(super) struct Found {
    pub(super) key: Key,
    pub(super) notice: Option<Problem>,
}

/// Why no key can be kept.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeyError {
    #[error("cannot {doing} `{}`", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("`{}` is held by another process", path.display())]
    Locked { path: PathBuf },
    #[error(transparent)]
    Random(#[from] CannotSeal),
}

/// What lies where the key should.
enum Lies {
    Key(Key),
    Nothing,
    /// Something that is not to be used, and why.
    Unusable(&'static str),
}

/// The key in `state`, made if there is none that can be used.
pub(super) fn open(state: &Path) -> Result<Found, KeyError> {
    let path = state.join("handles.key");
    if let Lies::Key(key) = look(&path)? {
        return Ok(Found { key, notice: None });
    }
    let made = DirBuilder::new().recursive(true).mode(0o700).create(state);
    made.map_err(failed("create", state))?;
    let _lock = lock(&state.join("handles.lock"))?;
    // Somebody else may have made one meanwhile.
    let notice = match look(&path)? {
        Lies::Key(key) => return Ok(Found { key, notice: None }),
        Lies::Nothing => None,
        Lies::Unusable(why) => Some(replaced(&path, why)),
    };
    let key = random()?;
    write(state, &path, &key).map_err(failed("write", &path))?;
    Ok(Found { key, notice })
}

/// A new key.
pub(super) fn random() -> Result<Key, CannotSeal> {
    let mut key = [0; 32];
    SystemRandom::new().fill(&mut key).map_err(|_| CannotSeal)?;
    Ok(key)
}

fn look(path: &Path) -> Result<Lies, KeyError> {
    let read = failed("read", path);
    // A link is not followed, and a pipe is not waited for.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Lies::Nothing),
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => {
            return Ok(Lies::Unusable("it is a link"));
        }
        Err(error) => return Err(read(error)),
    };
    let about = match file.metadata() {
        Ok(about) => about,
        Err(error) => return Err(read(error)),
    };
    if !about.is_file() {
        return Ok(Lies::Unusable("it is no file"));
    }
    if about.uid() != nix::unistd::geteuid().as_raw() {
        return Ok(Lies::Unusable("it belongs to somebody else"));
    }
    if about.mode() & 0o077 != 0 {
        return Ok(Lies::Unusable("others could read or change it"));
    }
    let mut bytes = Vec::new();
    match file.take(64).read_to_end(&mut bytes) {
        Ok(_) => {}
        Err(error) => return Err(read(error)),
    }
    Ok(Key::try_from(bytes).map_or(Lies::Unusable("it is damaged"), Lies::Key))
}

/// Whole or not at all: who looks meanwhile sees the old one, or the new one.
fn write(state: &Path, path: &Path, key: &Key) -> io::Result<()> {
    // Made with mode 0600 by the library.
    let mut staged = tempfile::NamedTempFile::new_in(state)?;
    // Not waited for until it is on the disk, which everybody who starts would wait for: a key that a crash took is
    // seen to be damaged, and made anew.
    staged.write_all(key)?;
    if path.is_dir() {
        fs::remove_dir(path)?;
    }
    staged.persist(path)?;
    Ok(())
}

/// A file of its own: a lock on one that is replaced would be lost with it.
fn lock(path: &Path) -> Result<File, KeyError> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(0o600);
    let file = options.open(path).map_err(failed("lock", path))?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                std::thread::sleep(LOOK);
            }
            Err(TryLockError::WouldBlock) => return Err(KeyError::Locked { path: path.into() }),
            Err(TryLockError::Error(source)) => return Err(failed("lock", path)(source)),
        }
    }
}

fn replaced(path: &Path, why: &str) -> Problem {
    let path = path.display();
    tracing::warn!(%path, why, "the key that handles are sealed with is made anew");
    let message = format!(
        "the key in `{path}` was not used, because {why}; another was made, and questions that were open before have \
         to be asked again"
    );
    Problem::new(ProblemKind::Storage, message)
}

fn failed(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> KeyError {
    let path = path.to_owned();
    move |source| KeyError::Io { doing, path: path.clone(), source }
}

// === impl KeyError ===

impl KeyError {
    /// As something to show beside what works.
    pub(super) fn problem(&self) -> Problem {
        let cause = std::error::Error::source(self);
        let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
        let message = format!("{self}{cause}; questions that are open end with this process");
        Problem::new(ProblemKind::Storage, message)
    }
}
