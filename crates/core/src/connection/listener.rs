//! Events of a connection, and the trait that receives them.
//!
//! Used by the connection's task, which calls it, and by `engine::supervisor::listener`, which implements it. It does
//! not publish events of the engine (`engine::event`).

use std::sync::Arc;

use switchboard_wire::{
    client::{ListKind, ServerQuestion},
    envelope::Notification,
    json::Raw,
};

use super::{Connection, ConnectionError};

/// An event of a connection.
#[derive(Debug)]
pub enum ConnectionEvent {
    /// The state changed.
    StateChanged,
    /// A connected server has become silent, or answers again.
    SilenceChanged,
    /// The server's kept catalog is published: the lists of an earlier session.
    CatalogRestored,
    /// A list was read, has changed, and is published.
    ListsChanged(ListKind),
    /// A list was read again, and is unchanged.
    ListUnchanged {
        /// The list.
        list: ListKind,
        /// Whether the server had announced a change.
        was_announced: bool,
    },
    /// The server has no lists, so none will be read.
    NoLists,
    /// A list could not be read; the former list stays.
    ListProblem {
        /// The list.
        list: ListKind,
        /// The error.
        error: ConnectionError,
    },
    /// A log message that belongs to no call.
    Log(Raw),
    /// A resource changed.
    ResourceUpdated {
        /// The URI of the resource.
        uri: String,
        /// The notification's parameters.
        params: Raw,
    },
    /// A person has finished a URL elicitation.
    ElicitationComplete(Raw),
    /// A request of the server that belongs to no call. Dropping it answers *cancel*.
    Question(ServerQuestion),
    /// The server cancels a question.
    Withdrawn {
        /// The question's key.
        key: String,
    },
    /// Any other notification.
    Other(Notification),
    /// A message could not be parsed; the session goes on.
    Unreadable(ConnectionError),
}

/// Receives the events of connections.
pub trait ConnectionListener: Send + Sync {
    /// Handles an event. Called from the connection's task, so it must not block.
    fn handle_event(&self, connection: &Arc<Connection>, notice: ConnectionEvent);

    /// Whether a session still needs a connection without calls, which is stopped otherwise.
    fn needs_connection(&self, _connection: &Connection) -> bool {
        false
    }
}
