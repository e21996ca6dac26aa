//! Events of the engine: state changes, list changes, logs, resource updates and ended calls.
//!
//! Sent by `engine::supervisor::listener`; used by the gateway, the hub's admin interface and the commands. It does
//! not carry events of a running call: its caller gets them from [`crate::RunningCall`].

use std::sync::Arc;

use switchboard_wire::client::ListKind;
use switchboard_wire::envelope::Notification;
use switchboard_wire::json::Raw;

use crate::audit::CallRecord;
use crate::connection::ConnectionKey;
use crate::engine::workspace::state::WorkspaceId;

/// An event of the engine. A slow listener misses the oldest ones.
#[derive(Debug, Clone)]
pub struct EngineEvent {
    /// The workspaces that the event concerns.
    pub workspaces: Vec<WorkspaceId>,
    /// The server's name, as configured in those workspaces.
    pub server: String,
    /// The principal of the connection or the call; `None`: a connection that all principals share.
    pub principal: Option<Arc<str>>,
    /// The connection of the event.
    pub connection: Option<ConnectionKey>,
    /// The kind of event.
    pub what: EngineEventKind,
}

// === impl EngineEvent ===

impl EngineEvent {
    /// Whether a principal may receive the event.
    pub fn concerns(&self, principal: &str) -> bool {
        self.principal.as_deref().is_none_or(|theirs| theirs == principal)
    }
}

/// The kind of an event.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum EngineEventKind {
    /// The server's state changed; [`crate::Engine::snapshot`] shows it.
    State,
    /// A shown list of the server changed.
    List(ListKind),
    /// The server announced a changed list; the list is unchanged.
    ListAnnounced(ListKind),
    /// A log message that belongs to no call.
    Log(Raw),
    /// A resource changed.
    ResourceUpdated {
        /// The URI of the resource.
        uri: String,
        /// The notification's parameters.
        params: Raw,
    },
    /// A notification that the engine does not know and that belongs to no call, for the clients of the connection.
    Notification(Notification),
    /// A call has ended; only [`crate::Engine::calls`] reports it.
    Called(Arc<CallRecord>),
}
