//! The router of the admin API: every path under `/api/v1`, its handler, and helpers for JSON bodies and queries.
//!
//! Used by `socket::admin_http` through [`AdminApi::routes`] and by `access`. It does not check tokens (`access` does);
//! it refuses requests of foreign web pages.

use std::time::Duration;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{FromRequest, Path, Request, State};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, StatusCode, Uri, header};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json as value;
use switchboard_core::WorkspaceId;
use tokio::time::timeout;

use super::problem::{AdminProblem, AdminProblemKind};
use super::{
    AdminApi, WorkspaceSummary, access, accounts, activity, answers, approval, apps, call, clients,
    events, faces, files, lease, questions, rules, servers, sign_in, skills,
};
use crate::socket::AttachedClient;

/// The largest body: an environment, or the arguments of a call.
const MAX_BODY_BYTES: usize = 16 << 20;
/// How long a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// The body of `GET /status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdminStatus {
    /// The hub's version.
    pub version: String,
    /// The hub's process id.
    pub pid: u32,
    /// When the hub began to listen, in seconds since 1970.
    pub since: u64,
    /// Clients that speak MCP now.
    pub clients: usize,
    /// These clients; a thousand at most.
    #[serde(default)]
    pub attached: Vec<AttachedClient>,
    /// Running calls.
    pub calls: usize,
    /// Open sessions of the network faces, whether or not their clients are still connected.
    #[serde(default)]
    pub sessions: usize,
    /// Open workspaces.
    pub workspaces: usize,
    /// Questions in the queue.
    pub questions: usize,
    /// The URL of this API on the loopback port, if it is served there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// A JSON body of at most `MOST` bytes.
pub(super) struct JsonBody<T, const MOST: usize = MAX_BODY_BYTES>(pub(super) T);

/// The API for peers that are authenticated already, with 404 for other paths.
pub(super) fn routes(admin: AdminApi) -> Router {
    api(admin).fallback(not_found)
}

/// The API, without a fallback for other paths.
pub(super) fn api(admin: AdminApi) -> Router {
    let api = Router::new()
        .route("/status", get(status))
        .route("/stop", post(stop))
        .route("/events", get(events::follow))
        .route("/questions", get(questions::list))
        .route("/questions/{id}", post(questions::answer))
        .route("/accounts", get(accounts::list))
        .route("/accounts/{id}", delete(accounts::sign_out))
        .route("/answers", get(answers::list))
        .route("/answers/{id}", delete(answers::forget))
        .route("/workspaces", get(workspaces).post(lease::open))
        .route("/workspaces/{id}/snapshot", get(servers::snapshot))
        .route("/workspaces/{id}/check", post(servers::check))
        .route("/workspaces/{id}/start", post(servers::start_idle))
        .route("/traffic", get(traffic))
        .route("/activity", get(activity::list))
        .route("/activity/settle", post(activity::settle))
        .route("/activity/{id}", get(activity::show))
        .route("/console", post(access::invite))
        .route("/apps", post(apps::open_frame))
        .route("/workspaces/{id}/hold", post(lease::hold_open))
        .route("/workspaces/{id}/approvals", get(approval::list).post(approval::decide))
        .route("/workspaces/{id}/call", post(call::place_call))
        .route("/sessions/{session}/disconnect", post(disconnect))
        .route("/workspaces/{id}/clients", get(clients::list))
        .route(
            "/workspaces/{id}/clients/{client}",
            get(clients::preview).post(clients::install).delete(clients::uninstall),
        )
        .route("/workspaces/{id}/import", get(clients::plan_import).post(clients::import))
        .route("/workspaces/{id}/catalog", get(servers::catalog))
        .route("/workspaces/{id}/skills", get(skills::list))
        .route("/workspaces/{id}/rules", get(rules::list).post(rules::add).delete(rules::remove))
        .route("/workspaces/{id}/rules/explain", post(rules::explain))
        .route("/workspaces/{id}/servers", get(servers::list).post(files::add))
        .route(
            "/workspaces/{id}/servers/{name}",
            get(files::show).put(files::edit).delete(files::remove),
        )
        .route("/workspaces/{id}/servers/{name}/enable", post(files::enable))
        .route("/workspaces/{id}/servers/{name}/disable", post(files::disable))
        .route("/workspaces/{id}/servers/{name}/reconnect", post(servers::reconnect))
        .route("/workspaces/{id}/servers/{name}/check", post(servers::check_answers))
        .route("/workspaces/{id}/servers/{name}/sign-in", get(sign_in::show).post(sign_in::begin))
        .route("/workspaces/{id}/servers/{name}/sign-out", post(sign_in::end))
        .route("/workspaces/{id}/servers/{name}/history", get(servers::history))
        .route("/workspaces/{id}/servers/{name}/processes", get(servers::processes))
        .route("/workspaces/{id}/servers/{name}/logs", get(servers::logs))
        .route("/faces", post(faces::open))
        .with_state(admin)
        .fallback(not_found)
        .layer(from_fn(refuse_foreign_pages));
    Router::new().nest("/api/v1", api)
}

pub(super) async fn not_found(uri: Uri) -> AdminProblem {
    AdminProblem::new(
        AdminProblemKind::NoSuchAddress,
        format!("there is nothing at `{}`", uri.path()),
    )
    .with_hint("see `docs/reference/admin.md`; every address begins with `/api/v1/`")
}

/// Refuses requests of web pages from other origins, whatever token or cookie they hold.
async fn refuse_foreign_pages(request: Request, next: Next) -> Response {
    let headers = request.headers();
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let bare = |origin: &str| {
        let host = origin.strip_prefix("http://").or(origin.strip_prefix("https://"));
        host.map(str::to_owned)
    };
    let ours = text(header::HOST).map(str::to_owned);
    match text(header::ORIGIN) {
        Some(origin) if ours.is_none() || bare(origin) != ours => {
            AdminProblem::new(AdminProblemKind::Foreign, "only this hub's own pages may ask here")
                .with_detail("`Origin` names another page")
                .into_response()
        }
        _ => next.run(request).await,
    }
}

async fn status(State(admin): State<AdminApi>) -> Response {
    let engine = &admin.0.engine;
    let used = |session: &str| engine.servers_used_by(session);
    let usage = admin.0.usage.status_with_clients(used, AttachedClient::network_clients(engine));
    let url = admin.address().map(|address| format!("http://{address}"));
    let status = AdminStatus {
        version: usage.version,
        pid: usage.pid,
        since: usage.since,
        clients: usage.clients,
        attached: usage.attached,
        calls: admin.0.engine.calls_in_flight(),
        sessions: usage.sessions,
        workspaces: open_workspaces(&admin).len(),
        questions: admin.0.engine.queue().questions().len(),
        url,
    };
    json(StatusCode::OK, &status)
}

/// `POST /sessions/{session}/disconnect`: ends the connection of a client of the socket.
async fn disconnect(
    State(admin): State<AdminApi>,
    Path(session): Path<String>,
) -> Result<Response, AdminProblem> {
    if admin.0.usage.disconnect(&session) {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let title = format!("no client has the session `{session}`");
    Err(AdminProblem::new(AdminProblemKind::NoSuchSession, title)
        .with_detail("it has left, or came over the network")
        .with_hint("see `attached` of `GET /api/v1/status`"))
}

/// `GET /traffic`: the calls of the last hour, counted.
async fn traffic(State(admin): State<AdminApi>) -> Response {
    json(StatusCode::OK, &admin.0.engine.traffic())
}

async fn workspaces(State(admin): State<AdminApi>) -> Response {
    json(StatusCode::OK, &value!({ "workspaces": open_workspaces(&admin) }))
}

/// The host's workspaces that the engine still has.
fn open_workspaces(admin: &AdminApi) -> Vec<WorkspaceSummary> {
    let mut sites = admin.0.host.workspaces();
    sites.retain(|site| admin.0.engine.snapshot(&WorkspaceId::from(&*site.id)).is_some());
    sites
}

/// `POST /stop`. The response counts as a call, so the hub drains until it is written.
async fn stop(State(admin): State<AdminApi>) -> Response {
    let text = Bytes::from(value!({ "stopping": true, "pid": std::process::id() }).to_string());
    let counted = admin.0.usage.count_call();
    admin.0.stop.cancel();
    let body = stream::unfold((Some(text), counted), |(text, counted)| async move {
        Some((Ok::<_, std::convert::Infallible>(text?), (None, counted)))
    });
    let mut response = Response::new(axum::body::Body::from_stream(body));
    *response.status_mut() = StatusCode::ACCEPTED;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON_TYPE);
    response
}

const JSON_TYPE: HeaderValue = HeaderValue::from_static("application/json");

pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(text) => json_text(status, text),
        Err(error) => AdminProblem::new(AdminProblemKind::Failed, "the answer cannot be written")
            .with_detail(error.to_string())
            .into_response(),
    }
}

pub(super) fn json_text(status: StatusCode, text: Vec<u8>) -> Response {
    let mut response = Response::new(axum::body::Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON_TYPE);
    response
}

/// The first value of a query parameter.
pub(super) fn query_param(uri: &Uri, name: &str) -> Option<String> {
    query_params(uri, name).next()
}

/// All values of a query parameter.
pub(super) fn query_params(uri: &Uri, name: &str) -> impl Iterator<Item = String> {
    let pairs = url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    pairs.filter(move |(key, _)| key == name).map(|(_, value)| value.into_owned())
}

// === impl JsonBody ===

impl<S: Send + Sync, T: DeserializeOwned, const MOST: usize> FromRequest<S> for JsonBody<T, MOST> {
    type Rejection = AdminProblem;

    async fn from_request(request: Request, _: &S) -> Result<Self, AdminProblem> {
        let reading = timeout(BODY_TIMEOUT, to_bytes(request.into_body(), MOST));
        let bytes = reading.await.map_err(|_| {
            AdminProblem::new(AdminProblemKind::TooSlow, "the body did not arrive in time")
                .with_hint("send it at once")
        })?;
        let bytes = bytes.map_err(|error| AdminProblem::malformed(format!("no body: {error}")))?;
        let read = serde_json::from_slice(&bytes);
        read.map(Self).map_err(|error| AdminProblem::malformed(format!("the body: {error}")))
    }
}
