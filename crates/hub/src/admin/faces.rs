//! `POST /faces`: network faces of a workspace, served by the hub while the response is open.
//!
//! Used by `routes`, for `switchboard serve` beside a running hub. It does not open listeners
//! ([`WorkspaceHost`](super::WorkspaceHost) does).

use axum::extract::State;
use axum::response::Response;
use futures_util::stream;
use serde::Deserialize;
use serde_json::json;
use switchboard_wire::json::Raw;

use super::problem::AdminProblem;
use super::routes::JsonBody;
use super::{AdminApi, ReadyFaces, ServedFaces, WorkspaceRequest, sse};

/// The workspace, and the options of its faces.
#[derive(Deserialize)]
pub(super) struct FacesRequest {
    whose: WorkspaceRequest,
    faces: Raw,
}

/// `POST /faces`.
pub(super) async fn open(
    State(admin): State<AdminApi>,
    JsonBody(wanted): JsonBody<FacesRequest>,
) -> Result<Response, AdminProblem> {
    let faces = admin.0.host.serve_faces(&admin, &wanted.whose, &wanted.faces).await?;
    let ServedFaces { address, facts, serving } = faces;
    let first = sse::event("ready", &ReadyFaces { address, facts });
    let held = admin.0.usage.count_client();
    let state = (Some(first), Some(serving), held);
    Ok(sse::response(stream::unfold(state, |(first, serving, held)| async move {
        if let Some(first) = first {
            return Some((first, (None, serving, held)));
        }
        let ended = match serving?.await {
            Ok(()) => sse::event("ended", &json!({})),
            Err(problem) => sse::event("failed", &problem),
        };
        Some((ended, (None, None, held)))
    })))
}
