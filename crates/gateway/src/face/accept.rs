//! The acceptor: accepts connections up to a limit, serves them, and drains them at the end.
//!
//! Used by `face::serve` and `serve_beside`. It does not check requests (`access_control`) or route them (`routes`).

use std::{
    convert::Infallible,
    net::SocketAddr,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use axum::response::Response;
use http::StatusCode;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::yield_now,
};
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    access_control::{Peer, is_stream},
    connections::{ConnectionSlot, ConnectionSlots},
    head_clock::{HeadClock, RequestGauge},
    lent_body,
    metrics::Metrics,
    options::FaceTimeouts,
    routes::ConnectionService,
    stall::StallTimeoutStream,
};

/// How long accepting pauses when the system has no sockets left.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);
/// How long the refusal of a connection over the limit may take.
const TURN_AWAY_TIMEOUT: Duration = Duration::from_secs(1);
/// Requests of one connection before other connections have their turn. hyper yields after as many steps, too, but is then
/// polled again before the runtime has looked for requests of others: with 61 polls between two looks, a client that
/// pipelines a thousand requests had them all answered first.
const REQUESTS_PER_TURN: usize = 16;
/// The most bytes of a head, and of a body before a handler reads it. hyper's default of 400 KB would also be granted
/// to clients that are not admitted yet.
const MAX_BUFFERED_BYTES: usize = 64 << 10;
const TOO_MANY_CONNECTIONS_RESPONSE: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\n\
    content-length: 49\r\nretry-after: 1\r\nconnection: close\r\n\r\n\
    too many connections are open; try again later.\n\n";

/// The configuration of every connection.
pub(super) struct Acceptor<A> {
    pub(super) answers: Arc<A>,
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) times: FaceTimeouts,
    pub(super) metrics: Arc<Metrics>,
    pub(super) closing: CancellationToken,
    /// Cancelled when the drain time is over.
    pub(super) over: CancellationToken,
    pub(super) tasks: TaskTracker,
}

/// A plain or a TLS stream.
trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

// === impl Acceptor ===

impl<A> Acceptor<A> {
    /// An acceptor without connections yet.
    pub(super) fn new(
        answers: A,
        tls: Option<TlsAcceptor>,
        times: FaceTimeouts,
        metrics: Arc<Metrics>,
        closing: CancellationToken,
    ) -> Self {
        let (answers, over, tasks) =
            (Arc::new(answers), CancellationToken::new(), TaskTracker::new());
        Self { answers, tls, times, metrics, closing, over, tasks }
    }
}

impl<A> Clone for Acceptor<A> {
    fn clone(&self) -> Self {
        Self {
            answers: Arc::clone(&self.answers),
            tls: self.tls.clone(),
            times: self.times,
            metrics: Arc::clone(&self.metrics),
            closing: self.closing.clone(),
            over: self.over.clone(),
            tasks: self.tasks.clone(),
        }
    }
}

impl<A: ConnectionService> Acceptor<A> {
    /// Accepts connections until closing.
    pub(super) async fn accept(&self, listener: &TcpListener, most: usize) {
        let slots = ConnectionSlots::new(most);
        while let Some(accepted) = self.closing.run_until_cancelled(listener.accept()).await {
            match accepted {
                Ok((stream, remote)) => match slots.take() {
                    Some(slot) => {
                        self.tasks.spawn(self.clone().serve(stream, remote, slot));
                    }
                    None => {
                        self.tasks.spawn(self.clone().turn_away(stream));
                    }
                },
                Err(error) => {
                    tracing::warn!(%error, "no connection can be accepted");
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
            }
        }
    }

    async fn turn_away(self, mut stream: TcpStream) {
        if self.tls.is_none() {
            let _ = tokio::time::timeout(
                TURN_AWAY_TIMEOUT,
                stream.write_all(TOO_MANY_CONNECTIONS_RESPONSE),
            )
            .await;
        }
    }

    async fn serve(self, stream: TcpStream, remote: SocketAddr, mut slot: ConnectionSlot) {
        let peer = match stream.local_addr() {
            Ok(local) => Peer::new(remote, local),
            Err(error) => return tracing::debug!(%error, %remote, "a connection ended"),
        };
        if !slot.assign(peer.key().await) {
            tracing::warn!(%remote, "a peer has too many connections open; this one is refused");
            return self.turn_away(stream).await;
        }
        self.metrics.connections.fetch_add(1, Relaxed);
        if let Err(error) = self.serve_connection(stream, peer).await {
            tracing::debug!(%error, %remote, "a connection ended");
        }
        self.metrics.connections.fetch_sub(1, Relaxed);
    }

    async fn serve_connection(
        &self,
        stream: TcpStream,
        peer: Peer,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        // With Nagle's algorithm, an event waits 40 ms for the acknowledgement of the previous one.
        stream.set_nodelay(true)?;
        let peer = Arc::new(peer);
        let stream: Box<dyn Io> = match &self.tls {
            None => Box::new(stream),
            Some(tls) => {
                let greeting = tokio::time::timeout(self.times.handshake, tls.accept(stream));
                // Boxed: the TLS handshake is large, and every connection would carry room for it.
                let greeting = Box::pin(greeting);
                tokio::select! {
                    greeted = greeting => Box::new(greeted??),
                    () = self.over.cancelled() => return Ok(()),
                }
            }
        };
        let (gauge, requests) = (RequestGauge::default(), AtomicUsize::new(1));
        let head = HeadClock::new(gauge.clone(), self.times.head);
        let io =
            TokioIo::new(StallTimeoutStream::new(stream, self.times.stalled).with_head_clock(head));
        let service = service_fn(|request| {
            let (answers, peer) = (Arc::clone(&self.answers), Arc::clone(&peer));
            let gauge = gauge.clone();
            let is_turn_over = requests.fetch_add(1, Relaxed).is_multiple_of(REQUESTS_PER_TURN);
            // Boxed: the future of an answer is large, and would be moved.
            Box::pin(async move {
                gauge.begin();
                if is_turn_over {
                    yield_now().await;
                }
                let (request, lender) = lent_body::lend(request);
                let mut response = answers.answer(request, &peer).await;
                if let Some(lender) = lender {
                    lender.settle(&mut response).await;
                }
                if !is_open_ended(&response) {
                    gauge.end();
                }
                Ok::<_, Infallible>(response)
            })
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .max_buf_size(MAX_BUFFERED_BYTES)
            .header_read_timeout(self.times.idle_connection)
            .serve_connection(io, service)
            .with_upgrades();
        let mut connection = pin!(connection);
        let closing = pin!(self.closing.cancelled());
        tokio::select! {
            biased;
            served = connection.as_mut() => return Ok(served?),
            () = closing => connection.as_mut().graceful_shutdown(),
        }
        // `over` is cancelled only after `closing`, so it is polled only now.
        tokio::select! {
            served = connection => Ok(served?),
            () = self.over.cancelled() => Ok(()),
        }
    }
}

/// Whether the client may next send something other than a request (a WebSocket), or nothing for long.
fn is_open_ended(response: &Response) -> bool {
    response.status() == StatusCode::SWITCHING_PROTOCOLS || is_stream(response)
}
