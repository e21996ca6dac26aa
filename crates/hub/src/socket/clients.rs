//! The registry of connected clients: session, name, folder and running calls of each.
//!
//! Used by `connection` (one entry for each MCP client of the socket), `counting_view` (names and calls) and `status`
//! (the list for `switchboard status` and the admin API). It does not count for the idle timeout (`usage` does).

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::{Mutex, MutexGuard};
use switchboard_core::Engine;
use switchboard_core::engine::SessionInfo;
use switchboard_wire::json::Raw;
use switchboard_wire::sanitize;
use tokio_util::sync::CancellationToken;

use super::hello::{AttachedClient, ClientHello};

/// The longest client name or version in a status.
const MAX_NAME_CHARS: usize = 64;
/// The most clients listed in a status; the counts cover all clients.
pub(super) const MAX_CLIENTS_LISTED: usize = 1000;

/// All connected clients of the socket.
#[derive(Debug, Default)]
pub(super) struct ConnectedClients(Mutex<Vec<Weak<ConnectedClient>>>);

/// One connected client; it leaves the list when its last `Arc` is dropped.
#[derive(Debug)]
pub(super) struct ConnectedClient {
    session: String,
    folder: PathBuf,
    since: SystemTime,
    client: Mutex<DeclaredIdentity>,
    calls: AtomicUsize,
    /// Cancelled to end the connection: by a person, or when the hub ends.
    pub(super) leave: CancellationToken,
}

/// The name and version that a client declares.
#[derive(Debug, Clone, Default)]
struct DeclaredIdentity {
    /// The client info of the latest request, to notice a change.
    info: Option<Raw>,
    name: String,
    version: String,
}

/// A running call; dropped, it is no longer counted.
#[derive(Debug)]
pub(super) struct CallInProgress(Arc<ConnectedClient>);

// === impl ConnectedClients ===

impl ConnectedClients {
    /// Adds a client, whose connection ends with `closing`.
    pub(super) fn add(
        &self,
        session: String,
        hello: &ClientHello,
        closing: &CancellationToken,
    ) -> Arc<ConnectedClient> {
        let presence = Arc::new(ConnectedClient {
            session,
            folder: hello.cwd.clone(),
            since: SystemTime::now(),
            client: Mutex::default(),
            calls: AtomicUsize::new(0),
            leave: closing.child_token(),
        });
        presence.set_identity(hello.client.as_ref());
        let mut all = self.lock();
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&presence));
        presence
    }

    /// Connected clients, oldest first; `used` returns the servers that a session has called.
    pub(super) fn list(&self, used: impl Fn(&str) -> Vec<(String, u64)>) -> Vec<AttachedClient> {
        let there: Vec<_> = self.lock().iter().filter_map(Weak::upgrade).collect();
        there.iter().map(|presence| presence.to_attached(used(&presence.session))).collect()
    }

    /// Ends the connection of a session; `false` if there is none.
    pub(super) fn disconnect(&self, session: &str) -> bool {
        let there: Vec<_> = self.lock().iter().filter_map(Weak::upgrade).collect();
        let found = there.iter().find(|presence| presence.session == session);
        found.inspect(|presence| presence.leave.cancel()).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<ConnectedClient>>> {
        self.0.lock()
    }
}

// === impl ConnectedClient ===

impl ConnectedClient {
    /// Stores the name and version that the client declares, if they changed.
    pub(super) fn set_identity(&self, info: Option<&Raw>) {
        let Some(info) = info else { return };
        let mut client = self.lock_identity();
        if client.info.as_ref().is_some_and(|known| known.as_str() == info.as_str()) {
            return;
        }
        let text = |key| info.get(key).ok().flatten().and_then(|value| value.to_text());
        let told = |key| shorten(&text(key).unwrap_or_default());
        *client = DeclaredIdentity {
            info: Some(info.clone()),
            name: told("name"),
            version: told("version"),
        };
    }

    pub(super) fn begin_call(self: &Arc<Self>) -> CallInProgress {
        self.calls.fetch_add(1, Relaxed);
        CallInProgress(Arc::clone(self))
    }

    fn to_attached(&self, servers: Vec<(String, u64)>) -> AttachedClient {
        let DeclaredIdentity { name, version, .. } = self.lock_identity().clone();
        AttachedClient {
            session: self.session.clone(),
            name,
            version,
            transport: "socket".to_owned(),
            folder: self.folder.clone(),
            since: unix_seconds(self.since),
            calls: self.calls.load(Relaxed),
            servers: servers.into_iter().collect(),
        }
    }

    fn lock_identity(&self) -> MutexGuard<'_, DeclaredIdentity> {
        self.client.lock()
    }
}

impl AttachedClient {
    /// The clients of the network faces.
    pub fn network_clients(engine: &Engine) -> Vec<Self> {
        let seated = engine.sessions().into_iter();
        let others =
            seated.filter(|seated| matches!(seated.caller.transport, "http" | "sse" | "ws"));
        let told = |seated: SessionInfo| {
            let calls = engine.calls_in_flight_of(&seated.caller.session);
            Self::from_session(seated, calls)
        };
        others.map(told).collect()
    }

    /// A client that did not come through the socket, from the engine's session; `calls` is its number of running
    /// calls.
    pub fn from_session(seated: SessionInfo, calls: usize) -> Self {
        let who = &seated.caller;
        Self {
            session: who.session_mark(),
            name: shorten(&who.client),
            version: String::new(),
            transport: who.transport.to_owned(),
            folder: who.workspace.clone(),
            since: unix_seconds(seated.since),
            calls,
            servers: seated.used,
        }
    }
}

/// Sanitizes a client's name or version and cuts it to `MAX_NAME_CHARS`.
fn shorten(text: &str) -> String {
    sanitize::sanitize_line(text).chars().take(MAX_NAME_CHARS).collect()
}

fn unix_seconds(when: SystemTime) -> u64 {
    when.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

// === impl CallInProgress ===

impl Drop for CallInProgress {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Relaxed);
    }
}
