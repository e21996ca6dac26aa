//! Several replicas as one switchboard: keys, the connection to NATS, membership, sessions and tables that all know,
//! exchanges of two replicas.
//!
//! Used by `switchboard serve --cluster` and `switchboard cluster status`; no other crate names it. A replica joins
//! with [`Cluster::join`] and tells the others of itself; [`read_status`] shows all replicas. NATS `JetStream` moves and
//! keeps what replicas share. It is not trusted: each value is sealed with a key that only the replicas have. This
//! crate knows no MCP and no configuration.

mod cluster;
mod ended;
mod error;
mod heartbeat;
mod keys;
mod membership;
mod nats;
mod options;
mod peers;
mod private_text;
mod sessions;
mod status;
mod table;

pub use cluster::{Cluster, ClusterContact};
pub use error::ClusterError;
pub use heartbeat::{HEARTBEAT_INTERVAL, ReplicaFacts, ReplicaId};
pub use keys::{ClusterKeys, KeyId, KeyPurpose, SealedValueError};
pub use nats::NatsAddresses;
pub use options::{ClusterName, ClusterOptions};
pub use peers::{PeerError, PeerEvent, PeerLink, PeerReply, PeerRequest};
pub use sessions::{
    MAX_CLIENT_BYTES, SESSION_LIFETIME, SessionName, SessionRecord, SessionStore, StoredSession,
};
pub use status::{ClusterStatus, ReplicaState, ReplicaStatus, read_status};
pub use table::{SharedTable, TableRow};
