//! An [`AsyncWrite`] that fails with `TimedOut` when the peer does not read for a while.
//!
//! Used by `connection` and `admin_http` on every socket, so that one stalled client cannot hold memory. It does not
//! limit reading.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::AsyncWrite,
    time::{Sleep, sleep},
};

/// Limits every write to `patience`.
pub(super) struct StallTimeoutWriter<W> {
    inner: W,
    patience: Duration,
    /// The timer, while a write is pending.
    waiting: Option<Pin<Box<Sleep>>>,
}

// === impl StallTimeoutWriter ===

impl<W: AsyncWrite + Unpin> StallTimeoutWriter<W> {
    pub(super) fn new(inner: W, patience: Duration) -> Self {
        Self { inner, patience, waiting: None }
    }

    /// Returns the outcome of the write, or `TimedOut` once the timer has ended.
    fn check_deadline<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let patience = self.patience;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(waiting.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for StallTimeoutWriter<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.check_deadline(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(context);
        self.check_deadline(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    #[tokio::test(start_paused = true)]
    async fn only_a_reader_that_does_not_read_is_given_up() {
        let (near, mut far) = duplex(4);
        let mut sink = StallTimeoutWriter::new(near, Duration::from_secs(30));
        let reading = async {
            for _ in 0..3 {
                tokio::time::advance(Duration::from_secs(20)).await;
                far.read_exact(&mut [0; 4]).await.unwrap();
            }
        };
        let (written, ()) = tokio::join!(sink.write_all(b"slow but sure"), reading);
        written.unwrap();
        let error = sink.write_all(b"and then nothing").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
