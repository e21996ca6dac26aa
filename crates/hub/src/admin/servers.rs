//! Routes that read an open workspace: snapshot, servers, catalog, processes, logs; and check and reconnect.
//!
//! Used by `routes`. It does not change configuration files (`files` does).

use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http::{StatusCode, Uri};
use serde_json::json as value;
use switchboard_core::WorkspaceId;
use switchboard_core::catalog::RemoteCatalog as Catalog;
use switchboard_core::engine::{EngineEventKind, LOCAL_PRINCIPAL};
use switchboard_core::logs::LogFollower;
use switchboard_core::remote::{ErrorAdvice, RemoteServer, RemoteSnapshot};
use switchboard_process::ProcessInfo;
use switchboard_wire::sanitize;
use tokio::time::timeout;

use super::AdminApi;
use super::problem::{AdminProblem, AdminProblemKind};
use super::routes::{json, query_param};
use super::sse;

/// Lines of a log that are returned by default, and at most.
const DEFAULT_LOG_LINES: usize = 100;
const MAX_LOG_LINES: usize = 10_000;
/// How long a reconnect may take to begin: the old connection is closed first.
const RECONNECT_BEGIN_TIMEOUT: Duration = Duration::from_secs(2);

/// `GET /workspaces/{id}/snapshot`.
pub(super) async fn snapshot(
    State(admin): State<AdminApi>,
    Path(id): Path<String>,
) -> Result<Response, AdminProblem> {
    snapshot_response(&admin, &id, |snapshot, advice| {
        serde_json::to_vec(&RemoteSnapshot::from_snapshot(snapshot, advice))
    })
    .await
}

/// `GET /workspaces/{id}/servers`: the snapshot without the catalog, which is its largest part.
pub(super) async fn list(
    State(admin): State<AdminApi>,
    Path(id): Path<String>,
) -> Result<Response, AdminProblem> {
    snapshot_response(&admin, &id, |snapshot, advice| {
        let servers: Vec<_> =
            snapshot.servers.iter().map(|view| RemoteServer::from_view(view, advice)).collect();
        let (problems, sessions) = (&snapshot.problems, &snapshot.sessions);
        let told = value!({ "servers": servers, "problems": problems, "sessions": sessions });
        serde_json::to_vec(&told)
    })
    .await
}

/// `GET /workspaces/{id}/catalog`.
pub(super) async fn catalog(
    State(admin): State<AdminApi>,
    Path(id): Path<String>,
) -> Result<Response, AdminProblem> {
    snapshot_response(&admin, &id, |snapshot, _| {
        serde_json::to_vec(&Catalog::from_catalog(&snapshot.catalog))
    })
    .await
}

/// Serializes the current snapshot of a workspace with `tell`.
async fn snapshot_response(
    admin: &AdminApi,
    id: &str,
    tell: fn(&switchboard_core::WorkspaceSnapshot, &dyn ErrorAdvice) -> serde_json::Result<Vec<u8>>,
) -> Result<Response, AdminProblem> {
    let workspace = WorkspaceId::from(id);
    admin.0.engine.follow_sign_ins(&workspace).await;
    let snapshot = admin.0.engine.snapshot(&workspace);
    let snapshot = snapshot.ok_or_else(|| AdminProblem::no_workspace(id))?;
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
    let told = |ProcessInfo { pid, parent, name, resident }: &ProcessInfo| value!({ "pid": pid, "parent": parent, "name": sanitize::sanitize_line(name), "resident": resident });
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
        Some(follow) => Ok(follow_response(&lines, follow)),
    }
}

/// The end of a log, then its new lines. A line written in between is sent twice rather than never.
fn follow_response(lines: &[String], follow: LogFollower) -> Response {
    let first = sse::event("lines", &value!({ "lines": lines }));
    let state = (Some(first), follow);
    sse::response(stream::unfold(state, |(first, mut follow)| async move {
        if let Some(first) = first {
            return Some((first, (None, follow)));
        }
        let lines = follow.next_lines().await.ok()?;
        Some((sse::event("lines", &value!({ "lines": sanitize_lines(&lines) })), (None, follow)))
    }))
}

fn sanitize_lines(lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| sanitize::sanitize_line(line).into_owned()).collect()
}
