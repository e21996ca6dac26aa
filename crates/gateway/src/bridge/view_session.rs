//! The sessions of one view with the engine, one for each kind of client, and the lists announced to each session.
//!
//! Used by `bridge::view` and `bridge::audience`. A legacy session or a stdio connection has one. Modern clients over
//! HTTP have no sessions: all clients of a principal share a view, each declares its capabilities with each request,
//! and clients with different capabilities may see different lists. So the announcer compares the lists of each
//! session separately, and a client that listens hears of the session of its own kind. It does not send notifications
//! (`bridge::audience` does).

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use switchboard_core::catalog::Catalog;
use switchboard_core::connection::OpaqueCapabilities;
use switchboard_core::engine::EngineEvent;
use switchboard_core::{Caller, Engine};
use switchboard_wire::Era;
use switchboard_wire::client::ListKind;
use switchboard_wire::json::Raw;
use switchboard_wire::server::SourceFilter;

use super::audience::{AnnouncedLists, Audience, RecentViewNumbers};

/// The number of kinds of clients that one view keeps sessions for while no client of the kind listens. A client is
/// of one kind, or of very few.
const MAX_IDLE_SESSIONS: usize = 8;

/// The capabilities that decide, beside opaque ones, which session a client's requests belong to. A client may declare
/// others with some requests only (tasks with calls, for example); the engine reads these from the request.
const KIND_MEMBERS: [&str; 3] = ["elicitation", "sampling", "roots"];

/// The session of one kind of client.
pub(super) struct ViewSession {
    engine: Engine,
    pub(super) caller: Caller,
    /// The lists last announced to the session's clients.
    announced: AnnouncedLists,
    /// The view numbers that the session had lately.
    seen_numbers: RecentViewNumbers,
}

/// The sessions of one view, oldest first.
#[derive(Default)]
pub(super) struct ViewSessions(Mutex<Vec<Arc<ViewSession>>>);

// === impl ViewSession ===

impl ViewSession {
    /// Creates a session. Its lists are compared with the present ones from now on.
    pub(super) fn new(engine: &Engine, caller: Caller, audience: &Audience) -> Self {
        let announced = AnnouncedLists::default();
        if let Some(catalog) = engine.catalog_of(&caller) {
            audience.begin(&announced, &catalog);
        }
        let seen_numbers = RecentViewNumbers::default();
        Self { engine: engine.clone(), caller, announced, seen_numbers }
    }

    /// Returns the number of the lists that the session's clients see: sessions of one audience with equal numbers
    /// see equal lists.
    pub(super) fn seen_number(&self) -> u64 {
        let number = self.engine.view_number(&self.caller);
        self.seen_numbers.note(number);
        number
    }

    /// Whether the session has this view number, or had it a moment ago: an announcement from then is still on its
    /// way.
    fn has_seen(&self, number: u64) -> bool {
        self.seen_numbers.has(number) || self.engine.view_number(&self.caller) == number
    }

    /// Returns the catalog that the session's clients see now.
    pub(super) fn catalog(&self) -> Option<Arc<Catalog>> {
        self.engine.catalog_of(&self.caller)
    }

    /// Whether an event happened on a connection that the session's calls use, of a server that no rule hides.
    pub(super) fn hears_event(&self, event: &EngineEvent) -> bool {
        let number = event.connection.map(|key| key.number());
        number.is_none_or(|number| self.engine.uses_connection(&self.caller, number))
            && self.engine.sees_server(&self.caller, &event.server)
    }

    /// Notes that a client got this list.
    pub(super) fn note_listed(&self, audience: &Audience, list: ListKind, catalog: &Catalog) {
        audience.note_listed(&self.announced, list, catalog);
    }

    /// Whether a list has to be announced to the session's clients; it then counts as announced. A legacy client that
    /// has not listed yet has no list that could be outdated; a modern client may have lists from before, and asked
    /// for announcements.
    pub(super) fn is_news(&self, list: ListKind, digest: u64, is_said: bool) -> bool {
        let is_legacy = self.caller.session().era == Some(Era::Legacy);
        if is_legacy && !self.announced.was_listed(list) {
            return false;
        }
        self.announced.is_news(list, digest, is_said)
    }

    fn is_of_kind(&self, era: Era, capabilities: &Raw) -> bool {
        let session = self.caller.session();
        session.era == Some(era) && is_same_kind(&session.capabilities, capabilities)
    }
}

// === impl ViewSessions ===

impl ViewSessions {
    /// Returns all sessions of the view.
    pub(super) fn all(&self) -> Vec<Arc<ViewSession>> {
        self.lock().clone()
    }

    /// The session of clients of this kind, if there is one.
    pub(super) fn find(&self, era: Era, capabilities: &Raw) -> Option<Arc<ViewSession>> {
        self.lock().iter().find(|session| session.is_of_kind(era, capabilities)).cloned()
    }

    /// The only session of the view; `None` if there are several, or none yet.
    pub(super) fn only(&self) -> Option<Arc<ViewSession>> {
        match &self.lock()[..] {
            [only] => Some(Arc::clone(only)),
            _ => None,
        }
    }

    /// Adds a session, unless another request of its kind was faster: then returns that session. Sessions in which a
    /// client listens stay; there are at most as many as open streams.
    pub(super) fn add(&self, new: ViewSession) -> Arc<ViewSession> {
        let session = new.caller.session();
        let (era, capabilities) = (session.era, session.capabilities.clone());
        let mut sessions = self.lock();
        let known =
            |known: &&Arc<ViewSession>| era.is_some_and(|era| known.is_of_kind(era, &capabilities));
        if let Some(known) = sessions.iter().find(known) {
            return Arc::clone(known);
        }
        if sessions.len() >= MAX_IDLE_SESSIONS
            && let Some(idle) = sessions.iter().position(|session| Arc::strong_count(session) == 1)
        {
            sessions.remove(idle);
        }
        let new = Arc::new(new);
        sessions.push(Arc::clone(&new));
        new
    }

    /// Whether a session of the view has this view number, or had it a moment ago.
    pub(super) fn have_seen(&self, number: u64) -> bool {
        self.all().iter().any(|session| session.has_seen(number))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<ViewSession>>> {
        self.0.lock()
    }
}

/// The filter of changes for a client of this session. The session stays while the filter is held.
pub(super) fn source_filter(session: Arc<ViewSession>) -> SourceFilter {
    SourceFilter::new(move |number| session.has_seen(number))
}

/// Whether two declarations of capabilities are of one kind of client.
fn is_same_kind(one: &Raw, other: &Raw) -> bool {
    let member = |of: &Raw, name: &str| of.get(name).ok().flatten();
    let is_same = |name: &&str| member(one, name) == member(other, name);
    let opaque = |of: &Raw| OpaqueCapabilities::of_client(of).declared;
    one.as_str() == other.as_str()
        || (KIND_MEMBERS.iter().all(is_same) && opaque(one) == opaque(other))
}
