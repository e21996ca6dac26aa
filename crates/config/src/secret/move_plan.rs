//! [`SecretMovePlan`]: which values of new entries move to the secret store, and under which names.
//!
//! Used by `add`, `import` and `setup`. It reads the store to choose names and changes nothing; the caller stores
//! [`SecretMovePlan::new_values`] before it writes an entry that names them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::find::{SecretValue, find_secret_values};
use super::name::secret_names;
use super::name_choice::SecretNameChoice;
use super::replace::replace_secret_values;
use super::storage::SecretStorage;
use super::text::SecretText;
use crate::error::Error;
use crate::resolve::Desired;

/// The values of new entries that move to the secret store.
#[derive(Debug, Clone, Default)]
pub struct SecretMovePlan {
    /// The values, in the order of the entries.
    pub moves: Vec<SecretMove>,
}

/// A value of a new entry that moves to the secret store.
#[derive(Debug, Clone)]
pub struct SecretMove {
    /// The server whose entry has the value.
    pub server: String,
    /// Where the value stands in the entry, as a path such as `env.TOKEN`.
    pub field: String,
    /// The name of the secret.
    pub secret: String,
    /// Whether the store has this value under this name already.
    pub is_stored: bool,
    value: SecretValue,
}

// === impl SecretMovePlan ===

impl SecretMovePlan {
    /// Plans to move every value of `entries` that looks like a secret.
    ///
    /// A name is never one that has another value, that a provider of the settings has, or that an entry of
    /// `desired` names without a value: such an entry would get a secret that was not meant for it.
    pub fn new<'a>(
        entries: impl IntoIterator<Item = (&'a str, &'a Value)>,
        storage: &dyn SecretStorage,
        desired: &Desired,
    ) -> Result<Self, Error> {
        let values = entries.into_iter().flat_map(|(server, entry)| {
            let values = find_secret_values(server, entry);
            values.into_iter().map(|value| (server.to_owned(), value))
        });
        let values: Vec<_> = values.collect();
        if values.is_empty() {
            return Ok(Self::default());
        }
        let stored = find_stored(&values, storage)?;
        let mut choice = SecretNameChoice::new(taken_names(&stored, desired));
        let moves = values.into_iter().map(|(server, value)| {
            let secret = choice.choose(&value);
            let is_stored = stored.get(&secret).and_then(Option::as_ref) == Some(&value.value);
            SecretMove { server, field: value.field.clone(), secret, is_stored, value }
        });
        Ok(Self { moves: moves.collect() })
    }

    /// The entry of a server with `${secret:NAME}` in place of each value that moves.
    #[must_use]
    pub fn replace_in(&self, server: &str, entry: &Value) -> Value {
        replace_secret_values(
            entry,
            self.of_server(server).map(|each| (&each.value, each.secret.as_str())),
        )
    }

    /// The values of a server's entry that move.
    pub fn of_server<'a>(&'a self, server: &str) -> impl Iterator<Item = &'a SecretMove> {
        self.moves.iter().filter(move |each| each.server == server)
    }

    /// The values that the store does not have yet, of those servers that `is_written` holds for.
    pub fn new_values(&self, is_written: impl Fn(&str) -> bool) -> BTreeMap<String, SecretText> {
        let new = self.moves.iter().filter(|each| !each.is_stored && is_written(&each.server));
        new.map(|each| (each.secret.clone(), each.value.value.clone())).collect()
    }
}

/// The stored secrets. Only the value of a name that could be chosen is opened; one that cannot be opened counts as
/// another value.
fn find_stored(
    values: &[(String, SecretValue)],
    storage: &dyn SecretStorage,
) -> Result<BTreeMap<String, Option<SecretText>>, Error> {
    let may_be_chosen =
        |name: &str| values.iter().any(|(_, value)| name.starts_with(&*value.suggested_name));
    let open = |name: String| {
        let value = may_be_chosen(&name).then(|| storage.stored_value(&name).ok().flatten());
        (name, value.flatten())
    };
    Ok(storage.stored_names()?.into_iter().map(open).collect())
}

/// The names in use, each with the value that may be shared.
fn taken_names(
    stored: &BTreeMap<String, Option<SecretText>>,
    desired: &Desired,
) -> BTreeMap<String, Option<SecretText>> {
    let named = desired.servers.iter().flat_map(|server| secret_names(&server.template.to_json()));
    let mut taken: BTreeMap<_, _> = named.map(|name| (name, None)).collect();
    taken.extend(stored.clone());
    taken.extend(desired.settings.secret_providers.keys().map(|name| (name.clone(), None)));
    taken
}
