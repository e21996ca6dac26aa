//! Signatures of entries: equal for two entries that describe one server.
//!
//! Used by `resolve::servers` and the supervisor in `core` to find duplicates. An import compares more than the
//! server (`import::identity`).

use std::fmt;

use sha2::{Digest, Sha256};
use url::Url;

use super::{Entry, StdioTransport, Transport};
use crate::approval::hex;

/// The signature of an expanded entry: a hash of the URL, or of command, arguments and environment.
///
/// Only the hash is kept, because the environment holds secrets.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerSignature(String);

impl std::fmt::Display for ServerSignature {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl ServerSignature {
    /// The signature of an entry.
    pub fn of_entry(entry: &Entry) -> Self {
        let mut hasher = Sha256::new();
        match &entry.transport {
            Transport::Stdio(stdio) => parts(stdio).for_each(|part| {
                hasher.update(part.len().to_le_bytes());
                hasher.update(part);
            }),
            transport => hasher.update(canonical_url(transport.url().unwrap_or_default())),
        }
        Self(hex(&hasher.finalize()))
    }
}

fn parts(stdio: &StdioTransport) -> impl Iterator<Item = &str> {
    let env = stdio.env.iter().flat_map(|(name, value)| [name.as_str(), value]);
    let words = std::iter::once(&stdio.command).chain(&stdio.args).map(String::as_str);
    // The empty part separates arguments from variables: no variable has an empty name.
    words.chain([""]).chain(env)
}

/// Normalizes a URL: case of the host, default ports and dots in the path do not matter.
pub(crate) fn canonical_url(url: &str) -> String {
    let Ok(mut parsed) = Url::parse(url) else {
        return url.to_owned();
    };
    parsed.set_fragment(None);
    parsed.as_str().trim_end_matches('/').to_owned()
}

impl fmt::Debug for ServerSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0[..12])
    }
}
