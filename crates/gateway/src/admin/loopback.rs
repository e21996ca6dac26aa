//! The API on a port of this machine, to whoever has the token.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{Admin, Token, TokenError};
use crate::face::{self, Access, FaceError, FaceOptions, WithoutToken};

/// The port that people know.
pub const PORT: u16 = 7420;

/// Where the API is now.
#[derive(Debug, Default)]
pub(super) struct Port(Mutex<Option<(SocketAddr, CancellationToken)>>);

/// Why the API is on no port.
#[derive(Debug, thiserror::Error)]
pub enum LoopbackError {
    /// There is no token.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// There is no port.
    #[error("cannot listen on this machine")]
    Listen(#[source] io::Error),
    /// It cannot be served there.
    #[error(transparent)]
    Face(#[from] FaceError),
}

// === impl Port ===

impl Port {
    pub(super) fn address(&self) -> Option<SocketAddr> {
        self.lock().as_ref().map(|(address, _)| *address)
    }

    fn lock(&self) -> MutexGuard<'_, Option<(SocketAddr, CancellationToken)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Admin ===

impl Admin {
    /// Has the API leave this address for another; `false` if it is not there.
    pub fn make_way(&self, wanted: SocketAddr) -> bool {
        match &*self.0.port.lock() {
            Some((address, leave)) if *address == wanted => {
                leave.cancel();
                true
            }
            _ => false,
        }
    }

    /// Serves the API on `port`, else on a free one, until `stop`. The token is kept in `state`.
    pub async fn serve(
        &self,
        port: u16,
        state: &Path,
        stop: &CancellationToken,
    ) -> Result<(), LoopbackError> {
        let state = state.to_owned();
        let keeping = tokio::task::spawn_blocking(move || Token::keep(&state)).await;
        let token = keeping.map_err(|error| LoopbackError::Listen(io::Error::other(error)))??;
        let mut port = port;
        while !stop.is_cancelled() {
            let listener = bind(port).await.map_err(LoopbackError::Listen)?;
            self.serve_at(listener, token.clone(), stop.child_token()).await?;
            // Somebody else wants the port.
            port = 0;
        }
        Ok(())
    }

    async fn serve_at(
        &self,
        listener: TcpListener,
        token: Token,
        leave: CancellationToken,
    ) -> Result<(), LoopbackError> {
        let bound = listener.local_addr().map_err(LoopbackError::Listen)?;
        *self.0.port.lock() = Some((bound, leave.clone()));
        let tokens: Arc<dyn face::Tokens> = Arc::new(token);
        let options = FaceOptions {
            access: Access { tokens: Some(tokens), without_token: WithoutToken::Refused },
            beside: self.routes(),
            ..FaceOptions::local()
        };
        let served = face::serve_beside(listener, options, leave).await;
        *self.0.port.lock() = None;
        Ok(served?)
    }
}

/// The port, or any that is free.
async fn bind(port: u16) -> io::Result<TcpListener> {
    let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    match TcpListener::bind(at(port)).await {
        Err(error) if port != 0 && error.kind() == io::ErrorKind::AddrInUse => {
            TcpListener::bind(at(0)).await
        }
        bound => bound,
    }
}
