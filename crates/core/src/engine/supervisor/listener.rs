//! Handles the events of connections: updates lists, publishes engine events, routes logs and questions.
//!
//! Used by the tasks of connections, which call it. It does not handle questions that belong to a call (`dispatch`
//! does).

use std::sync::{Arc, Weak};

use switchboard_wire::client::{ListKind, ServerQuestion as Asked};
use switchboard_wire::envelope::Notification;
use switchboard_wire::json::Raw;
use switchboard_wire::meta::method;
use tokio::sync::broadcast;
use tokio::time::timeout;

use crate::connection::{
    Connection, ConnectionEvent, ConnectionKey, ConnectionListener, ConnectionSpec, ConnectionState,
};
use crate::dispatch::{CallEvent, PendingQuestion, QuestionAnswer, QuestionKind};
use crate::engine::event::{EngineEvent, EngineEventKind};
use crate::engine::session::calls_in_flight::QuestionCall;
use crate::engine::supervisor::pool::ParsedLists;
use crate::engine::{Inner, QuestionAnswerer, supervisor::parse};
use crate::principal::LOCAL_PRINCIPAL;

/// Why no client gets a request of a server whose extension no client of the connection declares.
pub(crate) const UNDECLARED_REQUEST: &str =
    "the client did not declare an extension that it belongs to";
/// Why no client gets a request of an extension that a server sends outside of calls.
const REQUEST_OUTSIDE_CALLS: &str =
    "the server sent it while no call was running, so it could be for any client";

/// Listens to all connections of an engine.
pub(in crate::engine) struct EngineListener {
    engine: Weak<Inner>,
}

/// Reports of servers that a page was visited.
#[derive(Debug, Clone)]
pub(crate) struct ElicitationCompletions(broadcast::Sender<(ConnectionKey, String)>);

// === impl ElicitationCompletions ===

impl Default for ElicitationCompletions {
    fn default() -> Self {
        Self(broadcast::Sender::new(256))
    }
}

impl ElicitationCompletions {
    pub(crate) fn listen(&self) -> broadcast::Receiver<(ConnectionKey, String)> {
        self.0.subscribe()
    }
}

// === impl EngineListener ===

impl EngineListener {
    pub(in crate::engine) fn new(engine: Weak<Inner>) -> Self {
        Self { engine }
    }
}

impl ConnectionListener for EngineListener {
    fn handle_event(&self, connection: &Arc<Connection>, notice: ConnectionEvent) {
        let Some(engine) = self.engine.upgrade() else { return };
        match notice {
            ConnectionEvent::StateChanged => {
                if let ConnectionState::Connected(live) = connection.state() {
                    engine.renew_subscriptions(connection, live);
                }
                engine.mark_changed();
                engine.publish_event(connection, &EngineEventKind::State);
                if is_settled_without_session(connection) {
                    // The `authenticate` tool appears or disappears.
                    engine.publish_event(connection, &EngineEventKind::List(ListKind::Tools));
                }
            }
            ConnectionEvent::SilenceChanged => {
                engine.mark_changed();
                engine.publish_event(connection, &EngineEventKind::State);
            }
            // After a failed read the former list stays; the snapshot shows it as stale.
            ConnectionEvent::ListsChanged(list) | ConnectionEvent::ListProblem { list, .. } => {
                engine.read_lists(connection, Some(EngineEventKind::List(list)));
            }
            ConnectionEvent::ListUnchanged { list, was_announced } => {
                let what = was_announced.then_some(EngineEventKind::ListAnnounced(list));
                engine.read_lists(connection, what);
            }
            ConnectionEvent::NoLists | ConnectionEvent::CatalogRestored => {
                engine.read_lists(connection, None);
            }
            ConnectionEvent::Log(params) => {
                if !engine.under_way.send(connection.key(), CallEvent::Log(params.clone())) {
                    engine.publish_event(connection, &EngineEventKind::Log(params));
                }
            }
            ConnectionEvent::ResourceUpdated { uri, params } => {
                engine.publish_event(connection, &EngineEventKind::ResourceUpdated { uri, params });
            }
            ConnectionEvent::ElicitationComplete(params) => {
                if let Some(id) = text(&params, "elicitationId") {
                    // There may be no call that waits for it.
                    let _ = engine.completed.0.send((connection.key(), id));
                }
            }
            ConnectionEvent::Question(question) => engine.route_question(connection, question),
            ConnectionEvent::Other(notification) => engine.pass_on(connection, notification),
            // An answer to a withdrawn question fails on its own.
            ConnectionEvent::Withdrawn { .. } => {}
            ConnectionEvent::Unreadable(error) => {
                tracing::warn!(server = %connection.spec().server, %error, "unreadable");
            }
        }
    }

    fn needs_connection(&self, connection: &Connection) -> bool {
        self.engine.upgrade().is_some_and(|engine| engine.needs_connection(connection))
    }
}

// === impl Inner ===

impl Inner {
    pub(crate) fn elicitation_completions(&self) -> &ElicitationCompletions {
        &self.completed
    }

    pub(in crate::engine) fn publish_event(&self, connection: &Connection, what: &EngineEventKind) {
        let mut holders = self.pool.holders(&connection.key());
        holders.sort_by(|a, b| (&a.server, &a.workspace).cmp(&(&b.server, &b.workspace)));
        let mut events: Vec<EngineEvent> = Vec::new();
        for holder in holders {
            match events.last_mut().filter(|event| event.server == holder.server) {
                Some(event) => event.workspaces.push(holder.workspace),
                None => events.push(EngineEvent {
                    workspaces: vec![holder.workspace],
                    server: holder.server,
                    principal: connection.spec().principal.clone(),
                    connection: Some(connection.key()),
                    what: what.clone(),
                }),
            }
        }
        for mut event in events {
            event.workspaces.dedup();
            self.send_event(event);
        }
    }

    /// Publishes a notification of an extension. All clients of the connection get it, as they would from the server
    /// itself: a client need not declare an extension in order to listen.
    fn pass_on(&self, connection: &Connection, notification: Notification) {
        if method::is_extension_notification(&notification.method()) {
            self.publish_event(connection, &EngineEventKind::Notification(notification));
        }
    }

    /// Parses a connection's lists off the runtime's threads: a list may hold ten thousand schemas. One parse at a
    /// time for each connection, so that each starts from the result of the one before. Publishes `what`
    /// afterwards.
    fn read_lists(self: &Arc<Self>, connection: &Arc<Connection>, what: Option<EngineEventKind>) {
        let (engine, connection) = (self.clone(), connection.clone());
        self.tasks.spawn_blocking(move || {
            let key = connection.key();
            let turn = engine.pool.parse_lock(&key);
            let turn = turn.lock();
            let raw = connection.lists();
            let before = engine.pool.parsed_lists(&key);
            if before.generation < raw.generation {
                let parsed: ParsedLists =
                    parse::parse_lists(&connection.spec().server, raw, &before);
                engine.pool.store_lists(&key, parsed);
                engine.mark_changed();
            }
            if let Some(what) = what {
                engine.publish_event(&connection, &what);
            }
            // One at a time for each connection, too.
            engine.save_catalog(&connection);
            drop(turn);
        });
    }

    /// Routes a question that names no call: to the only client that can be meant, once there is only one, else to
    /// the queue. Clients must not share the server from now on.
    fn route_question(self: &Arc<Self>, connection: &Arc<Connection>, question: Asked) {
        let params = question.params().clone();
        let about = match question.method() {
            method::ELICIT => QuestionKind::Elicitation { params },
            method::SAMPLE => QuestionKind::Sampling { params },
            // Each session of the connection declares these extensions.
            other if connection.spec().class.opaque.accepts_method(other) => {
                QuestionKind::Extension { method: other.to_owned(), params }
            }
            // Dropping the question answers it with an error: -32601 for a method that clients do not have.
            other => return self.note_lost_request(connection, other, UNDECLARED_REQUEST),
        };
        self.claim_for_oldest_call(connection);
        let (engine, server) = (self.clone(), connection.spec().server.clone());
        let asking = Arc::clone(connection);
        let (closing, key) = (self.closing.clone(), connection.key());
        self.tasks.spawn(closing.run_until_cancelled_owned(async move {
            let patience = engine.options.patience;
            let call = timeout(patience, engine.under_way.call_of_question(key)).await;
            let call = call.ok().flatten();
            if let (None, QuestionKind::Extension { method, .. }) = (&call, &about) {
                engine.note_lost_request(&asking, method, REQUEST_OUTSIDE_CALLS);
            }
            let reply = engine.ask_call(call, &asking, about).await;
            if let Some(QuestionAnswer::Result(outcome)) = reply
                && let Err(error) = question.answer(outcome).await
            {
                tracing::debug!(%server, %error, "an answer came too late");
            }
        }));
    }

    /// Notes a request of an extension that no client gets, for the report of extensions.
    fn note_lost_request(&self, connection: &Connection, asked: &str, reason: &str) {
        if !method::is_extension_request(asked) {
            return;
        }
        for holder in self.pool.holders(&connection.key()) {
            let workspace = self.workspace_state(&holder.workspace);
            if workspace.is_some_and(|state| state.lose_request(&holder.server, asked, reason)) {
                self.mark_changed();
            }
        }
    }

    /// Puts a question to the session of a call, or to the call; without a call, to the queue of the principal that the
    /// connection is of.
    async fn ask_call(
        &self,
        call: Option<QuestionCall>,
        connection: &Connection,
        about: QuestionKind,
    ) -> Option<QuestionAnswer> {
        let ConnectionSpec { server, principal, .. } = connection.spec();
        let patience = self.options.patience;
        let stray = call.as_ref().and_then(|call| self.strays.sender(&call.session));
        if let Some(stray) = stray {
            return stray.ask(server, about, patience).await;
        }
        let is_for_client = matches!(about, QuestionKind::Extension { .. });
        let (question, answer) = PendingQuestion::new(server, about);
        let Some(call) = call else {
            // The watchers of a queue know no extensions.
            if is_for_client {
                return None;
            }
            let principal = principal.as_deref().unwrap_or(LOCAL_PRINCIPAL);
            return self.queue_for(principal)?.ask((question, answer)).await;
        };
        let question = question.of_client(&call.client);
        match call.answers {
            QuestionAnswerer::Queue if is_for_client => None,
            QuestionAnswerer::Queue => {
                self.queue_for(call.principal.id())?.ask((question, answer)).await
            }
            QuestionAnswerer::Caller if call.put(question) => {
                timeout(patience, answer).await.ok()?.ok()
            }
            QuestionAnswerer::Caller => None,
        }
    }
}

/// Whether a server that needs a sign-in has no session: its lists will not signal a change.
fn is_settled_without_session(connection: &Connection) -> bool {
    matches!(connection.state(), ConnectionState::NeedsAuth(_) | ConnectionState::Failed(_))
        && connection.spec().credentials.sign_in_page().is_some()
}

fn text(params: &Raw, key: &str) -> Option<String> {
    params.get(key).ok()??.to_text()
}
