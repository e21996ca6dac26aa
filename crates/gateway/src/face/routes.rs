//! Which address is which face.
//!
//! Nearly every request is for [`MCP`], which is answered without looking at the table of the others.

use std::sync::Arc;

use axum::{
    Extension, Router,
    body::Body,
    extract::{RawPathParams, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{any, get},
};
use http::{HeaderValue, Request, header, request::Parts};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;

use super::{
    Face,
    guard::{Caller, DESCRIPTION, Guard, Peer},
    lent::LentBody,
    refusal::{Reason, Refusal},
    sessions::Owner,
    sse, streamable, ws,
};
use crate::front::{Front, Part};

/// The address that clients are given.
const MCP: &str = "/mcp";

/// Answers every request of a connection.
pub(super) trait Answers: Send + Sync + 'static {
    fn answer(
        &self,
        request: Request<LentBody>,
        peer: &Peer,
    ) -> impl Future<Output = Response> + Send;
}

/// The faces and what stands beside them, behind the guard.
pub(super) struct Faces<F: Front> {
    face: Arc<Face<F>>,
    others: Guarded,
}

/// Routes that only whom the guard lets in can reach.
pub(super) struct Guarded {
    guard: Arc<Guard>,
    routes: TowerToHyperService<Router>,
}

// === impl Faces ===

impl<F: Front> Faces<F> {
    pub(super) fn new(face: Arc<Face<F>>, guard: Arc<Guard>, beside: Router) -> Self {
        let others = Guarded::new(guard, routes(Arc::clone(&face), beside));
        Self { face, others }
    }
}

impl<F: Front> Answers for Faces<F> {
    async fn answer(&self, request: Request<LentBody>, peer: &Peer) -> Response {
        if request.uri().path() != MCP {
            return Box::pin(self.others.answer(request, peer)).await;
        }
        let (parts, body) = request.into_parts();
        let answering = |parts, caller: Option<Caller>| async {
            // Whoever comes here has been asked who it is.
            let Some(Caller { principal }) = caller else { return nowhere().into_response() };
            let owner = Owner { principal, part: Part::Everything };
            let answered = streamable::answer(&self.face, owner, parts, body).await;
            answered.unwrap_or_else(IntoResponse::into_response)
        };
        self.others.guard.pass(parts, peer, answering).await
    }
}

// === impl Guarded ===

impl Guarded {
    pub(super) fn new(guard: Arc<Guard>, routes: Router) -> Self {
        Self { guard, routes: TowerToHyperService::new(routes) }
    }

    async fn route(&self, mut parts: Parts, caller: Option<Caller>, body: LentBody) -> Response {
        if let Some(caller) = caller {
            parts.extensions.insert(caller);
        }
        match self.routes.call(Request::from_parts(parts, body)).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

impl Answers for Guarded {
    async fn answer(&self, request: Request<LentBody>, peer: &Peer) -> Response {
        let (parts, body) = request.into_parts();
        let answering = |parts, caller| self.route(parts, caller, body);
        self.guard.pass(parts, peer, answering).await
    }
}

fn routes<F: Front>(face: Arc<Face<F>>, beside: Router) -> Router {
    Router::new()
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
        .route(DESCRIPTION, get(description::<F>))
        .route(&format!("{DESCRIPTION}/{{*path}}"), get(description::<F>))
        .route("/health", get(healthy))
        .route("/healthz", get(healthy))
        .route("/readyz", get(ready::<F>))
        .route("/metrics", get(metrics::<F>))
        .with_state(face)
        .merge(beside)
        .fallback(|| async { nowhere() })
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
    request: Request<Body>,
) -> Response {
    let (parts, body) = request.into_parts();
    let answered = streamable::answer(&face, owner(caller, &params), parts, body).await;
    answered.unwrap_or_else(IntoResponse::into_response)
}

async fn events<F: Front>(
    State(face): State<Arc<Face<F>>>,
    params: RawPathParams,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Response {
    let (parts, _) = request.into_parts();
    let opened = sse::open(&face, owner(caller, &params), parts).await;
    opened.unwrap_or_else(IntoResponse::into_response)
}

async fn messages<F: Front>(
    State(face): State<Arc<Face<F>>>,
    params: RawPathParams,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Response {
    let (parts, body) = request.into_parts();
    let taken = sse::post(&face, owner(caller, &params), &parts, body).await;
    taken.unwrap_or_else(IntoResponse::into_response)
}

async fn socket<F: Front>(
    State(face): State<Arc<Face<F>>>,
    params: RawPathParams,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Response {
    let (parts, _) = request.into_parts();
    let upgraded = ws::upgrade(&face, owner(caller, &params), parts).await;
    upgraded.unwrap_or_else(IntoResponse::into_response)
}

/// How one gets in at an address.
async fn description<F: Front>(
    State(face): State<Arc<Face<F>>>,
    request: Request<Body>,
) -> Response {
    let path = request.uri().path();
    let path = path.strip_prefix(DESCRIPTION).unwrap_or_default().trim_end_matches('/');
    let tokens = face.options.access.tokens.as_ref();
    match tokens.and_then(|tokens| tokens.metadata(path)) {
        Some(text) => {
            let kind = HeaderValue::from_static("application/json");
            ([(header::CONTENT_TYPE, kind)], text).into_response()
        }
        None => nowhere().into_response(),
    }
}

async fn healthy() -> &'static str {
    "ok\n"
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
