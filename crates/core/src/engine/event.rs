//! What happens, for whoever wants to show it.

use std::time::Duration;

use switchboard_wire::client::List;
use switchboard_wire::json::Raw;

use super::workspace::WorkspaceId;

/// Something that happened. A slow listener misses the oldest.
#[derive(Debug, Clone)]
pub struct Event {
    /// The workspaces it concerns.
    pub workspaces: Vec<WorkspaceId>,
    /// The server, as configured there.
    pub server: String,
    /// What.
    pub what: Happened,
}

/// What happened.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Happened {
    /// The server's state changed; [`crate::Engine::snapshot`] says to what.
    State,
    /// A list of it is not what it was, as shown.
    List(List),
    /// A log message that belongs to no call.
    Log(Raw),
    /// A resource is not what it was.
    ResourceUpdated {
        /// Which.
        uri: String,
        /// The whole notification's parameters.
        params: Raw,
    },
    /// A call has ended.
    Called(Box<Called>),
}

/// A call that has ended, for the record.
#[derive(Debug, Clone)]
pub struct Called {
    /// The session.
    pub session: String,
    /// Whom it spoke for.
    pub principal: String,
    /// The method.
    pub method: String,
    /// What was called, by its full name, or the URI that was read.
    pub name: String,
    /// What decided about it, for tools.
    pub decision: Option<crate::permission::Because>,
    /// How it ended.
    pub ended: Ended,
    /// How long it took, waiting for people included.
    pub took: Duration,
    /// Bytes of the parameters.
    pub sent: usize,
    /// Bytes of the server's result.
    pub received: usize,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// With a result.
    Result,
    /// With a result that says it is an error.
    ToolError,
    /// With an error.
    Error(String),
    /// Its caller gave up on it.
    Dropped,
}
