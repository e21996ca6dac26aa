//! The admin API over HTTP/1.1 on the hub's private socket.
//!
//! Used by `connection` after a hello with [`HelloPurpose::Admin`](super::HelloPurpose::Admin). It does not define the
//! routes (`admin::routes` does), and asks for no token: the peer's user id was checked before.

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

/// How long a peer may take to send the head of its next request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(120);
/// How long responses in progress may take to finish when the hub ends.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);

/// Answers the requests of one peer until the peer closes, the peer stops reading, or the hub ends.
pub(super) async fn serve_admin_http<H: HubBackend>(
    state: &HubState<H>,
    stream: UnixStream,
    rest: Bytes,
    routes: Router,
) {
    let (read, write) = stream.into_split();
    let io =
        join(Cursor::new(rest).chain(read), StallTimeoutStream::new(write, state.options.stalled));
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(io), TowerToHyperService::new(routes));
    let mut serving = std::pin::pin!(serving);
    let served = tokio::select! {
        served = serving.as_mut() => served,
        () = state.closing.cancelled() => {
            serving.as_mut().graceful_shutdown();
            // Event streams never finish on their own, so the shutdown has a deadline.
            timeout(SHUTDOWN_GRACE, serving).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a peer of the admin API is gone");
    }
}
