//! What a connection tells whoever runs it.

use std::sync::Arc;

use switchboard_wire::{
    client::{ListKind, ServerQuestion},
    envelope::Notification,
    json::Raw,
};

use super::{Connection, ConnectionError};

/// Something that happened on a connection.
#[derive(Debug)]
pub enum ConnectionEvent {
    /// Its state is not what it was.
    StateChanged,
    /// A server that is connected has become silent, or answers again.
    SilenceChanged,
    /// A list was read, is not what it was, and is published.
    ListsChanged(ListKind),
    /// A list was read again, and has the same items.
    ListUnchanged {
        /// Which.
        list: ListKind,
        /// Whether the server had said that it changed.
        was_announced: bool,
    },
    /// The server offers no list, so none will be read.
    NoLists,
    /// A list could not be read; what was read before still stands.
    ListProblem {
        /// Which.
        list: ListKind,
        /// Why not.
        error: ConnectionError,
    },
    /// A log message that belongs to no call.
    Log(Raw),
    /// A resource is not what it was.
    ResourceUpdated {
        /// Which.
        uri: String,
        /// The notification's parameters.
        params: Raw,
    },
    /// A person has done what a URL asked of them.
    ElicitationComplete(Raw),
    /// The server asks something that belongs to no call. Dropped, it is answered *cancel*.
    Question(ServerQuestion),
    /// The server takes back a question.
    Withdrawn {
        /// The question's key.
        key: String,
    },
    /// A notification without a meaning of its own here.
    Other(Notification),
    /// Something came that could not be read; the session goes on.
    Unreadable(ConnectionError),
}

/// Hears what happens on connections.
pub trait ConnectionListener: Send + Sync {
    /// Takes a notice. Called from the connection's task, so it must not block.
    fn handle_event(&self, connection: &Arc<Connection>, notice: ConnectionEvent);
}
