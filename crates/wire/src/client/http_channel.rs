//! Streamable HTTP as the channel of a client session: a POST for each message, answered on its own response.
//!
//! Used by `channel`, `request_stream` and `listen`. Legacy servers may also keep a session (an id in a header that
//! can expire) and send messages on a stream opened with GET; modern servers do neither. It does not reopen the GET
//! stream (`listen`) and knows no credentials (`http::credentials`).

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytestring::ByteString;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use parking_lot::RwLock;
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};

use super::{headers::PROTOCOL_VERSION_HEADER, server_facts::ServerFacts};
use crate::{
    Error,
    envelope::{MalformedMessage, MessageOrBatch, RpcMessage},
    http::{HttpEndpoint, HttpResponse, ResponseBody, SseStream},
    link::{LinkFrame, lines::text_frame},
    pending_post::{AbandonedPostSender, AbandonedPosts, PendingPost, abandoned_posts},
    trace_context,
};

const SESSION_ID_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");
/// The most messages without an awaited answer that may wait to be sent.
const MAX_BACKGROUND_MESSAGES: usize = 64;
/// How long the POST of an abandoned call may wait for its response before the call is cancelled. By then a server
/// that answers with a stream has answered, and one that answers in one piece has read the request.
const ABANDONED_POST_TIMEOUT: Duration = Duration::from_secs(1);
/// The most times a broken stream is resumed before its call fails.
const MAX_STREAM_RESUMES: u32 = 5;

/// Streamable HTTP to one server.
#[derive(Debug)]
pub(crate) struct HttpChannel {
    pub(crate) endpoint: HttpEndpoint,
    session_id: RwLock<Option<HeaderValue>>,
    /// The number of the current session. Many calls that meet an expired session start one new session.
    generation: watch::Sender<u64>,
    pub(crate) renewing: tokio::sync::Mutex<()>,
    chores: mpsc::Sender<BackgroundMessage>,
    abandoned: AbandonedPostSender,
    /// Whether the server has refused to open a GET stream.
    is_silent: AtomicBool,
}

/// A message without an awaited answer, and its headers if they are not the session's.
type BackgroundMessage = (ByteString, Option<HeaderMap>);

/// The queue of messages without an awaited answer, in sending order.
pub(crate) struct BackgroundMessages {
    messages: mpsc::Receiver<BackgroundMessage>,
    abandoned: AbandonedPosts,
}

/// The response to a POST.
#[derive(Debug)]
pub(crate) enum PostOutcome {
    /// Messages of the response.
    Stream(HttpStream),
    /// 202: the answer, if the message has one, comes on another stream.
    Accepted,
    /// 404 to a request in a session: the session is over.
    Expired,
}

/// The response to a GET.
#[derive(Debug)]
pub(crate) enum ListenOutcome {
    Stream(SseStream),
    /// The server has no stream, or none for this session.
    Nothing,
    /// 404 in a session: the session is over.
    Expired,
}

/// The messages of one response, to a POST or a GET.
#[derive(Debug)]
pub(crate) struct HttpStream {
    ready: VecDeque<Result<RpcMessage, MalformedMessage>>,
    events: Option<SseStream>,
    resume: StreamResume,
}

/// The last event id and the pause that are needed to resume a broken stream.
#[derive(Debug, Default)]
struct StreamResume {
    last_id: Option<String>,
    retry: Option<Duration>,
    at: Option<Instant>,
    attempts: u32,
}

// === impl HttpChannel ===

impl HttpChannel {
    /// The caller passes the queue to [`HttpChannel::send_background_messages`].
    pub(crate) fn new(endpoint: HttpEndpoint) -> (Self, BackgroundMessages) {
        let (chores, messages) = mpsc::channel(MAX_BACKGROUND_MESSAGES);
        let (abandoned, waiting) = abandoned_posts();
        let channel = Self {
            endpoint,
            session_id: RwLock::new(None),
            generation: watch::Sender::default(),
            renewing: tokio::sync::Mutex::new(()),
            chores,
            abandoned,
            is_silent: AtomicBool::new(false),
        };
        (channel, BackgroundMessages { messages, abandoned: waiting })
    }

    pub(crate) fn generation(&self) -> u64 {
        *self.generation.borrow()
    }

    /// A new session has replaced the expired one. Until now the old id was still sent, so that concurrent calls
    /// learn of the expiry and wait for the new session.
    pub(crate) fn next_generation(&self) {
        self.generation.send_modify(|generation| *generation += 1);
    }

    /// Records whether the server has no GET stream.
    pub(crate) fn set_silent(&self, is_silent: bool) {
        self.is_silent.store(is_silent, Ordering::Relaxed);
    }

    /// Whether answers come only on the response to a POST.
    pub(crate) fn is_silent(&self) -> bool {
        self.is_silent.load(Ordering::Relaxed)
    }

    /// Waits until the session of this generation is replaced.
    pub(crate) async fn wait_generation_end(&self, generation: u64) {
        let mut current = self.generation.subscribe();
        // The wait cannot fail: the channel owns the sender.
        let _ = current.wait_for(|current| *current != generation).await;
    }

    fn session_id(&self) -> Option<HeaderValue> {
        self.session_id.read().clone()
    }

    /// The headers of every message of this session.
    pub(crate) fn headers(&self, facts: Option<&ServerFacts>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(id) = self.session_id() {
            headers.insert(SESSION_ID_HEADER, id);
        }
        if let Some(facts) = facts.filter(|facts| facts.version.has_version_header()) {
            headers
                .insert(PROTOCOL_VERSION_HEADER, HeaderValue::from_static(facts.version.as_str()));
        }
        headers
    }

    /// Whether a message with these headers is part of a session.
    pub(crate) fn is_in_session(headers: &HeaderMap) -> bool {
        headers.contains_key(SESSION_ID_HEADER)
    }

    /// POSTs a message.
    pub(crate) fn post(&self, text: ByteString, headers: HeaderMap) -> PendingPost {
        let endpoint = self.endpoint.clone();
        PendingPost::new(async move { endpoint.post(text.into_bytes(), headers).await })
    }

    /// Sorts the response to a POST. `asked` is the method of the request, for errors.
    pub(crate) fn classify_response(
        &self,
        answer: HttpResponse,
        in_session: bool,
        asked: &str,
    ) -> Result<PostOutcome, Error> {
        self.record_session_id(&answer, asked);
        if in_session && answer.status == StatusCode::NOT_FOUND {
            return Ok(PostOutcome::Expired);
        }
        let head = AnswerHead::of(&answer);
        match (answer.status.is_success(), answer.body) {
            (_, ResponseBody::Json(text)) => parse_whole_body(&text, &head, asked),
            (true, ResponseBody::Events(events)) => {
                Ok(PostOutcome::Stream(HttpStream::from_events(events)))
            }
            (true, ResponseBody::Empty) => Ok(PostOutcome::Accepted),
            (_, body) => Err(refusal(&head, &body, asked)),
        }
    }

    /// Stores the session id. Only the answer to `initialize` starts a session.
    fn record_session_id(&self, answer: &HttpResponse, asked: &str) {
        if asked == crate::meta::method::INITIALIZE && answer.status.is_success() {
            let id = answer.headers.get(SESSION_ID_HEADER).cloned();
            *self.session_id.write() = id;
        }
    }

    /// Sends a notification or an answer.
    pub(crate) async fn send(
        &self,
        text: ByteString,
        facts: Option<&ServerFacts>,
    ) -> Result<(), Error> {
        let mut headers = self.headers(facts);
        headers.extend(trace_context::message_headers(&text));
        let answer = self.post(text, headers).await?;
        if answer.status.is_success() {
            return Ok(());
        }
        Err(refusal(&AnswerHead::of(&answer), &answer.body, "a notification"))
    }

    pub(crate) fn try_send(
        &self,
        text: ByteString,
        headers: Option<HeaderMap>,
    ) -> Result<(), Error> {
        self.chores.try_send((text, headers)).map_err(|_| Error::Busy)
    }

    /// Queues a cancellation that is sent once the POST of its request has been sent.
    pub(crate) fn try_cancel_after(
        &self,
        posting: PendingPost,
        text: ByteString,
    ) -> Result<(), Error> {
        self.abandoned.try_cancel_after(posting, text)
    }

    /// Sends queued messages one after another, and concurrently the cancellations of abandoned POSTs.
    pub(crate) async fn send_background_messages(
        &self,
        chores: BackgroundMessages,
        facts: impl Fn() -> Option<Arc<ServerFacts>>,
    ) {
        let BackgroundMessages { mut messages, abandoned } = chores;
        let cancelling = abandoned.finish(ABANDONED_POST_TIMEOUT, async |text| {
            self.send_background_message((text, None), facts().as_deref()).await;
        });
        let sending = async {
            while let Some(chore) = messages.recv().await {
                self.send_background_message(chore, facts().as_deref()).await;
            }
        };
        tokio::join!(cancelling, sending);
    }

    /// Sends one queued message.
    async fn send_background_message(&self, chore: BackgroundMessage, facts: Option<&ServerFacts>) {
        let (text, headers) = chore;
        let headers = headers.unwrap_or_else(|| self.headers(facts));
        if let Err(error) = self.post(text, headers).await {
            tracing::debug!(%error, "a message nobody waits for was not taken");
        }
    }

    /// Opens the GET stream of a legacy server.
    pub(crate) async fn listen(
        &self,
        facts: Option<&ServerFacts>,
        last_id: Option<&str>,
    ) -> Result<ListenOutcome, Error> {
        let headers = self.headers(facts);
        let in_session = headers.contains_key(SESSION_ID_HEADER);
        let answer = Box::pin(self.endpoint.get_events(headers, last_id)).await?;
        let head = AnswerHead::of(&answer);
        match answer.body {
            ResponseBody::Events(events) if answer.status.is_success() => {
                Ok(ListenOutcome::Stream(events))
            }
            _ if in_session && answer.status == StatusCode::NOT_FOUND => Ok(ListenOutcome::Expired),
            _ if answer.status.is_server_error() => Err(refusal(&head, &answer.body, "GET")),
            _ => Ok(ListenOutcome::Nothing),
        }
    }

    /// Deletes the session at the server, if there is one. A refusal does no harm.
    pub(crate) async fn delete(&self, facts: Option<&ServerFacts>) {
        if self.session_id().is_none() {
            return;
        }
        if let Err(error) = Box::pin(self.endpoint.delete(self.headers(facts))).await {
            tracing::debug!(%error, "the session was not deleted");
        }
    }
}

/// Status and headers of a response.
struct AnswerHead {
    status: StatusCode,
    /// Whether the response has a `Retry-After` header.
    asks_to_retry: bool,
}

// === impl AnswerHead ===

impl AnswerHead {
    fn of(answer: &HttpResponse) -> Self {
        let asks_to_retry = answer.headers.contains_key(http::header::RETRY_AFTER);
        Self { status: answer.status, asks_to_retry }
    }
}

/// Parses a complete body: one message, or a batch.
fn parse_whole_body(
    text: &bytes::Bytes,
    head: &AnswerHead,
    asked: &str,
) -> Result<PostOutcome, Error> {
    let ready: VecDeque<_> = match text_frame(text).parse() {
        Ok(MessageOrBatch::One(message)) => [Ok(message)].into(),
        Ok(MessageOrBatch::Batch(messages)) => messages.into(),
        Err(malformed) if head.status.is_success() => [Err(malformed)].into(),
        Err(_) => return Err(status_error(head, text, asked)),
    };
    Ok(PostOutcome::Stream(HttpStream { ready, events: None, resume: StreamResume::default() }))
}

fn refusal(head: &AnswerHead, body: &ResponseBody, asked: &str) -> Error {
    match body {
        ResponseBody::Json(text) | ResponseBody::Other { text, .. } => {
            status_error(head, text, asked)
        }
        ResponseBody::Empty | ResponseBody::Events(_) => status_error(head, b"", asked),
    }
}

fn status_error(head: &AnswerHead, text: &[u8], asked: &str) -> Error {
    const MAX_SHOWN_BYTES: usize = 500;
    let text = String::from_utf8_lossy(&text[..text.len().min(MAX_SHOWN_BYTES)]).into_owned();
    Error::Status {
        method: asked.to_owned(),
        status: head.status.as_u16(),
        text,
        asks_to_retry: head.asks_to_retry,
    }
}

// === impl HttpStream ===

impl HttpStream {
    pub(crate) fn from_events(events: SseStream) -> Self {
        Self { ready: VecDeque::new(), events: Some(events), resume: StreamResume::default() }
    }

    /// Returns the next message; `None` when the stream has ended. Cancel-safe.
    pub(crate) async fn next(
        &mut self,
    ) -> Result<Option<Result<RpcMessage, MalformedMessage>>, Error> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Ok(Some(message));
            }
            let Some(events) = &mut self.events else {
                return Ok(None);
            };
            let event = events.next().await;
            self.resume.last_id = events.last_event_id().map(str::to_owned);
            self.resume.retry = events.retry();
            match event {
                Ok(Some(event)) => self.take(event.event.as_deref(), event.data),
                Ok(None) => self.events = None,
                Err(error) => {
                    let error = Error::from(error);
                    if error.remedy() == crate::Remedy::Retry {
                        // The connection broke; the stream may be resumable.
                        self.events = None;
                        if self.resume.last_id.is_some() {
                            continue;
                        }
                    }
                    return Err(error);
                }
            }
        }
    }

    fn take(&mut self, event: Option<&str>, data: ByteString) {
        // An event without data only carries an id to resume from; events of other types are not MCP messages.
        if data.is_empty() || event.is_some_and(|name| name != "message") {
            return;
        }
        self.resume.attempts = 0;
        match LinkFrame::Text(data).parse() {
            Ok(MessageOrBatch::One(message)) => self.ready.push_back(Ok(message)),
            Ok(MessageOrBatch::Batch(messages)) => self.ready.extend(messages),
            Err(malformed) => self.ready.push_back(Err(malformed)),
        }
    }

    /// Recovers the message of an event that was skipped as too large, after the error that reported it. Returns
    /// `None` for any other error.
    pub(crate) async fn salvage_lost_event(
        &mut self,
        error: &Error,
    ) -> Result<Option<MalformedMessage>, Error> {
        let (Error::Http(http), Some(events)) = (error, &mut self.events) else {
            return Ok(None);
        };
        let Some(kind) = http.malformed_kind() else {
            return Ok(None);
        };
        Ok(Some(events.salvage().await?.into_malformed(kind)))
    }

    /// The id of the last event, if the stream can be resumed after it.
    pub(crate) fn last_id(&self) -> Option<&str> {
        self.resume.last_id.as_deref()
    }

    /// The pause that the server wants before a reconnection.
    pub(crate) fn retry(&self) -> Option<Duration> {
        self.resume.retry
    }

    /// Resumes the stream after its last event. Returns `false` if it cannot be resumed. Cancel-safe.
    pub(crate) async fn reopen(
        &mut self,
        channel: &HttpChannel,
        facts: Option<&ServerFacts>,
        after: Duration,
    ) -> Result<bool, Error> {
        let Some(last_id) = self.resume.last_id.clone() else {
            return Ok(false);
        };
        while self.resume.attempts < MAX_STREAM_RESUMES {
            let pause = self.resume.retry.unwrap_or(after) * (1 << self.resume.attempts.min(5));
            let at = *self.resume.at.get_or_insert_with(|| Instant::now() + pause);
            tokio::time::sleep_until(at).await;
            let opened = channel.listen(facts, Some(&last_id)).await;
            self.resume.at = None;
            self.resume.attempts += 1;
            match opened {
                Ok(ListenOutcome::Stream(events)) => {
                    self.events = Some(events);
                    return Ok(true);
                }
                Ok(ListenOutcome::Nothing | ListenOutcome::Expired) => return Ok(false),
                Err(error) if error.remedy() == crate::Remedy::Retry => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }
}
