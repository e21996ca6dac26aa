//! Leases of workspaces: `POST /workspaces` and `/workspaces/{id}/hold` keep one open while their stream is read.
//!
//! Used by `routes`, by `events` (streams that hold workspaces) and by `call` (the session of a lease). It does not
//! load configuration ([`WorkspaceHost`](super::WorkspaceHost) does).

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
use switchboard_core::engine::{EngineEvent as Happening, EngineEventKind};
use switchboard_core::principal::LOCAL_PRINCIPAL;
use switchboard_core::{Caller, Session, WorkspaceId};
use switchboard_wire::json::Raw;
use tokio::sync::{broadcast, mpsc, watch};
use tokio::time::timeout;

use super::host::CONSOLE_CLIENT_NAME;
use super::problem::{AdminProblem, AdminProblemKind};
use super::questions::QuestionInfo;
use super::routes::JsonBody;
use super::waiting_questions::QuestionHolder;
use super::{AdminApi, OpenWorkspace, WorkspaceRequest, sse};

/// The most leases at once.
const MAX_LEASES: usize = 256;
/// How long opening a workspace may take: files are read.
const OPEN_TIMEOUT: Duration = Duration::from_secs(30);

/// All leases, by session.
#[derive(Debug, Default)]
pub(super) struct WorkspaceLeases {
    open: Mutex<HashMap<String, LeasedCallers>>,
    last: AtomicU64,
}

/// The sessions of one lease, which end with it.
#[derive(Debug)]
struct LeasedCallers {
    workspace: WorkspaceId,
    person: Caller,
    /// The sessions beside the person's own, made when they are first needed.
    others: HashMap<CallerKind, Caller>,
}

/// The origin of the calls of sessions beside a person's own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum CallerKind {
    /// The person at the console, which shows apps.
    Console,
    /// The person, whose result goes to an app: results are not cut.
    ForApp,
    /// Apps of this server.
    App(String),
}

/// One lease; dropped, the workspace is released.
struct WorkspaceLease {
    admin: AdminApi,
    session: String,
    _opened: OpenWorkspace,
}

/// The event stream of one lease.
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

/// Whether the stream carries log messages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LogDelivery {
    Streamed,
    /// The client gets log messages from `GET /events`.
    Elsewhere,
}

// === impl WorkspaceLeases ===

impl WorkspaceLeases {
    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    /// A new session name.
    pub(super) fn new_session_name(&self) -> String {
        format!("admin-{}", self.last.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The caller behind a session, if it leases this workspace.
    pub(super) fn caller(&self, session: &str, workspace: &WorkspaceId) -> Option<Caller> {
        let open = self.lock();
        let lease = open.get(session).filter(|lease| lease.workspace == *workspace)?;
        Some(lease.person.clone())
    }

    /// Whether a session is a console's.
    pub(super) fn is_console(&self, session: &str) -> bool {
        let open = self.lock();
        open.get(session).is_some_and(|lease| lease.person.session().client == CONSOLE_CLIENT_NAME)
    }

    /// The caller for the calls of a console that shows apps, if it has made one.
    pub(super) fn apps_caller(&self, session: &str, workspace: &WorkspaceId) -> Option<Caller> {
        let open = self.lock();
        let lease = open.get(session).filter(|lease| lease.workspace == *workspace)?;
        lease.others.get(&CallerKind::Console).cloned()
    }

    /// Another caller of the lease behind a session; `attach` makes it if there is none.
    pub(super) fn other_caller(
        &self,
        session: &str,
        workspace: &WorkspaceId,
        kind: &CallerKind,
        attach: impl FnOnce() -> Option<Caller>,
    ) -> Option<Caller> {
        let of_lease = |open: &mut HashMap<String, LeasedCallers>| {
            let lease = open.get(session).filter(|lease| lease.workspace == *workspace)?;
            Some(lease.others.get(kind).cloned())
        };
        if let Some(caller) = of_lease(&mut self.lock())? {
            return Some(caller);
        }
        // Attached outside the lock: the start of a session calls into the engine.
        let caller = attach()?;
        let mut open = self.lock();
        let lease = open.get_mut(session)?;
        Some(lease.others.entry(kind.clone()).or_insert(caller).clone())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, LeasedCallers>> {
        self.open.lock()
    }
}

// === impl WorkspaceLease ===

impl Drop for WorkspaceLease {
    fn drop(&mut self) {
        let left = self.admin.0.leases.lock().remove(&self.session);
        // Dropped outside the lock: the end of a session calls into the engine.
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
    let session = |name| whose.to_session(name);
    Ok(sse::response(hold(admin, opened, session, LogDelivery::Streamed)?.events()))
}

/// `POST /workspaces/{id}/hold`: leases an open workspace, for a client that knows neither its folder nor its
/// environment.
pub(super) async fn hold_open(
    State(admin): State<AdminApi>,
    Path(id): Path<String>,
) -> Result<Response, AdminProblem> {
    Ok(sse::response(hold_existing(&admin, &id, LogDelivery::Streamed)?.events()))
}

/// A lease for a client of `GET /events`.
pub(super) fn hold_with_events(admin: &AdminApi, id: &str) -> Result<LeaseFeed, AdminProblem> {
    hold_existing(admin, id, LogDelivery::Elsewhere)
}

fn hold_existing(admin: &AdminApi, id: &str, logs: LogDelivery) -> Result<LeaseFeed, AdminProblem> {
    if admin.0.leases.count() >= MAX_LEASES {
        return Err(AdminProblem::too_many("workspaces"));
    }
    let served = admin.0.host.find_workspace(&WorkspaceId::from(id));
    let served = served.ok_or_else(|| AdminProblem::no_workspace(id))?;
    let opened = OpenWorkspace { id: served.workspace().clone(), keep_open: Box::new(served) };
    let whose = WorkspaceRequest::console();
    // Only its calls declare that apps are shown: a console that looks on starts no connections of its own.
    hold(admin.clone(), opened, |name| whose.to_session(name), logs)
}

fn hold(
    admin: AdminApi,
    opened: OpenWorkspace,
    session_named: impl FnOnce(String) -> Session,
    logs: LogDelivery,
) -> Result<LeaseFeed, AdminProblem> {
    let id = opened.id.clone();
    let engine = &admin.0.engine;
    // Subscribed before the session exists, so that no event is missed.
    let (changes, events) = (engine.changes(), engine.events());
    let session = admin.0.leases.new_session_name();
    let caller = engine.attach(&id, session_named(session.clone()));
    // Attaching the local principal fails only if the workspace has ended.
    let caller = caller.map_err(|_| AdminProblem::no_workspace(&id.to_string()))?;
    // A person is looking, so failed servers are retried at once.
    engine.retry_failed(&id);
    let strays = engine.session_questions(&caller);
    let callers = LeasedCallers { workspace: id.clone(), person: caller, others: HashMap::new() };
    admin.0.leases.lock().insert(session.clone(), callers);
    let first = sse::event("opened", &json!({ "id": id.to_string(), "session": session }));
    let asker = QuestionHolder::new(admin.clone());
    let lease = WorkspaceLease { admin, session, _opened: opened };
    Ok(LeaseFeed { id, first: Some(first), changes, events, strays, asker, logs, _lease: lease })
}

// === impl LeaseFeed ===

impl LeaseFeed {
    pub(super) fn events(self) -> impl Stream<Item = Event> + Send + 'static {
        stream::unfold(self, |mut feed| async move {
            let event = feed.next().await?;
            Some((event, feed))
        })
    }

    /// The next event; `None` once the engine has ended.
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
                    // The lost events may have been log messages; the snapshot is fetched on `changed`.
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
                if self.logs == LogDelivery::Streamed
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
