//! The status of a hub: version, process, clients, calls, idle time.
//!
//! Used by `hub_state` for `switchboard status` and by [`crate::admin`] for `GET /status`. It does not decide when the
//! hub ends (`hub_state` does).

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use switchboard_gateway::face::OpenSessionCount;

use super::{
    AttachedClient, HubStatus,
    clients::{ConnectedClients, MAX_CLIENTS_LISTED},
    usage::{UsageCounters, UsageLease},
};

/// Counts of clients and calls, and the start time of a hub. Clones share the counts.
#[derive(Debug, Clone)]
pub struct HubUsage {
    pub(super) activity: Arc<UsageCounters>,
    /// The clients of the socket.
    pub(super) presences: Arc<ConnectedClients>,
    version: String,
    since: SystemTime,
    /// Sessions of the faces that are served beside the hub.
    pub(crate) open_sessions: OpenSessionCount,
}

// === impl HubUsage ===

impl HubUsage {
    /// The usage of a hub that begins now.
    pub fn new(version: impl Into<String>) -> Self {
        Self {
            activity: Arc::default(),
            presences: Arc::default(),
            version: version.into(),
            since: SystemTime::now(),
            open_sessions: OpenSessionCount::default(),
        }
    }

    /// Ends the connection of a client of the socket; `false` if it has left.
    pub fn disconnect(&self, session: &str) -> bool {
        self.presences.disconnect(session)
    }

    /// The status without the list of clients.
    pub fn status(&self) -> HubStatus {
        let counts = self.activity.current();
        HubStatus {
            ok: true,
            version: self.version.clone(),
            pid: std::process::id(),
            since: self.since.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
            clients: counts.clients,
            calls: counts.calls,
            sessions: self.open_sessions.count(),
            attached: Vec::new(),
            idle: if counts.is_unused() { counts.changed.elapsed().as_secs() } else { 0 },
        }
    }

    /// The status with all connected clients: those of the socket, and `others`.
    pub(crate) fn status_with_clients(
        &self,
        used: impl Fn(&str) -> Vec<(String, u64)>,
        others: Vec<AttachedClient>,
    ) -> HubStatus {
        let mut attached = self.presences.list(used);
        attached.extend(others);
        let clients = attached.len();
        attached.truncate(MAX_CLIENTS_LISTED);
        HubStatus { clients, attached, ..self.status() }
    }

    /// Counts a call that does not come over MCP.
    pub(crate) fn count_call(&self) -> UsageLease {
        self.activity.count_call()
    }

    /// Counts a client that keeps the hub alive.
    pub(crate) fn count_client(&self) -> UsageLease {
        self.activity.count_client()
    }
}
