//! The store in files: `<key>.json`, sealed and replaced atomically, and `<key>.lock` beside it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::key::{KeyPlace, Keychain, Keys};
use super::seal::Sealed;
use super::{Stamp, Store, StoreError};
use crate::account::Record;

/// Sign-ins in a folder.
pub struct FileStore {
    folder: PathBuf,
    keys: Keys,
}

// === impl FileStore ===

impl FileStore {
    /// A store in `folder`, which is made when something is first kept.
    pub fn new(folder: impl Into<PathBuf>, keychain: Arc<dyn Keychain>) -> Self {
        let folder = folder.into();
        Self { keys: Keys::new(folder.clone(), keychain), folder }
    }

    /// Where the key is with which the next sign-in is sealed.
    pub fn key_place(&self) -> Result<KeyPlace, StoreError> {
        let _alone = self.alone()?;
        Ok(self.keys.current()?.1)
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }

    /// Held while the key is looked for, so that two processes do not make two.
    fn alone(&self) -> Result<File, StoreError> {
        let file = self.lock_file("key")?;
        file.lock().map_err(|source| at(&self.folder, source))?;
        Ok(file)
    }

    fn lock_file(&self, key: &str) -> Result<File, StoreError> {
        private(&self.folder).map_err(|source| at(&self.folder, source))?;
        let path = self.folder.join(format!("{key}.lock"));
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        options.open(&path).map_err(|source| at(&path, source))
    }
}

impl Store for FileStore {
    fn load(&self, key: &str) -> Result<Option<Record>, StoreError> {
        let path = self.path(key);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(StoreError::File { path, source }),
        };
        let damaged = || StoreError::Damaged { path: path.clone() };
        let sealed: Sealed = serde_json::from_slice(&text).map_err(|_| damaged())?;
        let Some(opener) = self.keys.named(&sealed.key)? else {
            return Err(StoreError::NoKey { path });
        };
        let text = opener.open(key, &sealed).ok_or_else(damaged)?;
        serde_json::from_slice(&text).map(Some).map_err(|_| damaged())
    }

    fn save(&self, key: &str, record: &Record) -> Result<(), StoreError> {
        let path = self.path(key);
        let damaged = || StoreError::Damaged { path: path.clone() };
        let text = serde_json::to_vec(record).map_err(|_| damaged())?;
        let (current, _) = {
            let _alone = self.alone()?;
            self.keys.current()?
        };
        let sealed = current.seal(key, text).ok_or(StoreError::Random)?;
        let text = serde_json::to_vec(&sealed).map_err(|_| damaged())?;
        replace(&self.folder, &path, &text).map_err(|source| at(&path, source))
    }

    fn remove(&self, key: &str) -> Result<(), StoreError> {
        let path = self.path(key);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(&path, error)),
            _ => Ok(()),
        }
    }

    fn check(&self) -> Result<(), StoreError> {
        self.keys.check()
    }

    fn set_damaged_key_aside(&self) -> Result<Option<PathBuf>, StoreError> {
        if !matches!(self.check(), Err(StoreError::KeyDamaged { .. })) {
            return Ok(None);
        }
        // Judged again where no other process can put a new key in its place.
        let _alone = self.alone()?;
        self.keys.set_damaged_file_aside()
    }

    fn keys(&self) -> Result<Vec<String>, StoreError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(at(&self.folder, source)),
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut keys: Vec<_> =
            names.filter_map(|name| Some(name.strip_suffix(".json")?.to_owned())).collect();
        keys.sort();
        Ok(keys)
    }

    fn stamp(&self, key: &str) -> Option<Stamp> {
        let about = fs::metadata(self.path(key)).ok()?;
        let changed = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&about);
        #[cfg(not(unix))]
        let number = about.len();
        Some(Stamp { changed, number })
    }

    fn key_of(&self, key: &str) -> Option<KeyPlace> {
        let sealed: Sealed = serde_json::from_slice(&fs::read(self.path(key)).ok()?).ok()?;
        self.keys.place_of(&sealed.key)
    }

    fn try_lock(&self, key: &str) -> Result<Option<Box<dyn Send + Sync>>, StoreError> {
        let file = self.lock_file(key)?;
        match file.try_lock() {
            // Given back when the file is closed, by whom or what ever.
            Ok(()) => Ok(Some(Box::new(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(at(&self.folder, source)),
        }
    }
}

fn at(path: &Path, source: io::Error) -> StoreError {
    StoreError::File { path: path.to_owned(), source }
}

/// A folder that only its owner looks into.
fn private(folder: &Path) -> Result<(), io::Error> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// On the disk before it is renamed: what is there after a crash is the old record or the new one.
fn replace(folder: &Path, path: &Path, text: &[u8]) -> Result<(), io::Error> {
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
