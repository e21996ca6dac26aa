//! Where the key is: in the keychain of the operating system, else in a file that only its owner reads.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::StoreError;
use super::seal::Key;

const SERVICE: &str = "switchboard";
const USER: &str = "sign-ins";
const FILE: &str = "key";

/// Where the key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// In the operating system's keychain.
    Keychain,
    /// In a file, which has been there before.
    File,
    /// In a file that was made just now, because there is no keychain.
    NewFile,
}

/// A keychain: keeps one secret.
pub trait Keychain: Send + Sync + 'static {
    /// The secret, `None` where there is none yet; an error where the keychain is not to be had.
    fn get(&self) -> Result<Option<Vec<u8>>, io::Error>;

    /// Keeps it.
    fn set(&self, secret: &[u8]) -> Result<(), io::Error>;
}

/// The operating system's: macOS Keychain, Windows Credential Manager, Secret Service.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemKeychain;

/// None.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoKeychain;

/// The keys of a store, each asked for once.
pub(super) struct Keys {
    folder: PathBuf,
    keychain: Arc<dyn Keychain>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    keychain: Option<Key>,
    file: Option<Key>,
    place: Option<KeyPlace>,
}

// === impl SystemKeychain ===

impl SystemKeychain {
    fn entry() -> Result<keyring::Entry, io::Error> {
        keyring::Entry::new(SERVICE, USER).map_err(io::Error::other)
    }
}

impl Keychain for SystemKeychain {
    fn get(&self) -> Result<Option<Vec<u8>>, io::Error> {
        match Self::entry()?.get_secret() {
            Ok(secret) => Ok(Some(secret)),
            Err(keyring::Error::NoEntry) => Ok(None),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    fn set(&self, secret: &[u8]) -> Result<(), io::Error> {
        Self::entry()?.set_secret(secret).map_err(io::Error::other)
    }
}

// === impl NoKeychain ===

impl Keychain for NoKeychain {
    fn get(&self) -> Result<Option<Vec<u8>>, io::Error> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn set(&self, _: &[u8]) -> Result<(), io::Error> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

// === impl Keys ===

impl Keys {
    pub(super) fn new(folder: PathBuf, keychain: Arc<dyn Keychain>) -> Self {
        Self { folder, keychain, known: Mutex::default() }
    }

    /// The key of that name, for opening.
    pub(super) fn named(&self, name: &str) -> Option<Key> {
        let mut known = self.known();
        if known.file.is_none() {
            known.file = read(&self.path()).ok().flatten();
        }
        if let Some(key) = known.file.as_ref().filter(|key| key.name() == name) {
            return Some(key.clone());
        }
        if known.keychain.is_none() {
            known.keychain = self.of_keychain().ok().flatten();
        }
        known.keychain.clone().filter(|key| key.name() == name)
    }

    /// Where the key of that name is.
    pub(super) fn place_of(&self, name: &str) -> Option<KeyPlace> {
        self.named(name)?;
        let is_file = self.known().file.as_ref().is_some_and(|key| key.name() == name);
        Some(if is_file { KeyPlace::File } else { KeyPlace::Keychain })
    }

    /// The key for sealing: the keychain's where there is one. Called by one process at a time.
    pub(super) fn current(&self) -> Result<(Key, KeyPlace), StoreError> {
        let mut known = self.known();
        if known.keychain.is_none() {
            known.keychain = self.of_keychain_or_new()?;
        }
        if let Some(key) = &known.keychain {
            return Ok((key.clone(), KeyPlace::Keychain));
        }
        if known.file.is_none() {
            let (key, place) = self.of_file()?;
            known.file = Some(key);
            known.place = Some(place);
        }
        let key = known.file.clone().ok_or(StoreError::Random)?;
        Ok((key, known.place.unwrap_or(KeyPlace::File)))
    }

    fn of_keychain(&self) -> Result<Option<Key>, io::Error> {
        Ok(self.keychain.get()?.and_then(|bytes| Key::from_bytes(&bytes)))
    }

    /// Nothing where there is no keychain.
    fn of_keychain_or_new(&self) -> Result<Option<Key>, StoreError> {
        let missing = match self.of_keychain() {
            Ok(None) => true,
            Ok(found) => return Ok(found),
            Err(error) => {
                tracing::debug!(%error, "no keychain");
                false
            }
        };
        if !missing {
            return Ok(None);
        }
        let key = Key::random().ok_or(StoreError::Random)?;
        // What was kept is what counts: a keychain that forgets is none.
        let kept = self.keychain.set(key.bytes()).and_then(|()| self.of_keychain());
        Ok(kept.ok().flatten())
    }

    fn of_file(&self) -> Result<(Key, KeyPlace), StoreError> {
        let path = self.path();
        let failed = |source| StoreError::File { path: path.clone(), source };
        if let Some(key) = read(&path).map_err(failed)? {
            return Ok((key, KeyPlace::File));
        }
        let key = Key::random().ok_or(StoreError::Random)?;
        write(&path, key.bytes()).map_err(failed)?;
        tracing::warn!("there is no keychain; the key to stored sign-ins is in {}", path.display());
        Ok((key, KeyPlace::NewFile))
    }

    fn path(&self) -> PathBuf {
        self.folder.join(FILE)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(path: &Path) -> Result<Option<Key>, io::Error> {
    match fs::read(path) {
        Ok(bytes) => match Key::from_bytes(&bytes) {
            Some(key) => Ok(Some(key)),
            None => Err(io::ErrorKind::InvalidData.into()),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), io::Error> {
    let mut options = OpenOptions::new();
    options.create_new(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
