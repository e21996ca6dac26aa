//! The `ViewProvider` trait: opens a view for each client of a face.
//!
//! Used by the faces; implemented by [`Bridge`](crate::bridge::Bridge), by the hub and by `switchboard plugin serve`.
//! A face knows transports, sessions and principals; a provider knows what to serve. It does not know the face's
//! part, nor the face the provider's.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
pub use switchboard_core::engine::SessionClients;
use switchboard_core::principal::Principal;
use switchboard_wire::server::{ChangeBroadcaster, ServerHandler};

/// Opens views for clients.
pub trait ViewProvider: Send + Sync + 'static {
    /// The handler of a client's requests.
    type View: ServerHandler;

    /// Opens a view for one client. The view lives until the last reference is dropped.
    fn open(
        &self,
        opening: ViewRequest,
    ) -> impl Future<Output = Result<OpenView<Self::View>, ViewError>> + Send;
}

/// The client that opens a view, and the selection that it wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewRequest {
    /// The principal that the client acts for.
    pub principal: Principal,
    /// The name of the client's session: a legacy session or a connection. Modern HTTP has no sessions; there the
    /// name stands for the principal and the endpoint.
    pub session: String,
    /// The part of the workspace that the client wants.
    pub part: ViewSelection,
    /// The transport, for people: `http`, `sse`, `ws`, `stdio`, `socket`.
    pub transport: &'static str,
    /// How many clients the session stands for.
    pub clients: SessionClients,
}

/// The part of a workspace that a view shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum ViewSelection {
    /// All servers.
    #[default]
    Everything,
    /// One server.
    Server(String),
    /// The servers of one agent.
    Agent(String),
}

// === impl ViewSelection ===

impl ViewSelection {
    /// Whether the view shows a server.
    pub fn has(&self, server: &str) -> bool {
        match self {
            Self::Server(only) => only == server,
            Self::Everything | Self::Agent(_) => true,
        }
    }
}

/// A view, with the notifications of changes to its lists.
pub struct OpenView<V> {
    /// The handler of requests.
    pub view: Arc<V>,
    /// The changes that the client is told of.
    pub changes: ChangeBroadcaster,
}

/// Why a view cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ViewError {
    /// The server or agent does not exist.
    #[error("there is no such server or agent here")]
    NoSuchView,
    /// The agent exists, but something that it needs is missing, which the text names.
    #[error("{0}")]
    AgentNotReady(String),
}
