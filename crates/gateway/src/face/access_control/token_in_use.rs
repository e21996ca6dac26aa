//! A token that was good when a long answer began, and may not be any more.
//!
//! Most requests are over before anything changes. A stream of events or a WebSocket may last for days, and must not
//! outlive the token that opened it.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body::Frame;

use super::{TokenDenial, TokenVerifier};

/// A token in use. `Debug` is not for it.
#[derive(Clone)]
pub(in crate::face) struct TokenInUse {
    tokens: Arc<dyn TokenVerifier>,
    token: Arc<str>,
    /// Where it was shown.
    path: Arc<str>,
    principal: Arc<str>,
}

/// A body that ends with the token it was asked for with.
struct TokenBoundBody {
    body: Body,
    over: BoxFuture<'static, ()>,
}

// === impl TokenInUse ===

impl TokenInUse {
    pub(super) fn new(
        tokens: &Arc<dyn TokenVerifier>,
        token: &str,
        path: &str,
        principal: &Arc<str>,
    ) -> Self {
        let (tokens, principal) = (Arc::clone(tokens), Arc::clone(principal));
        Self { tokens, token: token.into(), path: path.into(), principal }
    }

    /// Whether it still speaks for the same principal. Nobody is cut off while nobody can tell.
    pub(in crate::face) async fn is_good(&self) -> bool {
        match self.tokens.admit(&self.token, &self.path).await {
            Ok(principal) => *principal == *self.principal,
            Err(denied) => denied == TokenDenial::Unavailable,
        }
    }

    /// The same body, looked after.
    pub(super) fn bind_body(self, body: Body, every: Duration) -> Body {
        let over = Box::pin(async move {
            loop {
                tokio::time::sleep(every).await;
                if !self.is_good().await {
                    tracing::info!(principal = %self.principal, "a stream ends with its token");
                    return;
                }
            }
        });
        Body::new(TokenBoundBody { body, over })
    }
}

// === impl TokenBoundBody ===

impl http_body::Body for TokenBoundBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.over.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.body).poll_frame(cx)
    }
}
