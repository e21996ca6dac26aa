//! `GET /workspaces/{id}/skills`: the skills of all servers, or of one.
//!
//! Used by `routes`. The servers are asked for each response, since skills are in no catalog. It reads no file of a
//! skill: that is a call (`call`).

use axum::extract::{Path, State};
use axum::response::Response;
use http::{StatusCode, Uri};
use serde_json::json as value;
use switchboard_core::{WorkspaceId, skills};

use super::problem::AdminProblem;
use super::routes::{json, query_param};
use super::{AdminApi, WorkspaceRequest};

/// `GET /workspaces/{id}/skills`.
pub(super) async fn list(
    State(admin): State<AdminApi>,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, AdminProblem> {
    let (engine, workspace) = (&admin.0.engine, WorkspaceId::from(&*id));
    let no_workspace = || AdminProblem::no_workspace(&id);
    let snapshot = engine.snapshot(&workspace).ok_or_else(no_workspace)?;
    let only = query_param(&uri, "server");
    if let Some(name) = only.as_deref().filter(|name| snapshot.server(name).is_none()) {
        return Err(AdminProblem::no_server(name));
    }
    let session = WorkspaceRequest::default().to_session(admin.0.leases.new_session_name());
    let caller = engine.attach(&workspace, session).map_err(|_| no_workspace())?;
    let call = |request| engine.call(&caller, request);
    let servers = skills::list_all_skills(&snapshot, only.as_deref(), call).await;
    Ok(json(StatusCode::OK, &value!({ "servers": servers })))
}
