//! A workspace held open, for as long as its stream is.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::Response;
use axum::response::sse::Event;
use futures_util::stream::{self, Stream};
use parking_lot::{Mutex, MutexGuard};
use serde_json::json;
use switchboard_core::dispatch::PendingQuestion;
use switchboard_core::engine::{EngineEvent as Happening, EngineEventKind, LOCAL_PRINCIPAL};
use switchboard_core::{Caller, WorkspaceId};
use switchboard_wire::json::Raw;
use tokio::sync::{broadcast, mpsc, watch};
use tokio::time::timeout;

use super::problem::{AdminProblem, AdminProblemKind};
use super::questions::QuestionInfo;
use super::routes::JsonBody;
use super::waiting_questions::QuestionHolder;
use super::{AdminApi, OpenWorkspace, WorkspaceRequest, sse};

/// Workspaces that are held open at once.
const MAX_LEASES: usize = 256;
/// What a client is called that did not open its workspace itself.
const CONSOLE_CLIENT_NAME: &str = "console";
/// How long opening one may take: files are read.
const OPEN_TIMEOUT: Duration = Duration::from_secs(30);

/// Everybody who holds a workspace open.
#[derive(Debug, Default)]
pub(super) struct WorkspaceLeases {
    open: Mutex<HashMap<String, (WorkspaceId, Caller)>>,
    last: AtomicU64,
}

/// One of them. Dropped, it is let go.
struct WorkspaceLease {
    admin: AdminApi,
    session: String,
    _opened: OpenWorkspace,
}

/// What whoever holds a workspace is told.
pub(super) struct LeaseFeed {
    id: WorkspaceId,
    first: Option<Event>,
    changes: watch::Receiver<u64>,
    events: broadcast::Receiver<Happening>,
    strays: mpsc::Receiver<PendingQuestion>,
    asker: QuestionHolder,
    logs: LogDelivery,
    _lease: WorkspaceLease,
}

/// Whether log messages come with it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LogDelivery {
    Told,
    /// Whoever reads it has them already.
    Elsewhere,
}

// === impl Leases ===

impl WorkspaceLeases {
    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    /// A name that no other session has.
    pub(super) fn new_session_name(&self) -> String {
        format!("admin-{}", self.last.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The session of somebody who holds this workspace.
    pub(super) fn caller(&self, session: &str, workspace: &WorkspaceId) -> Option<Caller> {
        let open = self.lock();
        let (id, caller) = open.get(session)?;
        (id == workspace).then(|| caller.clone())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (WorkspaceId, Caller)>> {
        self.open.lock()
    }
}

// === impl Lease ===

impl Drop for WorkspaceLease {
    fn drop(&mut self) {
        let left = self.admin.0.leases.lock().remove(&self.session);
        // Outside the lock: a session that ends tells the engine.
        drop(left);
    }
}

/// `POST /workspaces`.
pub(super) async fn open(
    State(admin): State<AdminApi>,
    JsonBody(whose): JsonBody<WorkspaceRequest>,
) -> Result<Response, AdminProblem> {
    if admin.0.leases.count() >= MAX_LEASES {
        return Err(AdminProblem::too_many("workspaces"));
    }
    let opening = timeout(OPEN_TIMEOUT, admin.0.host.open(&whose));
    let opened = opening.await.map_err(|_| {
        AdminProblem::new(AdminProblemKind::TooSlow, "the configuration was not loaded in time")
            .with_hint("a file system may hang; try again")
    })??;
    Ok(sse::response(hold(admin, opened, &whose, LogDelivery::Told)?.events()))
}

/// `POST /workspaces/{id}/hold`: one that is open already, for somebody who knows neither folder nor environment.
pub(super) async fn hold_open(
    State(admin): State<AdminApi>,
    Path(id): Path<String>,
) -> Result<Response, AdminProblem> {
    Ok(sse::response(hold_existing(&admin, &id, LogDelivery::Told)?.events()))
}

/// The same for somebody who follows all that happens.
pub(super) fn hold_with_events(admin: &AdminApi, id: &str) -> Result<LeaseFeed, AdminProblem> {
    hold_existing(admin, id, LogDelivery::Elsewhere)
}

fn hold_existing(admin: &AdminApi, id: &str, logs: LogDelivery) -> Result<LeaseFeed, AdminProblem> {
    if admin.0.leases.count() >= MAX_LEASES {
        return Err(AdminProblem::too_many("workspaces"));
    }
    let served = admin.0.host.find_workspace(&WorkspaceId::from(id));
    let served = served.ok_or_else(|| AdminProblem::no_workspace(id))?;
    let opened = OpenWorkspace { id: served.workspace().clone(), held: Box::new(served) };
    let whose =
        WorkspaceRequest { client: CONSOLE_CLIENT_NAME.to_owned(), ..WorkspaceRequest::default() };
    hold(admin.clone(), opened, &whose, logs)
}

fn hold(
    admin: AdminApi,
    opened: OpenWorkspace,
    whose: &WorkspaceRequest,
    logs: LogDelivery,
) -> Result<LeaseFeed, AdminProblem> {
    let id = opened.id.clone();
    let engine = &admin.0.engine;
    // Before the session is there, so that nothing is missed.
    let (changes, events) = (engine.changes(), engine.events());
    let session = admin.0.leases.new_session_name();
    let caller = engine.attach(&id, whose.to_session(session.clone()));
    // The local principal's own connections are configured: nothing but the end of the workspace is in the way.
    let caller = caller.map_err(|_| AdminProblem::no_workspace(&id.to_string()))?;
    // A person has come to look.
    engine.retry_failed(&id);
    let strays = engine.session_questions(&caller);
    admin.0.leases.lock().insert(session.clone(), (id.clone(), caller));
    let first = sse::event("opened", &json!({ "id": id.to_string(), "session": session }));
    let asker = QuestionHolder::new(admin.clone());
    let lease = WorkspaceLease { admin, session, _opened: opened };
    Ok(LeaseFeed { id, first: Some(first), changes, events, strays, asker, logs, _lease: lease })
}

// === impl Feed ===

impl LeaseFeed {
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

    fn ask(&mut self, question: PendingQuestion) -> Option<Event> {
        let asking = QuestionInfo::from_question(String::new(), &question);
        let id = self.asker.hold(question)?;
        Some(sse::event("question", &QuestionInfo { id, ..asking }))
    }

    fn log(&self, event: &Happening) -> Option<Event> {
        match &event.what {
            EngineEventKind::Log(params)
                if self.logs == LogDelivery::Told
                    && event.workspaces.contains(&self.id)
                    && event.concerns(LOCAL_PRINCIPAL) =>
            {
                let server = Raw::string(&event.server);
                Some(sse::event("log", &Raw::object([("server", &server), ("params", params)])))
            }
            _ => None,
        }
    }
}
