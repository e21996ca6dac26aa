//! All replicas of a cluster, as their heartbeats tell, with what is wrong.
//!
//! Used by `switchboard cluster status`, and by `cluster` for its warnings. It joins nothing and changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Serialize;

use crate::heartbeat::{
    self, HEARTBEAT_INTERVAL, HeartbeatRecord, RECORD_AGE, ReplicaFacts, ReplicaId,
};
use crate::nats::{Bucket, NatsConnection, StoreFacts};
use crate::{ClusterError, ClusterKeys, ClusterOptions, SealedValueError};

/// The most replicas that are read.
pub(crate) const MAX_REPLICAS: usize = 256;
/// A replica without a heartbeat for this time is silent.
pub(crate) const SILENT_AFTER: Duration = Duration::from_secs(10);
/// Clocks that differ by more are reported.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(2);

/// A cluster at one moment.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    /// The cluster's name.
    pub cluster: String,
    /// Where NATS is.
    pub nats: String,
    /// The version of NATS.
    pub nats_version: String,
    /// The nodes of NATS that keep what the replicas share; 0 before any replica has joined.
    pub copies: usize,
    /// The replicas, longest running first.
    pub replicas: Vec<ReplicaStatus>,
    /// What should be put right.
    pub warnings: Vec<String>,
    /// What cannot be checked from here.
    pub notes: Vec<String>,
}

/// One replica.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaStatus {
    /// Its id.
    pub id: ReplicaId,
    /// Whether it is heard of.
    pub state: ReplicaState,
    /// Its version, machine and address.
    #[serde(flatten)]
    pub facts: ReplicaFacts,
    /// How long it has been running, in milliseconds.
    pub running_ms: u64,
    /// The age of its last heartbeat in milliseconds.
    pub lag_ms: u64,
    /// How long NATS took to keep a heartbeat, in milliseconds.
    pub write_ms: Option<u64>,
    /// The digest of its configuration.
    pub config: Option<String>,
    /// The ids of its keys; the first seals.
    pub keys: Vec<String>,
}

/// Whether a replica is heard of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ReplicaState {
    /// Its heartbeats arrive.
    Alive,
    /// There has been no heartbeat for ten seconds.
    Silent,
}

type ReadRecord = (ReplicaId, Result<HeartbeatRecord, SealedValueError>);

/// Reads the state of a cluster.
pub async fn read_status(options: &ClusterOptions) -> Result<ClusterStatus, ClusterError> {
    let keys = ClusterKeys::load(&options.key_file, &options.name)?;
    let nats = NatsConnection::open(options).await?;
    let bucket = Bucket::open(&nats, &heartbeat::heartbeat_bucket(&options.name)).await?;
    let mut status = ClusterStatus {
        cluster: options.name.to_string(),
        nats: nats.servers().to_owned(),
        nats_version: nats.version(),
        copies: 0,
        replicas: Vec::new(),
        warnings: Vec::new(),
        notes: vec![
            "NATS does not tell its clients how it writes to disk: set `sync_interval: always` in the `jetstream` \
             block of each node, so that a power failure loses nothing"
                .to_owned(),
        ],
    };
    if let Some(bucket) = bucket {
        let records = heartbeat::read_records(&bucket, &keys, MAX_REPLICAS).await?;
        status.copies = bucket.facts().copies;
        status.add_records(&records, bucket.facts(), heartbeat::now_millis());
    }
    Ok(status)
}

/// What is wrong with how NATS keeps the cluster's data.
pub(crate) fn storage_warnings(facts: StoreFacts) -> Vec<String> {
    let text = match facts {
        StoreFacts { copies: 3.., .. } => return Vec::new(),
        StoreFacts { is_clustered: true, copies } => format!(
            "NATS has several nodes, but keeps the cluster's data on {copies}; with three it survives the loss of one"
        ),
        StoreFacts { .. } => {
            "NATS is one node: if it ends, the replicas are apart; run three nodes".to_owned()
        }
    };
    vec![text]
}

/// What is wrong with records that cannot be read.
pub(crate) fn unreadable_warnings(records: &[ReadRecord]) -> Vec<String> {
    let unreadable = records.iter().filter_map(|(id, record)| Some((id, record.as_ref().err()?)));
    unreadable
        .map(|(id, error)| match error {
            SealedValueError::UnknownKey(key) => format!(
                "replica {id} has another key file: its heartbeat was sealed with key {key}, which is not in this one"
            ),
            SealedValueError::Foreign => {
                format!("the heartbeat of replica {id} was refused: {error}, or its version is another one")
            }
        })
        .collect()
}

// === impl ClusterStatus ===

impl ClusterStatus {
    fn add_records(&mut self, records: &[ReadRecord], facts: StoreFacts, now: u64) {
        self.warnings.extend(storage_warnings(facts));
        self.warnings.extend(unreadable_warnings(records));
        let readable =
            || records.iter().filter_map(|(id, record)| Some((id, record.as_ref().ok()?)));
        for (id, record) in readable() {
            self.warnings
                .extend(record.warnings.iter().map(|text| format!("replica {id}: {text}")));
            // NATS forgets a heartbeat by its own clock, so an older one was sent by a clock that is behind.
            let behind = Duration::from_millis(now.saturating_sub(record.sent));
            if behind > RECORD_AGE + CLOCK_TOLERANCE {
                let seconds = behind.as_secs();
                self.warnings.push(format!(
                    "the clock of replica {id} is about {seconds} s behind this one; replicas refuse messages that are \
                     30 s off"
                ));
            }
            let ahead = Duration::from_millis(record.sent.saturating_sub(now));
            if ahead > CLOCK_TOLERANCE {
                let seconds = ahead.as_secs();
                self.warnings
                    .push(format!("the clock of replica {id} is {seconds} s ahead of this one; replicas refuse messages that are 30 s off"));
            }
        }
        self.replicas =
            readable().map(|(id, record)| ReplicaStatus::new(id, record, now)).collect();
        self.replicas.sort_by_key(|replica| std::cmp::Reverse(replica.running_ms));
        let alive: Vec<_> =
            self.replicas.iter().filter(|replica| replica.state == ReplicaState::Alive).collect();
        let warnings = [version_warning(&alive), key_warning(&alive)].into_iter().flatten();
        let warnings: Vec<_> = warnings.chain(drift_warnings(&alive)).collect();
        self.warnings.extend(warnings);
        let silent = self.replicas.iter().filter(|replica| replica.state == ReplicaState::Silent);
        let silent = silent.map(|replica| {
            format!(
                "replica {} on {} is silent: no heartbeat for {} s",
                replica.id,
                replica.facts.host,
                replica.lag_ms / 1000
            )
        });
        let silent: Vec<_> = silent.collect();
        self.warnings.extend(silent);
    }
}

fn version_warning(alive: &[&ReplicaStatus]) -> Option<String> {
    let versions: BTreeSet<_> =
        alive.iter().map(|replica| replica.facts.version.as_str()).collect();
    let listed = || versions.iter().copied().collect::<Vec<_>>().join(", ");
    (versions.len() > 1).then(|| format!("the replicas run different versions: {}", listed()))
}

/// A replica that lacks the key with which another one seals cannot read what that one writes.
fn key_warning(alive: &[&ReplicaStatus]) -> Option<String> {
    let sealing: BTreeSet<_> = alive.iter().filter_map(|replica| replica.keys.first()).collect();
    let lacks = |replica: &&&ReplicaStatus| sealing.iter().any(|key| !replica.keys.contains(key));
    let lacking: Vec<_> =
        alive.iter().filter(lacks).map(|replica| replica.id.to_string()).collect();
    (!lacking.is_empty()).then(|| {
        format!("the key files differ: {} cannot open what others seal", lacking.join(", "))
    })
}

/// Replicas of one version whose configuration differs. Another version may describe the same configuration otherwise.
fn drift_warnings(alive: &[&ReplicaStatus]) -> Vec<String> {
    let mut versions: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for replica in alive {
        if let Some(config) = &replica.config {
            let configs = versions.entry(&replica.facts.version).or_default();
            configs.entry(config).or_default().push(replica.id.as_str());
        }
    }
    let drifting = versions.values().filter(|configs| configs.len() > 1);
    drifting
        .map(|configs| {
            let groups = configs
                .iter()
                .map(|(config, replicas)| format!("{config} on {}", replicas.join(", ")));
            format!(
                "the configuration is not the same everywhere: {}",
                groups.collect::<Vec<_>>().join("; ")
            )
        })
        .collect()
}

// === impl ReplicaStatus ===

impl ReplicaStatus {
    fn new(id: &ReplicaId, record: &HeartbeatRecord, now: u64) -> Self {
        let lag_ms = now.saturating_sub(record.sent);
        let is_silent = Duration::from_millis(lag_ms) > SILENT_AFTER;
        Self {
            id: id.clone(),
            state: if is_silent { ReplicaState::Silent } else { ReplicaState::Alive },
            facts: record.facts.clone(),
            running_ms: now.saturating_sub(record.started),
            lag_ms,
            write_ms: record.write_millis,
            config: record.config.clone(),
            keys: record.keys.clone(),
        }
    }
}

const _: () = assert!(SILENT_AFTER.as_secs() > 3 * HEARTBEAT_INTERVAL.as_secs());
