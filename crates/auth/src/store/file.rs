//! The sign-in store in files: `<key>.json`, sealed and replaced atomically, and `<key>.lock` beside it.
//!
//! Used by every command that signs in, and by the hub. It does not choose the sealing key (`store::key`).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use switchboard_config::private_file::{FileLock, replace_private_file};

use super::key::{KeyLocation, Keychain};
use super::seal::SealedRecord;
use super::sealer::RecordSealer;
use super::{RecordStamp, SignInStore, SignInStoreError};
use crate::account::SignInRecord;

/// A store in a folder.
pub struct FileSignInStore {
    folder: PathBuf,
    sealer: RecordSealer,
}

// === impl FileSignInStore ===

impl FileSignInStore {
    /// A store in `folder`, which is created with the first record.
    pub fn new(folder: impl Into<PathBuf>, keychain: Arc<dyn Keychain>) -> Self {
        let folder = folder.into();
        Self { sealer: RecordSealer::new(&folder, keychain), folder }
    }

    /// Where the key for the next record is, or would be.
    pub fn key_location(&self) -> Result<KeyLocation, SignInStoreError> {
        self.sealer.key_location()
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }

    fn lock_path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.lock"))
    }
}

impl SignInStore for FileSignInStore {
    fn load(&self, key: &str) -> Result<Option<SignInRecord>, SignInStoreError> {
        let path = self.path(key);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(SignInStoreError::File { path, source }),
        };
        let damaged = || SignInStoreError::Damaged { path: path.clone() };
        let sealed: SealedRecord = serde_json::from_slice(&text).map_err(|_| damaged())?;
        let text = self.sealer.open(key, &sealed, &path)?;
        serde_json::from_slice(&text).map(Some).map_err(|_| damaged())
    }

    fn save(&self, key: &str, record: &SignInRecord) -> Result<(), SignInStoreError> {
        let path = self.path(key);
        let damaged = || SignInStoreError::Damaged { path: path.clone() };
        let text = serde_json::to_vec(record).map_err(|_| damaged())?;
        let sealed = self.sealer.seal(key, text, &path)?;
        let text = serde_json::to_vec(&sealed).map_err(|_| damaged())?;
        replace_private_file(&path, &text).map_err(|source| file_error(&path, source))
    }

    fn remove(&self, key: &str) -> Result<(), SignInStoreError> {
        let path = self.path(key);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(file_error(&path, error)),
            _ => Ok(()),
        }
    }

    fn check(&self) -> Result<(), SignInStoreError> {
        self.sealer.keys.check()
    }

    fn set_damaged_key_aside(&self) -> Result<Option<PathBuf>, SignInStoreError> {
        if !matches!(self.check(), Err(SignInStoreError::KeyDamaged { .. })) {
            return Ok(None);
        }
        // Checked again under the lock, where no other process can put a new key in place.
        let _alone = self.sealer.lock_keys()?;
        self.sealer.keys.set_damaged_file_aside()
    }

    fn keys(&self) -> Result<Vec<String>, SignInStoreError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(file_error(&self.folder, source)),
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut keys: Vec<_> =
            names.filter_map(|name| Some(name.strip_suffix(".json")?.to_owned())).collect();
        keys.sort();
        Ok(keys)
    }

    fn stamp(&self, key: &str) -> Option<RecordStamp> {
        let about = fs::metadata(self.path(key)).ok()?;
        let changed = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&about);
        #[cfg(not(unix))]
        let number = about.len();
        Some(RecordStamp { changed, number })
    }

    fn key_location_of(&self, key: &str) -> Option<KeyLocation> {
        let sealed: SealedRecord = serde_json::from_slice(&fs::read(self.path(key)).ok()?).ok()?;
        self.sealer.keys.place_of(&sealed.key)
    }

    fn try_lock(&self, key: &str) -> Result<Option<Box<dyn Send + Sync>>, SignInStoreError> {
        let path = self.lock_path(key);
        let lock = FileLock::try_acquire(&path).map_err(|source| file_error(&path, source))?;
        Ok(lock.map(|lock| Box::new(lock) as Box<dyn Send + Sync>))
    }
}

pub(super) fn file_error(path: &Path, source: io::Error) -> SignInStoreError {
    SignInStoreError::File { path: path.to_owned(), source }
}
