//! The secret of a token, and the digest that is stored instead.
//!
//! Used by `store` and `verifier`. It does not store tokens.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The prefix of every token, so that people and scanners recognise one.
const TOKEN_PREFIX: &str = "sb_";
/// The number of random bytes. They cannot be guessed, so the hash needs no salt and no slow
/// function.
const TOKEN_BYTES: usize = 32;

/// A token as its client sends it. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSecret(String);

/// The stored hash of a token.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct TokenDigest(String);

// === impl TokenSecret ===

impl TokenSecret {
    pub(super) fn new() -> Result<Self, getrandom::Error> {
        let mut random = [0; TOKEN_BYTES];
        getrandom::fill(&mut random)?;
        Ok(Self(format!("{TOKEN_PREFIX}{}", URL_SAFE_NO_PAD.encode(random))))
    }

    /// Whether a text has the form of our tokens.
    pub(super) fn has_form(text: &str) -> bool {
        text.starts_with(TOKEN_PREFIX)
    }

    /// The token's text, to be shown once.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

// === impl TokenDigest ===

impl TokenDigest {
    pub(super) fn of(token: &str) -> Self {
        Self(URL_SAFE_NO_PAD.encode(Sha256::digest(token)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_long_known_by_its_beginning_and_not_shown() {
        let (one, other) = (TokenSecret::new().unwrap(), TokenSecret::new().unwrap());
        assert_ne!(one, other);
        assert!(one.reveal().starts_with("sb_") && one.reveal().len() == 46, "{}", one.reveal());
        assert!(!format!("{one:?}").contains("sb_"));
        assert_ne!(TokenDigest::of(one.reveal()), TokenDigest::of(other.reveal()));
    }
}
