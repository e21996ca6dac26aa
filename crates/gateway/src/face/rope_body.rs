//! A response body made of the pieces of a rope, so that a large answer is not copied.
//!
//! Used by `refusal`. Ropes are built in `wire::json::rope`.

use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::Body;
use bytes::Bytes;
use bytestring::ByteString;
use http_body::{Frame, SizeHint};
use switchboard_wire::{json::Rope, server::ByteCharge};

/// The pieces that are still to be sent.
struct RopeBody(VecDeque<Bytes>);

/// A body of `text`.
pub(super) fn body(text: Rope) -> Body {
    if text.is_whole() {
        return Body::from(text.into_text().into_bytes());
    }
    Body::new(RopeBody(text.into_pieces().map(ByteString::into_bytes).collect()))
}

/// A body that holds its charge until it is sent or dropped.
struct ChargedBody {
    body: Body,
    _charge: ByteCharge,
}

/// Wraps a body so that it holds `charge` until its end.
pub(super) fn charge_body(body: Body, charge: ByteCharge) -> Body {
    Body::new(ChargedBody { body, _charge: charge })
}

// === impl ChargedBody ===

impl http_body::Body for ChargedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

// === impl RopeBody ===

impl http_body::Body for RopeBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.iter().map(|piece| piece.len() as u64).sum())
    }
}
