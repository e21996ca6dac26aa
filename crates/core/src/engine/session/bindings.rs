//! What a session's calls take where that is not its principal's usual connection, and what it therefore sees.
//!
//! A [`Caller`](super::Caller) keeps its [`SessionBindings`]; `choose` fills them. The lists that a session sees are those of the
//! connections that its calls take, so sessions with equal seats share one [`SessionView`].

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, MutexGuard};

use crate::connection::{Connection, ConnectionKey, ConnectionState, EntryKey};
use crate::engine::snapshot::WorkspaceSnapshot;
use crate::engine::supervisor::applied::{AppliedServer, AppliedState};

/// The connections of one session, by server.
#[derive(Default)]
pub(in crate::engine) struct SessionBindings(Mutex<BindingTable>);

#[derive(Default)]
struct BindingTable {
    seats: BTreeMap<String, SessionBinding>,
    /// What is seen from these seats, once all that is to be seen there is known.
    view: Option<Arc<SessionView>>,
}

/// Where a session's calls of one server go.
#[derive(Clone)]
pub(in crate::engine) struct SessionBinding {
    /// The connection of the session's kind; the usual one where they are the same.
    pub(in crate::engine) kind: Arc<Connection>,
    /// The connection that the session has to itself, once it has one.
    pub(in crate::engine) own: Option<Arc<Connection>>,
}

/// What is seen from equal seats.
pub(crate) struct SessionView {
    /// Names it among the views of its principal.
    pub(in crate::engine) id: u64,
    /// Which applied state it was made of.
    number: u64,
    pub(in crate::engine) applied: Arc<AppliedState>,
    /// The last snapshot, and the revision it was made at.
    pub(in crate::engine) shown: Mutex<Option<(u64, Arc<WorkspaceSnapshot>)>>,
}

/// The views that sessions of one principal have, by the connections that differ from the usual ones.
#[derive(Default)]
pub(in crate::engine) struct SessionViews(Mutex<HashMap<SessionViewKey, Weak<SessionView>>>);

/// Servers, each with the connection that is seen in place of the usual one.
type SessionViewKey = Vec<(String, ConnectionKey)>;

// === impl SessionBinding ===

impl SessionBinding {
    /// The connection that calls take.
    pub(in crate::engine) fn connection(&self) -> &Arc<Connection> {
        self.own.as_ref().unwrap_or(&self.kind)
    }

    /// The connection whose lists are seen: the one that calls take, once they are known.
    fn visible_connection(&self, knows: impl Fn(&Connection) -> bool) -> Option<&Arc<Connection>> {
        let mut candidates = self.own.iter().chain([&self.kind]);
        candidates.find(|connection| knows(connection))
    }

    fn is_for_entry(&self, entry: EntryKey) -> bool {
        self.kind.entry_key() == entry
    }
}

// === impl SessionBindings ===

impl SessionBindings {
    /// The seat at a server, unless its entry has become another one.
    pub(in crate::engine) fn get(&self, placed: &AppliedServer) -> Option<SessionBinding> {
        let taken = self.lock();
        let seat = taken.seats.get(&placed.name)?;
        let is_over = matches!(seat.connection().state(), ConnectionState::Stopped);
        (seat.is_for_entry(placed.connection.entry_key()) && !is_over).then(|| seat.clone())
    }

    pub(in crate::engine) fn put(&self, server: &str, seat: SessionBinding) {
        let mut taken = self.lock();
        taken.seats.insert(server.to_owned(), seat);
        taken.view = None;
    }

    /// Whether calls take the connection with this number; `None` where nothing is known of it here.
    pub(in crate::engine) fn uses_connection(
        &self,
        number: u64,
        server: Option<&str>,
    ) -> Option<bool> {
        let taken = self.lock();
        if taken.seats.values().any(|seat| seat.connection().key().number() == number) {
            return Some(true);
        }
        // The usual connection of a server where the session has another.
        server.and_then(|server| taken.seats.get(server)).map(|_| false)
    }

    /// What is seen; `None` where everything is as usual. `knows` says whether a connection's lists are known.
    pub(in crate::engine) fn view(
        &self,
        applied: &Arc<AppliedState>,
        views: &SessionViews,
        knows: impl Fn(&Connection) -> bool,
    ) -> Option<Arc<SessionView>> {
        let mut taken = self.lock();
        if taken.seats.is_empty() {
            return None;
        }
        if let Some(view) = taken.view.as_ref().filter(|view| view.number == applied.number) {
            return Some(Arc::clone(view));
        }
        let differs = |(server, seat): (&String, &SessionBinding)| {
            let usual = applied.server(server)?;
            let connection = seat.visible_connection(&knows)?;
            let is_current = seat.is_for_entry(usual.connection.entry_key());
            (is_current && connection.key() != usual.connection.key())
                .then(|| (server.clone(), Arc::clone(connection)))
        };
        let differing: Vec<_> = taken.seats.iter().filter_map(differs).collect();
        if differing.is_empty() {
            return None;
        }
        let view = views.view_for(applied, &differing);
        if taken.seats.values().all(|seat| knows(seat.connection())) {
            taken.view = Some(Arc::clone(&view));
        }
        Some(view)
    }

    fn lock(&self) -> MutexGuard<'_, BindingTable> {
        self.0.lock()
    }
}

impl std::fmt::Debug for SessionBindings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.lock().seats.keys()).finish()
    }
}

// === impl SessionViews ===

impl SessionViews {
    /// The view in which these connections stand in place of the usual ones.
    fn view_for(
        &self,
        applied: &Arc<AppliedState>,
        connections: &[(String, Arc<Connection>)],
    ) -> Arc<SessionView> {
        let key: Vec<_> = connections
            .iter()
            .map(|(server, connection)| (server.clone(), connection.key()))
            .collect();
        let mut views = self.0.lock();
        let known = views.get(&key).and_then(Weak::upgrade);
        if let Some(view) = known.filter(|view| view.number == applied.number) {
            return view;
        }
        views.retain(|_, view| view.strong_count() > 0);
        let instead = |placed: &Arc<AppliedServer>| {
            let other = connections.iter().find(|(server, _)| *server == placed.name);
            match other {
                None => Arc::clone(placed),
                Some((_, connection)) => Arc::new(placed.with_connection(Arc::clone(connection))),
            }
        };
        let placed = applied.placed.iter().map(instead).collect();
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let view = Arc::new(SessionView {
            id: hasher.finish(),
            number: applied.number,
            applied: Arc::new(AppliedState { placed, ..(**applied).clone() }),
            shown: Mutex::default(),
        });
        views.insert(key, Arc::downgrade(&view));
        view
    }
}
