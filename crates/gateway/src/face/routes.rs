//! The routes of the faces: which path belongs to which face.
//!
//! Used by `accept` for every request. Nearly all requests are for [`MCP_PATH`], which is checked
//! before the router. It does not answer requests itself, apart from health, metrics and metadata.

use std::sync::Arc;

use axum::{
    Extension, Router,
    body::Body,
    extract::{FromRequestParts, RawPathParams, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{any, get},
};
use http::{HeaderValue, Request, header, request::Parts};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;

use super::{
    Face,
    access_control::{AccessControl, FaceCaller, Peer, RESOURCE_METADATA_PATH},
    lent_body::LentBody,
    probes::{Readiness, healthy},
    refusal::{HttpRefusal, RefusalReason},
    sessions::SessionOwner,
    sse, streamable, ws,
};
use crate::view_provider::{ViewProvider, ViewSelection};

/// The path that clients are told to use.
const MCP_PATH: &str = "/mcp";

/// Answers the requests of a connection.
pub(super) trait ConnectionService: Send + Sync + 'static {
    fn answer(
        &self,
        request: Request<LentBody>,
        peer: &Peer,
    ) -> impl Future<Output = Response> + Send;
}

/// The faces and the routes beside them, behind access control.
pub(super) struct FaceRoutes<F: ViewProvider> {
    face: Arc<Face<F>>,
    others: ControlledRoutes,
}

/// Routes behind access control.
pub(super) struct ControlledRoutes {
    access_control: Arc<AccessControl>,
    routes: TowerToHyperService<Router>,
}

// === impl FaceRoutes ===

impl<F: ViewProvider> FaceRoutes<F> {
    pub(super) fn new(
        face: Arc<Face<F>>,
        access_control: Arc<AccessControl>,
        beside: Router,
    ) -> Self {
        let others = ControlledRoutes::new(access_control, routes(Arc::clone(&face), beside));
        Self { face, others }
    }
}

impl<F: ViewProvider> ConnectionService for FaceRoutes<F> {
    async fn answer(&self, request: Request<LentBody>, peer: &Peer) -> Response {
        if request.uri().path() != MCP_PATH {
            return Box::pin(self.others.answer(request, peer)).await;
        }
        let (parts, body) = request.into_parts();
        let answering = |parts, caller: Option<FaceCaller>| async {
            // Access control has identified the caller of every other path.
            let Some(FaceCaller { principal }) = caller else { return not_found().into_response() };
            let owner = SessionOwner { principal, part: ViewSelection::Everything };
            let answered = streamable::answer(&self.face, owner, parts, body).await;
            answered.unwrap_or_else(IntoResponse::into_response)
        };
        self.others.access_control.admit_and_answer(parts, peer, answering).await
    }
}

// === impl ControlledRoutes ===

impl ControlledRoutes {
    pub(super) fn new(access_control: Arc<AccessControl>, routes: Router) -> Self {
        Self { access_control, routes: TowerToHyperService::new(routes) }
    }

    async fn route(
        &self,
        mut parts: Parts,
        caller: Option<FaceCaller>,
        body: LentBody,
    ) -> Response {
        if let Some(caller) = caller {
            parts.extensions.insert(caller);
        }
        match self.routes.call(Request::from_parts(parts, body)).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

impl ConnectionService for ControlledRoutes {
    async fn answer(&self, request: Request<LentBody>, peer: &Peer) -> Response {
        let (parts, body) = request.into_parts();
        let answering = |parts, caller| self.route(parts, caller, body);
        self.access_control.admit_and_answer(parts, peer, answering).await
    }
}

fn routes<F: ViewProvider>(face: Arc<Face<F>>, beside: Router) -> Router {
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
        .route(RESOURCE_METADATA_PATH, get(description::<F>))
        .route(&format!("{RESOURCE_METADATA_PATH}/{{*path}}"), get(description::<F>))
        .route("/health", get(healthy))
        .route("/healthz", get(healthy))
        .route("/readyz", get(ready::<F>))
        .route("/metrics", get(metrics::<F>))
        .with_state(face)
        .merge(beside)
        .fallback(|| async { not_found() })
}

fn not_found() -> HttpRefusal {
    let text = "there is nothing here; clients find `/mcp`, `/sse` and `/ws`";
    HttpRefusal::new(RefusalReason::Part, StatusCode::NOT_FOUND, text)
}

/// The owner of a session: the caller that access control identified, and the selection in the path.
impl<S: Send + Sync> FromRequestParts<S> for SessionOwner {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let params = RawPathParams::from_request_parts(parts, state).await;
        let params = params.map_err(IntoResponse::into_response)?;
        let caller = Extension::<FaceCaller>::from_request_parts(parts, state).await;
        let Extension(FaceCaller { principal }) = caller.map_err(IntoResponse::into_response)?;
        let part = match params.iter().next() {
            Some(("server", name)) => ViewSelection::Server(name.to_owned()),
            Some((_, name)) => ViewSelection::Agent(name.to_owned()),
            None => ViewSelection::Everything,
        };
        Ok(Self { principal, part })
    }
}

async fn mcp<F: ViewProvider>(
    State(face): State<Arc<Face<F>>>,
    owner: SessionOwner,
    request: Request<Body>,
) -> Response {
    let (parts, body) = request.into_parts();
    let answered = streamable::answer(&face, owner, parts, body).await;
    answered.unwrap_or_else(IntoResponse::into_response)
}

async fn events<F: ViewProvider>(
    State(face): State<Arc<Face<F>>>,
    owner: SessionOwner,
    request: Request<Body>,
) -> Response {
    let (parts, _) = request.into_parts();
    let opened = sse::open(&face, owner, parts).await;
    opened.unwrap_or_else(IntoResponse::into_response)
}

async fn messages<F: ViewProvider>(
    State(face): State<Arc<Face<F>>>,
    owner: SessionOwner,
    request: Request<Body>,
) -> Response {
    let (parts, body) = request.into_parts();
    let taken = sse::post(&face, owner, &parts, body).await;
    taken.unwrap_or_else(IntoResponse::into_response)
}

async fn socket<F: ViewProvider>(
    State(face): State<Arc<Face<F>>>,
    owner: SessionOwner,
    request: Request<Body>,
) -> Response {
    let (parts, _) = request.into_parts();
    let upgraded = ws::upgrade(&face, owner, parts).await;
    upgraded.unwrap_or_else(IntoResponse::into_response)
}

/// Returns the resource metadata (RFC 9728) for a path.
async fn description<F: ViewProvider>(
    State(face): State<Arc<Face<F>>>,
    request: Request<Body>,
) -> Response {
    let path = request.uri().path();
    let path = path.strip_prefix(RESOURCE_METADATA_PATH).unwrap_or_default().trim_end_matches('/');
    let tokens = face.options.access.tokens.as_ref();
    match tokens.and_then(|tokens| tokens.metadata(path)) {
        Some(text) => {
            let kind = HeaderValue::from_static("application/json");
            ([(header::CONTENT_TYPE, kind)], text).into_response()
        }
        None => not_found().into_response(),
    }
}

async fn ready<F: ViewProvider>(State(face): State<Arc<Face<F>>>) -> Response {
    let apart = || face.options.replicas.as_ref().and_then(|group| group.relay.problem());
    if face.closing.is_cancelled() {
        Readiness::ShuttingDown.answer()
    } else if let Some(problem) = apart() {
        (StatusCode::SERVICE_UNAVAILABLE, format!("{problem}\n")).into_response()
    } else {
        Readiness::Ready.answer()
    }
}

async fn metrics<F: ViewProvider>(State(face): State<Arc<Face<F>>>) -> Response {
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], face.metrics.prometheus_page()).into_response()
}
