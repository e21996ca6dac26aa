//! An HTTP/2 server that echoes each request body as JSON.
//!
//! Used by the HTTP tests of `wire`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use h2::server::SendResponse;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use super::tls::{Authority, ClientCertificate};

/// A running server. Dropping it closes every connection.
pub struct Http2Echo {
    addr: SocketAddr,
    connections: Arc<AtomicUsize>,
    accepting: AbortHandle,
}

impl Http2Echo {
    /// Starts behind TLS, offering only `h2`.
    pub async fn start(authority: &Authority) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let addr = listener.local_addr().expect("a bound address");
        let config = authority.server(ClientCertificate::NotAsked, &["h2"]);
        let connections = Arc::new(AtomicUsize::new(0));
        let tls = TlsAcceptor::from(Arc::new(config));
        let accepting = tokio::spawn(accept(listener, tls, connections.clone())).abort_handle();
        Self { addr, connections, accepting }
    }

    /// The URL of `path` on this server.
    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.addr)
    }

    /// The number of accepted TCP connections.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Http2Echo {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, tls: TlsAcceptor, count: Arc<AtomicUsize>) {
    let mut connections = JoinSet::new();
    while let Ok((tcp, _)) = listener.accept().await {
        count.fetch_add(1, Ordering::SeqCst);
        connections.spawn(serve(tcp, tls.clone()));
    }
}

async fn serve(tcp: TcpStream, tls: TlsAcceptor) -> Option<()> {
    let stream = tls.accept(tcp).await.ok()?;
    let mut connection = h2::server::handshake(stream).await.ok()?;
    let mut exchanges = JoinSet::new();
    while let Some(Ok((request, respond))) = connection.accept().await {
        exchanges.spawn(echo(request.into_body(), respond));
    }
    Some(())
}

async fn echo(mut body: h2::RecvStream, mut respond: SendResponse<Bytes>) -> Option<()> {
    let mut whole = Vec::new();
    while let Some(chunk) = body.data().await {
        let chunk = chunk.ok()?;
        body.flow_control().release_capacity(chunk.len()).ok()?;
        whole.extend_from_slice(&chunk);
    }
    let head = http::Response::builder()
        .header("content-type", "application/json")
        .body(())
        .expect("a valid head");
    let mut stream = respond.send_response(head, false).ok()?;
    stream.send_data(whole.into(), true).ok()
}
