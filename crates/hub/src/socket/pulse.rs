//! How a hub is, for whoever asks.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use switchboard_gateway::face::OpenSessions;

use super::{
    Attached, Status,
    activity::{Activity, Counted},
    presence::{MOST, Presences},
};

/// Who uses a hub and since when it runs. Clones share it.
#[derive(Debug, Clone)]
pub struct Pulse {
    pub(super) activity: Arc<Activity>,
    /// The clients of the socket.
    pub(super) presences: Arc<Presences>,
    version: String,
    since: SystemTime,
    /// Sessions of the faces that are served beside the hub.
    pub(crate) open_sessions: OpenSessions,
}

// === impl Pulse ===

impl Pulse {
    /// Of a hub that begins now.
    pub fn new(version: impl Into<String>) -> Self {
        Self {
            activity: Arc::default(),
            presences: Arc::default(),
            version: version.into(),
            since: SystemTime::now(),
            open_sessions: OpenSessions::default(),
        }
    }

    /// How the hub is.
    pub fn status(&self) -> Status {
        let counts = self.activity.now();
        Status {
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

    /// The same with everybody who is there: the clients of the socket, and `others`.
    pub(crate) fn told(
        &self,
        used: impl Fn(&str) -> Vec<(String, u64)>,
        others: Vec<Attached>,
    ) -> Status {
        let mut attached = self.presences.told(used);
        attached.extend(others);
        let clients = attached.len();
        attached.truncate(MOST);
        Status { clients, attached, ..self.status() }
    }

    /// Counts a call that does not come over MCP.
    pub(crate) fn call(&self) -> Counted {
        self.activity.call()
    }

    /// Counts somebody who keeps the hub going.
    pub(crate) fn client(&self) -> Counted {
        self.activity.client()
    }
}
