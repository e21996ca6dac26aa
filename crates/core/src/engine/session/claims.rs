//! Claims: which session has a connection for itself, which servers keep state for each client, and notes about
//! sharing.
//!
//! Written by `choose_connection`; the snapshot reads the notes as problems. It does not open connections.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use parking_lot::{Mutex, MutexGuard};

use crate::connection::{ConnectionKey, EntryKey, ServerKey};
use crate::engine::supervisor::pool::ConnectionHolder;
use crate::engine::workspace::state::WorkspaceId;
use crate::problem::{EngineProblem, EngineProblemKind};

/// How many classes of a server may have connections at once.
pub(super) const MAX_CLASSES: usize = 4;

/// The claims of sessions on connections.
#[derive(Debug, Default)]
pub(in crate::engine) struct Claims(Mutex<ClaimTable>);

#[derive(Debug, Default)]
struct ClaimTable {
    /// The session that claimed a connection that must not be shared: its workspace and its id.
    by: HashMap<ConnectionKey, (WorkspaceId, String)>,
    /// Servers that turned out to keep state for each client.
    stateful: HashSet<ServerKey>,
    /// The entry that a session's connections were made from.
    made_from: HashMap<ConnectionHolder, EntryKey>,
    /// Notes about the sharing of a server's connections, by workspace and server.
    notes: BTreeMap<(WorkspaceId, String), BTreeSet<SharingNote>>,
}

/// A note for people about the sharing of a server's connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) enum SharingNote {
    /// A session shares a connection that declares less than its client supports.
    ClassLimit,
    /// Two processes of the server run, one for each era.
    TwoEras,
}

// === impl Claims ===

impl Claims {
    /// Claims a connection for one session. `false` if another session has it, or if it is unclaimed and `is_free`
    /// says no.
    pub(super) fn take(
        &self,
        key: ConnectionKey,
        (workspace, session): (&WorkspaceId, &str),
        is_free: impl FnOnce() -> bool,
    ) -> bool {
        let mut claimed = self.lock();
        match claimed.by.get(&key) {
            Some((at, by)) => at == workspace && by == session,
            None if is_free() => {
                claimed.by.insert(key, (workspace.clone(), session.to_owned()));
                true
            }
            None => false,
        }
    }

    /// Whether a session has claimed a connection.
    pub(in crate::engine) fn has_claim(&self, key: &ConnectionKey) -> bool {
        self.lock().by.contains_key(key)
    }

    pub(super) fn is_stateful(&self, key: &ServerKey) -> bool {
        self.lock().stateful.contains(key)
    }

    /// Notes that a server sends requests to its client, so that clients must not share it.
    pub(super) fn note_stateful(&self, key: ServerKey) {
        self.lock().stateful.insert(key);
    }

    pub(super) fn note(&self, workspace: &WorkspaceId, server: &str, note: SharingNote) {
        let at = (workspace.clone(), server.to_owned());
        self.lock().notes.entry(at).or_default().insert(note);
    }

    /// Returns the notes about the servers of a workspace, as problems.
    pub(in crate::engine) fn problems(&self, workspace: &WorkspaceId) -> Vec<EngineProblem> {
        let claimed = self.lock();
        let notes = claimed.notes.iter().filter(|((at, _), _)| at == workspace);
        let problem = |server: &String, note: &SharingNote| {
            EngineProblem::new(EngineProblemKind::Sharing, note.message()).of_server(server)
        };
        let of = |((_, server), notes): (&(WorkspaceId, String), &BTreeSet<SharingNote>)| {
            notes.iter().map(|note| problem(server, note)).collect::<Vec<_>>()
        };
        notes.flat_map(of).collect()
    }

    /// Whether a session's own connection still belongs to the entry it was made from.
    pub(in crate::engine) fn is_current(
        &self,
        holder: &ConnectionHolder,
        entry: Option<&EntryKey>,
    ) -> bool {
        self.lock().made_from.get(holder) == entry
    }

    pub(in crate::engine) fn leave(&self, workspace: &WorkspaceId, session: &str) {
        let mut claimed = self.lock();
        claimed.by.retain(|_, (at, by)| at != workspace || by != session);
        let is_theirs = |holder: &ConnectionHolder| {
            holder.workspace == *workspace && holder.of.is_session(session)
        };
        claimed.made_from.retain(|holder, _| !is_theirs(holder));
    }

    pub(in crate::engine) fn end(&self, workspace: &WorkspaceId) {
        let mut claimed = self.lock();
        claimed.by.retain(|_, (at, _)| at != workspace);
        claimed.made_from.retain(|holder, _| holder.workspace != *workspace);
        claimed.notes.retain(|(at, _), _| at != workspace);
    }

    /// Stores the entry that a holder's connection was made from.
    pub(super) fn note_entry(&self, holder: ConnectionHolder, entry: EntryKey) {
        self.lock().made_from.insert(holder, entry);
    }

    fn lock(&self) -> MutexGuard<'_, ClaimTable> {
        self.0.lock()
    }
}

// === impl SharingNote ===

impl SharingNote {
    fn message(self) -> String {
        match self {
            Self::ClassLimit => format!(
                "{MAX_CLASSES} kinds of clients use it already; a further one shares a connection that promises less \
                 than its client can do"
            ),
            Self::TwoEras => "two processes of it run, one for clients of each protocol era; they share no memory; \
                              `\"era\": \"modern\"` or `\"legacy\"` on its entry makes it one"
                .to_owned(),
        }
    }
}
