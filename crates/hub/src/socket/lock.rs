//! An advisory file lock that one process holds; the kernel releases it when the process dies.
//!
//! Used by `listen` (the hub's lock) and `attach::connect` (the lock of the process that starts a hub). It does not
//! wait: callers poll.

use std::{
    fs::{File, OpenOptions, TryLockError},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use super::SocketError;

/// A held lock, until dropped. The file stays: if it were removed, two processes could lock two files of one name.
#[derive(Debug)]
pub struct FileLock {
    _file: File,
}

impl FileLock {
    /// Takes the lock at `path`; `None` if another process holds it.
    pub(crate) fn take(path: &Path) -> Result<Option<Self>, SocketError> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        let file = options.open(path).map_err(SocketError::io("open", path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(SocketError::io("lock", path)(source)),
        }
    }
}
