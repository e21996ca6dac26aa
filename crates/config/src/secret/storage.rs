//! The line between this crate and the host that stores secrets.
//!
//! Used by [`SecretMovePlan`](super::SecretMovePlan) and by `setup`, which stores values and takes them back. Implemented by
//! `switchboard_auth`; this crate writes no secret itself.

use std::collections::{BTreeMap, BTreeSet};

use super::text::SecretText;
use crate::error::Error;

/// Stores secrets. Every failure is an [`Error::SecretStore`], whose text contains no value.
pub trait SecretStorage {
    /// The names of all stored secrets. Opens no keychain.
    fn stored_names(&self) -> Result<BTreeSet<String>, Error>;

    /// The stored value of a name, if there is one.
    fn stored_value(&self, name: &str) -> Result<Option<SecretText>, Error>;

    /// Stores all values or none, and replaces values of equal names.
    fn store_values(&self, values: &BTreeMap<String, SecretText>) -> Result<(), Error>;

    /// Removes a value, and returns whether there was one.
    fn remove_value(&self, name: &str) -> Result<bool, Error>;
}
