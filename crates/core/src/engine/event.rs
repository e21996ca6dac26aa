//! What happens, for whoever wants to show it.

use std::sync::Arc;

use switchboard_wire::client::ListKind;
use switchboard_wire::json::Raw;

use crate::audit::CallRecord;
use crate::connection::ConnectionKey;
use crate::engine::workspace::state::WorkspaceId;

/// Something that happened. A slow listener misses the oldest.
#[derive(Debug, Clone)]
pub struct EngineEvent {
    /// The workspaces it concerns.
    pub workspaces: Vec<WorkspaceId>,
    /// The server, as configured there.
    pub server: String,
    /// The principal whose connection it happened on, or who called; `None`: a connection that all principals share.
    pub principal: Option<Arc<str>>,
    /// The connection it happened on.
    pub connection: Option<ConnectionKey>,
    /// What.
    pub what: EngineEventKind,
}

// === impl EngineEvent ===

impl EngineEvent {
    /// Whether a principal may hear of it.
    pub fn concerns(&self, principal: &str) -> bool {
        self.principal.as_deref().is_none_or(|theirs| theirs == principal)
    }
}

/// What happened.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum EngineEventKind {
    /// The server's state changed; [`crate::Engine::snapshot`] says to what.
    State,
    /// A list of it is not what it was, as shown.
    List(ListKind),
    /// The server says that a list of it changed; read again, it is the same.
    ListAnnounced(ListKind),
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
    Called(Arc<CallRecord>),
}
