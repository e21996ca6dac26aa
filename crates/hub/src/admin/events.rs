//! `GET /events`: all events of the hub as one stream, with the question queue.
//!
//! Events have ids, and the latest are kept (`ring`): a client that returns with `Last-Event-ID` gets the missed
//! events, or `resync` if they are gone. A client that reads too slowly gets `resync` too.
//!
//! Used by `routes`; `ring` uses `event_json`, `people::feed` uses [`SentQuestions`]. It does not send snapshots: clients fetch them after an event.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use axum::response::sse::Event;
use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, Uri};
use serde_json::json;
use switchboard_core::audit::AuditCallLine;
use switchboard_core::engine::{
    CallWatcher, EngineEvent as Happening, EngineEventKind, QuestionQueue, QueueWatcher,
};
use switchboard_wire::json::Raw;
use switchboard_wire::sanitize;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::watch;

use super::questions::{self, QuestionInfo};
use super::ring::{RecordedEvent, RingReader};
use super::routes::{query_param, query_params};
use super::{AdminApi, activity, lease, sse};

/// The stream of one client.
struct EventFeed {
    admin: AdminApi,
    /// Whether the client was told that the hub ends: the last event.
    is_ending: bool,
    events: broadcast::Receiver<Arc<RecordedEvent>>,
    queue: watch::Receiver<u64>,
    /// The questions that this client knows.
    known: SentQuestions,
    /// Events to send next.
    ready: VecDeque<Event>,
    /// Held by a client that answers questions of the queue.
    _attendance: Option<QueueWatcher>,
    /// Makes the engine keep parameters and results of calls while a client follows.
    _looking: CallWatcher,
}

/// The questions of a queue that one client knows.
#[derive(Default)]
pub(super) struct SentQuestions(BTreeMap<String, QuestionInfo>);

/// The most workspaces that one event stream may hold open.
const MAX_HELD_WORKSPACES: usize = 16;

/// `GET /events`.
pub(super) async fn follow(
    State(admin): State<AdminApi>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let engine = &admin.0.engine;
    let after = headers.get("last-event-id").map(|id| id.to_str().unwrap_or_default());
    let RingReader { is_torn, missed, coming } = admin.0.ring.follow(engine, after);
    let mut ready = VecDeque::from([sse::event("ready", &json!({}))]);
    ready.extend(is_torn.then(|| sse::event("resync", &json!({}))));
    ready.extend(missed.iter().map(|told| told.to_sse_event()));
    let mut held = Vec::new();
    for id in query_params(&uri, "hold").take(MAX_HELD_WORKSPACES) {
        match lease::hold_with_events(&admin, &id) {
            Ok(feed) => held.push(feed.events().boxed()),
            Err(_) => ready.push_back(sse::event("gone", &json!({ "id": id }))),
        }
    }
    let mut queue = engine.queue().changes();
    queue.mark_changed();
    let attendance = query_param(&uri, "attend").map(|_| engine.queue().watch());
    let ending = admin.0.ending.clone();
    let feed = EventFeed {
        is_ending: false,
        events: coming,
        queue,
        known: SentQuestions::default(),
        ready,
        _attendance: attendance,
        _looking: engine.watch_calls(),
        admin,
    };
    let all = stream::unfold(feed, |mut feed| async move {
        let event = feed.next().await?;
        Some((event, feed))
    });
    let held = stream::select_all(held).take_until(ending.cancelled_owned());
    sse::response(stream::select(all, held))
}

// === impl EventFeed ===

impl EventFeed {
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.is_ending {
                return None;
            }
            tokio::select! {
                () = self.admin.0.ending.cancelled() => {
                    self.is_ending = true;
                    self.ready.push_back(sse::event("ending", &json!({})));
                }
                changed = self.queue.changed() => {
                    changed.ok()?;
                    self.compare_queue();
                }
                event = self.events.recv() => match event {
                    Ok(told) => self.ready.push_back(told.to_sse_event()),
                    Err(RecvError::Lagged(_)) => {
                        self.ready.push_back(sse::event("resync", &json!({})));
                    }
                    Err(RecvError::Closed) => return None,
                },
            }
        }
    }

    fn compare_queue(&mut self) {
        self.ready.extend(self.known.update(self.admin.0.engine.queue()));
    }
}

// === impl SentQuestions ===

impl SentQuestions {
    /// Compares a queue with the known questions, and returns events for new and for answered ones.
    pub(super) fn update(&mut self, queue: &QuestionQueue) -> Vec<Event> {
        let now: BTreeMap<String, QuestionInfo> = questions::list_queue(queue)
            .into_iter()
            .map(|asked| (asked.id.clone(), asked))
            .collect();
        let gone = self.0.keys().filter(|id| !now.contains_key(*id));
        let mut events: Vec<_> =
            gone.map(|id| sse::event("answered", &json!({ "id": id }))).collect();
        let new = now.iter().filter(|(id, _)| !self.0.contains_key(*id));
        events.extend(new.map(|(_, asking)| sse::event("question", asking)));
        self.0 = now;
        events
    }
}

/// Name and data of an engine event; `None` for events that clients do not get.
pub(super) fn event_json(event: &Happening) -> Option<(&'static str, Raw)> {
    let mut params = None;
    let (name, mut data) = match &event.what {
        EngineEventKind::State => ("state", json!({})),
        EngineEventKind::List(list) => ("list", json!({ "list": list.member() })),
        EngineEventKind::Log(logged) => {
            // Not as a `Value`, which holds fewer levels than a server may send.
            params = Some(("params", logged.clone()));
            ("log", json!({}))
        }
        EngineEventKind::ResourceUpdated { uri, .. } => ("resource", json!({ "uri": clean(uri) })),
        EngineEventKind::Called(called) => {
            let mut data = json!(AuditCallLine::from_record(called));
            if let Some(id) = activity::call_id(called) {
                data["id"] = json!(id);
            }
            ("called", data)
        }
        _ => return None,
    };
    let workspaces: Vec<String> = event.workspaces.iter().map(ToString::to_string).collect();
    data["workspaces"] = json!(workspaces);
    data["server"] = json!(event.server);
    let data = data.as_object().into_iter().flatten();
    let data = data.map(|(key, value)| (key.as_str(), Raw::from(value)));
    Some((name, Raw::object(params.into_iter().chain(data))))
}

fn clean(text: &str) -> String {
    sanitize::sanitize_line(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `serde_json::Value` holds 127 levels, a message of a server 512: with the log as a `Value` the task panicked
    /// that feeds every reader of events.
    #[test]
    fn a_log_of_many_levels_is_an_event_like_others() {
        let levels = 300;
        let deep = "[".repeat(levels) + &"]".repeat(levels);
        let logged = Raw::parse(format!(r#"{{"level":"info","data":{deep}}}"#)).unwrap();
        let event = Happening {
            workspaces: Vec::new(),
            server: "a".to_owned(),
            principal: None,
            connection: None,
            what: EngineEventKind::Log(logged.clone()),
        };
        let (name, data) = event_json(&event).unwrap();
        let expected = format!(r#"{{"params":{logged},"workspaces":[],"server":"a"}}"#);
        assert_eq!((name, data.as_str()), ("log", &*expected));
    }
}
