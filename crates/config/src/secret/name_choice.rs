//! [`SecretNameChoice`]: one name for each value that is moved to the secret store.
//!
//! Used by `add`, `import` and `setup`. Equal values under one suggestion share a name; a name that another
//! value has gets a number.

use std::collections::BTreeMap;

use super::find::SecretValue;
use super::text::SecretText;

/// The names in use, each with its value where that is known.
#[derive(Debug, Clone, Default)]
pub struct SecretNameChoice {
    taken: BTreeMap<String, Option<SecretText>>,
}

// === impl SecretNameChoice ===

impl SecretNameChoice {
    /// A choice beside the secrets that exist already. A name without a value is never shared.
    pub fn new(taken: impl IntoIterator<Item = (String, Option<SecretText>)>) -> Self {
        Self { taken: taken.into_iter().collect() }
    }

    /// The name for a value: the suggested one, if it is free or has this value already.
    pub fn choose(&mut self, value: &SecretValue) -> String {
        let numbered = (2_u32..).map(|number| format!("{}_{number}", value.suggested_name));
        let mut names = std::iter::once(value.suggested_name.clone()).chain(numbered);
        let is_usable = |name: &String| match self.taken.get(name) {
            None => true,
            Some(taken) => taken.as_ref() == Some(&value.value),
        };
        let name = names.find(is_usable).unwrap_or_else(|| value.suggested_name.clone());
        self.taken.insert(name.clone(), Some(value.value.clone()));
        name
    }
}
