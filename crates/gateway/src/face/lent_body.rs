//! A request body that returns to the connection if a handler does not read it.
//!
//! Used by `accept` and `routes`. A handler that refuses a request drops its body, and the connection cannot carry
//! another request while unread bytes of the body remain. A short remainder is read to its end; otherwise the
//! response says `Connection: close`. Handlers need not know this.

use std::{
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::response::Response;
use bytes::Bytes;
use http::{HeaderValue, Request, header};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

/// The longest remainder that is read to keep the connection.
const MAX_DRAINED_BYTES: u64 = 256 << 10;
/// How long reading the remainder may take.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// A body that returns to its lender when it is dropped before its end.
pub(super) struct LentBody {
    /// `None` once the body has ended.
    body: Option<Incoming>,
    lender: Option<Lender>,
}

/// Receives the unread body.
#[derive(Clone, Default)]
pub(super) struct Lender(Arc<Mutex<Option<Incoming>>>);

/// Lends the body of a request. Returns no lender if there is no body.
pub(super) fn lend(request: Request<Incoming>) -> (Request<LentBody>, Option<Lender>) {
    let lender = (!request.body().is_end_stream()).then(Lender::default);
    let kept = lender.clone();
    (request.map(|body| LentBody { body: Some(body), lender }), kept)
}

// === impl LentBody ===

impl Body for LentBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(body).poll_frame(cx));
        if !matches!(frame, Some(Ok(_))) {
            self.body = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl Drop for LentBody {
    fn drop(&mut self) {
        if let (Some(body), Some(Lender(place))) = (self.body.take(), &self.lender)
            && !body.is_end_stream()
        {
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
        }
    }
}

// === impl Lender ===

impl Lender {
    /// Reads the unread body, or marks the response with `Connection: close`.
    pub(super) async fn settle(self, response: &mut Response) {
        let returned = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(body) = returned else { return };
        let drained = tokio::time::timeout(DRAIN_TIMEOUT, drain(body)).await;
        if drained != Ok(true) {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

/// Reads to the end. Returns `false` if the body is too long or too slow.
async fn drain(body: Incoming) -> bool {
    if body.size_hint().lower() > MAX_DRAINED_BYTES {
        return false;
    }
    let mut body = pin!(body);
    let mut read = 0;
    while let Some(frame) = std::future::poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        let Ok(frame) = frame else { return false };
        read += frame.data_ref().map_or(0, |data| data.len() as u64);
        if read > MAX_DRAINED_BYTES {
            return false;
        }
    }
    true
}
