//! The keys of a cluster: one file, one key per line; the first seals, all open.
//!
//! Used by every module that shares something, and by the program for handles of clients. [`ClusterKeys`] is the file as it is now; `seal` is what one key does. Whoever has
//! a key is trusted fully. It does not choose what is sealed.

mod file;
mod seal;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;

pub use seal::{KeyId, KeyPurpose, SealedValueError};

use crate::{ClusterError, ClusterName};
use seal::ClusterKey;

/// A keyed digest of 128 bits.
pub(crate) type Digest = [u8; 16];

/// The keys of one cluster. Clones share them.
#[derive(Clone)]
pub struct ClusterKeys(Arc<SharedKeys>);

struct SharedKeys {
    path: PathBuf,
    name: ClusterName,
    current: RwLock<Arc<KeySet>>,
}

/// The keys of one reading of the file.
struct KeySet {
    text: String,
    /// At least one; the first seals.
    keys: Vec<ClusterKey>,
}

// === impl ClusterKeys ===

impl ClusterKeys {
    /// Reads the key file of the cluster `name`.
    pub fn load(path: &Path, name: &ClusterName) -> Result<Self, ClusterError> {
        let current = RwLock::new(Arc::new(KeySet::read(path, name)?));
        Ok(Self(Arc::new(SharedKeys { path: path.to_owned(), name: name.clone(), current })))
    }

    /// Reads the file again. A file that has become unusable changes nothing.
    pub fn reload(&self) -> Result<(), ClusterError> {
        let SharedKeys { path, name, current } = &*self.0;
        let read = KeySet::read(path, name)?;
        if current.read().text != read.text {
            tracing::info!(keys = read.keys.len(), "the cluster's key file has changed");
            *current.write() = Arc::new(read);
        }
        Ok(())
    }

    /// The ids of all keys; the first is that of the key that seals.
    pub fn ids(&self) -> Vec<KeyId> {
        self.set().keys.iter().map(ClusterKey::id).collect()
    }

    /// Seals a value for one purpose and one place, such as the key in a bucket.
    pub fn seal(
        &self,
        purpose: KeyPurpose,
        place: &str,
        value: &[u8],
    ) -> Result<Vec<u8>, ClusterError> {
        let set = self.set();
        let key = set.keys.first().ok_or(ClusterError::Random)?;
        key.seal(purpose, place, value).ok_or(ClusterError::Random)
    }

    /// A digest of a value under the key that seals now: NATS cannot guess the value from it.
    pub(crate) fn digest(&self, value: &[u8]) -> Result<Digest, ClusterError> {
        let set = self.set();
        let key = set.keys.first().ok_or(ClusterError::Random)?;
        let mut digest = Digest::default();
        digest.iter_mut().zip(key.digest(value).as_ref()).for_each(|(to, from)| *to = *from);
        Ok(digest)
    }

    /// Opens a value that a replica sealed for this purpose and this place.
    pub fn open(
        &self,
        purpose: KeyPurpose,
        place: &str,
        sealed: &[u8],
    ) -> Result<Vec<u8>, SealedValueError> {
        let id = KeyId::of_sealed(sealed).ok_or(SealedValueError::Foreign)?;
        let set = self.set();
        let key = set.keys.iter().find(|key| key.id() == id);
        key.ok_or(SealedValueError::UnknownKey(id))?.open(purpose, place, sealed)
    }

    /// Whether the key that seals now has sealed a value.
    pub(crate) fn seals_like(&self, sealed: &[u8]) -> bool {
        let current = self.set().keys.first().map(ClusterKey::id);
        current.is_some() && current == KeyId::of_sealed(sealed)
    }

    fn set(&self) -> Arc<KeySet> {
        Arc::clone(&self.0.current.read())
    }
}

impl std::fmt::Debug for ClusterKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClusterKeys").field("ids", &self.ids()).finish_non_exhaustive()
    }
}

// === impl KeySet ===

impl KeySet {
    fn read(path: &Path, name: &ClusterName) -> Result<Self, ClusterError> {
        let text = crate::private_text::read_private_text(path)?;
        let secrets = file::parse_keys(&text)
            .map_err(|reason| ClusterError::KeyFile { path: path.to_owned(), reason })?;
        let keys = secrets.iter().map(|secret| ClusterKey::new(secret, name));
        let keys = keys.collect::<Option<_>>().ok_or(ClusterError::Derive)?;
        Ok(Self { text, keys })
    }
}
