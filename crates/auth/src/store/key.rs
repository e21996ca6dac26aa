//! The keys that seal records: in the keychain of the operating system, else in a file that only its owner
//! can read.
//!
//! Used by `store::file`. It does not seal (`store::seal`).

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use switchboard_config::private_file::create_private_file;

use super::seal::RecordKey;
use super::{KeyExposure, SignInStoreError};

const KEYCHAIN_SERVICE: &str = "switchboard";
const KEYCHAIN_USER: &str = "sign-ins";
const KEY_FILE_NAME: &str = "key";
/// The length of a key.
pub(super) const KEY_BYTES: usize = 32;
/// How much of the key file is read: enough to see that it is longer than a key.
const MAX_KEY_FILE_BYTES: u64 = 64;

/// Where the key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyLocation {
    /// In the operating system's keychain.
    Keychain,
    /// In a file that existed before.
    File,
    /// In a file that was just created, because there is no keychain.
    NewFile,
}

/// A keychain that holds one secret.
pub trait Keychain: Send + Sync + 'static {
    /// Returns the secret, or `None` if there is none yet; an error if the keychain is unavailable.
    fn get(&self) -> Result<Option<Vec<u8>>, io::Error>;

    /// Stores the secret.
    fn set(&self, secret: &[u8]) -> Result<(), io::Error>;
}

/// The operating system's keychain: macOS Keychain, Secret Service.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemKeychain;

/// A keychain that is never available.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoKeychain;

/// The keys of a store. The keychain is read once; the key file is checked each time, since its mode may
/// change.
pub(super) struct RecordKeys {
    folder: PathBuf,
    keychain: Arc<dyn Keychain>,
    known: Mutex<CachedKeys>,
}

#[derive(Default)]
struct CachedKeys {
    keychain: Option<RecordKey>,
    place: Option<KeyLocation>,
}

// === impl SystemKeychain ===

impl SystemKeychain {
    fn entry() -> Result<keyring::Entry, io::Error> {
        keyring::Entry::new(KEYCHAIN_SERVICE, KEYCHAIN_USER).map_err(io::Error::other)
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

// === impl RecordKeys ===

impl RecordKeys {
    pub(super) fn new(folder: PathBuf, keychain: Arc<dyn Keychain>) -> Self {
        Self { folder, keychain, known: Mutex::default() }
    }

    /// Checks that a key exists or can be created. A key file that is not private matters only without a
    /// keychain.
    pub(super) fn check(&self) -> Result<(), SignInStoreError> {
        let of_file = self.file_key();
        if of_file.is_err() && self.known_keychain().is_some() {
            return Ok(());
        }
        of_file.map(drop)
    }

    /// Renames a damaged key file if there is no keychain instead. The caller holds the lock among processes.
    pub(super) fn set_damaged_file_aside(&self) -> Result<Option<PathBuf>, SignInStoreError> {
        let Err(SignInStoreError::KeyDamaged { path }) = self.check() else { return Ok(None) };
        let aside = free_path(&path);
        match fs::rename(&path, &aside) {
            Ok(()) => Ok(Some(aside)),
            Err(source) => Err(SignInStoreError::File { path, source }),
        }
    }

    /// Returns the key with this name, for opening. A key file that is not private is an error only if its
    /// key is needed.
    pub(super) fn find_key(&self, name: &str) -> Result<Option<RecordKey>, SignInStoreError> {
        let of_file = self.file_key();
        if let Ok(Some(key)) = &of_file
            && key.name() == name
        {
            return Ok(Some(key.clone()));
        }
        match self.known_keychain().filter(|key| key.name() == name) {
            Some(key) => Ok(Some(key)),
            None => of_file.map(|_| None),
        }
    }

    /// Where the key with this name is.
    pub(super) fn place_of(&self, name: &str) -> Option<KeyLocation> {
        self.find_key(name).ok().flatten()?;
        let is_file = self.file_key().is_ok_and(|key| key.is_some_and(|key| key.name() == name));
        Some(if is_file { KeyLocation::File } else { KeyLocation::Keychain })
    }

    /// Returns the key for sealing: the keychain's if there is one. The caller holds the lock among
    /// processes.
    pub(super) fn sealing_key(&self) -> Result<(RecordKey, KeyLocation), SignInStoreError> {
        let mut known = self.lock_cache();
        if known.keychain.is_none() {
            known.keychain = self.of_keychain_or_new()?;
        }
        if let Some(key) = &known.keychain {
            return Ok((key.clone(), KeyLocation::Keychain));
        }
        let (key, place) = self.of_file()?;
        // A file that this process created stays `NewFile` for this process.
        let place = *known.place.get_or_insert(place);
        Ok((key, place))
    }

    /// Returns the keychain's key; read once, and again until the keychain has one.
    fn known_keychain(&self) -> Option<RecordKey> {
        let mut known = self.lock_cache();
        if known.keychain.is_none() {
            known.keychain = self.of_keychain().ok().flatten();
        }
        known.keychain.clone()
    }

    fn of_keychain(&self) -> Result<Option<RecordKey>, io::Error> {
        Ok(self.keychain.get()?.and_then(|bytes| RecordKey::from_bytes(&bytes)))
    }

    /// Returns the keychain's key, or creates one; `None` without a keychain.
    fn of_keychain_or_new(&self) -> Result<Option<RecordKey>, SignInStoreError> {
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
        let key = RecordKey::random().ok_or(SignInStoreError::Random)?;
        // Read back, because a keychain that does not store the key counts as none.
        let kept = self.keychain.set(key.bytes()).and_then(|()| self.of_keychain());
        Ok(kept.ok().flatten())
    }

    fn of_file(&self) -> Result<(RecordKey, KeyLocation), SignInStoreError> {
        if let Some(key) = self.file_key()? {
            return Ok((key, KeyLocation::File));
        }
        let path = self.path();
        let failed = |source| SignInStoreError::File { path: path.clone(), source };
        let key = RecordKey::random().ok_or(SignInStoreError::Random)?;
        create_private_file(&path, key.bytes()).map_err(failed)?;
        tracing::warn!("there is no keychain; the key to stored sign-ins is in {}", path.display());
        Ok((key, KeyLocation::NewFile))
    }

    fn file_key(&self) -> Result<Option<RecordKey>, SignInStoreError> {
        let path = self.path();
        match read_key_file(&path) {
            Ok(KeyFileContent::Missing) => Ok(None),
            Ok(KeyFileContent::Key(key)) => Ok(Some(key)),
            Ok(KeyFileContent::Exposed(exposure)) => {
                Err(SignInStoreError::KeyExposed { path, exposure })
            }
            Ok(KeyFileContent::Damaged) => Err(SignInStoreError::KeyDamaged { path }),
            Err(source) => Err(SignInStoreError::File { path, source }),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.join(KEY_FILE_NAME)
    }

    fn lock_cache(&self) -> parking_lot::MutexGuard<'_, CachedKeys> {
        self.known.lock()
    }
}

/// The content of the key file.
enum KeyFileContent {
    Missing,
    Key(RecordKey),
    /// A key that other users may have read or written.
    Exposed(KeyExposure),
    /// No key: an empty file, a part of a key, a text.
    Damaged,
}

fn read_key_file(path: &Path) -> Result<KeyFileContent, io::Error> {
    let mut options = OpenOptions::new();
    options.read(true);
    // `O_NONBLOCK`: opening a pipe must not block.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, nix::libc::O_NONBLOCK);
    let file = match options.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(KeyFileContent::Missing);
        }
        Err(error) => return Err(error),
    };
    // The metadata of the open file, so that the checked file is the one that is read.
    if let Some(exposure) = exposure(&file.metadata()?) {
        return Ok(KeyFileContent::Exposed(exposure));
    }
    let mut bytes = Vec::new();
    file.take(MAX_KEY_FILE_BYTES).read_to_end(&mut bytes)?;
    Ok(RecordKey::from_bytes(&bytes).map_or(KeyFileContent::Damaged, KeyFileContent::Key))
}

/// How other users could have read or written a file.
#[cfg(unix)]
fn exposure(about: &fs::Metadata) -> Option<KeyExposure> {
    use std::os::unix::fs::MetadataExt as _;
    if about.uid() != nix::unistd::geteuid().as_raw() {
        return Some(KeyExposure::Owner);
    }
    (about.mode() & 0o077 != 0).then_some(KeyExposure::Mode)
}

#[cfg(not(unix))]
fn exposure(_: &fs::Metadata) -> Option<KeyExposure> {
    None
}

/// A free path beside `path`: `key.damaged`, else `key.damaged-2` and so on.
fn free_path(path: &Path) -> PathBuf {
    let mut free = path.with_extension("damaged");
    let mut number = 1;
    while fs::symlink_metadata(&free).is_ok() {
        number += 1;
        free = path.with_extension(format!("damaged-{number}"));
    }
    free
}
