//! The lock for edits of a file: one writer at a time, across processes.
//!
//! Used by `edit::atomic`. Other programs do not take it.

use std::path::Path;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::approval::hex;
use crate::error::Error;
use crate::private_file::{FileLock, create_private_folder};

/// How long another process may hold the lock of a file: an edit takes milliseconds, and two hundred may wait in a row.
const LOCK_TIMEOUT: Duration = Duration::from_mins(1);

/// Held while a file is being changed; the system releases it even if the process dies.
#[derive(Debug)]
pub(super) struct EditLock {
    _lock: FileLock,
    key: String,
}

impl EditLock {
    /// Waits for the lock of `path`.
    ///
    /// Locks live in user state, not beside the file: a project should not fill with unexpected files, and a
    /// lock on the file itself would be lost when the file is replaced.
    pub(super) fn acquire(path: &Path, state_dir: &Path) -> Result<Self, Error> {
        let folder = state_dir.join("locks");
        create_private_folder(&folder)
            .map_err(|source| Error::Write { path: folder.clone(), source })?;
        let key = hex(&Sha256::digest(path.as_os_str().as_encoded_bytes())[..16]);
        let lock = FileLock::acquire_within(&folder.join(format!("{key}.lock")), LOCK_TIMEOUT);
        let lock =
            lock.map_err(|error| Error::Lock { path: path.to_owned(), source: error.into() })?;
        Ok(Self { _lock: lock, key })
    }

    /// The key of the locked file, in hexadecimal digits.
    pub(super) fn key(&self) -> &str {
        &self.key
    }
}
