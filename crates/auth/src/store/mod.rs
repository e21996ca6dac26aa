//! Where sign-ins are kept: one sealed file for each server, the key to them in the operating system's keychain.
//!
//! The keychain holds one key rather than every token. So it is asked once for each process, a token of any size fits,
//! a rotation is one atomic replacement, and another process sees it by looking at a file.

mod file;
mod key;
mod seal;
mod stored_record;

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub use file::FileSignInStore;
pub use key::{KeyLocation, Keychain, NoKeychain, SystemKeychain};
pub(crate) use stored_record::{RecordLock, StoredRecord};

use crate::account::SignInRecord;

/// Where sign-ins are kept. Every call may touch a disk or a keychain, but for `stamp`.
///
/// An implementation replaces a record whole or not at all, and its locks end with the process that holds them.
pub trait SignInStore: Send + Sync + 'static {
    /// What is kept under `key`.
    fn load(&self, key: &str) -> Result<Option<SignInRecord>, SignInStoreError>;

    /// Keeps it in place of what was there.
    fn save(&self, key: &str, record: &SignInRecord) -> Result<(), SignInStoreError>;

    /// Forgets it.
    fn remove(&self, key: &str) -> Result<(), SignInStoreError>;

    /// Whether a record could be saved and opened again, as far as that can be told beforehand.
    fn check(&self) -> Result<(), SignInStoreError> {
        Ok(())
    }

    /// Renames a damaged key, so that the next record is sealed with a new one; the new path, if that was done.
    ///
    /// Records that the damaged key sealed stay where they are: they open again if the key is restored.
    fn set_damaged_key_aside(&self) -> Result<Option<PathBuf>, SignInStoreError> {
        Ok(None)
    }

    /// Everything that is kept, by key.
    fn keys(&self) -> Result<Vec<String>, SignInStoreError>;

    /// Changes whenever what is kept under `key` does.
    fn stamp(&self, key: &str) -> Option<RecordStamp>;

    /// Where the key is that opens what is kept under `key`; nothing where none is needed or to be had.
    fn key_location_of(&self, key: &str) -> Option<KeyLocation> {
        let _ = key;
        None
    }

    /// The right to change what is kept under `key`, given back when dropped; nothing if somebody else has it.
    fn try_lock(&self, key: &str) -> Result<Option<Box<dyn Send + Sync>>, SignInStoreError>;
}

/// Tells one state of a record from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordStamp {
    changed: SystemTime,
    /// A replaced file is another file, even within one tick of the clock.
    number: u64,
}

/// How other users could know the key, or have chosen it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyExposure {
    /// Its mode lets them.
    Mode,
    /// The file is one of theirs.
    Owner,
}

// === impl KeyExposure ===

impl KeyExposure {
    /// What is wrong with the file at `path`, and what to do about it.
    fn advice(self, path: &Path) -> String {
        let path = path.display();
        match self {
            Self::Mode => format!("other users can read or change it; run `chmod 600 {path}`"),
            Self::Owner => format!("`{path}` belongs to another user; remove it and sign in again"),
        }
    }
}

/// What is kept could not be read or written.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // fields: `path` is the file, `source` the cause
pub enum SignInStoreError {
    /// The disk said no.
    #[error("cannot use `{}`", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The file is not what was written.
    #[error("`{}` is damaged", path.display())]
    Damaged { path: PathBuf },
    /// The key that it was sealed with is not to be had.
    #[error("the keychain that holds the key of `{}` cannot be reached from here", path.display())]
    NoKey { path: PathBuf },
    /// Other users can read or change the file that holds the key, so it is not used.
    #[error("the key to your sign-ins is not used: {}", exposure.advice(path))]
    KeyExposed { path: PathBuf, exposure: KeyExposure },
    /// The file that holds the key does not hold one.
    #[error(
        "the key to your sign-ins is damaged: `{}` does not hold the {} bytes of a key",
        path.display(), key::KEY_BYTES
    )]
    KeyDamaged { path: PathBuf },
    /// The operating system gives no random numbers.
    #[error("the operating system gives no random numbers")]
    Random,
    /// The cryptography refuses to seal a record.
    #[error("cannot encrypt `{}`", path.display())]
    Seal { path: PathBuf },
    /// Somebody else holds it, for too long.
    #[error("another process has been renewing the sign-in for {seconds} seconds")]
    Busy { seconds: u64 },
    /// A keychain, or a disk, that does not answer.
    #[error("the store did not answer within {seconds} seconds")]
    Stuck { seconds: u64 },
}
