//! A request's body, lent to whoever answers the request.
//!
//! A handler that refuses a request drops its body unread, and a connection whose next bytes are the rest of a body cannot
//! carry another request. What comes back unread is read to its end if it is short; otherwise the answer says
//! `Connection: close`, since the connection will be. A handler knows nothing of this.

use std::{
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::response::Response;
use bytes::Bytes;
use http::{HeaderValue, Request, header};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use parking_lot::Mutex;

/// The longest rest that is read for the sake of the connection.
const MAX_DRAINED_BYTES: u64 = 256 << 10;
/// How long that may take.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// A body that goes back to its lender when it is dropped before its end.
pub(super) struct LentBody {
    /// Absent once it has ended.
    body: Option<Incoming>,
    lender: Option<Lender>,
}

/// Where an unread body comes back to.
#[derive(Clone, Default)]
pub(super) struct Lender(Arc<Mutex<Option<Incoming>>>);

/// Lends the body of a request. No lender: there is no body.
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
            *place.lock() = Some(body);
        }
    }
}

// === impl Lender ===

impl Lender {
    /// Reads what came back, or has the answer say that the connection ends with it.
    pub(super) async fn settle(self, response: &mut Response) {
        let returned = self.0.lock().take();
        let Some(body) = returned else { return };
        let drained = tokio::time::timeout(DRAIN_TIMEOUT, drain(body)).await;
        if drained != Ok(true) {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

/// Reads to the end; `false` if that is too far away.
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
