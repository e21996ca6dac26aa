//! Chooses the connection for a session's calls: its principal's default one, one of its kind, or one of its own.
//!
//! Used by `dispatch::upstream` through `Inner::connection`, and when a session lists tools. A legacy server learns
//! the capabilities of its client once, in the handshake, and a server of both eras can send requests in each. So
//! sessions of one kind (the era, the [`CapabilityClass`]) share a connection, and sessions of different kinds do
//! not. The default connection takes the kind of the first session that uses it: one process for each kind of
//! client. A server that keeps state for each client also gets a connection for each session.
//!
//! It does not start connections: `engine::supervisor::pool` does.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use switchboard_config::{ElicitationAnswerer, ServerSharing, Transport};
use switchboard_wire::{self as wire, Era, client::ListKind};
use tokio::time::timeout;

use crate::connection::{
    CapabilityClass, Connection, ConnectionError, ConnectionNotReady, ConnectionSharing,
    ConnectionSpec, ConnectionTarget, OpaqueCapabilities,
};
use crate::engine::event::EngineEventKind;
use crate::engine::session::bindings::SessionBinding;
use crate::engine::session::claims::{MAX_CLASSES, SharingNote};
use crate::engine::supervisor::applied::AppliedState;
use crate::engine::supervisor::pool::{ConnectionHolder, HoldRequest, HoldScope};
use crate::engine::workspace::state::WorkspaceId;
use crate::engine::{AppliedServer, Caller, Inner};
use crate::principal::LOCAL_PRINCIPAL;

/// How long a list waits to find out whether a server supports the era of its client.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a connection that all sessions share declares no extensions.
const SHARED_BY_ALL: &str =
    "its entry says `\"share\": \"always\"`, and one connection declares what all clients can do";
/// Why a connection declares fewer extensions than a session's client.
const TOO_MANY_CLASSES: &str = "too many kinds of clients use it at once";

/// Why a session needs a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Purpose {
    /// To list its items. Does not wait, and starts no process for the server's other era.
    List,
    /// To call it.
    Call,
}

// === impl Inner ===

impl Inner {
    /// Claims a connection for a session after a legacy server sent a request back to it. Over most transports
    /// the request names no call; over HTTP it may come on the session's stream instead of the call's, as in every
    /// example of the TypeScript SDK 1.x. So clients must not share the server from now on; the session that was
    /// asked keeps the connection.
    pub(crate) fn claim_after_question(&self, connection: &Connection, caller: &Caller) {
        self.claim_for(connection, (&caller.workspace().id, &caller.session().id));
    }

    /// Like [`Self::claim_after_question`], for a question that names no call. The session with the oldest call in
    /// flight keeps the connection, since its state there is the oldest.
    pub(in crate::engine) fn claim_for_oldest_call(&self, connection: &Connection) {
        match self.under_way.oldest_session(connection.key()) {
            Some((workspace, session)) => self.claim_for(connection, (&workspace, &session)),
            None => self.claims.note_stateful(connection.server_key()),
        }
    }

    fn claim_for(&self, connection: &Connection, session: (&WorkspaceId, &str)) {
        self.claims.note_stateful(connection.server_key());
        if connection.spec().variant == ConnectionSharing::Shared {
            self.claims.take(connection.key(), session, || true);
        }
    }

    /// Returns the connection for a session's calls of a server.
    pub(crate) async fn connection(
        &self,
        caller: &Caller,
        placed: &AppliedServer,
    ) -> Result<Arc<Connection>, ConnectionNotReady> {
        let kind = self.kind_connection(caller, placed, Purpose::Call).await?;
        let is_apart = match placed.share {
            ServerSharing::Always => false,
            ServerSharing::Never => true,
            ServerSharing::Auto => self.claims.is_stateful(&kind.server_key()),
        };
        if !is_apart {
            return Ok(kind);
        }
        if let Some(own) = caller.bindings().get(placed).and_then(|binding| binding.own) {
            return Ok(own);
        }
        let (workspace, session) = (&caller.workspace().id, caller.session().id.as_str());
        // Calls of another session may have left state there, and may lead to questions.
        let is_free = || !self.under_way.has_other_session(kind.key(), session);
        if self.claims.take(kind.key(), (workspace, session), is_free) {
            return Ok(kind);
        }
        let spec = ConnectionSpec {
            principal: Some(Arc::clone(&caller.view().principal)),
            variant: ConnectionSharing::Session(session.to_owned()),
            ..kind.spec().clone()
        };
        let own = self.hold_for_session(caller, placed, spec)?;
        caller.bindings().put(&placed.name, SessionBinding { kind, own: Some(Arc::clone(&own)) });
        Ok(own)
    }

    /// Binds a session to the servers that `is_meant` accepts, as far as that needs no waiting. Returns the
    /// connections of new bindings.
    pub(in crate::engine) async fn bind_session(
        &self,
        caller: &Caller,
        is_meant: impl Fn(&str) -> bool + Send + Sync,
    ) -> Vec<Arc<Connection>> {
        let applied = caller.applied();
        let meant = applied.placed.iter().filter(|placed| is_meant(&placed.name));
        let unbound = meant.filter(|placed| caller.bindings().get(placed).is_none());
        let seating = unbound.map(|placed| async {
            // Where no connection of the kind can be made, the session sees the lists of the default one.
            self.kind_connection(caller, placed, Purpose::List).await.ok()?;
            caller.bindings().get(placed).map(|binding| binding.kind)
        });
        join_all(seating).await.into_iter().flatten().collect()
    }

    /// Returns the connection of a session's kind.
    async fn kind_connection(
        &self,
        caller: &Caller,
        placed: &AppliedServer,
        purpose: Purpose,
    ) -> Result<Arc<Connection>, ConnectionNotReady> {
        let placed = &*caller.current_server(placed);
        let usual = &placed.connection;
        if placed.share == ServerSharing::Always {
            self.note_withheld(caller, &placed.name, &usual.spec().class, SHARED_BY_ALL);
            return Ok(Arc::clone(usual));
        }
        if let Some(binding) = caller.bindings().get(placed) {
            return Ok(binding.kind);
        }
        let era = match (usual.known_era(), purpose) {
            (Some(era), _) => era,
            (None, Purpose::List) => return Ok(Arc::clone(usual)),
            (None, Purpose::Call) => usual.ready().await?.facts.era(),
        };
        let kind = match era {
            Era::Legacy if wants_modern_again(caller, placed) => {
                // The lists of a modern server may depend on extensions.
                let class = CapabilityClass::QUEUE.with_opaque(&extensions_of(caller.class()));
                let wanted = ConnectionSpec { era: None, class, ..placed.spec.clone() };
                let spec = self.within_class_limit(caller, wanted);
                let connection = self.hold_for_session(caller, placed, spec)?;
                self.note_eras(caller, &connection);
                connection
            }
            Era::Legacy => self.class_connection(caller, placed, usual.spec().era)?,
            Era::Modern if wants_other_era(caller, placed, purpose) => {
                let trying = self.legacy_connection(caller, placed);
                match purpose {
                    Purpose::Call => trying.await?,
                    Purpose::List => match timeout(LIST_TIMEOUT, trying).await {
                        Ok(tried) => tried?,
                        // The first call waits for the legacy connection.
                        Err(_) => return Ok(Arc::clone(usual)),
                    },
                }
            }
            // The lists of a modern server may depend on extensions, and the connection reads them.
            Era::Modern if extensions_of(&usual.spec().class) != extensions_of(caller.class()) => {
                let class = usual.spec().class.with_opaque(&extensions_of(caller.class()));
                self.connection_of_class(caller, placed, usual.spec().era, class)?
            }
            // A modern server learns the client's other capabilities with each request.
            Era::Modern => {
                if purpose == Purpose::Call {
                    caller.workspace().occupy(&caller.session().id, &placed.name);
                }
                return Ok(Arc::clone(usual));
            }
        };
        caller.bindings().put(&placed.name, SessionBinding { kind: Arc::clone(&kind), own: None });
        if purpose == Purpose::Call && kind.key() != usual.key() && kind.knows_lists() {
            // The client may have seen the lists of the default connection.
            self.publish_event(&kind, &EngineEventKind::List(ListKind::Tools));
        }
        Ok(kind)
    }

    /// Returns the connection on which the class of a session is declared.
    fn class_connection(
        &self,
        caller: &Caller,
        placed: &AppliedServer,
        era: Option<Era>,
    ) -> Result<Arc<Connection>, ConnectionNotReady> {
        self.connection_of_class(caller, placed, era, declared_class(caller, placed))
    }

    /// Returns the connection with this class: the default one, or another that the session holds.
    fn connection_of_class(
        &self,
        caller: &Caller,
        placed: &AppliedServer,
        era: Option<Era>,
        class: CapabilityClass,
    ) -> Result<Arc<Connection>, ConnectionNotReady> {
        if era == placed.connection.spec().era
            && let Some(usual) = self.use_default(caller, placed, &class)
        {
            return Ok(usual);
        }
        let wanted = ConnectionSpec { class, era, ..placed.spec.clone() };
        let spec = self.within_class_limit(caller, wanted);
        self.hold_for_session(caller, placed, spec)
    }

    /// Returns the default connection if it has this class, or if no session uses it, so that it can be replaced by
    /// one that has.
    fn use_default(
        &self,
        caller: &Caller,
        placed: &AppliedServer,
        class: &CapabilityClass,
    ) -> Option<Arc<Connection>> {
        let _changing = self.lock_changes();
        let (view, standing) = (caller.view(), caller.workspace());
        let applied = view.applied();
        // A newer applied state may have another entry of that name.
        let entry = placed.connection.entry_key();
        let current = applied.server(&placed.name)?;
        if current.connection.entry_key() != entry {
            return None;
        }
        let usual = &current.connection;
        if usual.spec().class == *class {
            standing.occupy(&caller.session().id, &placed.name);
            return Some(Arc::clone(usual));
        }
        if standing.is_reserved(&view.principal, &placed.name) {
            return None;
        }
        let spec = ConnectionSpec { class: class.clone(), ..current.spec.clone() };
        self.replace_default(caller, &applied, current, spec)
    }

    /// Replaces a default connection that no session uses. `None` if a session uses it.
    fn replace_default(
        &self,
        caller: &Caller,
        applied: &AppliedState,
        current: &AppliedServer,
        spec: ConnectionSpec,
    ) -> Option<Arc<Connection>> {
        let standing = caller.workspace();
        if spec.principal.is_none() || standing.is_occupied(&caller.view().principal, &current.name)
        {
            return None;
        }
        let connection = self.swap_default(caller, applied, current, spec);
        standing.occupy(&caller.session().id, &current.name);
        Some(connection)
    }

    /// Puts a connection with this spec in the place of a default one, and starts it if necessary. The caller holds
    /// the lock of changes.
    pub(in crate::engine) fn swap_default(
        &self,
        caller: &Caller,
        applied: &AppliedState,
        current: &AppliedServer,
        spec: ConnectionSpec,
    ) -> Arc<Connection> {
        let (view, standing) = (caller.view(), caller.workspace());
        let usual = &current.connection;
        let of = match &*view.principal {
            LOCAL_PRINCIPAL => HoldScope::Everyone,
            _ => HoldScope::Principal(Arc::clone(&view.principal)),
        };
        let holder =
            ConnectionHolder { workspace: standing.id.clone(), server: current.name.clone(), of };
        let (before, entry_key) = (usual.key(), usual.entry_key());
        let request = HoldRequest { spec, entry_key, holder: holder.clone() };
        let connection = self.pool.hold(request, &self.listener);
        connection.start_now();
        view.replace(Arc::new(applied.replace_connection(
            self.next_number(),
            &current.name,
            &connection,
        )));
        self.release(|other, key| *other == holder && *key == before);
        self.mark_changed();
        connection
    }

    /// Limits the number of classes of a server: returns `wanted`, or at the limit a spec with the largest existing
    /// class within the wanted one.
    fn within_class_limit(&self, caller: &Caller, wanted: ConnectionSpec) -> ConnectionSpec {
        let workspace = &caller.workspace().id;
        let all = self.pool.connections_of(workspace, &wanted.server);
        let alike = all.iter().map(|connection| connection.spec()).filter(|spec| {
            spec.variant == ConnectionSharing::Shared
                && spec.principal == wanted.principal
                && spec.era == wanted.era
        });
        let classes: BTreeSet<CapabilityClass> = alike.map(|spec| spec.class.clone()).collect();
        if classes.contains(&wanted.class) || classes.len() < MAX_CLASSES {
            return wanted;
        }
        self.claims.note(workspace, &wanted.server, SharingNote::ClassLimit);
        let fitting = classes.into_iter().filter(|class| class.is_within(&wanted.class));
        // The empty class always fits, and adds one class at most.
        let class = fitting.max_by_key(CapabilityClass::size).unwrap_or_default();
        self.note_withheld(caller, &wanted.server, &class, TOO_MANY_CLASSES);
        ConnectionSpec { class, ..wanted }
    }

    /// Notes that a connection does not declare the extensions of a session's client.
    fn note_withheld(&self, caller: &Caller, server: &str, class: &CapabilityClass, reason: &str) {
        if caller.class().opaque.is_within(&class.opaque) {
            return;
        }
        caller.workspace().withhold_extensions(&caller.session().id, server, reason);
        self.mark_changed();
    }

    /// Returns a legacy connection to a server that was reached in the modern era, if the server supports both;
    /// else the default connection.
    async fn legacy_connection(
        &self,
        caller: &Caller,
        placed: &AppliedServer,
    ) -> Result<Arc<Connection>, ConnectionNotReady> {
        let connection = self.class_connection(caller, placed, Some(Era::Legacy))?;
        // The era of an idle server is known.
        let is_known = connection.is_idle() && placed.connection.has_legacy_too() == Some(true);
        let reached = if is_known { Ok(()) } else { connection.ready().await.map(drop) };
        match reached {
            Ok(()) => {
                placed.connection.note_legacy_too(true);
                self.wait_for_lists(&connection).await;
                if let Some(usual) = self.promote_to_default(caller, placed, &connection) {
                    return Ok(usual);
                }
                self.note_eras(caller, &connection);
                Ok(connection)
            }
            Err(error) => {
                // A server that is busy or needs a sign-in may still support the era.
                if is_refusal(&error) {
                    placed.connection.note_legacy_too(false);
                }
                let (holder, key) = (session_holder(caller, placed), connection.key());
                self.release(|other, held| *other == holder && *held == key);
                Ok(Arc::clone(&placed.connection))
            }
        }
    }

    /// Waits until the lists of a connection are known, for a while.
    async fn wait_for_lists(&self, connection: &Connection) {
        let mut revisions = self.revisions();
        let known = async {
            while !self.knows_lists_of(connection) && revisions.changed().await.is_ok() {}
        };
        // Without lists the connection does not become the default one.
        let _ = timeout(LIST_TIMEOUT, known).await;
    }

    /// Notes that a server has a connection of each era; for a local server those are two processes.
    fn note_eras(&self, caller: &Caller, connection: &Connection) {
        if is_process(connection) {
            let (workspace, server) = (&caller.workspace().id, &connection.spec().server);
            self.claims.note(workspace, server, SharingNote::TwoEras);
        }
    }

    /// Makes a legacy connection the default one, where no session uses the modern one.
    fn promote_to_default(
        &self,
        caller: &Caller,
        placed: &AppliedServer,
        connection: &Connection,
    ) -> Option<Arc<Connection>> {
        let _changing = self.lock_changes();
        let applied = caller.view().applied();
        let current = applied.server(&placed.name)?;
        let is_same = current.connection.key() == placed.connection.key();
        let spec = connection.spec().clone();
        // All sessions see the lists of the default connection, so they must be known.
        if is_same && self.knows_lists_of(connection) {
            self.replace_default(caller, &applied, current, spec)
        } else {
            None
        }
    }

    /// Holds a connection for a session.
    fn hold_for_session(
        &self,
        caller: &Caller,
        placed: &AppliedServer,
        spec: ConnectionSpec,
    ) -> Result<Arc<Connection>, ConnectionNotReady> {
        let holder = session_holder(caller, placed);
        let entry_key = placed.connection.entry_key();
        self.claims.note_entry(holder.clone(), entry_key);
        let request = HoldRequest { spec, entry_key, holder: holder.clone() };
        let held = self.pool.hold_within_limits(request, &self.listener);
        let connection = held.map_err(ConnectionNotReady::Limit)?;
        if self.workspace_state(&caller.workspace().id).is_none() {
            // The workspace ended in between, and its holds were released before this one.
            self.release(|other, _| *other == holder);
            return Err(ConnectionNotReady::Stopped);
        }
        connection.start_now();
        Ok(connection)
    }
}

/// The holder of the connections that a session has besides its principal's default ones.
fn session_holder(caller: &Caller, placed: &AppliedServer) -> ConnectionHolder {
    let (principal, session) = (Arc::clone(&caller.view().principal), caller.session().id.clone());
    ConnectionHolder {
        workspace: caller.workspace().id.clone(),
        server: placed.name.clone(),
        of: HoldScope::Session { principal, session },
    }
}

/// The class that is declared to a legacy server for a session: its client's capabilities, and those that the
/// queue provides, where it takes the session's questions.
pub(in crate::engine) fn declared_class(
    caller: &Caller,
    placed: &AppliedServer,
) -> CapabilityClass {
    let class = caller.class().clone();
    if caller.session().principal.is_local() {
        class_with_answerer(class, placed.elicitation)
    } else {
        class
    }
}

/// The capabilities of a class on which the lists of a modern server may depend. Options of elicitation and sampling
/// concern calls, and go with each.
fn extensions_of(class: &CapabilityClass) -> OpaqueCapabilities {
    class.opaque.without_options()
}

/// Adds the capabilities of the queue to those of a client, where the queue answers for it.
pub(in crate::engine) fn class_with_answerer(
    class: CapabilityClass,
    answerer: ElicitationAnswerer,
) -> CapabilityClass {
    match answerer {
        ElicitationAnswerer::Queue => class.union(&CapabilityClass::QUEUE),
        ElicitationAnswerer::Client => class,
    }
}

/// Whether a legacy session gets a legacy connection to a server that was reached in the modern era.
fn wants_other_era(caller: &Caller, placed: &AppliedServer, purpose: Purpose) -> bool {
    let usual = &placed.connection;
    let spec = usual.spec();
    // A server in this process can send requests over the bridge in either era.
    let is_elsewhere = matches!(spec.reach, ConnectionTarget::Entry(_));
    let is_free = is_elsewhere && spec.era.is_none() && usual.has_legacy_too() != Some(false);
    // A process is started only for a call.
    let is_worth_it = purpose == Purpose::Call || !is_process(usual);
    caller.session().era == Some(Era::Legacy) && is_free && is_worth_it
}

/// Whether a session gets a modern connection to a server of both eras, after the default connection became a
/// legacy one.
fn wants_modern_again(caller: &Caller, placed: &AppliedServer) -> bool {
    let became_legacy = placed.spec.era == Some(Era::Legacy) && placed.pinned_era.is_none();
    caller.session().era != Some(Era::Legacy) && became_legacy
}

fn is_process(connection: &Connection) -> bool {
    match &connection.spec().reach {
        ConnectionTarget::Entry(entry) => matches!(entry.transport, Transport::Stdio(_)),
        ConnectionTarget::InProcess(_) => false,
    }
}

/// Whether a server refused an era.
fn is_refusal(error: &ConnectionNotReady) -> bool {
    let ConnectionNotReady::Failed(failed) = error else { return false };
    match &failed.error {
        ConnectionError::Wire(wire::Error::Status { status, .. }) => {
            matches!(status, 400 | 404 | 405 | 406)
        }
        ConnectionError::Wire(error) => matches!(
            error,
            wire::Error::Rpc(_)
                | wire::Error::NoCommonVersion { .. }
                | wire::Error::InvalidResult { .. }
        ),
        _ => false,
    }
}

// === impl AppliedState ===

impl AppliedState {
    /// Returns this state with another connection to one server.
    fn replace_connection(&self, number: u64, server: &str, connection: &Arc<Connection>) -> Self {
        let instead = |placed: &Arc<AppliedServer>| {
            if placed.name == *server {
                Arc::new(placed.with_connection(Arc::clone(connection)))
            } else {
                Arc::clone(placed)
            }
        };
        let placed = self.placed.iter().map(instead).collect();
        Self { number, placed, ..self.clone() }
    }
}
