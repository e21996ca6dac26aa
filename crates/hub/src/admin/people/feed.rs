//! `GET /events` of the console for people: calls as they end, and with `?attend=1` the questions of the caller's own
//! queue, as long as the browser is signed in.
//!
//! Used by `people`. There are no ids to go on from: after `ready` and `resync` the page reads everything again.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use axum::response::sse::Event;
use futures_util::stream;
use http::{HeaderMap, Uri};
use serde_json::json;
use switchboard_core::audit::AuditCallLine;
use switchboard_core::engine::{EngineEvent, EngineEventKind, PrincipalQueueWatcher};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::super::events::SentQuestions;
use super::super::routes::query_param;
use super::super::sse;
use super::PeopleConsole;
use super::caller::ConsoleCaller;
use super::summary::CallShown;

/// How often a stream looks whether its browser is signed in as it was: a revoked token ends it within a second.
const SESSION_CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// The stream of one page.
struct PersonFeed {
    console: Arc<PeopleConsole>,
    caller: ConsoleCaller,
    /// The headers of the request, in which the session is.
    headers: HeaderMap,
    calls: broadcast::Receiver<EngineEvent>,
    /// The caller's queue, for a page that undertakes to answer its questions.
    attendance: Option<Attendance>,
    /// Events to send next.
    ready: VecDeque<Event>,
    checks: Interval,
    /// Whether the page was told that the hub ends: the last event.
    is_ending: bool,
}

/// A page that answers the questions of a queue.
struct Attendance {
    watcher: PrincipalQueueWatcher,
    changes: watch::Receiver<u64>,
    known: SentQuestions,
}

/// `GET /events`.
pub(super) async fn follow(
    State(console): State<Arc<PeopleConsole>>,
    Extension(caller): Extension<ConsoleCaller>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let engine = &console.admin.0.engine;
    let calls = engine.calls();
    let attendance = query_param(&uri, "attend")
        .map(|_| Attendance::new(engine.watch_queue_for(&caller.principal)));
    let mut checks = interval(SESSION_CHECK_INTERVAL);
    checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let ready = VecDeque::from([sse::event("ready", &json!({}))]);
    let feed =
        PersonFeed { console, caller, headers, calls, attendance, ready, checks, is_ending: false };
    sse::response(stream::unfold(feed, |mut feed| async move {
        let event = feed.next().await?;
        Some((event, feed))
    }))
}

// === impl PersonFeed ===

impl PersonFeed {
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.is_ending {
                return None;
            }
            tokio::select! {
                () = self.console.admin.0.ending.cancelled() => {
                    self.is_ending = true;
                    self.ready.push_back(sse::event("ending", &json!({})));
                }
                events = Attendance::next(&mut self.attendance) => self.ready.extend(events),
                _ = self.checks.tick() => {
                    // Another role or other groups begin with another stream.
                    if self.console.caller(&self.headers).as_ref() != Some(&self.caller) {
                        return None;
                    }
                }
                called = self.calls.recv() => match called {
                    Ok(event) => self.ready.extend(self.shown(&event)),
                    Err(RecvError::Lagged(_)) => {
                        self.ready.push_back(sse::event("resync", &json!({})));
                    }
                    Err(RecvError::Closed) => return None,
                },
            }
        }
    }

    fn shown(&self, event: &EngineEvent) -> Option<Event> {
        let EngineEventKind::Called(called) = &event.what else { return None };
        // Of the call itself: an event without a principal concerns everybody.
        if !self.caller.sees(called.caller.principal.id()) {
            return None;
        }
        let line = AuditCallLine::from_record(called);
        Some(sse::event("called", &CallShown::new(&line, &self.caller)))
    }
}

// === impl Attendance ===

impl Attendance {
    fn new(watcher: PrincipalQueueWatcher) -> Self {
        let mut changes = watcher.queue().changes();
        changes.mark_changed();
        Self { watcher, changes, known: SentQuestions::default() }
    }

    /// Waits for a change of the queue, and returns its events; forever without a queue.
    async fn next(attendance: &mut Option<Self>) -> Vec<Event> {
        let Some(Self { watcher, changes, known }) = attendance else { return pending().await };
        match changes.changed().await {
            Ok(()) => known.update(watcher.queue()),
            // The watcher holds the queue, so that it does not end.
            Err(_) => pending().await,
        }
    }
}
