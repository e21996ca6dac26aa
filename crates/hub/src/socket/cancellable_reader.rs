//! An [`AsyncRead`] that reports end of file when its token is cancelled.
//!
//! Used by `connection` so that MCP serving ends when the hub ends. It does not close the underlying socket.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, ReadBuf};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Reads until `token` is cancelled; then it returns end of file, as if the peer had closed.
pub(super) struct CancellableReader<R> {
    inner: R,
    closed: Pin<Box<WaitForCancellationFutureOwned>>,
}

// === impl CancellableReader ===

impl<R> CancellableReader<R> {
    pub(super) fn new(inner: R, token: CancellationToken) -> Self {
        Self { inner, closed: Box::pin(token.cancelled_owned()) }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for CancellableReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.closed.as_mut().poll(context).is_ready() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}
