//! A token that opened a stream, verified again while the stream lasts.
//!
//! Used by `access_control` for event streams and by the WebSocket face. Most requests end soon; a stream may last
//! for days, and must not outlive the token that opened it. It does not verify tokens itself (`TokenVerifier`).

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
use switchboard_core::principal::Principal;

use super::{TokenDenial, TokenVerifier};

/// A token in use. It has no `Debug`, since that would show the token.
#[derive(Clone)]
pub(in crate::face) struct TokenInUse {
    tokens: Arc<dyn TokenVerifier>,
    token: Arc<str>,
    /// The path that the token was used for.
    path: Arc<str>,
    principal: Principal,
}

/// A body that ends when its token becomes invalid.
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
        principal: Principal,
    ) -> Self {
        Self { tokens: Arc::clone(tokens), token: token.into(), path: path.into(), principal }
    }

    /// Whether the token still identifies its principal, with unchanged groups. While the verifier is unavailable, it counts as valid.
    pub(in crate::face) async fn is_good(&self) -> bool {
        match self.tokens.admit(&self.token, &self.path).await {
            Ok(principal) => principal == self.principal,
            Err(denied) => denied == TokenDenial::Unavailable,
        }
    }

    /// How often the token is verified again, at most `usual`.
    pub(in crate::face) fn recheck_interval(&self, usual: Duration) -> Duration {
        self.tokens.recheck_interval(&self.token).unwrap_or(usual).min(usual)
    }

    /// Wraps a body so that it ends when the token becomes invalid.
    pub(super) fn bind_body(self, body: Body, every: Duration) -> Body {
        let every = self.recheck_interval(every);
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
