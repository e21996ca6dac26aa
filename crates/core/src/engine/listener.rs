//! What connections tell, and who hears it.

use std::sync::{Arc, PoisonError, Weak};

use switchboard_wire::client::{List, Question as Asked};
use switchboard_wire::json::Raw;
use switchboard_wire::meta::method;
use tokio::sync::broadcast;

use super::event::{Event, Happened};
use super::pool::Parsed;
use super::{Inner, parse};
use crate::connection::{Connection, Key, Listener, Notice, State};
use crate::dispatch::{About, CallEvent, Question, Reply};

/// The engine's ear at every connection.
pub(super) struct Ear {
    engine: Weak<Inner>,
}

/// Pages that somebody has visited, as their servers tell.
#[derive(Debug, Clone)]
pub(crate) struct Completed(broadcast::Sender<(Key, String)>);

// === impl Completed ===

impl Default for Completed {
    fn default() -> Self {
        Self(broadcast::Sender::new(256))
    }
}

impl Completed {
    pub(crate) fn listen(&self) -> broadcast::Receiver<(Key, String)> {
        self.0.subscribe()
    }
}

// === impl Ear ===

impl Ear {
    pub(super) fn new(engine: Weak<Inner>) -> Self {
        Self { engine }
    }
}

impl Listener for Ear {
    fn notice(&self, connection: &Arc<Connection>, notice: Notice) {
        let Some(engine) = self.engine.upgrade() else { return };
        match notice {
            Notice::StateChanged => {
                if let State::Connected(live) = connection.state() {
                    engine.tell_wishes(connection, live);
                }
                engine.changed();
                engine.tell(connection, &Happened::State);
                if is_settled_without_session(connection) {
                    // The tool to sign in with comes or goes.
                    engine.tell(connection, &Happened::List(List::Tools));
                }
            }
            Notice::SilenceChanged => {
                engine.changed();
                engine.tell(connection, &Happened::State);
            }
            // Of a list that could not be read what was read before still stands; the snapshot says that it is stale.
            Notice::ListsChanged(list) | Notice::ListProblem { list, .. } => {
                engine.read_lists(connection, Some(Happened::List(list)));
            }
            Notice::ListUnchanged { list, was_announced } => {
                let what = was_announced.then_some(Happened::ListAnnounced(list));
                engine.read_lists(connection, what);
            }
            Notice::NoLists => engine.read_lists(connection, None),
            Notice::Log(params) => {
                if !engine.under_way.tell(connection.key(), CallEvent::Log(params.clone())) {
                    engine.tell(connection, &Happened::Log(params));
                }
            }
            Notice::ResourceUpdated { uri, params } => {
                engine.tell(connection, &Happened::ResourceUpdated { uri, params });
            }
            Notice::ElicitationComplete(params) => {
                if let Some(id) = text(&params, "elicitationId") {
                    // Nobody may be waiting for it.
                    let _ = engine.completed.0.send((connection.key(), id));
                }
            }
            Notice::Question(question) => engine.asked(connection, question),
            // Whoever answers too late is told; notifications of no known meaning have no reader here.
            Notice::Withdrawn { .. } | Notice::Other(_) => {}
            Notice::Unreadable(error) => {
                tracing::warn!(server = %connection.spec().server, %error, "unreadable");
            }
        }
    }
}

// === impl Inner ===

impl Inner {
    pub(crate) fn completed(&self) -> &Completed {
        &self.completed
    }

    pub(super) fn tell(&self, connection: &Connection, what: &Happened) {
        let mut holders = self.pool.holders(&connection.key());
        holders.sort_by(|a, b| (&a.server, &a.workspace).cmp(&(&b.server, &b.workspace)));
        let mut events: Vec<Event> = Vec::new();
        for holder in holders {
            match events.last_mut().filter(|event| event.server == holder.server) {
                Some(event) => event.workspaces.push(holder.workspace),
                None => events.push(Event {
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
            self.happened(event);
        }
    }

    /// Makes items of a connection's lists, off the runtime: a list may hold ten thousand schemas. One at a time for
    /// each connection, so that each begins with what the one before has made. `what` is told afterwards.
    fn read_lists(self: &Arc<Self>, connection: &Arc<Connection>, what: Option<Happened>) {
        let (engine, connection) = (self.clone(), connection.clone());
        self.tasks.spawn_blocking(move || {
            let key = connection.key();
            let turn = engine.pool.turn(&key);
            let turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            let raw = connection.lists();
            let before = engine.pool.parsed(&key);
            if before.generation < raw.generation {
                let parsed: Parsed = parse::lists(&connection.spec().server, raw, &before);
                engine.pool.keep(&key, parsed);
                engine.changed();
            }
            drop(turn);
            if let Some(what) = what {
                engine.tell(&connection, &what);
            }
        });
    }

    /// A server asks something that belongs to no call. Whoever is the only one to have calls under way there is
    /// meant; else whoever watches the queue; else nobody answers. Either way it had better not be shared from now on.
    fn asked(self: &Arc<Self>, connection: &Arc<Connection>, question: Asked) {
        let params = question.params().clone();
        let about = match question.method() {
            method::ELICIT => About::Elicitation { params },
            method::SAMPLE => About::Sampling { params },
            // Dropped, it is answered with an error: -32601 for a method that clients do not have.
            _ => return,
        };
        self.claims.note_stateful(connection.server_key());
        let stray = match &connection.sessions_in_flight()[..] {
            [(session, _)] => self.strays.of(session),
            sessions => {
                if sessions.len() > 1 {
                    // Nobody can say whose question it is; the next calls do not share the server.
                    self.note_asked_back(connection);
                }
                None
            }
        };
        let (engine, server) = (self.clone(), connection.spec().server.clone());
        let closing = self.closing.clone();
        self.tasks.spawn(closing.run_until_cancelled_owned(async move {
            let reply = match stray {
                Some(stray) => stray.ask(&server, about, engine.options.patience).await,
                None => engine.queue.ask(Question::new(&server, about)).await,
            };
            if let Some(Reply::Result(outcome)) = reply
                && let Err(error) = question.answer(outcome).await
            {
                tracing::debug!(%server, %error, "an answer came too late");
            }
        }));
    }
}

/// Whether a server that people sign in to has come to rest with nothing to use: its lists will not tell.
fn is_settled_without_session(connection: &Connection) -> bool {
    matches!(connection.state(), State::NeedsAuth(_) | State::Failed(_))
        && connection.spec().credentials.sign_in_page().is_some()
}

fn text(params: &Raw, key: &str) -> Option<String> {
    params.get(key).ok()??.to_text()
}
