//! The meter of a WebSocket: charges the received part of an incomplete message to the principal's budget.
//!
//! Used by `ws`. The WebSocket library collects a message before it returns it. Without the meter, many connections
//! that each withhold the end of a large message could take that many times the largest message.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
};

use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use switchboard_wire::server::ByteCharge;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The bytes before the payload of a client's control frame: flags, length and mask.
const CONTROL_HEADER_BYTES: usize = 6;

/// The charge of one connection. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct MessageMeter(pub(super) Arc<Mutex<ByteCharge>>);

/// A stream with metered reads.
pub(super) struct MeteredStream {
    pub(super) stream: TokioIo<Upgraded>,
    pub(super) meter: MessageMeter,
}

// === impl MessageMeter ===

impl MessageMeter {
    /// The message is complete, and charged elsewhere from now on.
    pub(super) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Releases the bytes of a control frame, which is no part of a message.
    pub(super) fn control_frame(&self, payload: &[u8]) {
        let mut charge = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        charge.shrink(CONTROL_HEADER_BYTES + payload.len());
    }

    fn grow(&self, bytes: usize) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).grow(bytes)
    }
}

// === impl MeteredStream ===

impl AsyncRead for MeteredStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        if self.meter.grow(buffer.filled().len() - before) {
            return Poll::Ready(Ok(()));
        }
        let text = "the messages of this principal that are not whole yet are too large together";
        Poll::Ready(Err(io::Error::new(io::ErrorKind::QuotaExceeded, text)))
    }
}

impl AsyncWrite for MeteredStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
