//! The clients that are there, and what each is about.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::{Mutex, MutexGuard};
use switchboard_core::Engine;
use switchboard_core::engine::SessionInfo;
use switchboard_wire::json::Raw;
use switchboard_wire::sanitize;

use super::hello::{AttachedClient, ClientHello};

/// How much of a client's name is told.
const MAX_NAME_CHARS: usize = 64;
/// How many clients are told of; the counts are of all.
pub(super) const MAX_CLIENTS_LISTED: usize = 1000;

/// All that are there.
#[derive(Debug, Default)]
pub(super) struct ConnectedClients(Mutex<Vec<Weak<ConnectedClient>>>);

/// One client, for as long as somebody holds it.
#[derive(Debug)]
pub(super) struct ConnectedClient {
    session: String,
    folder: PathBuf,
    since: SystemTime,
    client: Mutex<DeclaredIdentity>,
    calls: AtomicUsize,
}

/// Who a client says it is.
#[derive(Debug, Clone, Default)]
struct DeclaredIdentity {
    /// As it said so last.
    info: Option<Raw>,
    name: String,
    version: String,
}

/// A call under way.
#[derive(Debug)]
pub(super) struct CallInProgress(Arc<ConnectedClient>);

// === impl ConnectedClients ===

impl ConnectedClients {
    pub(super) fn add(&self, session: String, hello: &ClientHello) -> Arc<ConnectedClient> {
        let presence = Arc::new(ConnectedClient {
            session,
            folder: hello.cwd.clone(),
            since: SystemTime::now(),
            client: Mutex::default(),
            calls: AtomicUsize::new(0),
        });
        presence.set_identity(hello.client.as_ref());
        let mut all = self.lock();
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&presence));
        presence
    }

    /// Everybody who is there, whoever came first first; `used` says which servers a session uses.
    pub(super) fn list(&self, used: impl Fn(&str) -> Vec<(String, u64)>) -> Vec<AttachedClient> {
        let there: Vec<_> = self.lock().iter().filter_map(Weak::upgrade).collect();
        there.iter().map(|presence| presence.to_attached(used(&presence.session))).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<ConnectedClient>>> {
        self.0.lock()
    }
}

// === impl ConnectedClient ===

impl ConnectedClient {
    /// Takes note of who the client says it is.
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
    /// Clients of the network's faces.
    pub fn network_clients(engine: &Engine) -> Vec<Self> {
        let seated = engine.sessions().into_iter();
        let others = seated.filter(|seated| matches!(seated.who.transport, "http" | "sse" | "ws"));
        let told = |seated: SessionInfo| {
            let calls = engine.calls_in_flight_of(&seated.who.session);
            Self::from_session(seated, calls)
        };
        others.map(told).collect()
    }

    /// A client that came another way, as the engine knows it; it has so many calls under way.
    pub fn from_session(seated: SessionInfo, calls: usize) -> Self {
        let who = &seated.who;
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

/// What a client says of itself, for people.
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
