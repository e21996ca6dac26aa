//! The clients that are there, and what each is about.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use switchboard_core::Engine;
use switchboard_core::engine::Seated;
use switchboard_wire::json::Raw;
use switchboard_wire::sanitize;

use super::hello::{Attached, Hello};

/// How much of a client's name is told.
const LONGEST: usize = 64;
/// How many clients are told of; the counts are of all.
pub(super) const MOST: usize = 1000;

/// All that are there.
#[derive(Debug, Default)]
pub(super) struct Presences(Mutex<Vec<Weak<Presence>>>);

/// One client, for as long as somebody holds it.
#[derive(Debug)]
pub(super) struct Presence {
    session: String,
    folder: PathBuf,
    since: SystemTime,
    client: Mutex<Client>,
    calls: AtomicUsize,
}

/// Who a client says it is.
#[derive(Debug, Clone, Default)]
struct Client {
    /// As it said so last.
    info: Option<Raw>,
    name: String,
    version: String,
}

/// A call under way.
#[derive(Debug)]
pub(super) struct UnderWay(Arc<Presence>);

// === impl Presences ===

impl Presences {
    pub(super) fn arrive(&self, session: String, hello: &Hello) -> Arc<Presence> {
        let presence = Arc::new(Presence {
            session,
            folder: hello.cwd.clone(),
            since: SystemTime::now(),
            client: Mutex::default(),
            calls: AtomicUsize::new(0),
        });
        presence.is(hello.client.as_ref());
        let mut all = self.lock();
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&presence));
        presence
    }

    /// Everybody who is there, whoever came first first; `used` says which servers a session uses.
    pub(super) fn told(&self, used: impl Fn(&str) -> Vec<(String, u64)>) -> Vec<Attached> {
        let there: Vec<_> = self.lock().iter().filter_map(Weak::upgrade).collect();
        there.iter().map(|presence| presence.told(used(&presence.session))).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<Presence>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Presence ===

impl Presence {
    /// Takes note of who the client says it is.
    pub(super) fn is(&self, info: Option<&Raw>) {
        let Some(info) = info else { return };
        let mut client = self.client();
        if client.info.as_ref().is_some_and(|known| known.as_str() == info.as_str()) {
            return;
        }
        let text = |key| info.get(key).ok().flatten().and_then(|value| value.to_text());
        let told = |key| shortened(&text(key).unwrap_or_default());
        *client = Client { info: Some(info.clone()), name: told("name"), version: told("version") };
    }

    pub(super) fn call(self: &Arc<Self>) -> UnderWay {
        self.calls.fetch_add(1, Relaxed);
        UnderWay(Arc::clone(self))
    }

    fn told(&self, servers: Vec<(String, u64)>) -> Attached {
        let Client { name, version, .. } = self.client().clone();
        Attached {
            session: self.session.clone(),
            name,
            version,
            transport: "socket".to_owned(),
            folder: self.folder.clone(),
            since: seconds(self.since),
            calls: self.calls.load(Relaxed),
            servers: servers.into_iter().collect(),
        }
    }

    fn client(&self) -> MutexGuard<'_, Client> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Attached {
    /// Clients of the network's faces.
    pub fn of_network(engine: &Engine) -> Vec<Self> {
        let seated = engine.seated().into_iter();
        let others = seated.filter(|seated| matches!(seated.who.transport, "http" | "sse" | "ws"));
        let told = |seated: Seated| {
            let calls = engine.calls_of(&seated.who.session);
            Self::of(seated, calls)
        };
        others.map(told).collect()
    }

    /// A client that came another way, as the engine knows it; it has so many calls under way.
    pub fn of(seated: Seated, calls: usize) -> Self {
        let who = &seated.who;
        Self {
            session: who.session_mark(),
            name: shortened(&who.client),
            version: String::new(),
            transport: who.transport.to_owned(),
            folder: who.workspace.clone(),
            since: seconds(seated.since),
            calls,
            servers: seated.used,
        }
    }
}

/// What a client says of itself, for people.
fn shortened(text: &str) -> String {
    sanitize::line(text).chars().take(LONGEST).collect()
}

fn seconds(when: SystemTime) -> u64 {
    when.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

// === impl UnderWay ===

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Relaxed);
    }
}
