//! A scripted HTTP/1.1 server that can misbehave at any byte, over plain TCP or TLS.
//!
//! Used by tests of `wire`, `auth`, `core`, `sources` and `cli`. Loads use the faster `http1`.
//!
//! ```no_run
//! # async fn example() {
//! use switchboard_testkit::http::{Reply, Scripted};
//!
//! let server = Scripted::start(|request| async move {
//!     assert_eq!(request.method, "POST");
//!     Reply::json(200, r#"{"ok":true}"#)
//! })
//! .await;
//! let url = server.url("/mcp");
//! // … talk to `url` …
//! assert_eq!(server.requests().len(), 1);
//! # }
//! ```

#![allow(clippy::expect_used, clippy::missing_panics_doc)] // a test server that cannot start fails its test

mod http2;
mod io;
mod key;
mod play;
mod reply;
mod request;
mod tls;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

pub use http2::Http2Echo;
pub use io::Io;
pub(crate) use io::open;
pub use reply::{Reply, Signal};
pub use request::Request;
pub use tls::{Authority, ClientCertificate};

type Handler = Arc<dyn Fn(Request) -> BoxFuture<'static, Reply> + Send + Sync>;

/// A running server. Dropping it closes the listener and every connection.
pub struct Scripted {
    addr: SocketAddr,
    scheme: &'static str,
    shared: Arc<Shared>,
    accepting: AbortHandle,
}

struct Shared {
    handler: Handler,
    requests: Mutex<Vec<Request>>,
    counts: watch::Sender<Counts>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    connections: usize,
    requests: usize,
    hangups: usize,
}

impl Scripted {
    /// Starts on a free port of 127.0.0.1; `handler` makes the reply to each request.
    pub async fn start<H, F>(handler: H) -> Self
    where
        H: Fn(Request) -> F + Send + Sync + 'static,
        F: Future<Output = Reply> + Send + 'static,
    {
        Self::listen(None, handler).await
    }

    /// Starts behind TLS.
    pub async fn start_tls<H, F>(tls: rustls::ServerConfig, handler: H) -> Self
    where
        H: Fn(Request) -> F + Send + Sync + 'static,
        F: Future<Output = Reply> + Send + 'static,
    {
        Self::listen(Some(tls), handler).await
    }

    async fn listen<H, F>(tls: Option<rustls::ServerConfig>, handler: H) -> Self
    where
        H: Fn(Request) -> F + Send + Sync + 'static,
        F: Future<Output = Reply> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let addr = listener.local_addr().expect("a bound address");
        let scheme = if tls.is_some() { "https" } else { "http" };
        let shared = Arc::new(Shared {
            handler: Arc::new(move |request| Box::pin(handler(request))),
            requests: Mutex::default(),
            counts: watch::Sender::default(),
        });
        let tls = tls.map(|config| tokio_rustls::TlsAcceptor::from(Arc::new(config)));
        let accepting = tokio::spawn(accept(listener, tls, shared.clone())).abort_handle();
        Self { addr, scheme, shared, accepting }
    }

    /// The address that it listens at.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The URL of `path` on this server, e.g. `http://127.0.0.1:1234/mcp`.
    pub fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.addr)
    }

    /// Every request so far, in order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The number of accepted TCP connections.
    pub fn connections(&self) -> usize {
        self.shared.counts.borrow().connections
    }

    /// Waits until `count` requests have arrived.
    pub async fn received(&self, count: usize) {
        self.until(|counts| counts.requests >= count).await;
    }

    /// Waits until clients have disconnected during `count` replies.
    pub async fn hung_up(&self, count: usize) {
        self.until(|counts| counts.hangups >= count).await;
    }

    async fn until(&self, reached: impl FnMut(&Counts) -> bool) {
        let mut counts = self.shared.counts.subscribe();
        counts.wait_for(reached).await.expect("the server holds the sender");
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Connections live in the accepting task's set, so that they end with it.
async fn accept(
    listener: TcpListener,
    tls: Option<tokio_rustls::TlsAcceptor>,
    shared: Arc<Shared>,
) {
    let mut connections = JoinSet::new();
    while let Ok((tcp, _)) = listener.accept().await {
        shared.counts.send_modify(|counts| counts.connections += 1);
        let number = shared.counts.borrow().connections;
        connections.spawn(connection(tcp, tls.clone(), shared.clone(), number));
        while connections.try_join_next().is_some() {}
    }
}

async fn connection(
    tcp: TcpStream,
    tls: Option<tokio_rustls::TlsAcceptor>,
    shared: Arc<Shared>,
    number: usize,
) {
    if let Some(mut stream) = io::open(tcp, tls).await {
        play::serve(&mut stream, &shared, number).await;
    }
}

impl Shared {
    fn record(&self, request: &Request) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.push(request.clone());
        drop(requests);
        self.counts.send_modify(|counts| counts.requests += 1);
    }

    fn hang_up(&self) {
        self.counts.send_modify(|counts| counts.hangups += 1);
    }
}
