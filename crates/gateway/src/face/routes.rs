//! Which address is which face.

use std::sync::Arc;

use axum::{
    Extension, Router,
    extract::{RawPathParams, Request, State},
    http::StatusCode,
    middleware::from_fn_with_state,
    response::{IntoResponse, Response},
    routing::{any, get},
};
use http::{HeaderValue, header};

use super::{
    Face,
    guard::{Caller, Guard, pass, pass_named},
    refusal::{Reason, Refusal},
    sessions::Owner,
    sse, streamable, ws,
};
use crate::front::{Front, Part};

/// All routes, behind the guard.
pub(super) fn routes<F: Front>(face: Arc<Face<F>>, guard: Arc<Guard>, beside: Router) -> Router {
    let faces = Router::new()
        .route("/mcp", any(mcp::<F>))
        .route("/mcp/{server}", any(mcp::<F>))
        .route("/mcp/agent/{agent}", any(mcp::<F>))
        .route("/sse", any(events::<F>))
        .route("/sse/{server}", any(events::<F>))
        .route("/sse/agent/{agent}", any(events::<F>))
        .route("/messages", any(messages::<F>))
        .route("/messages/{server}", any(messages::<F>))
        .route("/messages/agent/{agent}", any(messages::<F>))
        .route("/ws", any(socket::<F>))
        .route("/ws/{server}", any(socket::<F>))
        .route("/ws/agent/{agent}", any(socket::<F>))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready::<F>))
        .route("/metrics", get(metrics::<F>))
        .with_state(face)
        .fallback(|| async { nowhere() });
    let beside = named(beside, Arc::clone(&guard));
    guarded(faces, guard).merge(beside)
}

/// Routes that ask themselves who comes: the guard looks only at the name that was used for us, and at the page.
pub(super) fn named(routes: Router, guard: Arc<Guard>) -> Router {
    routes.layer(from_fn_with_state(guard, pass_named))
}

/// Routes that only whom the guard lets in can reach.
pub(super) fn guarded(routes: Router, guard: Arc<Guard>) -> Router {
    routes.layer(from_fn_with_state(guard, pass))
}

fn nowhere() -> Refusal {
    let text = "there is nothing here; clients find `/mcp`, `/sse` and `/ws`";
    Refusal::new(Reason::Part, StatusCode::NOT_FOUND, text)
}

/// Who asks for which part.
fn owner(caller: Caller, params: &RawPathParams) -> Owner {
    let part = match params.iter().next() {
        Some(("server", name)) => Part::Server(name.to_owned()),
        Some((_, name)) => Part::Agent(name.to_owned()),
        None => Part::Everything,
    };
    Owner { principal: caller.principal, part }
}

async fn mcp<F: Front>(
    State(face): State<Arc<Face<F>>>,
    params: RawPathParams,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let answered = streamable::answer(&face, owner(caller, &params), parts, body).await;
    answered.unwrap_or_else(IntoResponse::into_response)
}

async fn events<F: Front>(
    State(face): State<Arc<Face<F>>>,
    params: RawPathParams,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    let (parts, _) = request.into_parts();
    let opened = sse::open(&face, owner(caller, &params), parts).await;
    opened.unwrap_or_else(IntoResponse::into_response)
}

async fn messages<F: Front>(
    State(face): State<Arc<Face<F>>>,
    params: RawPathParams,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let taken = sse::post(&face, owner(caller, &params), &parts, body).await;
    taken.unwrap_or_else(IntoResponse::into_response)
}

async fn socket<F: Front>(
    State(face): State<Arc<Face<F>>>,
    params: RawPathParams,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    let (parts, _) = request.into_parts();
    let upgraded = ws::upgrade(&face, owner(caller, &params), parts).await;
    upgraded.unwrap_or_else(IntoResponse::into_response)
}

async fn ready<F: Front>(State(face): State<Arc<Face<F>>>) -> Response {
    if *face.options.ready.borrow() && !face.closing.is_cancelled() {
        return "ready\n".into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, "not ready\n").into_response()
}

async fn metrics<F: Front>(State(face): State<Arc<Face<F>>>) -> Response {
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], face.metrics.page()).into_response()
}
