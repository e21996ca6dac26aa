//! What a WebSocket client has sent of a message that is not whole yet, charged to its principal's budget.
//!
//! The library puts a message together before it hands it on. Without this, many connections that each hold back the end
//! of a large message would take as many times the largest message there may be.

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

/// Bytes before the payload of a control frame of a client: flags, length and mask.
const CONTROL_HEADER_BYTES: usize = 6;

/// The charge of one connection. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct MessageMeter(pub(super) Arc<Mutex<ByteCharge>>);

/// A stream whose reads are charged.
pub(super) struct MeteredStream {
    pub(super) stream: TokioIo<Upgraded>,
    pub(super) meter: MessageMeter,
}

// === impl MessageMeter ===

impl MessageMeter {
    /// A message is whole, and counted elsewhere from here on.
    pub(super) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// A frame that is no part of a message is dealt with.
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
