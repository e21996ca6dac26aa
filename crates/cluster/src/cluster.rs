//! A replica in its cluster: joining, being heard of, leaving.
//!
//! Used by `switchboard serve`. It shows nothing (`status`).

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::heartbeat::{self, HeartbeatWriter, LastContact, ReplicaFacts, ReplicaId};
use crate::membership::MembershipTask;
use crate::nats::{Bucket, NatsConnection};
use crate::status::{self, MAX_REPLICAS};
use crate::{ClusterError, ClusterKeys, ClusterOptions, PeerLink, SessionStore, SharedTable};

/// This replica's place in its cluster. Dropping it ends the heartbeats; [`leave`](Self::leave) tells the others.
pub struct Cluster {
    id: ReplicaId,
    bucket: Bucket,
    keys: ClusterKeys,
    sessions: SessionStore,
    peers: PeerLink,
    tokens: SharedTable,
    contact: ClusterContact,
    warnings: Vec<String>,
    over: CancellationToken,
    heartbeats: AbortOnDropHandle<()>,
    members: Arc<AtomicUsize>,
    _membership: AbortOnDropHandle<()>,
}

/// Whether the cluster can be reached. Clones share it.
#[derive(Debug, Clone)]
pub struct ClusterContact {
    last: LastContact,
    stale_after: Duration,
}

// === impl Cluster ===

impl Cluster {
    /// Joins: reads the keys, connects, and has NATS keep a first heartbeat. `config` tells the digest of the
    /// configuration as it is at each heartbeat.
    pub async fn join(
        options: &ClusterOptions,
        facts: ReplicaFacts,
        config: Arc<dyn Fn() -> Option<String> + Send + Sync>,
    ) -> Result<Self, ClusterError> {
        // Boxed: connecting is large, and happens once.
        Box::pin(Self::connect(options, facts, config)).await
    }

    async fn connect(
        options: &ClusterOptions,
        facts: ReplicaFacts,
        config: Arc<dyn Fn() -> Option<String> + Send + Sync>,
    ) -> Result<Self, ClusterError> {
        let keys = ClusterKeys::load(&options.key_file, &options.name)?;
        let nats = NatsConnection::open(options).await?;
        let bucket = heartbeat::open_heartbeats(&nats, &options.name).await?;
        let (id, last) = (ReplicaId::random()?, LastContact::new());
        let sessions = SessionStore::open(&nats, &options.name, keys.clone()).await?;
        let peers = PeerLink::open(&nats, &options.name, keys.clone(), id.clone()).await?;
        let tokens = SharedTable::open_tokens(&nats, &options.name, keys.clone()).await?;
        let writer = HeartbeatWriter {
            id: id.clone(),
            facts,
            keys: keys.clone(),
            bucket: bucket.clone(),
            config,
            started: heartbeat::now_millis(),
            last: last.clone(),
        };
        writer.write(Vec::new()).await?;
        let records = heartbeat::read_records(&bucket, &keys, MAX_REPLICAS).await?;
        let mut warnings = status::storage_warnings(bucket.facts());
        warnings.extend(status::unreadable_warnings(&records));
        tracing::info!(cluster = %options.name, replica = %id, servers = nats.servers(), "joined the cluster");
        let (membership, members) =
            MembershipTask::open(id.clone(), keys.clone(), bucket.clone()).await?;
        let over = CancellationToken::new();
        let heartbeats = AbortOnDropHandle::new(tokio::spawn(writer.run(over.clone())));
        let contact = ClusterContact { last, stale_after: options.stale_after };
        Ok(Self {
            id,
            bucket,
            keys,
            sessions,
            peers,
            tokens,
            contact,
            warnings,
            over,
            heartbeats,
            members,
            _membership: AbortOnDropHandle::new(tokio::spawn(membership.run())),
        })
    }

    /// The name of this run of the replica.
    pub fn id(&self) -> &ReplicaId {
        &self.id
    }

    /// The keys that all replicas have.
    pub fn keys(&self) -> &ClusterKeys {
        &self.keys
    }

    /// The sessions that all replicas share.
    pub fn sessions(&self) -> &SessionStore {
        &self.sessions
    }

    /// The link to the other replicas.
    pub fn peers(&self) -> &PeerLink {
        &self.peers
    }

    /// What replicas know of the tokens of clients, each under its id.
    pub fn tokens(&self) -> &SharedTable {
        &self.tokens
    }

    /// What a person should know about the cluster, as of joining.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The number of replicas, this one included. It stays as it was while the others cannot be heard.
    pub fn members(&self) -> &Arc<AtomicUsize> {
        &self.members
    }

    /// Whether the cluster can be reached.
    pub fn contact(&self) -> ClusterContact {
        self.contact.clone()
    }

    /// Leaves: ends the heartbeats and removes the last one, so that the others do not wait for more.
    pub async fn leave(self) -> Result<(), ClusterError> {
        self.over.cancel();
        // It ends with its token; a write under way is dropped.
        let _ = self.heartbeats.await;
        self.bucket.delete(self.id.as_str()).await
    }
}

// === impl ClusterContact ===

impl ClusterContact {
    /// Why this replica no longer counts as part of its cluster.
    pub fn problem(&self) -> Option<String> {
        let age = self.last.age();
        (age > self.stale_after).then(|| {
            format!("the cluster cannot be reached: NATS has not answered for {} s", age.as_secs())
        })
    }
}
