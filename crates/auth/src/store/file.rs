//! The sign-in store in files: `<key>.json`, sealed and replaced atomically, and `<key>.lock` beside it.
//!
//! Used by every command that signs in, and by the hub. It does not choose the sealing key (`store::key`).

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::key::{KeyLocation, Keychain, RecordKeys};
use super::seal::SealedRecord;
use super::{RecordStamp, SignInStore, SignInStoreError};
use crate::account::SignInRecord;

/// A store in a folder.
pub struct FileSignInStore {
    folder: PathBuf,
    keys: RecordKeys,
}

// === impl FileSignInStore ===

impl FileSignInStore {
    /// A store in `folder`, which is created with the first record.
    pub fn new(folder: impl Into<PathBuf>, keychain: Arc<dyn Keychain>) -> Self {
        let folder = folder.into();
        Self { keys: RecordKeys::new(folder.clone(), keychain), folder }
    }

    /// Where the key for the next record is, or would be.
    pub fn key_location(&self) -> Result<KeyLocation, SignInStoreError> {
        let _alone = self.lock_keys()?;
        Ok(self.keys.sealing_key()?.1)
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }

    /// Locks the choice of a key, so that two processes do not create two.
    fn lock_keys(&self) -> Result<File, SignInStoreError> {
        let file = self.lock_file("key")?;
        file.lock().map_err(|source| file_error(&self.folder, source))?;
        Ok(file)
    }

    fn lock_file(&self, key: &str) -> Result<File, SignInStoreError> {
        create_private_folder(&self.folder).map_err(|source| file_error(&self.folder, source))?;
        let path = self.folder.join(format!("{key}.lock"));
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        options.open(&path).map_err(|source| file_error(&path, source))
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
        let Some(opener) = self.keys.find_key(&sealed.key)? else {
            return Err(SignInStoreError::NoKey { path });
        };
        let text = opener.open(key, &sealed).ok_or_else(damaged)?;
        serde_json::from_slice(&text).map(Some).map_err(|_| damaged())
    }

    fn save(&self, key: &str, record: &SignInRecord) -> Result<(), SignInStoreError> {
        let path = self.path(key);
        let damaged = || SignInStoreError::Damaged { path: path.clone() };
        let text = serde_json::to_vec(record).map_err(|_| damaged())?;
        let (current, _) = {
            let _alone = self.lock_keys()?;
            self.keys.sealing_key()?
        };
        let sealed = current.seal(key, text).ok_or(SignInStoreError::Random)?;
        let text = serde_json::to_vec(&sealed).map_err(|_| damaged())?;
        replace(&self.folder, &path, &text).map_err(|source| file_error(&path, source))
    }

    fn remove(&self, key: &str) -> Result<(), SignInStoreError> {
        let path = self.path(key);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(file_error(&path, error)),
            _ => Ok(()),
        }
    }

    fn check(&self) -> Result<(), SignInStoreError> {
        self.keys.check()
    }

    fn set_damaged_key_aside(&self) -> Result<Option<PathBuf>, SignInStoreError> {
        if !matches!(self.check(), Err(SignInStoreError::KeyDamaged { .. })) {
            return Ok(None);
        }
        // Checked again under the lock, where no other process can put a new key in place.
        let _alone = self.lock_keys()?;
        self.keys.set_damaged_file_aside()
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
        self.keys.place_of(&sealed.key)
    }

    fn try_lock(&self, key: &str) -> Result<Option<Box<dyn Send + Sync>>, SignInStoreError> {
        let file = self.lock_file(key)?;
        match file.try_lock() {
            // Closing the file releases the lock, even if the process is killed.
            Ok(()) => Ok(Some(Box::new(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(file_error(&self.folder, source)),
        }
    }
}

fn file_error(path: &Path, source: io::Error) -> SignInStoreError {
    SignInStoreError::File { path: path.to_owned(), source }
}

/// Creates a folder that only its owner can enter.
fn create_private_folder(folder: &Path) -> Result<(), io::Error> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Syncs before the rename, so that after a crash the file holds the old record or the new one.
fn replace(folder: &Path, path: &Path, text: &[u8]) -> Result<(), io::Error> {
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
