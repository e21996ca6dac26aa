//! What happens, for whoever wants to show it.

use std::sync::Arc;

use switchboard_wire::client::List;
use switchboard_wire::json::Raw;

use super::workspace::WorkspaceId;
use crate::audit::Called;
use crate::connection::Key;

/// Something that happened. A slow listener misses the oldest.
#[derive(Debug, Clone)]
pub struct Event {
    /// The workspaces it concerns.
    pub workspaces: Vec<WorkspaceId>,
    /// The server, as configured there.
    pub server: String,
    /// The principal whose connection it happened on, or who called; `None`: a connection that all principals share.
    pub principal: Option<Arc<str>>,
    /// The connection it happened on.
    pub connection: Option<Key>,
    /// What.
    pub what: Happened,
}

// === impl Event ===

impl Event {
    /// Whether a principal may hear of it.
    pub fn concerns(&self, principal: &str) -> bool {
        self.principal.as_deref().is_none_or(|theirs| theirs == principal)
    }
}

/// What happened.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Happened {
    /// The server's state changed; [`crate::Engine::snapshot`] says to what.
    State,
    /// A list of it is not what it was, as shown.
    List(List),
    /// The server says that a list of it changed; read again, it is the same.
    ListAnnounced(List),
    /// A log message that belongs to no call.
    Log(Raw),
    /// A resource is not what it was.
    ResourceUpdated {
        /// Which.
        uri: String,
        /// The whole notification's parameters.
        params: Raw,
    },
    /// A call has ended; only [`crate::Engine::calls`] tells of it.
    Called(Arc<Called>),
}
