//! A connection, plain or TLS, that can still be reset.

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A byte stream over TCP.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {
    /// The TCP connection beneath.
    fn tcp(&self) -> &TcpStream;

    /// Makes the coming drop a reset instead of an orderly close.
    fn reset_on_drop(&self) {
        // It fails only on a connection that is gone already.
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

/// `None` when the TLS handshake fails: what the client sees is what the test is about.
pub(crate) async fn open(tcp: TcpStream, tls: Option<TlsAcceptor>) -> Option<Box<dyn Io>> {
    tcp.set_nodelay(true).ok()?;
    match tls {
        None => Some(Box::new(tcp)),
        Some(acceptor) => Some(Box::new(acceptor.accept(tcp).await.ok()?)),
    }
}
