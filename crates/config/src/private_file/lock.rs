//! A file lock that one process holds, and that the system releases when the process dies.
//!
//! Used by the stores of `auth` and `core` (tokens, permissions, sealing key, audit log), by `config::edit`, and by the
//! hub so that one hub runs for a user. It does not read or write the files that it protects.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{create_private_folder, folder_of};

/// How often a lock that another process holds is tried again.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A lock that is held until dropped. The lock file holds no data: a lock on a file that is replaced would be lost
/// with the file. The lock file stays: if it were removed, two processes could lock two files of one name.
#[derive(Debug)]
pub struct FileLock {
    _file: File,
}

/// Why a lock was not acquired.
#[derive(Debug, thiserror::Error)]
pub enum FileLockError {
    /// Another process holds the lock.
    #[error("another process holds the lock")]
    Contended,
    /// The error of the system.
    #[error(transparent)]
    Io(#[from] io::Error),
}

// === impl FileLock ===

impl FileLock {
    /// Takes the lock at `path`, a private file that is created where there is none; `None` while another process holds it.
    pub fn try_acquire(path: &Path) -> io::Result<Option<Self>> {
        match Self::acquire_within(path, Duration::ZERO) {
            Ok(lock) => Ok(Some(lock)),
            Err(FileLockError::Contended) => Ok(None),
            Err(FileLockError::Io(error)) => Err(error),
        }
    }

    /// Takes the lock at `path` and waits up to `patience` for a process that holds it. Blocks the thread.
    pub fn acquire_within(path: &Path, patience: Duration) -> Result<Self, FileLockError> {
        let file = open_lock_file(path)?;
        let deadline = Instant::now() + patience;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    std::thread::sleep(POLL_INTERVAL);
                }
                Err(TryLockError::WouldBlock) => return Err(FileLockError::Contended),
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
        }
    }
}

fn open_lock_file(path: &Path) -> io::Result<File> {
    create_private_folder(folder_of(path))?;
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

// === impl FileLockError ===

impl From<FileLockError> for io::Error {
    fn from(error: FileLockError) -> Self {
        match error {
            FileLockError::Contended => Self::new(io::ErrorKind::TimedOut, error),
            FileLockError::Io(error) => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holds_a_lock_until_it_is_dropped() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("locks/a.lock");
        let held = FileLock::try_acquire(&path).unwrap().expect("nobody holds it");
        assert!(FileLock::try_acquire(&path).unwrap().is_none());
        let refused = FileLock::acquire_within(&path, Duration::ZERO).unwrap_err();
        assert!(matches!(refused, FileLockError::Contended), "{refused:?}");
        drop(held);
        FileLock::acquire_within(&path, Duration::ZERO).unwrap();
    }

    #[test]
    fn a_waiter_gets_the_lock_when_its_holder_lets_go() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.lock");
        let held = FileLock::try_acquire(&path).unwrap();
        let waiter = std::thread::spawn({
            let path = path.clone();
            move || FileLock::acquire_within(&path, Duration::from_mins(1))
        });
        drop(held);
        waiter.join().unwrap().unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_lock_file_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.lock");
        let _held = FileLock::try_acquire(&path).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}
