//! An HTTP response, with its body sorted by content type.
//!
//! Used by `client::http_channel`, `link::sse`, `auth` and `sources`. It reads JSON bodies whole and does not parse
//! them; event streams are in `sse_stream`.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use tokio::time::timeout;

use super::classify;
use super::credentials::HeaderNames;
use super::error::{HttpError, RequestSummary};
use super::options::ResponseLimits;
use super::sse_stream::SseStream;

/// How much of an unexpected body is kept for error messages.
const MAX_EXCERPT_BYTES: usize = 8 << 10;
/// How long reading an unexpected body may take.
const EXCERPT_TIMEOUT: Duration = Duration::from_secs(5);
/// The most bytes that are allocated on the announced length alone.
const MAX_PREALLOCATED_BYTES: usize = 1 << 20;

/// The response to one request, of any status. Dropping it ends the exchange.
///
/// `Debug` shows the names of the headers only: a session id is as secret as a password.
pub struct HttpResponse {
    /// The status.
    pub status: StatusCode,
    /// All headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: ResponseBody,
    /// The server's address, if the pool restricts addresses; `None` behind a proxy.
    pub remote: Option<IpAddr>,
}

/// A body, by its content type.
#[derive(Debug)]
pub enum ResponseBody {
    /// No body.
    Empty,
    /// `application/json` or `…+json`, whole and unparsed.
    Json(Bytes),
    /// `text/event-stream`.
    Events(SseStream),
    /// Any other content type.
    Other {
        /// The `Content-Type` header; empty if it is missing.
        content_type: String,
        /// The first 8 KiB.
        text: Bytes,
    },
}

enum ContentKind {
    Json,
    Events,
    Other,
}

// === impl HttpResponse ===

impl HttpResponse {
    pub(super) async fn read(
        mut response: reqwest::Response,
        doing: RequestSummary,
        limits: ResponseLimits,
        idle: Duration,
    ) -> Result<Self, HttpError> {
        let status = response.status();
        let headers = std::mem::take(response.headers_mut());
        let body = match content_kind(&headers) {
            ContentKind::Events => {
                ResponseBody::Events(SseStream::new(response, doing, limits.max_event))
            }
            ContentKind::Json => {
                ResponseBody::json(read_whole_body(response, doing, limits.max_body, idle).await?)
            }
            ContentKind::Other => ResponseBody::other(read_excerpt(&mut response).await, &headers),
        };
        Ok(Self { status, headers, body, remote: None })
    }
}

impl fmt::Debug for HttpResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("status", &self.status)
            .field("headers", &HeaderNames(&self.headers))
            .field("body", &self.body)
            .field("remote", &self.remote)
            .finish()
    }
}

// === impl ResponseBody ===

impl ResponseBody {
    fn json(text: Bytes) -> Self {
        if text.is_empty() { Self::Empty } else { Self::Json(text) }
    }

    fn other(text: Bytes, headers: &HeaderMap) -> Self {
        if text.is_empty() {
            return Self::Empty;
        }
        Self::Other { content_type: content_type(headers).to_owned(), text }
    }
}

fn content_type(headers: &HeaderMap) -> &str {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn content_kind(headers: &HeaderMap) -> ContentKind {
    let essence = content_type(headers).split(';').next().unwrap_or_default().trim();
    let is = |wanted: &str| essence.eq_ignore_ascii_case(wanted);
    let ends = |suffix: &str| {
        let cut = essence.len().checked_sub(suffix.len());
        cut.and_then(|cut| essence.get(cut..)).is_some_and(|end| end.eq_ignore_ascii_case(suffix))
    };
    if is("text/event-stream") {
        ContentKind::Events
    } else if is("application/json") || ends("+json") {
        ContentKind::Json
    } else {
        ContentKind::Other
    }
}

/// Reads the whole body. A body that comes in one chunk is not copied.
async fn read_whole_body(
    mut response: reqwest::Response,
    doing: RequestSummary,
    limit: usize,
    idle: Duration,
) -> Result<Bytes, HttpError> {
    let announced = response.content_length().and_then(|length| usize::try_from(length).ok());
    if announced.is_some_and(|length| length > limit) {
        return Err(HttpError::BodyTooLarge { doing, limit });
    }
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    let mut received = 0;
    while let Some(chunk) = next_chunk(&mut response, &doing, received, idle).await? {
        received += chunk.len();
        if received > limit {
            return Err(HttpError::BodyTooLarge { doing, limit });
        }
        if received == chunk.len() {
            first = chunk;
            continue;
        }
        if rest.is_empty() {
            rest.reserve(
                announced.unwrap_or(received * 2).min(MAX_PREALLOCATED_BYTES).max(received),
            );
            rest.extend_from_slice(&first);
        }
        rest.extend_from_slice(&chunk);
    }
    Ok(if rest.is_empty() { first } else { rest.freeze() })
}

async fn next_chunk(
    response: &mut reqwest::Response,
    doing: &RequestSummary,
    received: usize,
    idle: Duration,
) -> Result<Option<Bytes>, HttpError> {
    let received = received as u64;
    match timeout(idle, response.chunk()).await {
        Ok(chunk) => chunk.map_err(|error| classify::read_error(doing.clone(), received, error)),
        Err(_) => Err(HttpError::Stalled { doing: doing.clone(), received, after: idle }),
    }
}

/// Reads the beginning of a body, as far as it arrives soon. Reading a short body to its end also lets the connection
/// be reused.
pub(crate) async fn read_excerpt(response: &mut reqwest::Response) -> Bytes {
    let mut text = BytesMut::new();
    let read = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            let room = MAX_EXCERPT_BYTES - text.len();
            text.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if text.len() == MAX_EXCERPT_BYTES {
                break;
            }
        }
    };
    // The bytes before the deadline are still worth showing.
    let _ = timeout(EXCERPT_TIMEOUT, read).await;
    text.freeze()
}
