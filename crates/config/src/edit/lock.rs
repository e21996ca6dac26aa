//! The lock for edits of a file: one writer at a time, across processes.
//!
//! Used by `edit::atomic`. Other programs do not take it.

use std::fs::{File, OpenOptions};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::create_private_folder;
use crate::approval::hex;
use crate::error::Error;

/// Held while a file is being changed; the system releases it even if the process dies.
#[derive(Debug)]
pub(super) struct EditLock {
    _file: File,
    key: String,
}

impl EditLock {
    /// Waits for the lock of `path`.
    ///
    /// Locks live in user state, not beside the file: a project should not fill with unexpected files, and a
    /// lock on the file itself would be lost when the file is replaced.
    pub(super) fn acquire(path: &Path, state_dir: &Path) -> Result<Self, Error> {
        let folder = state_dir.join("locks");
        create_private_folder(&folder)?;
        let key = hex(&Sha256::digest(path.as_os_str().as_encoded_bytes())[..16]);
        let lock = |source| Error::Lock { path: path.to_owned(), source };
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        let file = options.open(folder.join(format!("{key}.lock"))).map_err(lock)?;
        file.lock().map_err(lock)?;
        Ok(Self { _file: file, key })
    }

    /// The key of the locked file, in hexadecimal digits.
    pub(super) fn key(&self) -> &str {
        &self.key
    }
}
