//! The line between the faces and other replicas that answer for the same clients.
//!
//! Implemented by the program for a cluster, and by the testkit in one process; used by `streamable` and `sse`. A
//! session belongs to all replicas; a call belongs to the replica that carries it out, and what is meant for it is
//! relayed there as a whole HTTP request. Without a [`ReplicaGroup`] nothing of this runs. It does not know how replicas
//! reach one another.

mod follower;
mod relaying;

use std::collections::BTreeSet;
use std::sync::{Arc, atomic::AtomicUsize};

use bytes::Bytes;
use futures_util::{future::BoxFuture, stream::BoxStream};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};

pub(super) use follower::follow;
pub use relaying::RelayPath;
pub(super) use relaying::{Relayed, relay};

pub use crate::replica_tag::{NoReplicaTag, ReplicaTag};

/// The replicas that answer for the same clients. Clones share them.
#[derive(Clone)]
pub struct ReplicaGroup {
    /// The tag of this replica.
    pub tag: ReplicaTag,
    /// The sessions of all replicas.
    pub sessions: Arc<dyn SharedSessions>,
    /// The way to the other replicas.
    pub relay: Arc<dyn ReplicaRelay>,
    /// The number of replicas, this one included: each grants its share of what is granted once. Where it is not known,
    /// it stays as it was.
    pub members: Arc<AtomicUsize>,
    /// What other replicas send. The faces take it once.
    pub events: Arc<Mutex<Option<mpsc::Receiver<ReplicaEvent>>>>,
}

/// Keeps what all replicas know of legacy sessions.
pub trait SharedSessions: Send + Sync + 'static {
    /// Begins a session of `owner`, whose client sent `client` with `initialize`.
    fn begin<'a>(
        &'a self,
        owner: &'a str,
        client: &'a str,
    ) -> BoxFuture<'a, Result<BegunSession, ReplicaError>>;

    /// Finds a session by the id that its client shows; `None` if `owner` has no such session.
    fn find<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<SharedSession>, ReplicaError>>;

    /// The present state of a session.
    fn state<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<SessionState, ReplicaError>>;

    /// Changes the settings of a session. `edit` may run several times, each time on the settings of then.
    fn change<'a>(
        &'a self,
        name: &'a str,
        edit: SettingsEdit,
    ) -> BoxFuture<'a, Result<(), ReplicaError>>;

    /// Ends a session for all replicas.
    fn end<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), ReplicaError>>;
}

/// Reaches other replicas.
pub trait ReplicaRelay: Send + Sync + 'static {
    /// Why this replica no longer counts as one of the group; `None` while it does.
    fn problem(&self) -> Option<String>;

    /// Has another replica answer a request.
    fn relay(
        &self,
        to: ReplicaTag,
        request: RelayedRequest,
    ) -> BoxFuture<'_, Result<RelayedResponse, ReplicaError>>;

    /// Tells all other replicas something about a session. One that cannot be reached misses it.
    fn announce(&self, notice: SessionNotice) -> BoxFuture<'_, Result<(), ReplicaError>>;
}

/// Why other replicas could not be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplicaError {
    /// The replica is gone, and what it carried out with it.
    #[error("the replica is gone")]
    Gone,
    /// The replicas cannot reach one another now.
    #[error("the replicas cannot reach one another")]
    Unreachable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A replica broke off before it had answered.
    #[error(
        "the replica broke off, and the execution is unknown; check before you make the call again"
    )]
    Interrupted(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It is too large to be shared.
    #[error("{0}")]
    TooLarge(String),
}

/// A session that has just begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BegunSession {
    /// The id for its client.
    pub id: String,
    /// The name of the session among replicas.
    pub name: String,
}

/// A session that any replica may continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedSession {
    /// The name of the session among replicas.
    pub name: String,
    /// What its client sent with `initialize`.
    pub client: String,
    /// What has changed since then.
    pub state: SessionState,
}

/// What has changed in a session since it began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionState {
    /// The number of changes.
    pub version: u64,
    /// Whether its client has ended it.
    pub ended: bool,
    /// What its client has set.
    pub settings: SessionSettings,
}

/// What a client has set in its session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionSettings {
    /// The least severe log level that it wants.
    pub log_level: Option<String>,
    /// The resources that it subscribed to.
    pub subscriptions: BTreeSet<SubscribedUri>,
}

/// A resource that a client subscribed to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SubscribedUri {
    /// Its URI.
    pub uri: String,
    /// Its server, if the client named it.
    pub owner: Option<String>,
}

/// A change of a session's settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingsEdit {
    pub(super) log_level: Option<String>,
    pub(super) added: BTreeSet<SubscribedUri>,
    pub(super) removed: BTreeSet<SubscribedUri>,
}

/// What one replica tells all others about a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionNotice {
    /// The name of the session among replicas.
    pub name: String,
    /// What it is about.
    #[serde(default)]
    pub kind: SessionNoticeKind,
    /// The message, if there is one.
    #[serde(default)]
    pub text: String,
}

/// What a replica tells others about a session. Replicas ignore kinds that they do not know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SessionNoticeKind {
    /// A notification that the client sent to one replica, and that may concern others.
    #[default]
    FromClient,
    /// A message for the client that belongs to no call: the replica that holds the session's GET stream sends it.
    ToClient,
    /// The replica with this tag holds the session's GET stream from now on.
    StreamOpened(ReplicaTag),
    /// The replica with this tag was the last to hold the stream, as far as it knows: the answer to [`Self::StreamSought`].
    StreamLastOpened(ReplicaTag),
    /// Which replica holds the GET stream?
    StreamSought,
}

/// An HTTP request that another replica answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelayedRequest {
    /// Whose request it is and where it goes.
    pub head: RelayedHead,
    /// Its body.
    pub body: Bytes,
}

/// The head of a request that another replica answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelayedHead {
    /// The caller, as access control found it, and the selection in the path.
    owner: String,
    path: RelayPath,
    method: String,
    query: Option<String>,
    headers: Vec<(String, String)>,
}

/// The answer of another replica.
pub struct RelayedResponse {
    /// Its status.
    pub status: u16,
    /// Its headers.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: BoxStream<'static, Result<Bytes, ReplicaError>>,
}

/// What another replica sends.
pub enum ReplicaEvent {
    /// A session has changed.
    Changed {
        /// The name of the session among replicas.
        name: String,
        /// Its state.
        state: SessionState,
    },
    /// Another replica tells something about a session.
    Notice(SessionNotice),
    /// A request to be answered. Dropping the sender refuses it.
    Request(RelayedRequest, oneshot::Sender<RelayedResponse>),
}

// === impl SettingsEdit ===

impl SettingsEdit {
    /// The change from one state to another; `None` if nothing has changed.
    pub fn between(before: &SessionSettings, after: &SessionSettings) -> Option<Self> {
        let log_level = after.log_level.clone().filter(|_| before.log_level != after.log_level);
        let difference = |of: &SessionSettings, other: &SessionSettings| {
            of.subscriptions.difference(&other.subscriptions).cloned().collect()
        };
        let edit = Self {
            log_level,
            added: difference(after, before),
            removed: difference(before, after),
        };
        (edit != Self::default()).then_some(edit)
    }

    /// Makes the change.
    pub fn apply(&self, settings: &mut SessionSettings) {
        if self.log_level.is_some() {
            settings.log_level.clone_from(&self.log_level);
        }
        settings.subscriptions.retain(|one| !self.removed.contains(one));
        settings.subscriptions.extend(self.added.iter().cloned());
    }
}

impl std::fmt::Debug for ReplicaGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReplicaGroup").field("tag", &self.tag).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(level: Option<&str>, uris: &[&str]) -> SessionSettings {
        let uri = |uri: &&str| SubscribedUri { uri: (*uri).to_owned(), owner: None };
        let subscriptions = uris.iter().map(uri).collect();
        SessionSettings { log_level: level.map(str::to_owned), subscriptions }
    }

    #[test]
    fn changes_of_two_replicas_are_both_made() {
        for (before, after, there, expected) in [
            (
                settings(None, &["a"]),
                settings(None, &["a", "b"]),
                settings(None, &["c"]),
                settings(None, &["b", "c"]),
            ),
            (
                settings(None, &["a"]),
                settings(None, &[]),
                settings(Some("info"), &["a", "b"]),
                settings(Some("info"), &["b"]),
            ),
            (
                settings(None, &[]),
                settings(Some("error"), &[]),
                settings(Some("info"), &["a"]),
                settings(Some("error"), &["a"]),
            ),
        ] {
            let mut changed = there;
            SettingsEdit::between(&before, &after).unwrap().apply(&mut changed);
            assert_eq!(changed, expected);
        }
        let same = settings(Some("info"), &["a"]);
        assert_eq!(SettingsEdit::between(&same, &same), None);
    }
}
