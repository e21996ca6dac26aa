//! What stands behind every face: somebody who opens a view for each client that comes.
//!
//! Faces know transports, sessions and who is asking; a front knows what there is to serve. Neither knows the other's
//! business.

use std::sync::Arc;

pub use switchboard_core::engine::SessionClients;
use switchboard_wire::server::{ChangeBroadcaster, ServerHandler};

/// Opens views for clients.
pub trait ViewProvider: Send + Sync + 'static {
    /// What answers a client's requests.
    type View: ServerHandler;

    /// A view for one client. It lives as long as somebody holds it.
    fn open(
        &self,
        opening: ViewRequest,
    ) -> impl Future<Output = Result<OpenView<Self::View>, ViewError>> + Send;
}

/// Who opens a view, and onto what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewRequest {
    /// Whom the client speaks for.
    pub principal: String,
    /// Names the client's session: a legacy session or a connection. Modern HTTP has none; there it stands for the
    /// principal and the endpoint.
    pub session: String,
    /// What part of everything it wants.
    pub part: ViewSelection,
    /// How it is reached, for people: `http`, `sse`, `ws`, `stdio`, `socket`.
    pub transport: &'static str,
    /// How many clients the session stands for.
    pub clients: SessionClients,
}

/// A part of what is served.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum ViewSelection {
    /// All of it.
    #[default]
    Everything,
    /// One server.
    Server(String),
    /// What one agent sees.
    Agent(String),
}

// === impl ViewSelection ===

impl ViewSelection {
    /// Whether a server belongs to it.
    pub fn has(&self, server: &str) -> bool {
        match self {
            Self::Server(only) => only == server,
            Self::Everything | Self::Agent(_) => true,
        }
    }
}

/// A view, and word of changes to what it shows.
pub struct OpenView<V> {
    /// Answers requests.
    pub view: Arc<V>,
    /// Changes that the client is to hear of.
    pub changes: ChangeBroadcaster,
}

/// Why a view cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ViewError {
    /// There is no such part.
    #[error("there is no such server or agent here")]
    NoSuchView,
    /// The agent exists, and something that it needs is missing. The text says what.
    #[error("{0}")]
    AgentNotReady(String),
}
