//! Routes that read an open workspace: snapshot, servers, catalog, processes, logs; and check and reconnect.
//!
//! Used by `routes`. It does not change configuration files (`files` does).

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, stream};
use http::{StatusCode, Uri};
use serde_json::{Value, json as value};
use switchboard_config::SecretVisibility;
use switchboard_core::catalog::RemoteCatalog as Catalog;
use switchboard_core::connection::StateChange;
use switchboard_core::engine::EngineEventKind;
use switchboard_core::logs::LogFollower;
use switchboard_core::principal::LOCAL_PRINCIPAL;
use switchboard_core::remote::{ErrorAdvice, RemoteServer, RemoteSnapshot};
use switchboard_core::{Caller, WorkspaceId, WorkspaceSnapshot};
use switchboard_process::ProcessInfo;
use switchboard_sources::SyncedWorkspace;
use switchboard_wire::sanitize;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::AdminApi;
use super::problem::{AdminProblem, AdminProblemKind};
use super::routes::{json, query_param};
use super::sse;

/// Lines of a log that are returned by default, and at most.
const DEFAULT_LOG_LINES: usize = 100;
const MAX_LOG_LINES: usize = 10_000;
/// How long a reconnect may take to begin: the old connection is closed first.
const RECONNECT_BEGIN_TIMEOUT: Duration = Duration::from_secs(2);

/// How long the lists of connections are waited for that a session needs for itself.
pub(super) const LIST_TIMEOUT: Duration = Duration::from_secs(2);

/// `GET /workspaces/{id}/snapshot`.
pub(super) async fn snapshot(
    State(admin): State<AdminApi>,
    Path(id): Path<String>,
) -> Result<Response, AdminProblem> {
    let served = admin.0.host.find_workspace(&WorkspaceId::from(&*id));
    snapshot_response(&admin, &id, move |snapshot, advice| {
        let mut told = RemoteSnapshot::from_snapshot(snapshot, advice);
        add_entries(&mut told.servers, served);
        serde_json::to_vec(&told)
    })
    .await
}

/// `GET /workspaces/{id}/servers`: the snapshot without the catalog, which is its largest part.
pub(super) async fn list(
    State(admin): State<AdminApi>,
    Path(id): Path<String>,
) -> Result<Response, AdminProblem> {
    let served = admin.0.host.find_workspace(&WorkspaceId::from(&*id));
    snapshot_response(&admin, &id, move |snapshot, advice| {
        let mut servers: Vec<_> =
            snapshot.servers.iter().map(|view| RemoteServer::from_view(view, advice)).collect();
        add_entries(&mut servers, served);
        let (problems, sessions) = (&snapshot.problems, &snapshot.sessions);
        let told = value!({
            "servers": servers, "problems": problems, "sessions": sessions,
            "extensions": snapshot.extensions,
        });
        serde_json::to_vec(&told)
    })
    .await
}

/// Adds the command with its arguments, or the URL, of each server's entry, redacted, and the hint on what to change in
/// an invalid one.
fn add_entries(servers: &mut [RemoteServer], served: Option<Arc<SyncedWorkspace>>) {
    let Some(snapshot) = served.map(|served| served.snapshot()) else { return };
    for server in servers {
        let mut named = snapshot.desired.servers_named(&server.name);
        let configured = named.find(|configured| Some(&configured.at) == server.at.as_ref());
        let Some(configured) = configured else { continue };
        let problem = snapshot.desired.own_problem(configured);
        let hint = problem.and_then(|problem| problem.hint.as_ref());
        server.hint = hint.map(|hint| sanitize::sanitize_line(&hint.to_string()).into_owned());
        if let Value::Object(mut members) = configured.template_json(SecretVisibility::Masked) {
            members.retain(|name, _| matches!(&**name, "command" | "args" | "url"));
            server.entry = (!members.is_empty()).then_some(Value::Object(members));
        }
    }
}

/// `GET /workspaces/{id}/catalog`. In the session of a console, with the tools that servers show to clients that show
/// apps.
pub(super) async fn catalog(
    State(admin): State<AdminApi>,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, AdminProblem> {
    let write = |snapshot: &WorkspaceSnapshot, _: &dyn ErrorAdvice| {
        serde_json::to_vec(&Catalog::from_catalog(&snapshot.catalog))
    };
    match super::call::console_snapshot(&admin, &WorkspaceId::from(&*id), &uri).await {
        Some(snapshot) => write_snapshot(&admin, snapshot, write).await,
        None => snapshot_response(&admin, &id, write).await,
    }
}

/// The snapshot of one session, with the lists that servers show to its kind of client.
pub(super) async fn session_snapshot(
    admin: &AdminApi,
    caller: &Caller,
) -> Option<Arc<WorkspaceSnapshot>> {
    admin.0.engine.bind_session(caller, LIST_TIMEOUT).await;
    admin.0.engine.snapshot_of(caller)
}

/// Serializes the current snapshot of a workspace with `tell`.
async fn snapshot_response(
    admin: &AdminApi,
    id: &str,
    tell: impl FnOnce(&WorkspaceSnapshot, &dyn ErrorAdvice) -> serde_json::Result<Vec<u8>>
    + Send
    + 'static,
) -> Result<Response, AdminProblem> {
    let workspace = WorkspaceId::from(id);
    admin.0.engine.follow_sign_ins(&workspace).await;
    let snapshot = admin.0.engine.snapshot(&workspace);
    let snapshot = snapshot.ok_or_else(|| AdminProblem::no_workspace(id))?;
    write_snapshot(admin, snapshot, tell).await
}

async fn write_snapshot(
    admin: &AdminApi,
    snapshot: Arc<WorkspaceSnapshot>,
    tell: impl FnOnce(&WorkspaceSnapshot, &dyn ErrorAdvice) -> serde_json::Result<Vec<u8>>
    + Send
    + 'static,
) -> Result<Response, AdminProblem> {
    let advice = admin.0.advice.clone();
    // On a blocking thread: a catalog may hold ten thousand definitions.
    let told = tokio::task::spawn_blocking(move || tell(&snapshot, &*advice));
    let failed = |why: String| {
        AdminProblem::new(AdminProblemKind::Failed, "the snapshot cannot be told").with_detail(why)
    };
    let text = told.await.map_err(|error| failed(error.to_string()))?;
    let text = text.map_err(|error| failed(error.to_string()))?;
    Ok(super::routes::json_text(StatusCode::OK, text))
}

/// The id of a workspace that is open.
fn open_workspace(admin: &AdminApi, id: &str) -> Result<WorkspaceId, AdminProblem> {
    let workspace = WorkspaceId::from(id);
    let is_open = admin.0.engine.snapshot(&workspace).is_some();
    if is_open { Ok(workspace) } else { Err(AdminProblem::no_workspace(id)) }
}

/// `POST /workspaces/{id}/check`: retries servers that are down, and pings connected ones. The response is sent when a
/// snapshot shows the attempts and the answers.
pub(super) async fn check(
    State(admin): State<AdminApi>,
    Path(id): Path<String>,
) -> Result<Response, AdminProblem> {
    let workspace = open_workspace(&admin, &id)?;
    let engine = &admin.0.engine;
    engine.check_servers(&workspace).await;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// `POST /workspaces/{id}/start`: starts servers that are idle. The response is sent when a snapshot shows the attempts.
pub(super) async fn start_idle(
    State(admin): State<AdminApi>,
    Path(id): Path<String>,
) -> Result<Response, AdminProblem> {
    let workspace = open_workspace(&admin, &id)?;
    admin.0.engine.start_idle_servers(&workspace).await;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// `POST /workspaces/{id}/servers/{name}/check`: a connected server is asked whether it still answers; one that is down
/// stays as it is. The answer comes when a snapshot shows the server's.
pub(super) async fn check_answers(
    State(admin): State<AdminApi>,
    Path((id, name)): Path<(String, String)>,
) -> Result<Response, AdminProblem> {
    let workspace = open_workspace(&admin, &id)?;
    let engine = &admin.0.engine;
    if !engine.check_answers(&workspace, &name).await {
        return Err(AdminProblem::no_server(&name));
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// `POST /workspaces/{id}/servers/{name}/reconnect`.
pub(super) async fn reconnect(
    State(admin): State<AdminApi>,
    Path((id, name)): Path<(String, String)>,
) -> Result<Response, AdminProblem> {
    let workspace = open_workspace(&admin, &id)?;
    let engine = &admin.0.engine;
    let mut events = engine.events();
    if !engine.reconnect_server(&workspace, &name) {
        return Err(AdminProblem::no_server(&name));
    }
    // A client that fetches a snapshot after the response must see the new attempt, not the old state.
    let begun = async {
        while let Ok(event) = events.recv().await {
            let is_it = event.server == name && event.workspaces.contains(&workspace);
            if is_it
                && event.concerns(LOCAL_PRINCIPAL)
                && matches!(event.what, EngineEventKind::State)
            {
                return;
            }
        }
    };
    let _ = timeout(RECONNECT_BEGIN_TIMEOUT, begun).await;
    Ok(StatusCode::ACCEPTED.into_response())
}

/// `GET /workspaces/{id}/servers/{name}/history`: the latest changes of state, oldest first.
pub(super) async fn history(
    State(admin): State<AdminApi>,
    Path((id, name)): Path<(String, String)>,
) -> Result<Response, AdminProblem> {
    let changes = admin.0.engine.state_history(&WorkspaceId::from(&*id), &name);
    let changes = changes.ok_or_else(|| AdminProblem::no_server(&name))?;
    let told = |change: &StateChange| {
        let reason = change.reason.as_deref().map(sanitize::sanitize_line);
        value!({ "time": unix_millis(change.at), "state": change.state, "reason": reason })
    };
    let history: Vec<_> = changes.iter().map(told).collect();
    Ok(json(StatusCode::OK, &value!({ "server": name, "history": history })))
}

fn unix_millis(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// `GET /workspaces/{id}/servers/{name}/processes`: read on request only, never for a snapshot.
pub(super) async fn processes(
    State(admin): State<AdminApi>,
    Path((id, name)): Path<(String, String)>,
) -> Result<Response, AdminProblem> {
    let (engine, workspace, of) = (admin.0.engine.clone(), WorkspaceId::from(&*id), name.clone());
    let reading = tokio::task::spawn_blocking(move || engine.processes(&workspace, &of));
    let found = reading.await.map_err(|error| {
        AdminProblem::new(AdminProblemKind::Failed, "the processes cannot be read")
            .with_detail(error.to_string())
    })?;
    let found = found.ok_or_else(|| AdminProblem::no_server(&name))?;
    let total: u64 = found.iter().map(|member| member.resident).sum();
    let told = |ProcessInfo { pid, parent, name, program, resident }: &ProcessInfo| {
        let program = program.as_deref().unwrap_or(name);
        value!({
            "pid": pid, "parent": parent, "name": sanitize::sanitize_line(name),
            "program": sanitize::sanitize_line(program), "resident": resident,
        })
    };
    let processes: Vec<_> = found.iter().map(told).collect();
    let told = value!({ "server": name, "resident": total, "processes": processes });
    Ok(json(StatusCode::OK, &told))
}

/// `GET /workspaces/{id}/servers/{name}/logs`.
pub(super) async fn logs(
    State(admin): State<AdminApi>,
    Path((id, name)): Path<(String, String)>,
    uri: Uri,
) -> Result<Response, AdminProblem> {
    let engine = &admin.0.engine;
    let failed = |error: std::io::Error| {
        AdminProblem::new(AdminProblemKind::Failed, format!("the log of `{name}` cannot be read"))
            .with_detail(error.to_string())
    };
    let place = engine.log_name(&WorkspaceId::from(&*id), &name);
    let place = place.ok_or_else(|| AdminProblem::no_server(&name))?;
    let Some(logs) = engine.logs() else {
        return Err(AdminProblem::new(AdminProblemKind::Failed, "no logs are kept")
            .with_hint("see `problems` of the workspace's snapshot"));
    };
    let lines = query_param(&uri, "lines")
        .and_then(|lines| lines.parse().ok())
        .unwrap_or(DEFAULT_LOG_LINES);
    // Followed before the end is read, so that no line falls between the two.
    let follow = match query_param(&uri, "follow") {
        Some(_) => Some(logs.follow(&name, &place).await.map_err(failed)?),
        None => None,
    };
    let lines = logs.tail(&name, &place, lines.min(MAX_LOG_LINES)).await.map_err(failed)?;
    let lines = sanitize_lines(&lines);
    match follow {
        None => Ok(json(StatusCode::OK, &value!({ "server": name, "lines": lines }))),
        Some(follow) => Ok(follow_response(&lines, follow, admin.0.ending.clone())),
    }
}

/// The end of a log, then its new lines, until the hub ends. A line written in between is sent twice rather than never.
fn follow_response(lines: &[String], follow: LogFollower, ending: CancellationToken) -> Response {
    let first = sse::event("lines", &value!({ "lines": lines }));
    let state = (Some(first), follow);
    let lines = stream::unfold(state, |(first, mut follow)| async move {
        if let Some(first) = first {
            return Some((first, (None, follow)));
        }
        let lines = follow.next_lines().await.ok()?;
        Some((sse::event("lines", &value!({ "lines": sanitize_lines(&lines) })), (None, follow)))
    });
    sse::response(lines.take_until(ending.cancelled_owned()))
}

fn sanitize_lines(lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| sanitize::sanitize_line(line).into_owned()).collect()
}
