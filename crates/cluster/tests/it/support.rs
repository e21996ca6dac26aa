//! Replicas of tests: key files in temporary folders, and waiting with a deadline.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use switchboard_cluster::{
    Cluster, ClusterError, ClusterOptions, ClusterStatus, ReplicaFacts, read_status,
};
use tempfile::TempDir;

/// The time within which everything must happen.
const DEADLINE: Duration = Duration::from_secs(20);

/// A folder with files that only their owner can read.
pub(crate) struct Secrets(TempDir);

impl Secrets {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A file with this text; an existing one is replaced.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    /// A file with the key that is 32 times this byte.
    pub(crate) fn key(&self, byte: u8) -> PathBuf {
        self.file(&format!("key{byte}"), &format!("{byte:02x}").repeat(32))
    }
}

/// The options of a replica.
pub(crate) fn options(url: &str, key_file: &Path) -> ClusterOptions {
    ClusterOptions::new(url.parse().unwrap(), "team".parse().unwrap(), key_file.to_owned())
}

/// Joins as a replica on a machine of this name, with a configuration of this digest.
pub(crate) async fn try_join(
    options: &ClusterOptions,
    host: &str,
    config: &str,
) -> Result<Cluster, ClusterError> {
    let facts = ReplicaFacts {
        version: "1.2.3".to_owned(),
        host: host.to_owned(),
        listen: "127.0.0.1:1".to_owned(),
    };
    let config = config.to_owned();
    let joining = Cluster::join(options, facts, Arc::new(move || Some(config.clone())));
    tokio::time::timeout(DEADLINE, joining).await.expect("joining hangs")
}

pub(crate) async fn join(options: &ClusterOptions, host: &str, config: &str) -> Cluster {
    try_join(options, host, config).await.unwrap()
}

pub(crate) async fn status(options: &ClusterOptions) -> ClusterStatus {
    tokio::time::timeout(DEADLINE, read_status(options)).await.expect("it hangs").unwrap()
}

/// Polls until `so` is true.
pub(crate) async fn until(what: &str, so: impl Fn() -> bool) {
    let polling = async {
        while !so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(DEADLINE, polling).await.unwrap_or_else(|_| panic!("never: {what}"));
}

/// Whether one of the texts holds all of these parts.
pub(crate) fn says(texts: &[String], parts: &[&str]) -> bool {
    texts.iter().any(|text| parts.iter().all(|part| text.contains(part)))
}
