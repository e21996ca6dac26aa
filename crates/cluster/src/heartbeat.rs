//! Heartbeats: what a replica tells the others of itself every three seconds, sealed, and the task that does it.
//!
//! Used by `cluster`, which runs the task, and by `status`, which reads the records. It does not decide what follows
//! from a heartbeat.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::nats::{Bucket, BucketPlan, NatsConnection};
use crate::{ClusterError, ClusterKeys, ClusterName, KeyPurpose, SealedValueError};

/// The time between two heartbeats.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(3);
/// A record of a replica that ended without a word is gone after this time.
pub(crate) const RECORD_AGE: Duration = Duration::from_secs(30);
/// The largest record.
const MAX_RECORD_BYTES: i32 = 16 * 1024;
/// The bytes of all records.
const MAX_RECORDS_BYTES: i64 = 16 << 20;
/// The format of records. A program reads its own and the earlier ones; of a later one it says that the version differs.
const RECORD_FORMAT: u32 = 1;

/// The name of one run of a replica: random, new with each start.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReplicaId(String);

/// What does not change while a replica runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaFacts {
    /// The program's version.
    pub version: String,
    /// The name of its machine.
    pub host: String,
    /// Where it listens.
    pub listen: String,
}

/// Tells the digest of the configuration as it is now; `None` while there is none yet.
pub(crate) type ConfigSource = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// One heartbeat.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HeartbeatRecord {
    pub(crate) format: u32,
    #[serde(flatten)]
    pub(crate) facts: ReplicaFacts,
    /// Milliseconds since 1970, by the clock of the replica.
    pub(crate) started: u64,
    pub(crate) sent: u64,
    /// The digest of the configuration.
    pub(crate) config: Option<String>,
    /// The ids of its keys; the first seals.
    pub(crate) keys: Vec<String>,
    /// How long NATS took to keep the heartbeat before, in milliseconds.
    pub(crate) write_millis: Option<u64>,
    /// What a person should know.
    pub(crate) warnings: Vec<String>,
}

/// Writes the heartbeats of one replica.
pub(crate) struct HeartbeatWriter {
    pub(crate) id: ReplicaId,
    pub(crate) facts: ReplicaFacts,
    pub(crate) keys: ClusterKeys,
    pub(crate) bucket: Bucket,
    pub(crate) config: ConfigSource,
    pub(crate) started: u64,
    pub(crate) last: LastContact,
}

/// When NATS last kept a heartbeat. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct LastContact(Arc<Mutex<ContactTimes>>);

#[derive(Debug, Clone, Copy)]
struct ContactTimes {
    at: Instant,
    took: Option<Duration>,
}

/// The bucket of a cluster's heartbeats.
pub(crate) fn heartbeat_bucket(name: &ClusterName) -> BucketPlan {
    BucketPlan {
        name: format!("switchboard_{name}_replicas"),
        description: "Switchboard: the replicas of a cluster, sealed",
        max_age: RECORD_AGE,
        max_value_bytes: MAX_RECORD_BYTES,
        max_bytes: MAX_RECORDS_BYTES,
    }
}

/// Milliseconds since 1970.
pub(crate) fn now_millis() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

// === impl ReplicaId ===

impl ReplicaId {
    /// A random id.
    pub(crate) fn random() -> Result<Self, ClusterError> {
        let mut bytes = [0_u8; 6];
        getrandom::fill(&mut bytes).map_err(|_| ClusterError::Random)?;
        let number = bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        Ok(Self(format!("{number:012x}")))
    }

    /// The id that is the key of a record.
    pub(crate) fn of_key(key: &str) -> Self {
        Self(key.to_owned())
    }

    /// The id that is written in `text`, if it is one.
    pub fn of_text(text: &str) -> Option<Self> {
        let is_id = text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id.then(|| Self(text.to_owned()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ReplicaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// === impl HeartbeatRecord ===

impl HeartbeatRecord {
    /// Opens what the bucket has under a replica's id.
    pub(crate) fn open(
        keys: &ClusterKeys,
        id: &str,
        sealed: &[u8],
    ) -> Result<Self, SealedValueError> {
        let text = keys.open(KeyPurpose::Heartbeat, id, sealed)?;
        let record: Self = serde_json::from_slice(&text).map_err(|_| SealedValueError::Foreign)?;
        if (1..=RECORD_FORMAT).contains(&record.format) {
            Ok(record)
        } else {
            Err(SealedValueError::Foreign)
        }
    }
}

// === impl HeartbeatWriter ===

impl HeartbeatWriter {
    /// Writes heartbeats until `over`.
    pub(crate) async fn run(self, over: CancellationToken) {
        let mut ticks = tokio::time::interval(HEARTBEAT_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first was written when the replica joined.
        ticks.tick().await;
        while over.run_until_cancelled(ticks.tick()).await.is_some() {
            let warnings = self.reload_keys().await;
            let written = over.run_until_cancelled(self.write(warnings)).await;
            if let Some(Err(error)) = written {
                tracing::warn!(error = &error as &dyn std::error::Error, "no heartbeat was kept");
            }
        }
    }

    /// Writes one heartbeat.
    pub(crate) async fn write(&self, warnings: Vec<String>) -> Result<(), ClusterError> {
        let record = HeartbeatRecord {
            format: RECORD_FORMAT,
            facts: self.facts.clone(),
            started: self.started,
            sent: now_millis(),
            config: (self.config)(),
            keys: self.keys.ids().iter().map(ToString::to_string).collect(),
            write_millis: self.last.write_millis(),
            warnings,
        };
        let text = serde_json::to_vec(&record)
            .map_err(|error| ClusterError::store("write a heartbeat", error))?;
        let sealed = self.keys.seal(KeyPurpose::Heartbeat, self.id.as_str(), &text)?;
        let begun = Instant::now();
        self.bucket.put(self.id.as_str(), sealed).await?;
        self.last.record(begun);
        Ok(())
    }

    /// Reads the key file again. Its reading may wait for a disk.
    async fn reload_keys(&self) -> Vec<String> {
        let keys = self.keys.clone();
        let reloaded = tokio::task::spawn_blocking(move || keys.reload()).await;
        match reloaded {
            Ok(Err(error)) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the cluster's key file cannot be used; the keys read before stay"
                );
                vec![format!("the key file cannot be used, the keys read before stay: {error}")]
            }
            Ok(Ok(())) | Err(_) => Vec::new(),
        }
    }
}

// === impl LastContact ===

impl LastContact {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(ContactTimes { at: Instant::now(), took: None })))
    }

    /// The time since the heartbeat before was sent.
    pub(crate) fn age(&self) -> Duration {
        self.0.lock().at.elapsed()
    }

    fn record(&self, begun: Instant) {
        *self.0.lock() = ContactTimes { at: begun, took: Some(begun.elapsed()) };
    }

    fn write_millis(&self) -> Option<u64> {
        self.0.lock().took.and_then(|took| u64::try_from(took.as_millis()).ok())
    }
}

/// All records of a cluster, readable or not.
pub(crate) async fn read_records(
    bucket: &Bucket,
    keys: &ClusterKeys,
    most: usize,
) -> Result<Vec<(ReplicaId, Result<HeartbeatRecord, SealedValueError>)>, ClusterError> {
    let values = bucket.values(most).await?;
    let read = |(key, sealed): (String, bytes::Bytes)| {
        let record = HeartbeatRecord::open(keys, &key, &sealed);
        (ReplicaId::of_key(&key), record)
    };
    Ok(values.into_iter().map(read).collect())
}

/// The connection and the open bucket of heartbeats, made if there is none.
pub(crate) async fn open_heartbeats(
    nats: &NatsConnection,
    name: &ClusterName,
) -> Result<Bucket, ClusterError> {
    Bucket::open_or_create(nats, &heartbeat_bucket(name)).await
}
