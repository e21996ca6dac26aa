//! A connection, plain or TLS, that can still be reset.
//!
//! Used by the scripted HTTP and WebSocket servers.

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A byte stream over TCP.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {
    /// The TCP connection beneath.
    fn tcp(&self) -> &TcpStream;

    /// Makes the drop a reset instead of an orderly close.
    fn reset_on_drop(&self) {
        // Fails only on a connection that has ended.
        let _ = self.tcp().set_zero_linger();
    }
}

impl Io for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }
}

impl Io for TlsStream<TcpStream> {
    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }
}

/// Opens a connection; `None` if the TLS handshake fails, which the test observes at the client.
pub(crate) async fn open(tcp: TcpStream, tls: Option<TlsAcceptor>) -> Option<Box<dyn Io>> {
    tcp.set_nodelay(true).ok()?;
    match tls {
        None => Some(Box::new(tcp)),
        Some(acceptor) => Some(Box::new(acceptor.accept(tcp).await.ok()?)),
    }
}
