//! A lock that one process holds, and that the system takes back when it dies.

use std::{
    fs::{File, OpenOptions, TryLockError},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use super::Error;

/// Held until dropped. Its file stays: were it removed, two processes could hold two files of one name.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock at `path`, unless somebody has it.
    pub(crate) fn take(path: &Path) -> Result<Option<Self>, Error> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        let file = options.open(path).map_err(Error::io("open", path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(Error::io("lock", path)(source)),
        }
    }
}
