//! A lock that one process holds, and that the system takes back when it dies.

use std::{
    fs::{File, OpenOptions, TryLockError},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use super::SocketError;

/// Held until dropped. Its file stays: were it removed, two processes could hold two files of one name.
#[derive(Debug)]
pub struct FileLock {
    _file: File,
}

impl FileLock {
    /// Takes the lock at `path`, unless somebody has it.
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
