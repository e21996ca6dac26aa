//! [`RecordSealer`]: seals texts with the current key, and opens those that any key at hand has sealed.
//!
//! Used by the stores of sign-ins and of secrets, which share one key. It does not store sealed texts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use switchboard_config::private_file::{FileLock, FileLockError};

use super::SignInStoreError;
use super::file::file_error;
use super::key::{KeyLocation, Keychain, RecordKeys};
use super::seal::{self, SealedRecord};
use super::stored_record::LOCK_TIMEOUT;

/// The keys in one folder, or in the keychain.
pub(super) struct RecordSealer {
    folder: PathBuf,
    pub(super) keys: RecordKeys,
}

// === impl RecordSealer ===

impl RecordSealer {
    pub(super) fn new(folder: &Path, keychain: Arc<dyn Keychain>) -> Self {
        Self { keys: RecordKeys::new(folder.to_owned(), keychain), folder: folder.to_owned() }
    }

    /// Where the key for the next record is, or would be.
    pub(super) fn key_location(&self) -> Result<KeyLocation, SignInStoreError> {
        let _alone = self.lock_keys()?;
        Ok(self.keys.sealing_key()?.1)
    }

    /// Seals a text for the file at `path`, to be opened under the same label only.
    pub(super) fn seal(
        &self,
        label: &str,
        text: Vec<u8>,
        path: &Path,
    ) -> Result<SealedRecord, SignInStoreError> {
        let (current, _) = {
            let _alone = self.lock_keys()?;
            self.keys.sealing_key()?
        };
        let nonce = seal::random_nonce().ok_or(SignInStoreError::Random)?;
        let sealed = current.seal(label, text, nonce);
        sealed.ok_or_else(|| SignInStoreError::Seal { path: path.to_owned() })
    }

    /// Opens a record of the file at `path`.
    pub(super) fn open(
        &self,
        label: &str,
        sealed: &SealedRecord,
        path: &Path,
    ) -> Result<Vec<u8>, SignInStoreError> {
        let Some(opener) = self.keys.find_key(&sealed.key)? else {
            return Err(SignInStoreError::NoKey { path: path.to_owned() });
        };
        let text = opener.open(label, sealed);
        text.ok_or_else(|| SignInStoreError::Damaged { path: path.to_owned() })
    }

    /// Locks the choice of a key, so that two processes do not create two.
    pub(super) fn lock_keys(&self) -> Result<FileLock, SignInStoreError> {
        let path = self.folder.join("key.lock");
        FileLock::acquire_within(&path, LOCK_TIMEOUT).map_err(|error| match error {
            FileLockError::Contended => SignInStoreError::Busy { seconds: LOCK_TIMEOUT.as_secs() },
            FileLockError::Io(source) => file_error(&path, source),
        })
    }
}
