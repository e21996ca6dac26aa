//! Claims: which session has a connection to itself, which servers keep state for each client, and what people should know
//! of how connections are shared.
//!
//! The choice of a connection writes claims; snapshots read the notes. Nothing here opens a connection.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use parking_lot::{Mutex, MutexGuard};

use crate::connection::{ConnectionKey, EntryKey, ServerKey};
use crate::engine::supervisor::pool::ConnectionHolder;
use crate::engine::workspace::state::WorkspaceId;
use crate::problem::{EngineProblem, EngineProblemKind};

/// The most classes of a server that have connections at once.
pub(super) const MAX_CLASSES: usize = 4;

/// Who has which connection to itself.
#[derive(Debug, Default)]
pub(in crate::engine) struct Claims(Mutex<ClaimTable>);

#[derive(Debug, Default)]
struct ClaimTable {
    /// The session that took the connection of a server that is not to be shared: its workspace and its id.
    by: HashMap<ConnectionKey, (WorkspaceId, String)>,
    /// Servers that turned out to keep state per client.
    stateful: HashSet<ServerKey>,
    /// The entry that a session's connections were made from.
    made_from: HashMap<ConnectionHolder, EntryKey>,
    /// What people should know of how a server's connections are shared, by workspace and server.
    notes: BTreeMap<(WorkspaceId, String), BTreeSet<SharingNote>>,
}

/// What people should know of how a server's connections are shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) enum SharingNote {
    /// A session shares a connection that promises less than its client can do.
    ClassLimit,
    /// Two processes of the server run, one for each era.
    TwoEras,
}

// === impl Claims ===

impl Claims {
    /// Takes a connection for one session. `false` if another has it, or if nobody has it and `is_free` says no.
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

    pub(super) fn is_stateful(&self, key: &ServerKey) -> bool {
        self.lock().stateful.contains(key)
    }

    /// Notes that a server asks its client things, so that clients should not share it.
    pub(super) fn note_stateful(&self, key: ServerKey) {
        self.lock().stateful.insert(key);
    }

    pub(super) fn note(&self, workspace: &WorkspaceId, server: &str, note: SharingNote) {
        let at = (workspace.clone(), server.to_owned());
        self.lock().notes.entry(at).or_default().insert(note);
    }

    /// What people should know of how the servers of a workspace are shared.
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

    /// Remembers the entry that a holder's connection was made from.
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
