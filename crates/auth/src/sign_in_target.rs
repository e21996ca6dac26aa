//! The server that somebody signs in to, as its entry says it.

use sha2::{Digest, Sha256};
use switchboard_config::OAuth;
use url::Url;

/// A server, and what its entry says about signing in. Two entries that differ in any of it share no token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignInTarget {
    /// Its configured name.
    pub name: String,
    /// Where it is.
    pub url: Url,
    /// What the entry says about signing in.
    pub oauth: OAuth,
}

// === impl SignInTarget ===

impl SignInTarget {
    /// A server of that name at that URL.
    pub fn new(name: impl Into<String>, url: Url, oauth: Option<OAuth>) -> Self {
        Self { name: name.into(), url, oauth: oauth.unwrap_or_default() }
    }

    /// A name for its credential that holds no secret: what the store keeps it under.
    pub fn store_key(&self) -> String {
        let oauth = serde_json::to_string(&self.oauth).unwrap_or_default();
        let mut hash = Sha256::new();
        for part in [self.name.as_str(), self.url.as_str(), &oauth] {
            // The lengths keep a byte from moving between neighbours unnoticed.
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
