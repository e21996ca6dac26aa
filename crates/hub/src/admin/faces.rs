//! Faces for a workspace, served by the hub for as long as whoever asked for them stays.

use axum::extract::State;
use axum::response::Response;
use futures_util::stream;
use serde::Deserialize;
use serde_json::json;
use switchboard_wire::json::Raw;

use super::problem::Problem;
use super::routes::Body;
use super::{Admin, Faces, Whose, sse};

/// What is wanted.
#[derive(Deserialize)]
pub(super) struct Wanted {
    whose: Whose,
    faces: Raw,
}

/// `POST /faces`.
pub(super) async fn open(
    State(admin): State<Admin>,
    Body(wanted): Body<Wanted>,
) -> Result<Response, Problem> {
    let faces = admin.0.host.faces(&admin, &wanted.whose, &wanted.faces).await?;
    let Faces { address, facts, serving } = faces;
    let first = sse::event("ready", &json!({ "address": address, "facts": facts }));
    let held = admin.0.pulse.client();
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
