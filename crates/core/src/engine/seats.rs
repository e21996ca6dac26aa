//! What a session's calls take where that is not its principal's usual connection, and what it therefore sees.
//!
//! A [`Caller`](super::Caller) keeps its [`Seats`]; `choose` fills them. The lists that a session sees are those of the
//! connections that its calls take, so sessions with equal seats share one [`SeatedView`].

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::applied::{Applied, Placed};
use super::snapshot::Snapshot;
use crate::connection::{Connection, EntryKey, Key, State};

/// The connections of one session, by server.
#[derive(Default)]
pub(super) struct Seats(Mutex<Taken>);

#[derive(Default)]
struct Taken {
    seats: BTreeMap<String, Seat>,
    /// What is seen from these seats, once all that is to be seen there is known.
    view: Option<Arc<SeatedView>>,
}

/// Where a session's calls of one server go.
#[derive(Clone)]
pub(super) struct Seat {
    /// The connection of the session's kind; the usual one where they are the same.
    pub(super) kind: Arc<Connection>,
    /// The connection that the session has to itself, once it has one.
    pub(super) own: Option<Arc<Connection>>,
}

/// What is seen from equal seats.
pub(crate) struct SeatedView {
    /// Names it among the views of its principal.
    pub(super) id: u64,
    /// Which applied state it was made of.
    number: u64,
    pub(super) applied: Arc<Applied>,
    /// The last snapshot, and the revision it was made at.
    pub(super) shown: Mutex<Option<(u64, Arc<Snapshot>)>>,
}

/// The views that sessions of one principal have, by the connections that differ from the usual ones.
#[derive(Default)]
pub(super) struct SeatedViews(Mutex<HashMap<Connections, Weak<SeatedView>>>);

/// Servers, each with the connection that is seen in place of the usual one.
type Connections = Vec<(String, Key)>;

// === impl Seat ===

impl Seat {
    /// The connection that calls take.
    pub(super) fn connection(&self) -> &Arc<Connection> {
        self.own.as_ref().unwrap_or(&self.kind)
    }

    /// The connection whose lists are seen: the one that calls take, once they are known.
    fn seen(&self, knows: impl Fn(&Connection) -> bool) -> Option<&Arc<Connection>> {
        let mut candidates = self.own.iter().chain([&self.kind]);
        candidates.find(|connection| knows(connection))
    }

    fn is_of(&self, entry: EntryKey) -> bool {
        self.kind.entry_key() == entry
    }
}

// === impl Seats ===

impl Seats {
    /// The seat at a server, unless its entry has become another one.
    pub(super) fn get(&self, placed: &Placed) -> Option<Seat> {
        let taken = self.lock();
        let seat = taken.seats.get(&placed.name)?;
        let is_over = matches!(seat.connection().state(), State::Stopped);
        (seat.is_of(placed.connection.entry_key()) && !is_over).then(|| seat.clone())
    }

    pub(super) fn put(&self, server: &str, seat: Seat) {
        let mut taken = self.lock();
        taken.seats.insert(server.to_owned(), seat);
        taken.view = None;
    }

    /// Whether calls take the connection with this number; `None` where nothing is known of it here.
    pub(super) fn takes(&self, number: u64, server: Option<&str>) -> Option<bool> {
        let taken = self.lock();
        if taken.seats.values().any(|seat| seat.connection().key().number() == number) {
            return Some(true);
        }
        // The usual connection of a server where the session has another.
        server.and_then(|server| taken.seats.get(server)).map(|_| false)
    }

    /// What is seen; `None` where everything is as usual. `knows` says whether a connection's lists are known.
    pub(super) fn view(
        &self,
        applied: &Arc<Applied>,
        views: &SeatedViews,
        knows: impl Fn(&Connection) -> bool,
    ) -> Option<Arc<SeatedView>> {
        let mut taken = self.lock();
        if taken.seats.is_empty() {
            return None;
        }
        if let Some(view) = taken.view.as_ref().filter(|view| view.number == applied.number) {
            return Some(Arc::clone(view));
        }
        let differs = |(server, seat): (&String, &Seat)| {
            let usual = applied.placed(server)?;
            let connection = seat.seen(&knows)?;
            let is_current = seat.is_of(usual.connection.entry_key());
            (is_current && connection.key() != usual.connection.key())
                .then(|| (server.clone(), Arc::clone(connection)))
        };
        let differing: Vec<_> = taken.seats.iter().filter_map(differs).collect();
        if differing.is_empty() {
            return None;
        }
        let view = views.of(applied, &differing);
        if taken.seats.values().all(|seat| knows(seat.connection())) {
            taken.view = Some(Arc::clone(&view));
        }
        Some(view)
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Seats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.lock().seats.keys()).finish()
    }
}

// === impl SeatedViews ===

impl SeatedViews {
    /// The view in which these connections stand in place of the usual ones.
    fn of(
        &self,
        applied: &Arc<Applied>,
        connections: &[(String, Arc<Connection>)],
    ) -> Arc<SeatedView> {
        let key: Vec<_> = connections
            .iter()
            .map(|(server, connection)| (server.clone(), connection.key()))
            .collect();
        let mut views = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = views.get(&key).and_then(Weak::upgrade);
        if let Some(view) = known.filter(|view| view.number == applied.number) {
            return view;
        }
        views.retain(|_, view| view.strong_count() > 0);
        let instead = |placed: &Arc<Placed>| {
            let other = connections.iter().find(|(server, _)| *server == placed.name);
            match other {
                None => Arc::clone(placed),
                Some((_, connection)) => Arc::new(placed.at(Arc::clone(connection))),
            }
        };
        let placed = applied.placed.iter().map(instead).collect();
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let view = Arc::new(SeatedView {
            id: hasher.finish(),
            number: applied.number,
            applied: Arc::new(Applied { placed, ..(**applied).clone() }),
            shown: Mutex::default(),
        });
        views.insert(key, Arc::downgrade(&view));
        view
    }
}
