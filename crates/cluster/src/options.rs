//! Options of a replica that joins: the addresses of NATS, the cluster's name, and the files with secrets.
//!
//! Used by the program, which makes it from flags, and by `cluster` and `status`. It opens no file and no connection.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::ClusterError;
use crate::nats::NatsAddresses;

/// The longest name of a cluster.
const MAX_NAME_BYTES: usize = 32;
/// How long NATS may be away.
const DEFAULT_STALE_AFTER: Duration = Duration::from_secs(60);

/// How a cluster is reached and entered.
#[derive(Debug, Clone)]
pub struct ClusterOptions {
    /// Where NATS is.
    pub servers: NatsAddresses,
    /// The cluster's name.
    pub name: ClusterName,
    /// The file with the cluster's keys.
    pub key_file: PathBuf,
    /// The file with the credentials for NATS, if the address has none.
    pub credentials_file: Option<PathBuf>,
    /// The certificate of the authority that signed those of NATS, in PEM, if the system does not know it.
    pub ca_file: Option<PathBuf>,
    /// How long a replica that cannot reach NATS counts as part of its cluster, 60 s by default.
    pub stale_after: Duration,
}

/// The name of a cluster: a part of names in NATS, and of everything that replicas seal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterName(String);

// === impl ClusterOptions ===

impl ClusterOptions {
    /// The options without credentials.
    pub fn new(servers: NatsAddresses, name: ClusterName, key_file: PathBuf) -> Self {
        let stale_after = DEFAULT_STALE_AFTER;
        Self { servers, name, key_file, credentials_file: None, ca_file: None, stale_after }
    }
}

// === impl ClusterName ===

impl ClusterName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ClusterName {
    type Err = ClusterError;

    fn from_str(name: &str) -> Result<Self, ClusterError> {
        let is_allowed =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(is_allowed) {
            return Ok(Self(name.to_owned()));
        }
        Err(ClusterError::Name { name: name.to_owned() })
    }
}

impl fmt::Display for ClusterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parts_of_subjects() {
        for (name, is_name) in [
            ("team", true),
            ("team-2", true),
            ("", false),
            ("Team", false),
            ("a.b", false),
            ("a*", false),
            ("a b", false),
            (&"a".repeat(32), true),
            (&"a".repeat(33), false),
        ] {
            assert_eq!(name.parse::<ClusterName>().is_ok(), is_name, "{name}");
        }
    }
}
