//! The store of secrets: one private file of names with sealed values.
//!
//! Used by `switchboard secret`, `add`, `import`, `setup`, and [`HostSecrets`](crate::HostSecrets). Names are readable without
//! the key, so that listing secrets opens no keychain. Values are sealed one by one with the key of the
//! sign-ins, so one that was sealed while the keychain was locked does not depend on it, and none is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use switchboard_config::edit::StateFile;
use switchboard_config::secret::{SecretStorage, SecretText};

use super::SignInStoreError;
use super::key::{KeyLocation, Keychain};
use super::seal::SealedRecord;
use super::sealer::RecordSealer;

/// The file of secrets in user state.
const SECRETS_FILE_NAME: &str = "secrets.json";

/// The secrets of one user.
pub struct SecretStore {
    file: StateFile,
    sealer: RecordSealer,
}

/// The content of the file.
#[derive(Default, Serialize, Deserialize)]
struct SealedSecrets {
    #[serde(default)]
    version: u32,
    #[serde(default)]
    secrets: BTreeMap<String, SealedRecord>,
}

/// A failure of the secret store. The texts contain no value.
#[derive(Debug, thiserror::Error)]
pub enum SecretStoreError {
    /// The file could not be read or written.
    #[error(transparent)]
    File(#[from] switchboard_config::Error),
    /// A value could not be sealed or opened.
    #[error(transparent)]
    Key(#[from] SignInStoreError),
}

// === impl SecretStore ===

impl SecretStore {
    /// The store in a state folder; its key is the one of the sign-ins in `sign_ins`.
    pub fn new(state_dir: &Path, sign_ins: &Path, keychain: Arc<dyn Keychain>) -> Self {
        let file = StateFile::new(state_dir, SECRETS_FILE_NAME);
        Self { file, sealer: RecordSealer::new(sign_ins, keychain) }
    }

    /// The path of the file.
    pub fn path(&self) -> PathBuf {
        self.file.path().to_owned()
    }

    /// Where the key for the next value is, or would be.
    pub fn key_location(&self) -> Result<KeyLocation, SecretStoreError> {
        Ok(self.sealer.key_location()?)
    }

    /// The names of all secrets, in order. Needs no key.
    pub fn names(&self) -> Result<Vec<String>, SecretStoreError> {
        Ok(self.load()?.secrets.into_keys().collect())
    }

    /// The value of a secret, if there is one.
    pub fn find(&self, name: &str) -> Result<Option<SecretText>, SecretStoreError> {
        let Some(sealed) = self.load()?.secrets.remove(name) else {
            return Ok(None);
        };
        let text = self.sealer.open(&label(name), &sealed, self.file.path())?;
        let text =
            String::from_utf8(text).map_err(|_| SignInStoreError::Damaged { path: self.path() })?;
        Ok(Some(SecretText::new(text)))
    }

    /// Stores all values or none, and replaces values of equal names.
    pub fn set(&self, values: &BTreeMap<String, SecretText>) -> Result<(), SecretStoreError> {
        let seal = |(name, value): (&String, &SecretText)| {
            let text = value.expose().as_bytes().to_vec();
            let sealed = self.sealer.seal(&label(name), text, self.file.path())?;
            Ok((name.clone(), sealed))
        };
        let sealed: Vec<_> = values.iter().map(seal).collect::<Result<_, SecretStoreError>>()?;
        self.change(|secrets| secrets.extend(sealed))
    }

    /// Removes a secret, and returns whether there was one.
    pub fn remove(&self, name: &str) -> Result<bool, SecretStoreError> {
        self.change(|secrets| secrets.remove(name).is_some())
    }

    fn load(&self) -> Result<SealedSecrets, SecretStoreError> {
        Ok(self.file.load()?)
    }

    fn change<R>(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, SealedRecord>) -> R,
    ) -> Result<R, SecretStoreError> {
        self.file.change(|stored: &mut SealedSecrets| {
            stored.version = 1;
            Ok(change(&mut stored.secrets))
        })
    }
}

impl SecretStorage for SecretStore {
    fn stored_names(&self) -> Result<BTreeSet<String>, switchboard_config::Error> {
        Ok(self.names()?.into_iter().collect())
    }

    fn stored_value(&self, name: &str) -> Result<Option<SecretText>, switchboard_config::Error> {
        Ok(self.find(name)?)
    }

    fn store_values(
        &self,
        values: &BTreeMap<String, SecretText>,
    ) -> Result<(), switchboard_config::Error> {
        Ok(self.set(values)?)
    }

    fn remove_value(&self, name: &str) -> Result<bool, switchboard_config::Error> {
        Ok(self.remove(name)?)
    }
}

// === impl SecretStoreError ===

impl From<SecretStoreError> for switchboard_config::Error {
    fn from(error: SecretStoreError) -> Self {
        Self::SecretStore { source: error.into() }
    }
}

/// The label under which a value is sealed: it opens under no other name, and never as a sign-in.
fn label(name: &str) -> String {
    format!("secret {name}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::NoKeychain;

    fn store(folder: &Path) -> SecretStore {
        SecretStore::new(folder, &folder.join("sign-ins"), Arc::new(NoKeychain))
    }

    fn values(pairs: &[(&str, &str)]) -> BTreeMap<String, SecretText> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), SecretText::new(*value))).collect()
    }

    #[test]
    fn values_are_sealed_and_found_by_another_process() {
        let folder = tempfile::tempdir().unwrap();
        store(folder.path()).set(&values(&[("A", "MARKER-one"), ("B", "")])).unwrap();
        let other = store(folder.path());
        assert_eq!(other.names().unwrap(), ["A", "B"]);
        assert_eq!(other.find("A").unwrap().unwrap().expose(), "MARKER-one");
        assert_eq!(other.find("C").unwrap(), None);
        let text = std::fs::read_to_string(other.path()).unwrap();
        assert!(!text.contains("MARKER"), "{text}");
        assert!(other.remove("A").unwrap());
        assert!(!other.remove("A").unwrap());
        assert_eq!(other.names().unwrap(), ["B"]);
    }

    #[test]
    fn a_value_does_not_open_under_another_name() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path());
        store.set(&values(&[("A", "one"), ("B", "two")])).unwrap();
        let swapped = std::fs::read_to_string(store.path()).unwrap().replace("\"A\"", "\"C\"");
        std::fs::write(store.path(), swapped).unwrap();
        assert!(matches!(
            store.find("C"),
            Err(SecretStoreError::Key(SignInStoreError::Damaged { .. }))
        ));
    }

    #[test]
    fn a_lost_key_loses_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        store(folder.path()).set(&values(&[("A", "one")])).unwrap();
        let key = folder.path().join("sign-ins/key");
        std::fs::rename(&key, folder.path().join("away")).unwrap();
        let locked = store(folder.path());
        assert!(matches!(
            locked.find("A"),
            Err(SecretStoreError::Key(SignInStoreError::NoKey { .. }))
        ));
        locked.set(&values(&[("B", "two")])).unwrap();
        assert_eq!(locked.find("B").unwrap().unwrap().expose(), "two");
        std::fs::rename(folder.path().join("away"), &key).unwrap();
        assert_eq!(store(folder.path()).find("A").unwrap().unwrap().expose(), "one");
    }
}
