//! A connection stream that fails if its peer does not read for too long, or sends the head of a request too slowly.
//!
//! Used by `face::accept`, and by the hub's socket for its writes. Messages for a slow client wait in bounded queues;
//! this stream ends the wait. It does not limit how long a call takes.

use std::{
    future::Future,
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

use super::head_clock::HeadClock;

/// A stream whose writes have a deadline, and the heads that it reads where there is a clock for them.
#[derive(Debug)]
pub struct StallTimeoutStream<S> {
    stream: S,
    patience: Duration,
    /// Runs while a write waits.
    timer: Option<Pin<Box<Sleep>>>,
    head: Option<HeadClock>,
}

// === impl StallTimeoutStream ===

impl<S> StallTimeoutStream<S> {
    /// Gives every write this long.
    pub fn new(stream: S, patience: Duration) -> Self {
        Self { stream, patience, timer: None, head: None }
    }

    /// Limits how long the head of a request may take, too.
    pub(super) fn with_head_clock(self, head: HeadClock) -> Self {
        Self { head: Some(head), ..self }
    }

    fn check_deadline<T>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.timer = None;
            return polled;
        }
        let patience = self.patience;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for StallTimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        let has_grown = buffer.filled().len() > before;
        if self.head.as_mut().is_some_and(|head| head.is_over(cx, has_grown)) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for StallTimeoutStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.check_deadline(cx, polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(cx);
        self.check_deadline(cx, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.check_deadline(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.check_deadline(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::time::Instant;

    use super::*;
    use crate::face::head_clock::RequestGauge;

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_does_not_read_is_waited_for_so_long() {
        let (near, mut far) = tokio::io::duplex(4);
        let mut near = StallTimeoutStream::new(near, Duration::from_secs(30));
        near.write_all(b"room").await.unwrap();
        let reading = async {
            tokio::time::sleep(Duration::from_secs(29)).await;
            far.read_exact(&mut [0; 4]).await.unwrap();
        };
        let (written, ()) = tokio::join!(near.write_all(b"more"), reading);
        written.unwrap();
        let began = Instant::now();
        let error = near.write_all(b"!").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed().as_secs(), 30);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_reads_slowly_is_not_given_up() {
        let (near, mut far) = tokio::io::duplex(4);
        let mut near = StallTimeoutStream::new(near, Duration::from_secs(30));
        let reading = async {
            for _ in 0..3 {
                tokio::time::advance(Duration::from_secs(20)).await;
                far.read_exact(&mut [0; 4]).await.unwrap();
            }
        };
        let (written, ()) = tokio::join!(near.write_all(b"slow but sure"), reading);
        written.unwrap();
        let error = near.write_all(b"and then nothing").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_does_not_come_is_waited_for_so_long() {
        let (near, mut far) = tokio::io::duplex(64);
        let gauge = RequestGauge::default();
        let head = HeadClock::new(gauge.clone(), Duration::from_secs(10));
        let near = StallTimeoutStream::new(near, Duration::from_secs(30));
        let mut near = near.with_head_clock(head);
        far.write_all(b"request").await.unwrap();
        near.read_exact(&mut [0; 7]).await.unwrap();
        // The clock stops while a request is answered, and before the next one begins.
        gauge.begin();
        let reading = |near: &mut StallTimeoutStream<_>| near.read_u8().now_or_never();
        assert!(reading(&mut near).is_none());
        tokio::time::advance(Duration::from_secs(100)).await;
        assert!(reading(&mut near).is_none());
        gauge.end();
        tokio::time::advance(Duration::from_secs(100)).await;
        far.write_all(b"n").await.unwrap();
        assert_eq!(near.read_u8().await.unwrap(), b'n');
        let began = Instant::now();
        let trickling = async {
            for _ in 0..4 {
                tokio::time::sleep(Duration::from_secs(3)).await;
                let _ = far.write_all(b".").await;
            }
        };
        let reading = async {
            loop {
                if let Err(error) = near.read_u8().await {
                    return (error.kind(), began.elapsed().as_secs());
                }
            }
        };
        let (ended, ()) = tokio::join!(reading, trickling);
        assert_eq!(ended, (io::ErrorKind::TimedOut, 10));
    }
}
