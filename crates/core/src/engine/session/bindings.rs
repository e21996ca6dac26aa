//! Session bindings: which connections a session's calls use instead of its principal's default ones, and which lists
//! it sees.
//!
//! Used by [`Caller`](super::Caller), which holds its [`SessionBindings`], and by `choose_connection`, which fills
//! them. A session sees the lists of the connections that its calls use, so sessions with equal bindings share one
//! [`SessionView`]. It does not start connections.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, MutexGuard};
use switchboard_config::PermissionMode;

use crate::connection::{Connection, ConnectionKey, ConnectionState, EntryKey};
use crate::engine::snapshot::WorkspaceSnapshot;
use crate::engine::supervisor::applied::{AppliedServer, AppliedState};
use crate::permission::{RulePrincipal, hides_by_mode};

/// The connections of one session, by server.
#[derive(Default)]
pub(in crate::engine) struct SessionBindings(Mutex<BindingTable>);

#[derive(Default)]
struct BindingTable {
    bindings: BTreeMap<String, SessionBinding>,
    /// The view with these bindings, once all their lists are known.
    view: Option<Arc<SessionView>>,
}

/// The connections of a session to one server.
#[derive(Clone)]
pub(in crate::engine) struct SessionBinding {
    /// The connection of the session's kind (era and class); may be the default one.
    pub(in crate::engine) kind: Arc<Connection>,
    /// The connection that the session has for itself, if any.
    pub(in crate::engine) own: Option<Arc<Connection>>,
}

/// The view of all sessions with equal bindings.
pub(crate) struct SessionView {
    /// The id of the view among those of its principal.
    pub(in crate::engine) id: u64,
    /// The number of the applied state that the view was made from.
    number: u64,
    pub(in crate::engine) applied: Arc<AppliedState>,
    /// The last snapshot, and the revision it was made at.
    pub(in crate::engine) shown: Mutex<Option<(u64, Arc<WorkspaceSnapshot>)>>,
}

/// The views of one principal's sessions, by what differs from the principal's own view.
#[derive(Default)]
pub(in crate::engine) struct SessionViews(Mutex<HashMap<SessionViewKey, Weak<SessionView>>>);

/// The groups of the principal and the mode, where lists depend on them; and servers, each with the connection that
/// replaces the default one.
type SessionViewKey = (Arc<[String]>, &'static str, Vec<(String, ConnectionKey)>);

/// What lists of a session depend on besides its connections.
#[derive(Clone, Copy)]
pub(in crate::engine) struct SessionLists<'a> {
    /// The principal with the session's groups.
    pub(in crate::engine) principal: &'a RulePrincipal,
    /// The session's permission mode.
    pub(in crate::engine) mode: PermissionMode,
}

// === impl SessionBinding ===

impl SessionBinding {
    /// Returns the connection that calls use.
    pub(in crate::engine) fn connection(&self) -> &Arc<Connection> {
        self.own.as_ref().unwrap_or(&self.kind)
    }

    /// Returns the connection with the lists that the session sees: the one that calls use, once its lists are
    /// known.
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
    /// Returns the binding to a server, unless its entry has been replaced.
    pub(in crate::engine) fn get(&self, placed: &AppliedServer) -> Option<SessionBinding> {
        let taken = self.lock();
        let binding = taken.bindings.get(&placed.name)?;
        let is_over = matches!(binding.connection().state(), ConnectionState::Stopped);
        (binding.is_for_entry(placed.connection.entry_key()) && !is_over).then(|| binding.clone())
    }

    pub(in crate::engine) fn put(&self, server: &str, binding: SessionBinding) {
        let mut taken = self.lock();
        taken.bindings.insert(server.to_owned(), binding);
        taken.view = None;
    }

    /// Whether calls use the connection with this number; `None` if no binding has it.
    pub(in crate::engine) fn uses_connection(
        &self,
        number: u64,
        server: Option<&str>,
    ) -> Option<bool> {
        let taken = self.lock();
        if taken.bindings.values().any(|binding| binding.connection().key().number() == number) {
            return Some(true);
        }
        // The default connection of a server where the session has another.
        server.and_then(|server| taken.bindings.get(server)).map(|_| false)
    }

    /// Returns the session's view; `None` where it equals its principal's. `knows` says whether a connection's lists are
    /// known.
    pub(in crate::engine) fn view(
        &self,
        applied: &Arc<AppliedState>,
        views: &SessionViews,
        lists: SessionLists<'_>,
        knows: impl Fn(&Connection) -> bool,
    ) -> Option<Arc<SessionView>> {
        let mut taken = self.lock();
        let usual = lists.usual(applied);
        let differs_by_rule = usual.is_none();
        if taken.bindings.is_empty() && !differs_by_rule {
            return None;
        }
        if let Some(view) = taken.view.as_ref().filter(|view| view.number == applied.number) {
            return Some(Arc::clone(view));
        }
        let differs = |(server, binding): (&String, &SessionBinding)| {
            let usual = applied.server(server)?;
            let connection = binding.visible_connection(&knows)?;
            let is_current = binding.is_for_entry(usual.connection.entry_key());
            (is_current && connection.key() != usual.connection.key())
                .then(|| (server.clone(), Arc::clone(connection)))
        };
        let differing: Vec<_> = taken.bindings.iter().filter_map(differs).collect();
        if differing.is_empty() && !differs_by_rule {
            return None;
        }
        let view = views.view_for(applied, usual.unwrap_or(lists), &differing);
        if taken.bindings.values().all(|binding| knows(binding.connection())) {
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
        f.debug_list().entries(self.lock().bindings.keys()).finish()
    }
}

// === impl SessionLists ===

impl<'a> SessionLists<'a> {
    /// What the lists of the principal's own view depend on, if those of this session are equal.
    fn usual(self, applied: &'a AppliedState) -> Option<Self> {
        let Self { principal, mode } = self;
        let usual = Self { principal: &applied.principal, mode: applied.permissions.mode() };
        let differs_by_mode = mode != usual.mode
            && (hides_by_mode(mode, principal) || hides_by_mode(usual.mode, principal));
        let differs_by_group =
            principal != usual.principal && applied.permissions.with_mode(mode).hides_by_group();
        (!differs_by_mode && !differs_by_group).then_some(usual)
    }
}

// === impl SessionViews ===

impl SessionViews {
    /// Returns the view of a principal in which these connections replace the default ones.
    fn view_for(
        &self,
        applied: &Arc<AppliedState>,
        lists: SessionLists<'_>,
        connections: &[(String, Arc<Connection>)],
    ) -> Arc<SessionView> {
        let replaced = connections.iter().map(|(server, it)| (server.clone(), it.key()));
        let SessionLists { principal, mode } = lists;
        let key = (Arc::clone(&principal.groups), mode.word(), replaced.collect::<Vec<_>>());
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
            // The highest bit is free for those who mark a number.
            id: hasher.finish() >> 1,
            number: applied.number,
            applied: Arc::new(AppliedState {
                placed,
                principal: principal.clone(),
                permissions: applied.permissions.with_mode(mode),
                ..(**applied).clone()
            }),
            shown: Mutex::default(),
        });
        views.insert(key, Arc::downgrade(&view));
        view
    }
}
