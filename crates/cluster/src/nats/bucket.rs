//! A bucket: small values by key in NATS, kept on three nodes where there are three.
//!
//! Used by `heartbeat`, `status` and `sessions`. Every answer has a deadline. It does not know what the values are.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::context::{
    CreateKeyValueError, CreateStreamError, CreateStreamErrorKind,
};
use async_nats::jetstream::kv::UpdateErrorKind;
use async_nats::jetstream::stream::LastRawMessageErrorKind;
use async_nats::jetstream::{ErrorCode, kv};
use bytes::Bytes;
use futures_util::StreamExt as _;

use super::{ANSWER_TIMEOUT, NatsConnection};
use crate::ClusterError;

/// On how many nodes NATS keeps a bucket, where it has as many.
const WANTED_COPIES: usize = 3;

/// What a bucket is to be.
#[derive(Debug, Clone)]
pub(crate) struct BucketPlan {
    /// The name, of letters, digits, hyphens and underscores.
    pub(crate) name: String,
    /// What it holds, for people who look into NATS.
    pub(crate) description: &'static str,
    /// The time after which a value is gone.
    pub(crate) max_age: Duration,
    /// The largest value.
    pub(crate) max_value_bytes: i32,
    /// The largest sum of all values. NATS sets it aside on each node, although it may never be used.
    pub(crate) max_bytes: i64,
}

/// An open bucket. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Bucket(Arc<kv::Store>);

/// How NATS keeps a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoreFacts {
    /// The nodes that keep it.
    pub(crate) copies: usize,
    /// Whether NATS has several nodes.
    pub(crate) is_clustered: bool,
}

// === impl Bucket ===

impl Bucket {
    /// Opens the bucket, made if there is none.
    pub(crate) async fn open_or_create(
        nats: &NatsConnection,
        plan: &BucketPlan,
    ) -> Result<Self, ClusterError> {
        if let Some(bucket) = Self::open(nats, plan).await? {
            return Ok(bucket);
        }
        let action = "make a bucket";
        let create = |copies| nats.jetstream.create_key_value(plan.config(copies));
        let timed = tokio::time::timeout(ANSWER_TIMEOUT, create(WANTED_COPIES)).await;
        match timed {
            Ok(Ok(store)) => Ok(Self(Arc::new(store))),
            Ok(Err(error)) if lacks_nodes(&error) => {
                let created = tokio::time::timeout(ANSWER_TIMEOUT, create(1)).await;
                let timeout = ClusterError::Timeout { action, seconds: ANSWER_TIMEOUT.as_secs() };
                let store = created.map_err(|_| timeout)?;
                store.map(|store| Self(Arc::new(store))).map_err(|error| plan.not_made(error))
            }
            Ok(Err(error)) => Err(plan.not_made(error)),
            Err(_) => Err(ClusterError::Timeout { action, seconds: ANSWER_TIMEOUT.as_secs() }),
        }
    }

    /// Opens the bucket, if there is one.
    pub(crate) async fn open(
        nats: &NatsConnection,
        plan: &BucketPlan,
    ) -> Result<Option<Self>, ClusterError> {
        use async_nats::jetstream::context::GetStreamErrorKind;
        let stream = format!("KV_{}", plan.name);
        let found = tokio::time::timeout(ANSWER_TIMEOUT, nats.jetstream.get_stream(&stream)).await;
        let action = "open a bucket";
        match found {
            Ok(Ok(_)) => {
                let store = nats.jetstream.get_key_value(&plan.name);
                NatsConnection::within(action, store).await.map(|store| Some(Self(Arc::new(store))))
            }
            Ok(Err(error)) => match error.kind() {
                GetStreamErrorKind::JetStream(cause)
                    if cause.error_code() == ErrorCode::STREAM_NOT_FOUND =>
                {
                    Ok(None)
                }
                _ => Err(ClusterError::store(action, error)),
            },
            Err(_) => Err(ClusterError::Timeout { action, seconds: ANSWER_TIMEOUT.as_secs() }),
        }
    }

    /// Writes a value, and waits until NATS has it.
    pub(crate) async fn put(&self, key: &str, value: Vec<u8>) -> Result<(), ClusterError> {
        NatsConnection::within("write a value", self.0.put(key, Bytes::from(value))).await?;
        Ok(())
    }

    /// Reads a value from any node that keeps it. For values that never change under their key.
    pub(crate) async fn get(&self, key: &str) -> Result<Option<Bytes>, ClusterError> {
        NatsConnection::within("read a value", self.0.get(key)).await
    }

    /// Reads a value from the leader, so that no earlier write is missed, with its revision.
    pub(crate) async fn get_latest(&self, key: &str) -> Result<Option<(Bytes, u64)>, ClusterError> {
        let (action, subject) = ("read a value", format!("{}{key}", self.0.prefix));
        let reading = self.0.stream.get_last_raw_message_by_subject(&subject);
        match tokio::time::timeout(ANSWER_TIMEOUT, reading).await {
            Ok(Ok(message)) => Ok(Some((message.payload, message.sequence))),
            Ok(Err(error)) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Ok(Err(error)) => Err(ClusterError::store(action, error)),
            Err(_) => Err(ClusterError::Timeout { action, seconds: ANSWER_TIMEOUT.as_secs() }),
        }
    }

    /// Writes a value if the present one has this revision, 0 for none. Whether it was written.
    pub(crate) async fn put_if_unchanged(
        &self,
        key: &str,
        value: Vec<u8>,
        revision: u64,
    ) -> Result<bool, ClusterError> {
        let action = "write a value";
        let writing = self.0.update(key, Bytes::from(value), revision);
        match tokio::time::timeout(ANSWER_TIMEOUT, writing).await {
            Ok(Ok(_)) => Ok(true),
            Ok(Err(error)) if error.kind() == UpdateErrorKind::WrongLastRevision => Ok(false),
            Ok(Err(error)) => Err(ClusterError::store(action, error)),
            Err(_) => Err(ClusterError::Timeout { action, seconds: ANSWER_TIMEOUT.as_secs() }),
        }
    }

    /// The changes from now on, or after a revision.
    pub(crate) async fn watch(&self, after: Option<u64>) -> Result<kv::Watch, ClusterError> {
        let action = "watch a bucket";
        match after {
            None => NatsConnection::within(action, self.0.watch_all()).await,
            Some(revision) => {
                NatsConnection::within(action, self.0.watch_all_from_revision(revision + 1)).await
            }
        }
    }

    /// Each value as it is now, then the changes.
    pub(crate) async fn watch_whole(&self) -> Result<kv::Watch, ClusterError> {
        NatsConnection::within("watch a bucket", self.0.watch_with_history(">")).await
    }

    /// Removes a value.
    pub(crate) async fn delete(&self, key: &str) -> Result<(), ClusterError> {
        NatsConnection::within("remove a value", self.0.delete(key)).await
    }

    /// All keys, `most` at most.
    pub(crate) async fn keys(&self, most: usize) -> Result<Vec<String>, ClusterError> {
        let keys = async {
            let keys =
                self.0.keys().await.map_err(|error| ClusterError::store("list keys", error))?;
            let keys: Vec<_> = keys.take(most).collect().await;
            Ok::<_, ClusterError>(keys)
        };
        let keys = tokio::time::timeout(ANSWER_TIMEOUT, keys).await;
        let timeout =
            || ClusterError::Timeout { action: "list keys", seconds: ANSWER_TIMEOUT.as_secs() };
        let keys = keys.map_err(|_| timeout())??.into_iter();
        keys.map(|key| key.map_err(|error| ClusterError::store("list keys", error))).collect()
    }

    /// All values, `most` at most.
    pub(crate) async fn values(&self, most: usize) -> Result<Vec<(String, Bytes)>, ClusterError> {
        let mut values = Vec::new();
        for key in self.keys(most).await? {
            let value = NatsConnection::within("read a value", self.0.get(key.clone())).await?;
            // It may have expired since it was listed.
            values.extend(value.map(|value| (key, value)));
        }
        Ok(values)
    }

    /// How NATS keeps it, as of its opening.
    pub(crate) fn facts(&self) -> StoreFacts {
        let info = self.0.stream.cached_info();
        // A single node names itself as the leader, of a cluster without a name.
        let name = info.cluster.as_ref().and_then(|cluster| cluster.name.as_deref());
        let is_clustered = name.is_some_and(|name| !name.is_empty());
        StoreFacts { copies: info.config.num_replicas.max(1), is_clustered }
    }
}

/// Whether NATS has too few nodes for the wanted copies, which is no error of a small installation.
fn lacks_nodes(error: &CreateKeyValueError) -> bool {
    let codes = [ErrorCode::STREAM_REPLICAS_NOT_SUPPORTED, ErrorCode::CLUSTER_NO_PEERS];
    creation_code(error).is_some_and(|code| codes.contains(&code))
}

/// Whether NATS may not use as much storage as a bucket is to have.
fn lacks_space(error: &CreateKeyValueError) -> bool {
    let codes = [
        ErrorCode::STORAGE_RESOURCES_EXCEEDED,
        ErrorCode::INSUFFICIENT_RESOURCES,
        ErrorCode::ACCOUNT_RESOURCES_EXCEEDED,
        ErrorCode::MEMORY_RESOURCES_EXCEEDED,
    ];
    creation_code(error).is_some_and(|code| codes.contains(&code))
}

fn creation_code(error: &CreateKeyValueError) -> Option<ErrorCode> {
    match error.source()?.downcast_ref::<CreateStreamError>()?.kind() {
        CreateStreamErrorKind::JetStream(cause) => Some(cause.error_code()),
        _ => None,
    }
}

// === impl BucketPlan ===

impl BucketPlan {
    fn not_made(&self, error: CreateKeyValueError) -> ClusterError {
        if lacks_space(&error) {
            let mebibytes = self.max_bytes >> 20;
            return ClusterError::Space { bucket: self.name.clone(), mebibytes };
        }
        ClusterError::store("make a bucket", error)
    }

    fn config(&self, copies: usize) -> kv::Config {
        kv::Config {
            bucket: self.name.clone(),
            description: self.description.to_owned(),
            history: 1,
            max_age: self.max_age,
            max_value_size: self.max_value_bytes,
            max_bytes: self.max_bytes,
            num_replicas: copies,
            ..Default::default()
        }
    }
}
