//! The stores of sign-ins and of secrets: sealed with one key in the operating system's keychain, a file for
//! each server, and one file for all secrets.
//!
//! Used by `sign_in`, `oauth_credentials`, `organisation`, `host_secrets` and `switchboard login`. The keychain holds one key
//! rather than every token. So each process reads the keychain once, a token of any size fits, a rotation is
//! one atomic replacement, and another process sees it from the file's stamp.

mod file;
mod key;
mod seal;
mod sealer;
mod secret_store;
mod stored_record;

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub use file::FileSignInStore;
pub use key::{KeyLocation, Keychain, NoKeychain, SystemKeychain};
pub use secret_store::{SecretStore, SecretStoreError};
pub(crate) use stored_record::{RecordLock, StoredRecord};

use crate::account::SignInRecord;

/// A store of sign-ins. Every method but `stamp` may block on a disk or a keychain.
///
/// An implementation replaces a record whole or not at all, and its locks end with the process that holds
/// them.
pub trait SignInStore: Send + Sync + 'static {
    /// Loads the record under `key`.
    fn load(&self, key: &str) -> Result<Option<SignInRecord>, SignInStoreError>;

    /// Saves the record, replacing the previous one.
    fn save(&self, key: &str, record: &SignInRecord) -> Result<(), SignInStoreError>;

    /// Deletes the record.
    fn remove(&self, key: &str) -> Result<(), SignInStoreError>;

    /// Checks beforehand, as far as possible, that a record can be saved and opened again.
    fn check(&self) -> Result<(), SignInStoreError> {
        Ok(())
    }

    /// Renames a damaged key, so that the next record is sealed with a new key. Returns the new path if it
    /// did.
    ///
    /// Records that the damaged key sealed stay: they open again if the key is restored.
    fn set_damaged_key_aside(&self) -> Result<Option<PathBuf>, SignInStoreError> {
        Ok(None)
    }

    /// The keys of all records.
    fn keys(&self) -> Result<Vec<String>, SignInStoreError>;

    /// The stamp of a record; differs after every change.
    fn stamp(&self, key: &str) -> Option<RecordStamp>;

    /// Where the sealing key of a record is; `None` if the record needs none or its key is missing.
    fn key_location_of(&self, key: &str) -> Option<KeyLocation> {
        let _ = key;
        None
    }

    /// Locks a record for a change, until the lock is dropped; `None` if another holder has it.
    fn try_lock(&self, key: &str) -> Result<Option<Box<dyn Send + Sync>>, SignInStoreError>;
}

/// The stamp of a record file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordStamp {
    changed: SystemTime,
    /// The inode: a replaced file has another one, even within one tick of the clock.
    number: u64,
}

/// How other users could have read or chosen the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyExposure {
    /// The file's mode permits it.
    Mode,
    /// Another user owns the file.
    Owner,
}

// === impl KeyExposure ===

impl KeyExposure {
    /// An error about the file at `path`, with a hint.
    fn advice(self, path: &Path) -> String {
        let path = path.display();
        match self {
            Self::Mode => format!("other users can read or change it; run `chmod 600 {path}`"),
            Self::Owner => format!("`{path}` belongs to another user; remove it and sign in again"),
        }
    }
}

/// A failure of the sign-in store.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // fields: `path` is the file, `source` the cause
pub enum SignInStoreError {
    /// A file could not be read or written.
    #[error("cannot use `{}`", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The file does not hold a sealed record.
    #[error("`{}` is damaged", path.display())]
    Damaged { path: PathBuf },
    /// The key that sealed the record is missing.
    #[error("the keychain that holds the key of `{}` cannot be reached from here", path.display())]
    NoKey { path: PathBuf },
    /// Other users can read or change the key file, so it is not used.
    #[error("the key to your sign-ins is not used: {}", exposure.advice(path))]
    KeyExposed { path: PathBuf, exposure: KeyExposure },
    /// The key file does not hold a key.
    #[error(
        "the key to your sign-ins is damaged: `{}` does not hold the {} bytes of a key",
        path.display(), key::KEY_BYTES
    )]
    KeyDamaged { path: PathBuf },
    /// The operating system returned no random numbers.
    #[error("the operating system provides no random numbers")]
    Random,
    /// The cryptography refuses to seal a record.
    #[error("cannot encrypt `{}`", path.display())]
    Seal { path: PathBuf },
    /// Another process holds the lock for too long.
    #[error("another process has been renewing the sign-in for {seconds} seconds")]
    Busy { seconds: u64 },
    /// A keychain or a disk does not answer.
    #[error("the store did not answer within {seconds} seconds")]
    Stuck { seconds: u64 },
}
