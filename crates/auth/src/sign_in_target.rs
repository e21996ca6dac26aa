//! The server to sign in to, as its entry describes it.
//!
//! Used by `sign_in` and by the commands and credentials in `cli`.

use sha2::{Digest, Sha256};
use switchboard_config::OAuth;
use url::Url;

/// A server with its entry's OAuth settings. Entries with different settings share no token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignInTarget {
    /// The configured name.
    pub name: String,
    /// The server's URL.
    pub url: Url,
    /// The entry's OAuth settings.
    pub oauth: OAuth,
    /// The id of the principal that signs in; `None` for the local one.
    pub principal: Option<String>,
}

// === impl SignInTarget ===

impl SignInTarget {
    /// A server with this name and URL.
    pub fn new(name: impl Into<String>, url: Url, oauth: Option<OAuth>) -> Self {
        Self { name: name.into(), url, oauth: oauth.unwrap_or_default(), principal: None }
    }

    /// The same server, for a principal other than the local one. Its record in the store is another.
    #[must_use]
    pub fn for_principal(self, id: impl Into<String>) -> Self {
        Self { principal: Some(id.into()), ..self }
    }

    /// The key of its record in the store: a hash that contains no secret.
    pub fn store_key(&self) -> String {
        let oauth = self.oauth.to_json().to_string();
        let mut hash = Sha256::new();
        let parts = [self.name.as_str(), self.url.as_str(), &oauth];
        for part in parts.into_iter().chain(self.principal.as_deref()) {
            // The lengths keep two neighbouring parts from hashing alike when a byte moves between them.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hash.finalize()[..16].iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn every_part_counts() {
        let subject = |name: &str, url: &str, id: Option<&str>| {
            let oauth = OAuth { client_id: id.map(str::to_owned), ..OAuth::default() };
            SignInTarget::new(name, url.parse().unwrap(), Some(oauth)).store_key()
        };
        let first = subject("a", "https://x/", None);
        assert_eq!(first, subject("a", "https://x/", None));
        assert_eq!(first.len(), 32);
        for other in [
            subject("b", "https://x/", None),
            subject("a", "https://y/", None),
            subject("a", "https://x/", Some("me")),
        ] {
            assert_ne!(first, other);
        }
    }
}
