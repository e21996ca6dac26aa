//! Which connection a session's calls take: its principal's usual one, one of its kind, or one of its own.
//!
//! A server of the legacy era is told once what its client can do, and a server of both eras has a back channel in each.
//! So sessions of one kind (the era, the [`CapabilityClass`]) share a connection, and sessions of different kinds do not.
//! The usual connection takes the kind of the first session that uses it: one process for each kind of client. A server
//! that keeps state for each client has a connection for each session besides.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use switchboard_config::{ElicitationAnswerer, Share, Transport};
use switchboard_wire::{self as wire, Era, client::ListKind};
use tokio::time::timeout;

use crate::connection::{
    CapabilityClass, Connection, ConnectionError, ConnectionNotReady, ConnectionSharing,
    ConnectionSpec, ConnectionTarget,
};
use crate::engine::event::EngineEventKind;
use crate::engine::session::bindings::SessionBinding;
use crate::engine::session::claims::{MAX_CLASSES, SharingNote};
use crate::engine::supervisor::applied::AppliedState;
use crate::engine::supervisor::pool::{ConnectionHolder, HoldRequest, HoldScope};
use crate::engine::workspace::principal::LOCAL_PRINCIPAL;
use crate::engine::workspace::state::WorkspaceId;
use crate::engine::{AppliedServer, Caller, Inner};

/// How long a list waits to find out whether a server has the era of its client.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);

/// What a session wants a server for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Purpose {
    /// To see what it offers. Nothing is waited for, and no process is started for its other era.
    List,
    /// To call it.
    Call,
}

// === impl Inner ===

impl Inner {
    /// A legacy server asked something back. Over most transports nothing but the lack of other calls says whose
    /// question it is; over HTTP it may come on the stream of the session instead of the call's, as it does with every
    /// example of the TypeScript SDK 1.x. So clients should not share the server any longer; the session that was asked
    /// keeps the connection.
    pub(crate) fn claim_after_question(&self, connection: &Connection, caller: &Caller) {
        self.claim_for(connection, (&caller.workspace().id, &caller.session().id));
    }

    /// The same for a question that names no call. The session with the oldest call in flight keeps the connection:
    /// its state there is the oldest.
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

    /// The connection for a session's calls of a server.
    pub(crate) async fn connection(
        &self,
        caller: &Caller,
        placed: &AppliedServer,
    ) -> Result<Arc<Connection>, ConnectionNotReady> {
        let kind = self.kind_connection(caller, placed, Purpose::Call).await?;
        let is_apart = match placed.share {
            Share::Always => false,
            Share::Never => true,
            Share::Auto => self.claims.is_stateful(&kind.server_key()),
        };
        if !is_apart {
            return Ok(kind);
        }
        if let Some(own) = caller.bindings().get(placed).and_then(|binding| binding.own) {
            return Ok(own);
        }
        let (workspace, session) = (&caller.workspace().id, caller.session().id.as_str());
        // Another session's calls may have left state there, and may lead to questions.
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

    /// Gives a session its seats at all servers, as far as that needs no waiting. The connections of new ones.
    pub(in crate::engine) async fn bind_session(&self, caller: &Caller) -> Vec<Arc<Connection>> {
        let applied = caller.applied();
        let unseated =
            applied.placed.iter().filter(|placed| caller.bindings().get(placed).is_none());
        let seating = unseated.map(|placed| async {
            // A server that cannot be reached, or not once more, shows what it usually shows.
            self.kind_connection(caller, placed, Purpose::List).await.ok()?;
            caller.bindings().get(placed).map(|seat| seat.kind)
        });
        join_all(seating).await.into_iter().flatten().collect()
    }

    /// The connection of a session's kind.
    async fn kind_connection(
        &self,
        caller: &Caller,
        placed: &AppliedServer,
        purpose: Purpose,
    ) -> Result<Arc<Connection>, ConnectionNotReady> {
        let placed = &*caller.current_server(placed);
        let usual = &placed.connection;
        if placed.share == Share::Always {
            return Ok(Arc::clone(usual));
        }
        if let Some(seat) = caller.bindings().get(placed) {
            return Ok(seat.kind);
        }
        let era = match (usual.known_era(), purpose) {
            (Some(era), _) => era,
            (None, Purpose::List) => return Ok(Arc::clone(usual)),
            (None, Purpose::Call) => usual.ready().await?.facts.era(),
        };
        let kind = match era {
            Era::Legacy if wants_modern_again(caller, placed) => {
                let spec = ConnectionSpec {
                    era: None,
                    class: CapabilityClass::QUEUE,
                    ..placed.spec.clone()
                };
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
                        // The first call waits for it.
                        Err(_) => return Ok(Arc::clone(usual)),
                    },
                }
            }
            // With each request it is told what its client can do.
            Era::Modern => {
                if purpose == Purpose::Call {
                    caller.workspace().occupy(&caller.session().id, &placed.name);
                }
                return Ok(Arc::clone(usual));
            }
        };
        caller.bindings().put(&placed.name, SessionBinding { kind: Arc::clone(&kind), own: None });
        if purpose == Purpose::Call && kind.key() != usual.key() && kind.knows_lists() {
            // The client may have seen the lists of the usual connection.
            self.publish_event(&kind, &EngineEventKind::List(ListKind::Tools));
        }
        Ok(kind)
    }

    /// The connection on which the class of a session is declared.
    fn class_connection(
        &self,
        caller: &Caller,
        placed: &AppliedServer,
        era: Option<Era>,
    ) -> Result<Arc<Connection>, ConnectionNotReady> {
        let class = declared_class(caller, placed);
        if era == placed.connection.spec().era
            && let Some(usual) = self.use_default(caller, placed, class)
        {
            return Ok(usual);
        }
        let wanted = ConnectionSpec { class, era, ..placed.spec.clone() };
        let spec = self.within_class_limit(caller, wanted);
        self.hold_for_session(caller, placed, spec)
    }

    /// The usual connection if it is of this class, or becomes so because no session uses it.
    fn use_default(
        &self,
        caller: &Caller,
        placed: &AppliedServer,
        class: CapabilityClass,
    ) -> Option<Arc<Connection>> {
        let _changing = self.lock_changes();
        let (view, standing) = (caller.view(), caller.workspace());
        let applied = view.applied();
        // What was applied since may have another entry of that name.
        let entry = placed.connection.entry_key();
        let current = applied.server(&placed.name)?;
        if current.connection.entry_key() != entry {
            return None;
        }
        let usual = &current.connection;
        if usual.spec().class == class {
            standing.occupy(&caller.session().id, &placed.name);
            return Some(Arc::clone(usual));
        }
        let spec = ConnectionSpec { class, ..current.spec.clone() };
        self.replace_default(caller, &applied, current, spec)
    }

    /// Puts another connection in the place of a usual one that no session uses. `None` if one does.
    fn replace_default(
        &self,
        caller: &Caller,
        applied: &AppliedState,
        current: &AppliedServer,
        spec: ConnectionSpec,
    ) -> Option<Arc<Connection>> {
        let (view, standing) = (caller.view(), caller.workspace());
        let usual = &current.connection;
        if spec.principal.is_none() || standing.is_occupied(&view.principal, &current.name) {
            return None;
        }
        let of = match &*view.principal {
            LOCAL_PRINCIPAL => HoldScope::Everyone,
            _ => HoldScope::Principal(Arc::clone(&view.principal)),
        };
        let holder =
            ConnectionHolder { workspace: standing.id.clone(), server: current.name.clone(), of };
        let (before, entry_key) = (usual.key(), usual.entry_key());
        let request = HoldRequest { spec, entry_key, holder: holder.clone() };
        let connection = self.pool.hold(request, &self.listener);
        view.replace(Arc::new(applied.replace_connection(
            self.next_number(),
            &current.name,
            &connection,
        )));
        self.release(|other, key| *other == holder && *key == before);
        standing.occupy(&caller.session().id, &current.name);
        self.mark_changed();
        Some(connection)
    }

    /// What a further connection is to: what is wanted, unless its server has too many classes. Then with the largest
    /// class there is that promises nothing that is not wanted.
    fn within_class_limit(&self, caller: &Caller, wanted: ConnectionSpec) -> ConnectionSpec {
        let workspace = &caller.workspace().id;
        let all = self.pool.connections_of(workspace, &wanted.server);
        let alike = all.iter().map(|connection| connection.spec()).filter(|spec| {
            spec.variant == ConnectionSharing::Shared
                && spec.principal == wanted.principal
                && spec.era == wanted.era
        });
        let classes: BTreeSet<CapabilityClass> = alike.map(|spec| spec.class).collect();
        if classes.contains(&wanted.class) || classes.len() < MAX_CLASSES {
            return wanted;
        }
        self.claims.note(workspace, &wanted.server, SharingNote::ClassLimit);
        let fitting = classes.into_iter().filter(|class| class.is_within(wanted.class));
        // The class that promises nothing always fits, and is one more at the most.
        let class = fitting.max_by_key(|class| class.size()).unwrap_or_default();
        ConnectionSpec { class, ..wanted }
    }

    /// A legacy connection to a server that was reached in the modern era, if it has that era too; else the usual one.
    async fn legacy_connection(
        &self,
        caller: &Caller,
        placed: &AppliedServer,
    ) -> Result<Arc<Connection>, ConnectionNotReady> {
        let connection = self.class_connection(caller, placed, Some(Era::Legacy))?;
        match connection.ready().await {
            Ok(_) => {
                placed.connection.note_legacy_too(true);
                self.wait_for_lists(&connection).await;
                if let Some(usual) = self.promote_to_default(caller, placed, &connection) {
                    return Ok(usual);
                }
                self.note_eras(caller, &connection);
                Ok(connection)
            }
            Err(error) => {
                // A server that is busy or wants a sign-in may have it all the same.
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
        // Without them it is not made the usual one.
        let _ = timeout(LIST_TIMEOUT, known).await;
    }

    /// Notes that a server has a connection of each era; of a local one those are two processes.
    fn note_eras(&self, caller: &Caller, connection: &Connection) {
        if is_process(connection) {
            let (workspace, server) = (&caller.workspace().id, &connection.spec().server);
            self.claims.note(workspace, server, SharingNote::TwoEras);
        }
    }

    /// Makes a legacy connection the usual one, where nobody uses the modern one that is.
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
        // Its lists are what everybody sees from then on.
        if is_same && self.knows_lists_of(connection) {
            self.replace_default(caller, &applied, current, spec)
        } else {
            None
        }
    }

    /// A connection that is held for a session.
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
            // It ended while this was going on, and has let go of what it knew of.
            self.release(|other, _| *other == holder);
            return Err(ConnectionNotReady::Stopped);
        }
        Ok(connection)
    }
}

/// Who holds the connections that a session has besides its principal's usual ones.
fn session_holder(caller: &Caller, placed: &AppliedServer) -> ConnectionHolder {
    let (principal, session) = (Arc::clone(&caller.view().principal), caller.session().id.clone());
    ConnectionHolder {
        workspace: caller.workspace().id.clone(),
        server: placed.name.clone(),
        of: HoldScope::Session { principal, session },
    }
}

/// What is declared to a legacy server for a session: what its client can do, and what the queue answers for it.
fn declared_class(caller: &Caller, placed: &AppliedServer) -> CapabilityClass {
    let class = caller.class();
    match placed.elicitation {
        ElicitationAnswerer::Queue => class.union(CapabilityClass::QUEUE),
        ElicitationAnswerer::Client => class,
    }
}

/// Whether a session of the legacy era gets a connection of that era to a server that was reached in the modern one.
fn wants_other_era(caller: &Caller, placed: &AppliedServer, purpose: Purpose) -> bool {
    let usual = &placed.connection;
    let spec = usual.spec();
    // A server in this process asks over the bridge whatever is spoken with it.
    let is_elsewhere = matches!(spec.reach, ConnectionTarget::Entry(_));
    let is_free = is_elsewhere && spec.era.is_none() && usual.has_legacy_too() != Some(false);
    // A process is started only for a call.
    let is_worth_it = purpose == Purpose::Call || !is_process(usual);
    caller.session().era == Some(Era::Legacy) && is_free && is_worth_it
}

/// Whether a session gets a modern connection to a server of both eras whose usual connection became a legacy one.
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

/// Whether a server said that it does not have an era.
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
    /// The same with another connection to one server.
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
