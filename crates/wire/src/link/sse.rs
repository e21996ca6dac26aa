//! The HTTP+SSE transport of 2024-11-05 as a link: receives on one GET stream, sends with a POST per message.
//!
//! Used by `client::connect`. It does not reconnect: the session ends with the stream.

use std::time::Duration;

use bytestring::ByteString;
use futures_util::future::BoxFuture;
use http::HeaderMap;
use tokio::sync::mpsc;
use url::Url;

use crate::{
    Error,
    envelope::MalformedKind,
    http::{EndpointOptions, HttpEndpoint, HttpPool, HttpResponse, ResponseBody, SseStream},
    link::LinkFrame,
    pending_post::{AbandonedPostSender, PendingPost, abandoned_posts},
    trace_context,
};

/// The most messages without a waiting sender that may wait to be sent.
const MAX_BACKGROUND_SENDS: usize = 64;
/// How long the POST of an abandoned call may take before its cancellation is sent. The response only acknowledges
/// the message, so a server that delays the response has not read the request yet.
const ABANDONED_POST_TIMEOUT: Duration = Duration::from_secs(10);

/// The sending half.
#[derive(Debug, Clone)]
pub struct SseWriter {
    endpoint: HttpEndpoint,
    chores: mpsc::Sender<BackgroundSend>,
    abandoned: AbandonedPostSender,
}

/// A message without a waiting sender.
enum BackgroundSend {
    Message(ByteString),
    /// A POST that its sender dropped. It is completed before the next message, which may refer to it.
    Posting(PostFuture),
}

type PostFuture = BoxFuture<'static, Result<(), Error>>;

/// A POST in progress. Dropped early, it moves to the background task.
struct CancellablePost<'a> {
    posting: Option<PostFuture>,
    chores: &'a mpsc::Sender<BackgroundSend>,
}

/// The receiving half.
#[derive(Debug)]
pub struct SseReader {
    events: SseStream,
    /// The fault of an event that is being skipped.
    lost: Option<MalformedKind>,
    /// Ends the background task.
    _chores: tokio_util::sync::DropGuard,
}

/// Opens the stream and waits for the `endpoint` event with the URL to POST to.
pub async fn connect_sse(
    pool: &HttpPool,
    url: &Url,
    options: &EndpointOptions,
) -> Result<(SseWriter, SseReader), Error> {
    let stream = HttpEndpoint::new(pool.clone(), url.clone(), options.clone());
    let answer = stream.get_events(HeaderMap::new(), None).await?;
    let status = answer.status;
    let ResponseBody::Events(mut events) = answer.body else {
        return Err(Error::Status {
            method: "GET".into(),
            status: status.as_u16(),
            text: "no event stream".into(),
            asks_to_retry: false,
        });
    };
    let place = endpoint_event(&mut events, url).await?;
    let endpoint = HttpEndpoint::new(pool.clone(), place, options.clone());
    let (chores, waiting) = mpsc::channel(MAX_BACKGROUND_SENDS);
    let (abandoned, cancelling) = abandoned_posts();
    let ended = tokio_util::sync::CancellationToken::new();
    let poster = endpoint.clone();
    tokio::spawn(ended.clone().run_until_cancelled_owned(async move {
        let cancelling = cancelling
            .finish(ABANDONED_POST_TIMEOUT, |text| log_failure(post(poster.clone(), text)));
        tokio::join!(cancelling, send_background(&poster, waiting));
    }));
    Ok((
        SseWriter { endpoint, chores, abandoned },
        SseReader { events, lost: None, _chores: ended.drop_guard() },
    ))
}

/// Reads the first event, with the URL to POST to. It must have the origin of the stream, since it gets our
/// credentials.
async fn endpoint_event(events: &mut SseStream, url: &Url) -> Result<Url, Error> {
    let invalid = |reason: String| Error::invalid("GET", reason);
    loop {
        let event = events.next().await?;
        let event = event.ok_or_else(|| Error::StreamLost { method: "GET".into() })?;
        if event.event.as_deref() != Some("endpoint") {
            continue;
        }
        let place = url
            .join(event.data.trim())
            .map_err(|error| invalid(format!("its endpoint is no URL: {error}")))?;
        if place.origin() != url.origin() {
            return Err(invalid(format!(
                "its endpoint is at another origin, {}",
                place.origin().ascii_serialization()
            )));
        }
        return Ok(place);
    }
}

/// Sends the background messages one after another.
async fn send_background(poster: &HttpEndpoint, mut waiting: mpsc::Receiver<BackgroundSend>) {
    while let Some(chore) = waiting.recv().await {
        match chore {
            BackgroundSend::Message(text) => log_failure(post(poster.clone(), text)).await,
            BackgroundSend::Posting(posting) => log_failure(posting).await,
        }
    }
}

async fn log_failure(posting: impl Future<Output = Result<(), Error>>) {
    if let Err(error) = posting.await {
        tracing::debug!(%error, "a message nobody waits for was not taken");
    }
}

async fn post(endpoint: HttpEndpoint, text: ByteString) -> Result<(), Error> {
    let headers = trace_context::message_headers(&text);
    check_response(&Box::pin(endpoint.post(text.into_bytes(), headers)).await?)
}

/// Checks that the server accepted a message.
pub(crate) fn check_response(answer: &HttpResponse) -> Result<(), Error> {
    if answer.status.is_success() {
        return Ok(());
    }
    let text = match &answer.body {
        ResponseBody::Json(text) | ResponseBody::Other { text, .. } => {
            String::from_utf8_lossy(text).into_owned()
        }
        _ => String::new(),
    };
    let asks_to_retry = answer.headers.contains_key(http::header::RETRY_AFTER);
    let status = answer.status.as_u16();
    Err(Error::Status { method: "POST".into(), status, text, asks_to_retry })
}

// === impl SseWriter ===

impl SseWriter {
    pub(crate) async fn send(&self, text: ByteString) -> Result<(), Error> {
        let posting = Box::pin(post(self.endpoint.clone(), text));
        CancellablePost { posting: Some(posting), chores: &self.chores }.finish().await
    }

    /// Starts to POST a message that its sender may cancel.
    pub(crate) fn post(&self, text: ByteString) -> PendingPost {
        let endpoint = self.endpoint.clone();
        let headers = trace_context::message_headers(&text);
        PendingPost::new(async move { endpoint.post(text.into_bytes(), headers).await })
    }

    pub(crate) fn try_cancel_after(
        &self,
        posting: PendingPost,
        text: ByteString,
    ) -> Result<(), Error> {
        self.abandoned.try_cancel_after(posting, text)
    }

    pub(crate) fn try_send(&self, text: ByteString) -> Result<(), Error> {
        self.chores.try_send(BackgroundSend::Message(text)).map_err(|_| Error::Busy)
    }
}

// === impl CancellablePost ===

impl CancellablePost<'_> {
    async fn finish(mut self) -> Result<(), Error> {
        let Some(posting) = &mut self.posting else { return Ok(()) };
        let posted = posting.await;
        self.posting = None;
        posted
    }
}

impl Drop for CancellablePost<'_> {
    fn drop(&mut self) {
        if let Some(posting) = self.posting.take()
            && self.chores.try_send(BackgroundSend::Posting(posting)).is_err()
        {
            tracing::debug!("a message was given up while it was being sent");
        }
    }
}

// === impl SseReader ===

impl SseReader {
    /// Returns the next message; `None` when the server has ended the stream. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Result<Option<LinkFrame>, Error> {
        loop {
            if let Some(kind) = &self.lost {
                let salvage = self.events.salvage().await?;
                let broken = salvage.into_malformed(kind.clone());
                self.lost = None;
                return Ok(Some(LinkFrame::Broken(broken)));
            }
            let event = match self.events.next().await {
                Ok(Some(event)) => event,
                Ok(None) => return Ok(None),
                Err(error) => {
                    self.lost = Some(error.malformed_kind().ok_or(error)?);
                    continue;
                }
            };
            let message = event.event.as_deref().is_none_or(|name| name == "message");
            if message && !event.data.is_empty() {
                return Ok(Some(LinkFrame::Text(event.data)));
            }
        }
    }
}
