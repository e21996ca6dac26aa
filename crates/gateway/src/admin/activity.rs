//! What was called, read back from the audit log.

use axum::extract::State;
use axum::response::Response;
use http::{StatusCode, Uri};
use serde_json::json as value;
use switchboard_core::audit::{self, Filter};

use super::Admin;
use super::problem::{Kind, Problem};
use super::routes::{json, param};

/// Calls that are told unless asked otherwise, and at most.
const CALLS: usize = 200;
const MOST: usize = 10_000;

/// `GET /activity`: the latest calls, oldest first.
pub(super) async fn list(State(admin): State<Admin>, uri: Uri) -> Result<Response, Problem> {
    let Some(logs) = admin.0.engine.logs() else {
        return Err(Problem::new(Kind::Failed, "no logs are kept")
            .hinted("see `problems` of a workspace's snapshot"));
    };
    let filter = match param(&uri, "server") {
        Some(server) => Filter::default().of_server(server),
        None => Filter::default(),
    };
    let most = param(&uri, "calls").and_then(|calls| calls.parse().ok()).unwrap_or(CALLS);
    let history = audit::history(logs.folder(), filter, most.min(MOST)).await;
    let history = history.map_err(|error| {
        Problem::new(Kind::Failed, "the audit log cannot be read").detailed(error.to_string())
    })?;
    let told = value!({ "calls": history.entries, "unreadable": history.unreadable });
    Ok(json(StatusCode::OK, &told))
}
