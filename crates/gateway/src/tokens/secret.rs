//! What a client sends, and what is kept of it.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// What every token begins with, so that people and scanners know one when they see it.
const TOKEN_PREFIX: &str = "sb_";
/// As many bytes as nobody can guess; a hash of so many needs no salt and no slowness.
const TOKEN_BYTES: usize = 32;

/// A token as its client sends it. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSecret(String);

/// What is kept of a token.
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

    /// The token itself, to be shown once.
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
