//! A workspace held open, for as long as its stream is.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::Response;
use axum::response::sse::Event;
use futures_util::stream::{self, Stream};
use serde_json::json;
use switchboard_core::dispatch::Question;
use switchboard_core::engine::{Event as Happening, Happened, LOCAL_PRINCIPAL};
use switchboard_core::{Caller, WorkspaceId};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::time::timeout;

use super::asked::Asker;
use super::problem::{Kind, Problem};
use super::questions::Asking;
use super::routes::Body;
use super::{Admin, Opened, Whose, sse};

/// Workspaces that are held open at once.
const MOST: usize = 256;
/// What a client is called that did not open its workspace itself.
const CONSOLE: &str = "console";
/// How long opening one may take: files are read.
const OPENING: Duration = Duration::from_secs(30);

/// Everybody who holds a workspace open.
#[derive(Debug, Default)]
pub(super) struct Leases {
    open: Mutex<HashMap<String, (WorkspaceId, Caller)>>,
    last: AtomicU64,
}

/// One of them. Dropped, it is let go.
struct Lease {
    admin: Admin,
    session: String,
    _opened: Opened,
}

/// What whoever holds a workspace is told.
pub(super) struct Feed {
    id: WorkspaceId,
    first: Option<Event>,
    changes: watch::Receiver<u64>,
    events: broadcast::Receiver<Happening>,
    strays: mpsc::Receiver<Question>,
    asker: Asker,
    logs: Logs,
    _lease: Lease,
}

/// Whether log messages come with it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Logs {
    Told,
    /// Whoever reads it has them already.
    Elsewhere,
}

// === impl Leases ===

impl Leases {
    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    /// A name that no other session has.
    pub(super) fn name(&self) -> String {
        format!("admin-{}", self.last.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The session of somebody who holds this workspace.
    pub(super) fn caller(&self, session: &str, workspace: &WorkspaceId) -> Option<Caller> {
        let open = self.lock();
        let (id, caller) = open.get(session)?;
        (id == workspace).then(|| caller.clone())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (WorkspaceId, Caller)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Lease ===

impl Drop for Lease {
    fn drop(&mut self) {
        let left = self.admin.0.leases.lock().remove(&self.session);
        // Outside the lock: a session that ends tells the engine.
        drop(left);
    }
}

/// `POST /workspaces`.
pub(super) async fn open(
    State(admin): State<Admin>,
    Body(whose): Body<Whose>,
) -> Result<Response, Problem> {
    if admin.0.leases.count() >= MOST {
        return Err(Problem::too_many("workspaces"));
    }
    let opening = timeout(OPENING, admin.0.host.open(&whose));
    let opened = opening.await.map_err(|_| {
        Problem::new(Kind::TooSlow, "the configuration was not loaded in time")
            .hinted("a file system may hang; try again")
    })??;
    Ok(sse::response(hold(admin, opened, &whose, Logs::Told)?.events()))
}

/// `POST /workspaces/{id}/hold`: one that is open already, for somebody who knows neither folder nor environment.
pub(super) async fn again(
    State(admin): State<Admin>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    Ok(sse::response(held(&admin, &id, Logs::Told)?.events()))
}

/// The same for somebody who follows all that happens.
pub(super) fn beside_events(admin: &Admin, id: &str) -> Result<Feed, Problem> {
    held(admin, id, Logs::Elsewhere)
}

fn held(admin: &Admin, id: &str, logs: Logs) -> Result<Feed, Problem> {
    if admin.0.leases.count() >= MOST {
        return Err(Problem::too_many("workspaces"));
    }
    let served = admin.0.host.served(&WorkspaceId::from(id));
    let served = served.ok_or_else(|| Problem::no_workspace(id))?;
    let opened = Opened { id: served.workspace().clone(), held: Box::new(served) };
    let whose = Whose { client: CONSOLE.to_owned(), ..Whose::default() };
    hold(admin.clone(), opened, &whose, logs)
}

fn hold(admin: Admin, opened: Opened, whose: &Whose, logs: Logs) -> Result<Feed, Problem> {
    let id = opened.id.clone();
    let engine = &admin.0.engine;
    // Before the session is there, so that nothing is missed.
    let (changes, events) = (engine.changes(), engine.events());
    let session = admin.0.leases.name();
    let caller = engine.attach(&id, whose.session(session.clone()));
    // The local principal's own connections are configured: nothing but the end of the workspace is in the way.
    let caller = caller.map_err(|_| Problem::no_workspace(&id.to_string()))?;
    // A person has come to look.
    engine.retry_failed(&id);
    let strays = engine.strays(&caller);
    admin.0.leases.lock().insert(session.clone(), (id.clone(), caller));
    let first = sse::event("opened", &json!({ "id": id.to_string(), "session": session }));
    let asker = Asker::new(admin.clone());
    let lease = Lease { admin, session, _opened: opened };
    Ok(Feed { id, first: Some(first), changes, events, strays, asker, logs, _lease: lease })
}

// === impl Feed ===

impl Feed {
    pub(super) fn events(self) -> impl Stream<Item = Event> + Send + 'static {
        stream::unfold(self, |mut feed| async move {
            let event = feed.next().await?;
            Some((event, feed))
        })
    }

    /// The next thing to tell; `None` once the engine has ended.
    async fn next(&mut self) -> Option<Event> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            let event = tokio::select! {
                changed = self.changes.changed() => {
                    changed.ok()?;
                    return Some(sse::event("changed", &json!({})));
                }
                Some(question) = self.strays.recv() => self.ask(question),
                event = self.events.recv() => match event {
                    Ok(event) => self.log(&event),
                    // What was missed may have been a log message; the snapshot is fetched on `changed`.
                    Err(broadcast::error::RecvError::Lagged(_)) => {
                        Some(sse::event("resync", &json!({})))
                    }
                    Err(broadcast::error::RecvError::Closed) => return None,
                },
            };
            if event.is_some() {
                return event;
            }
        }
    }

    fn ask(&mut self, question: Question) -> Option<Event> {
        let asking = Asking::of(String::new(), &question);
        let id = self.asker.hold(question)?;
        Some(sse::event("question", &Asking { id, ..asking }))
    }

    fn log(&self, event: &Happening) -> Option<Event> {
        match &event.what {
            Happened::Log(params)
                if self.logs == Logs::Told
                    && event.workspaces.contains(&self.id)
                    && event.concerns(LOCAL_PRINCIPAL) =>
            {
                Some(sse::event("log", &json!({ "server": event.server, "params": params })))
            }
            _ => None,
        }
    }
}
