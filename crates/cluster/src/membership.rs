//! The number of replicas, as their heartbeats tell: followed, and kept as it was while nothing can be heard.
//!
//! Used by `cluster`; the program divides among replicas what is granted once. It counts replicas, and shows none
//! (`status`).

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_nats::jetstream::kv::{Entry, Operation, Watch};
use futures_util::StreamExt as _;
use tokio::time::{Instant, MissedTickBehavior};

use crate::heartbeat::{HEARTBEAT_INTERVAL, HeartbeatRecord, ReplicaId, now_millis};
use crate::nats::Bucket;
use crate::status::{MAX_REPLICAS, SILENT_AFTER};
use crate::{ClusterError, ClusterKeys};

/// This replica hears what it says itself. If its last heartbeat is older than this, silence of the others means
/// nothing.
const OWN_ECHO: Duration = Duration::from_secs(2 * HEARTBEAT_INTERVAL.as_secs() - 1);
/// How often the replicas are counted.
const COUNT_INTERVAL: Duration = Duration::from_secs(1);
/// The pause before a watch that ended is opened again.
const WATCH_RETRY: Duration = Duration::from_secs(1);

/// Follows the heartbeats of a cluster.
pub(crate) struct MembershipTask {
    own: ReplicaId,
    keys: ClusterKeys,
    bucket: Bucket,
    watch: Watch,
    heard: HeardReplicas,
    count: Arc<AtomicUsize>,
}

/// The replicas that were heard of.
#[derive(Debug, Default)]
struct HeardReplicas(HashMap<ReplicaId, LastHeartbeat>);

/// The last heartbeat of a replica: when it was sent by the clock there, and when it arrived.
#[derive(Debug, Clone, Copy)]
struct LastHeartbeat {
    sent: u64,
    arrived: Instant,
}

// === impl MembershipTask ===

impl MembershipTask {
    /// Begins to follow; the count begins with one. `run` has to be spawned.
    pub(crate) async fn open(
        own: ReplicaId,
        keys: ClusterKeys,
        bucket: Bucket,
    ) -> Result<(Self, Arc<AtomicUsize>), ClusterError> {
        let watch = bucket.watch_whole().await?;
        let count = Arc::new(AtomicUsize::new(1));
        let heard = HeardReplicas::default();
        Ok((Self { own, keys, bucket, watch, heard, count: Arc::clone(&count) }, count))
    }

    /// Follows for ever.
    pub(crate) async fn run(mut self) {
        let mut ticks = tokio::time::interval(COUNT_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                entry = self.watch.next() => match entry {
                    Some(Ok(entry)) => self.take(&entry),
                    Some(Err(error)) => tracing::debug!(%error, "the watch of heartbeats"),
                    None => {
                        tokio::time::sleep(WATCH_RETRY).await;
                        match self.bucket.watch_whole().await {
                            Ok(again) => self.watch = again,
                            Err(error) => tracing::debug!(%error, "heartbeats are not watched"),
                        }
                    }
                },
                _ = ticks.tick() => {
                    if let Some(count) = self.heard.count(&self.own, Instant::now()) {
                        self.count.store(count, Ordering::Relaxed);
                    }
                }
            }
        }
    }

    fn take(&mut self, entry: &Entry) {
        let id = ReplicaId::of_key(&entry.key);
        if entry.operation != Operation::Put {
            self.heard.leave(&id);
        } else if let Ok(record) = HeartbeatRecord::open(&self.keys, &entry.key, &entry.value) {
            let age = Duration::from_millis(now_millis().saturating_sub(record.sent));
            self.heard.note(id, record.sent, age, Instant::now());
        }
    }
}

// === impl HeardReplicas ===

impl HeardReplicas {
    /// Notes a heartbeat, unless it was heard before: NATS may show an old one again.
    fn note(&mut self, id: ReplicaId, sent: u64, age: Duration, now: Instant) {
        if self.0.len() >= MAX_REPLICAS && !self.0.contains_key(&id) {
            return;
        }
        let known = self.0.get(&id);
        // The first one may have been written long before this replica began to listen.
        let arrived = match known {
            Some(known) if known.sent >= sent => return,
            Some(_) => now,
            None => now.checked_sub(age).unwrap_or(now),
        };
        self.0.insert(id, LastHeartbeat { sent, arrived });
    }

    /// Notes that a replica has left. Whether NATS says the truth shows its next heartbeat.
    fn leave(&mut self, id: &ReplicaId) {
        self.0.remove(id);
    }

    /// The number of replicas; `None` while this one does not hear itself, and so does not know.
    fn count(&mut self, own: &ReplicaId, now: Instant) -> Option<usize> {
        let age = |last: &LastHeartbeat| now.saturating_duration_since(last.arrived);
        self.0.get(own).filter(|last| age(last) <= OWN_ECHO)?;
        self.0.retain(|_, last| age(last) <= SILENT_AFTER);
        Some(self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u32) -> ReplicaId {
        ReplicaId::of_text(&format!("{number:012x}")).unwrap()
    }

    #[test]
    fn replicas_are_counted_while_this_one_hears_itself() {
        let begun = Instant::now();
        let at = |seconds: u64| begun + Duration::from_secs(seconds);
        let mut heard = HeardReplicas::default();
        assert_eq!(heard.count(&id(1), at(0)), None, "nothing was heard yet");
        for second in [0, 3, 6] {
            for replica in [1, 2, 3] {
                heard.note(id(replica), second, Duration::ZERO, at(second));
            }
        }
        assert_eq!(heard.count(&id(1), at(6)), Some(3));
        heard.leave(&id(3));
        assert_eq!(heard.count(&id(1), at(7)), Some(2), "one has left");
        // NATS is away: the last of all heartbeats are old, and nobody is taken for gone.
        for second in 12..60 {
            assert_eq!(heard.count(&id(1), at(second)), None, "{second}");
        }
        // It is back, and the other replica is not.
        heard.note(id(1), 60, Duration::ZERO, at(60));
        heard.note(id(2), 6, Duration::ZERO, at(60));
        assert_eq!(heard.count(&id(1), at(60)), Some(1), "an old heartbeat that is shown again");
        heard.note(id(4), 50, Duration::from_secs(20), at(60));
        assert_eq!(heard.count(&id(1), at(60)), Some(1), "it had ended before");
    }
}
