//! `POST /workspaces/{id}/call`: one call, with its progress, logs, questions and result as server-sent events.
//!
//! Used by `routes`. Closing the response cancels the call. It does not check permissions (`core::dispatch` does).

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use axum::response::sse::Event;
use futures_util::stream;
use http::Uri;
use switchboard_core::remote::{self, RemoteCallError, RemoteOutcome, RemoteRequest};
use switchboard_core::{
    CallError, CallEvent, Caller, RunningCall, Session, WorkspaceId, WorkspaceSnapshot,
};
use switchboard_wire::json::Raw;
use switchboard_wire::meta::UI_EXTENSION;

use super::apps;
use super::lease::CallerKind;
use super::problem::AdminProblem;
use super::questions::QuestionInfo;
use super::routes::{JsonBody, query_param};
use super::waiting_questions::QuestionHolder;
use super::{AdminApi, ResultLimit, WorkspaceRequest, activity, servers, sse};
use crate::socket::UsageLease;

/// A running call; dropped, it is cancelled.
struct FollowedCall {
    admin: AdminApi,
    running: RunningCall,
    asker: QuestionHolder,
    is_over: bool,
    /// Held, because the session may exist only for this call.
    _caller: Caller,
    _counted: UsageLease,
}

/// `POST /workspaces/{id}/call`.
pub(super) async fn place_call(
    State(admin): State<AdminApi>,
    Path(id): Path<String>,
    uri: Uri,
    JsonBody(call): JsonBody<RemoteRequest>,
) -> Result<Response, AdminProblem> {
    let workspace = WorkspaceId::from(&*id);
    let (caller, call) = match query_param(&uri, "app") {
        Some(server) => {
            let (caller, call) = app_call(&admin, &workspace, &uri, &server, &call).await?;
            (Some(caller), call)
        }
        None => (person_caller(&admin, &workspace, &uri, &call), call),
    };
    let caller = caller.ok_or_else(|| AdminProblem::no_workspace(&id))?;
    bind_to_servers_with_apps(&admin, &workspace, &caller).await;
    let call = match query_param(&uri, "repeats") {
        Some(repeated) => restore_call(&admin, &repeated, call)?,
        None => call,
    };
    let running = admin.0.engine.call(&caller, call.into_request());
    let asker = QuestionHolder::new(admin.clone());
    let counted = admin.0.usage.count_call();
    let following =
        FollowedCall { admin, running, asker, is_over: false, _caller: caller, _counted: counted };
    Ok(sse::response(stream::unfold(following, |mut following| async move {
        let event = following.next().await?;
        Some((event, following))
    })))
}

/// The caller and the request of a call that an app of `server` makes.
async fn app_call(
    admin: &AdminApi,
    workspace: &WorkspaceId,
    uri: &Uri,
    server: &str,
    call: &RemoteRequest,
) -> Result<(Caller, RemoteRequest), AdminProblem> {
    let gone = || AdminProblem::no_workspace(&workspace.to_string());
    let known = admin.0.engine.snapshot(workspace).ok_or_else(gone)?;
    if !known.servers.iter().any(|shown| shown.name == server) {
        return Err(AdminProblem::no_server(server));
    }
    let kind = CallerKind::App(server.to_owned());
    let session = |name| apps::session(server, name);
    let caller = caller_of_kind(admin, workspace, uri, &kind, session).ok_or_else(gone)?;
    let snapshot = servers::session_snapshot(admin, &caller).await.ok_or_else(gone)?;
    let call = apps::check_call(server, call, &snapshot.catalog)?;
    Ok((caller, call))
}

/// The caller for calls that a person types.
fn person_caller(
    admin: &AdminApi,
    workspace: &WorkspaceId,
    uri: &Uri,
    call: &RemoteRequest,
) -> Option<Caller> {
    if query_param(uri, "results").as_deref() == Some("whole") {
        return caller_of_kind(admin, workspace, uri, &CallerKind::ForApp, |name| {
            let whose =
                WorkspaceRequest { results: ResultLimit::Pipe, ..WorkspaceRequest::console() };
            console_session(&whose, name)
        });
    }
    match query_param(uri, "session") {
        // Calls of tools with and without an app reach the same process of a server.
        Some(session)
            if admin.0.leases.is_console(&session)
                && has_apps(admin, workspace, &session, call) =>
        {
            console_caller(admin, workspace, uri)
        }
        Some(session) => admin.0.leases.caller(&session, workspace),
        None => {
            let session = WorkspaceRequest::default().to_session(admin.0.leases.new_session_name());
            admin.0.engine.attach(workspace, session).ok()
        }
    }
}

/// The session of a console that shows apps.
fn console_session(whose: &WorkspaceRequest, name: String) -> Session {
    let mut session = whose.to_session(name);
    session.capabilities = apps::capabilities(&session.capabilities);
    session
}

/// The caller for the calls of a console that shows apps.
fn console_caller(admin: &AdminApi, workspace: &WorkspaceId, uri: &Uri) -> Option<Caller> {
    caller_of_kind(admin, workspace, uri, &CallerKind::Console, |name| {
        console_session(&WorkspaceRequest::console(), name)
    })
}

/// The snapshot for the page of a console, with the lists that servers show to clients that show apps: of servers that
/// declare apps and show no other client any. `None` if there is no such server, or no console that asks.
pub(super) async fn console_snapshot(
    admin: &AdminApi,
    workspace: &WorkspaceId,
    uri: &Uri,
) -> Option<Arc<WorkspaceSnapshot>> {
    query_param(uri, "session").filter(|session| admin.0.leases.is_console(session))?;
    let snapshot = admin.0.engine.snapshot(workspace)?;
    apps::servers_with_hidden_apps(&snapshot).next()?;
    let caller = console_caller(admin, workspace, uri)?;
    bind_to_servers_with_apps(admin, workspace, &caller).await;
    admin.0.engine.snapshot_of(&caller)
}

/// Binds a session that shows apps to the servers that show their apps to such clients only. It starts no other server.
async fn bind_to_servers_with_apps(admin: &AdminApi, workspace: &WorkspaceId, caller: &Caller) {
    let engine = &admin.0.engine;
    let Some(snapshot) = engine.snapshot(workspace) else { return };
    let declares = caller.session().capabilities.get_path(&["extensions", UI_EXTENSION]);
    let servers: Vec<&str> = apps::servers_with_hidden_apps(&snapshot).collect();
    if matches!(declares, Ok(Some(_))) && !servers.is_empty() {
        let is_meant = |server: &str| servers.contains(&server);
        engine.bind_session_where(caller, is_meant, servers::LIST_TIMEOUT).await;
    }
}

/// Whether the server of a call has apps, as far as the console with this session has seen.
fn has_apps(
    admin: &AdminApi,
    workspace: &WorkspaceId,
    session: &str,
    call: &RemoteRequest,
) -> bool {
    let engine = &admin.0.engine;
    let shown = admin.0.leases.apps_caller(session, workspace);
    let shown = shown.and_then(|caller| engine.catalog_of(&caller));
    let usual = engine.snapshot(workspace).map(|snapshot| Arc::clone(&snapshot.catalog));
    let name = call.params.get("name").ok().flatten().and_then(|name| name.to_text());
    shown.into_iter().chain(usual).any(|catalog| {
        let tools = catalog.tools();
        let named =
            || Some(tools.iter().find(|listed| Some(&listed.name) == name.as_ref())?.server());
        let Some(server) = call.server.as_deref().or_else(named) else { return false };
        apps::has_apps(&catalog, server)
    })
}

/// A caller beside the person's own: that of the lease which the request names, or one for this call alone.
fn caller_of_kind(
    admin: &AdminApi,
    workspace: &WorkspaceId,
    uri: &Uri,
    kind: &CallerKind,
    session: impl FnOnce(String) -> Session,
) -> Option<Caller> {
    let attach = || {
        let session = session(admin.0.leases.new_session_name());
        admin.0.engine.attach(workspace, session).ok()
    };
    match query_param(uri, "session") {
        Some(leased) => admin.0.leases.other_caller(&leased, workspace, kind, attach),
        None => attach(),
    }
}

/// Restores the values of a repeated call that were redacted when the call was shown.
fn restore_call(
    admin: &AdminApi,
    of: &str,
    call: RemoteRequest,
) -> Result<RemoteRequest, AdminProblem> {
    let malformed =
        |error: serde_json::Error| AdminProblem::malformed(format!("`params`: {error}"));
    let shown = serde_json::from_str(call.params.as_str()).map_err(malformed)?;
    let params = activity::restore_params(admin, of, &shown)?;
    Ok(RemoteRequest { params: Raw::from(params), ..call })
}

// === impl FollowedCall ===

impl FollowedCall {
    /// The next event; `None` after the result or error.
    async fn next(&mut self) -> Option<Event> {
        while !self.is_over {
            let event = match self.running.next().await {
                Ok(CallEvent::Progress(params)) => {
                    to_sse_event(&remote::RemoteCallEvent::Progress(params))
                }
                Ok(CallEvent::Log(params)) => to_sse_event(&remote::RemoteCallEvent::Log(params)),
                Ok(CallEvent::Task(state)) => to_sse_event(&remote::RemoteCallEvent::Task(state)),
                Ok(CallEvent::Notification(said)) => {
                    to_sse_event(&remote::RemoteCallEvent::from_notification(&said))
                }
                Ok(CallEvent::Question(question)) => {
                    let asking = QuestionInfo::from_question(String::new(), &question);
                    // Beyond the limit the question is dropped, which cancels it.
                    let Some(id) = self.asker.hold(question) else { continue };
                    sse::event("question", &QuestionInfo { id, ..asking })
                }
                Ok(CallEvent::Done(outcome)) => {
                    self.is_over = true;
                    sse::event("done", &RemoteOutcome::from_outcome(&outcome))
                }
                // This API never asks for tasks or handles, so these two cannot occur.
                Ok(CallEvent::BecameTask(tasked)) => {
                    let server = tasked.task.server.clone();
                    self.failure_event(&CallError::InputNeeded { server })
                }
                Ok(CallEvent::NeedsInput(handed)) => {
                    let server = handed.carried.server().to_owned();
                    self.failure_event(&CallError::InputNeeded { server })
                }
                Err(error) => self.failure_event(&error),
            };
            return Some(event);
        }
        None
    }

    fn failure_event(&mut self, error: &CallError) -> Event {
        self.is_over = true;
        sse::event("failed", &RemoteCallError::from_call_error(error, &*self.admin.0.advice))
    }
}

fn to_sse_event(event: &remote::RemoteCallEvent) -> Event {
    sse::event(event.word(), event.data())
}
