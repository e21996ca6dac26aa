//! Which connection a session's calls take: the one that its principal has, or one of its own.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use switchboard_config::{Share, Transport};
use switchboard_wire::Era;

use super::pool::{HoldRequest, Holder, Of};
use super::workspace::WorkspaceId;
use super::{Caller, Inner, Placed};
use crate::connection::{Connection, Key, NotReady, Reach, ServerKey, Variant};

/// Who has which connection to itself.
#[derive(Debug, Default)]
pub(super) struct Claims(Mutex<Claimed>);

#[derive(Debug, Default)]
struct Claimed {
    /// The session that took the connection of a server that is not to be shared: its workspace and its id.
    by: HashMap<Key, (WorkspaceId, String)>,
    /// Servers that turned out to keep state per client.
    stateful: HashSet<ServerKey>,
    /// The key of its principal's connection, which a session's own was made beside.
    beside: HashMap<Holder, Key>,
}

// === impl Claims ===

impl Claims {
    /// Takes a principal's connection for one session. `false` if another has it.
    fn take(&self, key: Key, workspace: &WorkspaceId, session: &str) -> bool {
        let mut claimed = self.lock();
        let this = (workspace.clone(), session.to_owned());
        let by = claimed.by.entry(key).or_insert_with(|| this.clone());
        *by == this
    }

    fn is_stateful(&self, key: &ServerKey) -> bool {
        self.lock().stateful.contains(key)
    }

    /// Notes that a server asks its client things, so that clients should not share it.
    pub(super) fn note_stateful(&self, key: ServerKey) {
        self.lock().stateful.insert(key);
    }

    /// Whether a session's own connection still belongs to the entry it was made from.
    pub(super) fn is_current(&self, holder: &Holder, key: Option<&Key>) -> bool {
        self.lock().beside.get(holder) == key
    }

    pub(super) fn leave(&self, workspace: &WorkspaceId, session: &str) {
        let mut claimed = self.lock();
        claimed.by.retain(|_, (at, by)| at != workspace || by != session);
        let is_theirs =
            |holder: &Holder| holder.workspace == *workspace && holder.of.is_session(session);
        claimed.beside.retain(|holder, _| !is_theirs(holder));
    }

    pub(super) fn end(&self, workspace: &WorkspaceId) {
        let mut claimed = self.lock();
        claimed.by.retain(|_, (at, _)| at != workspace);
        claimed.beside.retain(|holder, _| holder.workspace != *workspace);
    }

    fn lock(&self) -> MutexGuard<'_, Claimed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Inner ===

impl Inner {
    /// A legacy server asked something back. Where nothing but the lack of other calls says whose question it is,
    /// clients should not share the server any longer.
    pub(crate) fn asked_back(&self, connection: &Connection) {
        let names_the_call = match &connection.spec().reach {
            Reach::Entry(entry) => matches!(entry.transport, Transport::Http(_)),
            Reach::InProcess(_) => false,
        };
        if !names_the_call {
            self.claims.note_stateful(connection.server_key());
        }
    }

    /// The connection for a session's calls of a server.
    ///
    /// A legacy server is told once what its client can do, so sessions that can sample have a connection on which
    /// that was said. A server that keeps state per client has one for each session; the first takes its principal's.
    pub(crate) async fn connection(
        &self,
        caller: &Caller,
        placed: &Placed,
    ) -> Result<Arc<Connection>, NotReady> {
        let shared = &placed.connection;
        let (workspace, session) = (&caller.workspace().id, caller.session().id.as_str());
        let principal = &caller.view().principal;
        let apart = match placed.share {
            Share::Always => false,
            Share::Never => true,
            Share::Auto => self.claims.is_stateful(&shared.server_key()),
        };
        let samples = caller.can(&["sampling"])
            && placed.share != Share::Always
            && shared.ready().await?.facts.era() == Era::Legacy;
        let is_shared = !apart || self.claims.take(shared.key(), workspace, session);
        if is_shared && !samples {
            return Ok(shared.clone());
        }
        let mut spec = placed.spec.clone();
        spec.declared.sampling = samples;
        if !is_shared {
            spec.principal = Some(Arc::clone(principal));
            spec.variant = Variant::Session(session.to_owned());
        }
        let holder = Holder {
            workspace: workspace.clone(),
            server: placed.name.clone(),
            of: Of::Session { principal: Arc::clone(principal), session: session.to_owned() },
        };
        self.claims.lock().beside.insert(holder.clone(), shared.key());
        let request = HoldRequest { server_key: spec.server_key(), spec, holder: holder.clone() };
        let connection = self.pool.hold_within_limits(request, &self.listener);
        let connection = connection.map_err(NotReady::Limit)?;
        if self.standing(workspace).is_none() {
            // It ended while this was going on, and has let go of what it knew of.
            self.release(|other, _| *other == holder);
            return Err(NotReady::Stopped);
        }
        Ok(connection)
    }
}
