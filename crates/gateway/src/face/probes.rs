//! The probes of balancers and supervisors: `/healthz` says that the process is alive, `/readyz` whether clients are served.
//!
//! Used by `routes` while clients are served, and before and after that by [`answer_probes`], which serves nothing else.
//! A probe needs no token, and its answer holds a fixed text and nothing about servers or clients.

use std::sync::Arc;

use axum::{
    Router,
    response::{IntoResponse, Response},
    routing::get,
};
use http::{HeaderValue, StatusCode, header};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{
    FaceError, FaceOptions,
    accept::Acceptor,
    access_control::{AccessControl, RateLimiter},
    metrics::Metrics,
    refusal::{HttpRefusal, RefusalReason},
    routes::ControlledRoutes,
    tls::TlsIdentity,
};

/// Connections of probes at once, where nothing else is served.
const MAX_PROBE_CONNECTIONS: usize = 64;

/// Whether clients are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// Clients are served.
    Ready,
    /// The configuration is not applied yet.
    Starting,
    /// Running calls are finished, and no others are taken.
    ShuttingDown,
}

// === impl Readiness ===

impl Readiness {
    /// Why no client is served.
    fn reason(self) -> Option<&'static str> {
        match self {
            Self::Ready => None,
            Self::Starting => Some("starting: the configuration is not applied yet"),
            Self::ShuttingDown => {
                Some("shutting down: calls under way are finished, others are not taken")
            }
        }
    }

    /// The answer of `/readyz`.
    pub(super) fn answer(self) -> Response {
        match self.reason() {
            None => "ready\n".into_response(),
            Some(reason) => {
                (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")).into_response()
            }
        }
    }

    /// The answer to a client that is not served.
    fn refusal(self) -> HttpRefusal {
        let text = self.reason().unwrap_or_default();
        HttpRefusal::new(RefusalReason::Limit, StatusCode::SERVICE_UNAVAILABLE, text)
            .with_header((header::RETRY_AFTER, HeaderValue::from_static("1")))
    }
}

/// The answer of `/healthz`.
pub(super) async fn healthy() -> &'static str {
    "ok\n"
}

/// Answers probes at an address that serves nothing else now, while `until` runs. Other requests get 503.
pub async fn answer_probes<T>(
    listener: &TcpListener,
    options: &FaceOptions,
    readiness: Readiness,
    until: impl Future<Output = T>,
) -> Result<T, FaceError> {
    let bound = listener.local_addr().map_err(FaceError::Listener)?;
    let tls = options.tls.as_ref().map(TlsIdentity::acceptor).transpose()?;
    let metrics = Arc::new(Metrics::default());
    let rates = Arc::new(RateLimiter::new(options.limits.rate));
    let access_control = AccessControl::new(options, bound, Arc::clone(&metrics), rates);
    let closing = CancellationToken::new();
    let answers = ControlledRoutes::new(Arc::new(access_control), routes(readiness));
    let acceptor = Acceptor::new(answers, tls, options.times, metrics, closing.clone());
    // However this future ends, each of its connections ends with the answer to its probe.
    let _ending = closing.drop_guard();
    tokio::select! {
        done = until => Ok(done),
        () = acceptor.accept(listener, MAX_PROBE_CONNECTIONS) => std::future::pending().await,
    }
}

fn routes(readiness: Readiness) -> Router {
    Router::new()
        .route("/health", get(healthy))
        .route("/healthz", get(healthy))
        .route("/readyz", get(async move || last_of_connection(readiness.answer())))
        .fallback(async move || last_of_connection(readiness.refusal().into_response()))
}

/// Ends the connection with the response: the next request may find a route.
fn last_of_connection(mut response: Response) -> Response {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}
