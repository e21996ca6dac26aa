//! A small table that every replica has whole: sealed values by key, read once and then followed.
//!
//! Used by the program for tokens. A value is written only over the one that its writer has seen. Values stay until they
//! are replaced. It does not know what the values are.

use std::collections::BTreeMap;
use std::time::Duration;

use async_nats::jetstream::kv::{Entry, Operation, Watch};
use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::sync::mpsc;

use crate::nats::{Bucket, BucketPlan, NatsConnection};
use crate::{ClusterError, ClusterKeys, ClusterName, KeyPurpose};

/// The most values.
const MAX_ROWS: usize = 16 * 1024;
/// The largest value, sealed.
const MAX_ROW_BYTES: i32 = 32 * 1024;
/// The bytes of all values.
const MAX_TABLE_BYTES: i64 = 32 << 20;
/// The changes that wait to be taken.
const CHANGE_QUEUE: usize = 256;
/// The pause before a watch that ended is opened again.
const WATCH_RETRY: Duration = Duration::from_secs(1);

/// A table of a cluster. Clones share it.
#[derive(Debug, Clone)]
pub struct SharedTable {
    keys: ClusterKeys,
    bucket: Bucket,
    purpose: KeyPurpose,
}

/// A value with its place among the changes of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableRow {
    /// Its key.
    pub key: String,
    /// The value; `None` where NATS has one that this replica cannot open.
    pub value: Option<Vec<u8>>,
    /// Its revision.
    pub revision: u64,
    /// Whether the first line of the key file sealed it, as of its reading.
    pub is_current: bool,
}

// === impl SharedTable ===

impl SharedTable {
    /// Opens the table of tokens, made if there is none.
    pub(crate) async fn open_tokens(
        nats: &NatsConnection,
        name: &ClusterName,
        keys: ClusterKeys,
    ) -> Result<Self, ClusterError> {
        let plan = BucketPlan {
            name: format!("switchboard_{name}_tokens"),
            description: "Switchboard: tokens of clients, sealed",
            max_age: Duration::ZERO,
            max_value_bytes: MAX_ROW_BYTES,
            max_bytes: MAX_TABLE_BYTES,
        };
        let bucket = Bucket::open_or_create(nats, &plan).await?;
        Ok(Self { keys, bucket, purpose: KeyPurpose::Token })
    }

    /// All values as they are now.
    pub async fn rows(&self) -> Result<BTreeMap<String, TableRow>, ClusterError> {
        let mut rows = BTreeMap::new();
        for key in self.bucket.keys(MAX_ROWS).await? {
            if let Some((sealed, revision)) = self.bucket.get_latest(&key).await? {
                let row = self.row(key, &sealed, revision);
                rows.insert(row.key.clone(), row);
            }
        }
        Ok(rows)
    }

    /// Writes a value in place of the one with this revision, 0 for none. Whether it was written.
    pub async fn replace(
        &self,
        key: &str,
        value: &[u8],
        revision: u64,
    ) -> Result<bool, ClusterError> {
        let sealed = self.keys.seal(self.purpose, key, value)?;
        self.bucket.put_if_unchanged(key, sealed, revision).await
    }

    /// Follows the table: first each value as it is, then each change, until the receiver is dropped.
    pub async fn follow(&self) -> Result<mpsc::Receiver<TableRow>, ClusterError> {
        let watch = self.bucket.watch_whole().await?;
        let (sender, receiver) = mpsc::channel(CHANGE_QUEUE);
        tokio::spawn(self.clone().forward(watch, sender));
        Ok(receiver)
    }

    async fn forward(self, mut watch: Watch, changes: mpsc::Sender<TableRow>) {
        loop {
            let entry = tokio::select! {
                entry = watch.next() => entry,
                () = changes.closed() => return,
            };
            match entry {
                Some(Ok(entry)) => {
                    if let Some(row) = self.to_row(entry)
                        && changes.send(row).await.is_err()
                    {
                        return;
                    }
                }
                Some(Err(error)) => tracing::debug!(%error, "the watch of a table"),
                None => {
                    tokio::time::sleep(WATCH_RETRY).await;
                    match self.bucket.watch_whole().await {
                        Ok(again) => watch = again,
                        Err(error) => tracing::debug!(%error, "a table is not watched"),
                    }
                }
            }
        }
    }

    /// The row of an entry. No replica removes one, so a removal is not believed.
    fn to_row(&self, entry: Entry) -> Option<TableRow> {
        (entry.operation == Operation::Put)
            .then(|| self.row(entry.key, &entry.value, entry.revision))
    }

    fn row(&self, key: String, sealed: &Bytes, revision: u64) -> TableRow {
        let opened = self.keys.open(self.purpose, &key, sealed).inspect_err(|error| {
            tracing::warn!(%error, "a value that replicas share was refused");
        });
        let is_current = self.keys.seals_like(sealed);
        TableRow { key, value: opened.ok(), revision, is_current }
    }
}
