//! HTTP on the private socket, for the hub itself.

use std::{io::Cursor, time::Duration};

use axum::Router;
use bytes::Bytes;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use switchboard_gateway::face::StallTimeoutStream;
use tokio::{
    io::{AsyncReadExt as _, join},
    net::UnixStream,
    time::timeout,
};

use super::{HubBackend, hub_state::HubState};

/// How long a peer may take for the head of its next request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(120);
/// How long an answer under way is given when the hub ends.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);

/// Answers one peer's requests until it closes, does not read, or the hub ends.
pub(super) async fn serve_admin_http<H: HubBackend>(
    desk: &HubState<H>,
    stream: UnixStream,
    rest: Bytes,
    routes: Router,
) {
    let (read, write) = stream.into_split();
    let io =
        join(Cursor::new(rest).chain(read), StallTimeoutStream::new(write, desk.options.stalled));
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(io), TowerToHyperService::new(routes));
    let mut serving = std::pin::pin!(serving);
    let served = tokio::select! {
        served = serving.as_mut() => served,
        () = desk.closing.cancelled() => {
            serving.as_mut().graceful_shutdown();
            // Streams of events end with the hub and not by themselves.
            timeout(SHUTDOWN_GRACE, serving).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a peer of the admin API is gone");
    }
}
