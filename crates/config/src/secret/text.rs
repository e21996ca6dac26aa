//! [`SecretText`]: the value of a secret, which debug output does not show.
//!
//! Used by the secret stores, `resolve::secrets` and `secret::replace`, between a store and an entry. It has no `Display` and no `Serialize`.

use std::fmt;

use crate::redact::REDACTED;

/// Shorter values are not searched for in texts: they would match parts of ordinary words.
const MIN_SEARCHED_BYTES: usize = 6;

/// The value of a secret.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretText(String);

// === impl SecretText ===

impl SecretText {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for the server that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Redacts the value wherever it occurs in `text`.
    #[must_use]
    pub fn redact_in(&self, text: &str) -> String {
        if self.0.len() < MIN_SEARCHED_BYTES {
            return text.to_owned();
        }
        text.replace(&self.0, REDACTED)
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_not_shown() {
        let secret = SecretText::new("hunter2!");
        assert_eq!(format!("{secret:?}"), "SecretText(..)");
        assert_eq!(secret.redact_in("token hunter2! refused"), "token ******** refused");
        assert_eq!(SecretText::new("a").redact_in("a tale"), "a tale");
    }
}
