//! The error of this crate: why a cluster cannot be joined or read.
//!
//! Used by every module here and by the program, which adds hints. It holds no secret: URLs are without their users.

use std::io;
use std::path::PathBuf;

/// Why a cluster cannot be joined or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The address of NATS cannot be used.
    #[error("cannot use the address of NATS: {reason}")]
    Address {
        /// What is wrong with it.
        reason: String,
    },
    /// The name of the cluster cannot be used.
    #[error(
        "`{name}` cannot be the name of a cluster: use 1 to 32 letters a to z, digits and hyphens"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// A file that only its owner may read is open to others.
    #[error("{} can be {access} by other users of this machine", path.display())]
    FileAccess {
        /// The file.
        path: PathBuf,
        /// `read` or `written`.
        access: &'static str,
    },
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The key file has another content than keys.
    #[error("{}: {reason}", path.display())]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, with the line.
        reason: String,
    },
    /// The file of credentials cannot be used.
    #[error("{}: {reason}", path.display())]
    Credentials {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// NATS cannot be reached, or does not let us in.
    #[error("cannot connect to NATS at {servers}")]
    Connect {
        /// The addresses, without users.
        servers: String,
        /// The cause.
        source: async_nats::ConnectError,
    },
    /// The server is too old.
    #[error("NATS at {servers} has version {version}, and a cluster needs 2.11 or later")]
    Version {
        /// The addresses, without users.
        servers: String,
        /// What the server says of itself.
        version: String,
    },
    /// NATS did what it was asked to do with an error.
    #[error("NATS: cannot {action}")]
    Store {
        /// What was asked.
        action: &'static str,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// NATS may not use as much storage as replicas need.
    #[error(
        "NATS has no room for the bucket `{bucket}`: JetStream cannot set {mebibytes} MiB aside"
    )]
    Space {
        /// The bucket.
        bucket: String,
        /// Its size.
        mebibytes: i64,
    },
    /// NATS did not answer.
    #[error("NATS: cannot {action}: no answer within {seconds} s")]
    Timeout {
        /// What was asked.
        action: &'static str,
        /// The deadline.
        seconds: u64,
    },
    /// Other replicas changed the same value all the time.
    #[error("cannot {action}: other replicas change it at the same time")]
    Contended {
        /// What was asked.
        action: &'static str,
    },
    /// A value is of a key or a version that this replica does not have.
    #[error("cannot {action}: {reason}")]
    Unreadable {
        /// What was asked.
        action: &'static str,
        /// What this replica lacks.
        reason: String,
    },
    /// The keys of the purposes cannot be derived.
    #[error("cannot derive the keys of the cluster")]
    Derive,
    /// A value cannot be sealed.
    #[error("the operating system provides no random numbers to seal with")]
    Random,
}

// === impl ClusterError ===

impl ClusterError {
    pub(crate) fn store(
        action: &'static str,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Self::Store { action, source: Box::new(source) }
    }
}
