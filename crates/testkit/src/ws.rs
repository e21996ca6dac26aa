//! A scripted WebSocket server, over plain TCP or TLS.
//!
//! Used by the WebSocket tests of `wire`, and by `face`.

#![allow(clippy::expect_used, clippy::missing_panics_doc)] // a test server that cannot start fails its test
#![allow(clippy::result_large_err)] // the shape of the library's callback

use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use http::HeaderValue;
use http::header::SEC_WEBSOCKET_PROTOCOL;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};

use crate::http::Io;

pub use tokio_tungstenite::tungstenite::Message;
pub use tokio_tungstenite::tungstenite::protocol::CloseFrame;

/// The server's end of one connection.
pub type Socket = WebSocketStream<Box<dyn Io>>;

type Handler = Arc<dyn Fn(Socket) -> BoxFuture<'static, ()> + Send + Sync>;

/// The options of the server.
#[derive(Default)]
pub struct Setup {
    /// The subprotocol of its answer, even if the client asked for another.
    pub subprotocol: Option<&'static str>,
    /// The TLS configuration, if any.
    pub tls: Option<rustls::ServerConfig>,
}

/// A running server. Dropping it closes every connection.
pub struct ScriptedWs {
    addr: SocketAddr,
    scheme: &'static str,
    upgrades: Arc<Mutex<Vec<http::HeaderMap>>>,
    accepting: AbortHandle,
}

struct Shared {
    handler: Handler,
    subprotocol: Option<&'static str>,
    tls: Option<TlsAcceptor>,
    upgrades: Arc<Mutex<Vec<http::HeaderMap>>>,
}

impl ScriptedWs {
    /// Starts with the subprotocol `mcp` and without TLS; `handler` plays the server.
    pub async fn start<H, F>(handler: H) -> Self
    where
        H: Fn(Socket) -> F + Send + Sync + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        Self::start_with(Setup { subprotocol: Some("mcp"), tls: None }, handler).await
    }

    /// Starts with these options.
    pub async fn start_with<H, F>(setup: Setup, handler: H) -> Self
    where
        H: Fn(Socket) -> F + Send + Sync + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let addr = listener.local_addr().expect("a bound address");
        let scheme = if setup.tls.is_some() { "wss" } else { "ws" };
        let upgrades = Arc::default();
        let shared = Arc::new(Shared {
            handler: Arc::new(move |socket| Box::pin(handler(socket))),
            subprotocol: setup.subprotocol,
            tls: setup.tls.map(|config| TlsAcceptor::from(Arc::new(config))),
            upgrades: Arc::clone(&upgrades),
        });
        let accepting = tokio::spawn(accept(listener, shared)).abort_handle();
        Self { addr, scheme, upgrades, accepting }
    }

    /// The address that it listens at.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The URL of `path` on this server.
    pub fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.addr)
    }

    /// The headers of every upgrade request so far.
    pub fn upgrades(&self) -> Vec<http::HeaderMap> {
        self.upgrades.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for ScriptedWs {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((tcp, _)) = listener.accept().await {
        connections.spawn(serve(tcp, shared.clone()));
    }
}

async fn serve(tcp: TcpStream, shared: Arc<Shared>) -> Option<()> {
    let stream = crate::http::open(tcp, shared.tls.clone()).await?;
    let judge = |request: &Request, mut response: Response| {
        let mut upgrades = shared.upgrades.lock().unwrap_or_else(PoisonError::into_inner);
        upgrades.push(request.headers().clone());
        if let Some(name) = shared.subprotocol {
            let name = HeaderValue::from_static(name);
            response.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, name);
        }
        Ok(response)
    };
    let socket = accept_hdr_async(stream, judge).await.ok()?;
    (shared.handler)(socket).await;
    Some(())
}
