//! The sealing key and its private file in user state, made once under a lock and shared by all processes of one
//! user.
//!
//! Used by `sealing::sealer`. A key that other users could have read, or that is damaged, is replaced; handles that
//! were sealed with the old key are refused from then on.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::libc;
use ring::rand::{SecureRandom as _, SystemRandom};
use switchboard_config::private_file::{
    FileLock, FileLockError, create_private_folder, replace_private_file,
};

use super::SealError;
use crate::problem::{EngineProblem, EngineProblemKind};

/// A key of 256 bits.
pub(super) type SealingKey = [u8; 32];

/// How long another process may hold the lock. It only makes a key, which takes milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// The key, and a problem if a damaged key was replaced.
pub(super) struct LoadedKey {
    pub(super) key: SealingKey,
    pub(super) notice: Option<EngineProblem>,
}

/// Why no key can be stored.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeyError {
    #[error("cannot {doing} `{}`", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("`{}` is held by another process", path.display())]
    Locked { path: PathBuf },
    #[error(transparent)]
    Random(#[from] SealError),
}

/// The state of the key file.
enum KeyFileState {
    Key(SealingKey),
    Nothing,
    /// The file cannot be used, and why.
    Unusable(&'static str),
}

/// Loads the key from the folder `state`. Makes a new key if there is none that can be used.
pub(super) fn open_key(state: &Path) -> Result<LoadedKey, KeyError> {
    let path = state.join("handles.key");
    if let KeyFileState::Key(key) = read_key_file(&path)? {
        return Ok(LoadedKey { key, notice: None });
    }
    create_private_folder(state).map_err(io_error("create", state))?;
    let _lock = lock(&state.join("handles.lock"))?;
    // Another process may have made a key before this one got the lock.
    let notice = match read_key_file(&path)? {
        KeyFileState::Key(key) => return Ok(LoadedKey { key, notice: None }),
        KeyFileState::Nothing => None,
        KeyFileState::Unusable(why) => Some(replaced_key_problem(&path, why)),
    };
    let key = random()?;
    write(&path, &key).map_err(io_error("write", &path))?;
    Ok(LoadedKey { key, notice })
}

/// Makes a new key.
pub(super) fn random() -> Result<SealingKey, SealError> {
    let mut key = [0; 32];
    SystemRandom::new().fill(&mut key).map_err(|_| SealError)?;
    Ok(key)
}

fn read_key_file(path: &Path) -> Result<KeyFileState, KeyError> {
    let read = io_error("read", path);
    // Does not follow a symbolic link, and does not wait for a pipe.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(KeyFileState::Nothing),
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => {
            return Ok(KeyFileState::Unusable("it is a link"));
        }
        Err(error) => return Err(read(error)),
    };
    let about = match file.metadata() {
        Ok(about) => about,
        Err(error) => return Err(read(error)),
    };
    if !about.is_file() {
        return Ok(KeyFileState::Unusable("it is no file"));
    }
    if about.uid() != nix::unistd::geteuid().as_raw() {
        return Ok(KeyFileState::Unusable("it belongs to another user"));
    }
    if about.mode() & 0o077 != 0 {
        return Ok(KeyFileState::Unusable("others could read or change it"));
    }
    let mut bytes = Vec::new();
    match file.take(64).read_to_end(&mut bytes) {
        Ok(_) => {}
        Err(error) => return Err(read(error)),
    }
    Ok(SealingKey::try_from(bytes)
        .map_or(KeyFileState::Unusable("it is damaged"), KeyFileState::Key))
}

fn write(path: &Path, key: &SealingKey) -> io::Result<()> {
    if path.is_dir() {
        fs::remove_dir(path)?;
    }
    replace_private_file(path, key)
}

fn lock(path: &Path) -> Result<FileLock, KeyError> {
    FileLock::acquire_within(path, LOCK_TIMEOUT).map_err(|error| match error {
        FileLockError::Contended => KeyError::Locked { path: path.into() },
        FileLockError::Io(source) => io_error("lock", path)(source),
    })
}

fn replaced_key_problem(path: &Path, why: &str) -> EngineProblem {
    let path = path.display();
    tracing::warn!(%path, why, "made a new key to seal handles with");
    let message = format!(
        "the key in `{path}` was not used, because {why}; another was made, and questions that were open before have \
         to be asked again"
    );
    EngineProblem::new(EngineProblemKind::Storage, message)
}

fn io_error(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> KeyError {
    let path = path.to_owned();
    move |source| KeyError::Io { doing, path: path.clone(), source }
}

// === impl KeyError ===

impl KeyError {
    /// Returns the error as a problem to show.
    pub(super) fn problem(&self) -> EngineProblem {
        let cause = std::error::Error::source(self);
        let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
        let message = format!("{self}{cause}; questions that are open end with this process");
        EngineProblem::new(EngineProblemKind::Storage, message)
    }
}
