//! The console for the people of `serve`: each sees their own clients, calls and accounts, answers their own questions,
//! and an administrator sees also the servers, totals, and whose the other clients, calls and accounts are.
//!
//! The API of this console is a router of its own, under [`API_PATH`]. A route that is not in it does not exist for
//! these people, and no route of `super::routes` is in it. Every handler gets a [`ConsoleCaller`], which [`identify`]
//! makes of the browser's session, and filters by it. No route shows arguments, results, entries or paths of the hub.
//!
//! Used by `crate::faces`, which serves it at the address of the faces. Browsers are signed in by `crate::access`.

mod caller;
mod feed;
mod summary;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{delete, get, post};
use axum::{Extension, Router};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use serde_json::json as value;
use switchboard_core::WorkspaceId;
use switchboard_core::audit::{AuditEntry, AuditFilter};
use switchboard_core::dispatch::QuestionAnswer;
use switchboard_core::permission::AnswerLifetime;
use switchboard_core::principal::Principal;
use switchboard_core::remote::RemoteAnswer;
use switchboard_wire::sanitize;
use tokio::sync::Semaphore;

use super::problem::{AdminProblem, AdminProblemKind};
use super::routes::{JsonBody, json};
use super::{AdminApi, accounts, activity, console, questions};
use crate::access::{BROWSER_PAGE_PATH, BrowserSessions, CONSOLE_PATH};
use caller::{ConsoleCaller, ConsoleRole};
use summary::{CallShown, ClientShown, ServerShown};

/// The API of the page.
const API_PATH: &str = "/console/api/v1";
/// How many requests read the audit log at once: a read takes a thread and the whole log.
const MAX_LOG_READERS: usize = 2;
/// The largest answer to a question.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// The console at one address.
pub(crate) struct PeopleConsole {
    admin: AdminApi,
    sessions: Arc<BrowserSessions>,
    /// The workspace that is served at the address.
    workspace: WorkspaceId,
    /// Whether the settings name a principal as an administrator.
    is_admin: Box<dyn Fn(&Principal) -> bool + Send + Sync>,
    log_readers: Semaphore,
}

// === impl PeopleConsole ===

impl PeopleConsole {
    pub(crate) fn new(
        admin: AdminApi,
        sessions: Arc<BrowserSessions>,
        workspace: WorkspaceId,
        is_admin: impl Fn(&Principal) -> bool + Send + Sync + 'static,
    ) -> Self {
        let log_readers = Semaphore::new(MAX_LOG_READERS);
        Self { admin, sessions, workspace, is_admin: Box::new(is_admin), log_readers }
    }

    /// The page and its API. The files of the page are served by the console of the local principal, where that is at
    /// the same address.
    pub(crate) fn routes(self, has_local_console: bool) -> Router {
        let console = Arc::new(self);
        let page = Router::new().route(CONSOLE_PATH, get(page)).with_state(Arc::clone(&console));
        let files = if has_local_console { Router::new() } else { console::files("'none'") };
        page.merge(files).nest(API_PATH, api(console))
    }

    /// The caller of a request, as its browser is signed in now.
    fn caller(&self, headers: &HeaderMap) -> Option<ConsoleCaller> {
        let session = self.sessions.find(headers)?;
        let principal = session.principal().clone();
        // Whoever runs the hub may look at it from elsewhere, with a token made with `--me`.
        let is_admin = principal.is_local() || (self.is_admin)(&principal);
        let role = if is_admin { ConsoleRole::Admin } else { ConsoleRole::User };
        Some(ConsoleCaller { principal, role })
    }
}

/// Every route that these people have.
fn api(console: Arc<PeopleConsole>) -> Router {
    Router::new()
        .route("/me", get(me))
        .route("/status", get(status))
        .route("/activity", get(calls))
        .route("/events", get(feed::follow))
        .route("/accounts", get(list_accounts))
        .route("/accounts/{id}", delete(sign_out))
        .route("/questions", get(list_questions))
        .route("/questions/{id}", post(answer_question))
        .route("/traffic", get(traffic))
        .route("/servers", get(servers))
        .fallback(not_for_people)
        .method_not_allowed_fallback(not_for_people)
        .layer(from_fn_with_state(Arc::clone(&console), identify))
        .with_state(console)
}

/// Refuses requests without a session, and those that a page of another site sent; the others get their caller.
async fn identify(
    State(console): State<Arc<PeopleConsole>>,
    mut request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    let is_reading = request.method() == Method::GET && !headers.contains_key(header::ORIGIN);
    if !is_reading && !console.sessions.is_own_page(headers) {
        let title = "only this console's own page may ask here";
        return AdminProblem::new(AdminProblemKind::Foreign, title).into_response();
    }
    let Some(caller) = console.caller(headers) else {
        return AdminProblem::new(AdminProblemKind::Unauthorized, "this browser is not signed in")
            .with_detail("it never was, its session has ended, or its token was revoked")
            .with_hint("load the page again to sign in")
            .into_response();
    };
    request.extensions_mut().insert(caller);
    let mut response = next.run(request).await;
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn not_for_people(uri: Uri) -> AdminProblem {
    let title = format!("`{}` is not for the users of `serve`", uri.path());
    AdminProblem::new(AdminProblemKind::Forbidden, title)
        .with_hint("see `docs/teams.md`; the rest of the hub is for the person who runs it")
}

fn not_for_users() -> AdminProblem {
    AdminProblem::new(AdminProblemKind::Forbidden, "this is for administrators")
        .with_hint("`admins` in the user's or the administrator's settings names them")
}

/// `GET /console/`: the page, or the page on which a browser signs in.
async fn page(State(console): State<Arc<PeopleConsole>>, headers: HeaderMap) -> Response {
    match console.sessions.find(&headers) {
        Some(_) => console::index_page("'none'"),
        None => Redirect::to(BROWSER_PAGE_PATH).into_response(),
    }
}

/// `GET /me`: whose browser this is.
async fn me(Extension(caller): Extension<ConsoleCaller>) -> Response {
    let ConsoleCaller { principal, role } = &caller;
    let line = |text: &str| sanitize::sanitize_line(text).into_owned();
    let groups: Vec<_> = principal.groups().map(line).collect();
    let told = value!({
        "principal": line(principal.id()), "name": line(principal.name()), "groups": groups, "role": role,
    });
    json(StatusCode::OK, &told)
}

/// `GET /status`: the clients that are connected.
async fn status(
    State(console): State<Arc<PeopleConsole>>,
    Extension(caller): Extension<ConsoleCaller>,
) -> Response {
    let engine = &console.admin.0.engine;
    let sessions = engine.sessions().into_iter();
    let seen = sessions.filter(|session| caller.sees(session.caller.principal.id()));
    let clients: Vec<_> = seen
        .map(|session| {
            let calls = engine.calls_in_flight_of(&session.caller.session);
            ClientShown::new(session, calls)
        })
        .collect();
    json(StatusCode::OK, &value!({ "attached": clients }))
}

/// `GET /activity`: the latest calls, oldest first.
async fn calls(
    State(console): State<Arc<PeopleConsole>>,
    Extension(caller): Extension<ConsoleCaller>,
    uri: Uri,
) -> Result<Response, AdminProblem> {
    let filter = match caller.role {
        ConsoleRole::Admin => AuditFilter::default(),
        ConsoleRole::User => AuditFilter::default().of_principal(caller.principal.id()),
    };
    let reading = console.log_readers.acquire().await;
    let history = activity::read_history(&console.admin, filter, &uri).await?;
    drop(reading);
    let calls = history.entries.iter().filter_map(|entry| match entry {
        AuditEntry::Call(line) => Some(CallShown::new(line, &caller)),
        AuditEntry::Lost(_) => None,
    });
    Ok(json(StatusCode::OK, &value!({ "calls": calls.collect::<Vec<_>>() })))
}

/// `GET /accounts`.
async fn list_accounts(
    State(console): State<Arc<PeopleConsole>>,
    Extension(caller): Extension<ConsoleCaller>,
) -> Result<Response, AdminProblem> {
    let mut accounts = accounts::read(&console.admin).await?;
    accounts.retain(|account| caller.sees(&account.principal));
    Ok(json(StatusCode::OK, &value!({ "accounts": accounts })))
}

/// `DELETE /accounts/{id}`: signs the caller out, and nobody else.
async fn sign_out(
    State(console): State<Arc<PeopleConsole>>,
    Extension(caller): Extension<ConsoleCaller>,
    Path(id): Path<String>,
) -> Result<Response, AdminProblem> {
    accounts::end(&console.admin, &id, Some(&caller.principal)).await
}

/// `GET /questions`: what the caller's own calls wait for.
async fn list_questions(
    State(console): State<Arc<PeopleConsole>>,
    Extension(caller): Extension<ConsoleCaller>,
) -> Response {
    let queue = console.admin.0.engine.queue_for(&caller.principal);
    let questions = queue.map(|queue| questions::list_queue(&queue)).unwrap_or_default();
    json(StatusCode::OK, &value!({ "questions": questions }))
}

/// `POST /questions/{id}`: answers a question of the caller's own queue.
async fn answer_question(
    State(console): State<Arc<PeopleConsole>>,
    Extension(caller): Extension<ConsoleCaller>,
    Path(id): Path<String>,
    JsonBody(answer): JsonBody<RemoteAnswer, MAX_ANSWER_BYTES>,
) -> Result<Response, AdminProblem> {
    let answer = answer.into_answer();
    if let QuestionAnswer::Allow(lifetime) | QuestionAnswer::Deny(lifetime) = &answer
        && !matches!(lifetime, AnswerLifetime::Once | AnswerLifetime::Session)
    {
        let title = "an answer is for the session at most";
        return Err(AdminProblem::new(AdminProblemKind::Forbidden, title)
            .with_hint("the person who runs the hub adds rules that last"));
    }
    let queue = console.admin.0.engine.queue_for(&caller.principal);
    if queue.is_some_and(|queue| questions::answer_queue(&queue, &id, answer)) {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Err(questions::no_question(&id))
}

/// `GET /traffic`: the calls of the last hour of all people, counted.
async fn traffic(
    State(console): State<Arc<PeopleConsole>>,
    Extension(caller): Extension<ConsoleCaller>,
) -> Result<Response, AdminProblem> {
    caller.require_admin()?;
    Ok(json(StatusCode::OK, &console.admin.0.engine.traffic()))
}

/// `GET /servers`: the state of the servers that are served here.
async fn servers(
    State(console): State<Arc<PeopleConsole>>,
    Extension(caller): Extension<ConsoleCaller>,
) -> Result<Response, AdminProblem> {
    caller.require_admin()?;
    let engine = &console.admin.0.engine;
    let snapshot = engine.snapshot(&console.workspace);
    let servers: BTreeMap<_, _> = snapshot
        .iter()
        .flat_map(|snapshot| &snapshot.servers)
        .map(|view| ServerShown::new(view, &*console.admin.0.advice))
        .map(|server| (server.name.clone(), server))
        .collect();
    Ok(json(StatusCode::OK, &value!({ "servers": servers.into_values().collect::<Vec<_>>() })))
}
