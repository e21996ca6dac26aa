//! Outgoing server-sent events: one event, a queue of events, and the response body that carries them.
//!
//! Used by `streamable` and `sse`. A large message is not copied into its event; it is sent between a head and a
//! tail. It does not keep events for resumption (`streamable::stream_log`).

use std::{
    collections::VecDeque,
    fmt,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{body::Body, response::Response};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::{BufMut, Bytes, BytesMut};
use bytestring::ByteString;
use futures_util::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use http::{HeaderName, HeaderValue, header};
use http_body::Frame;
use switchboard_wire::{envelope::Id, json::Raw};
use tokio::{
    sync::mpsc,
    time::{Interval, MissedTickBehavior},
};

use super::metrics::{GaugeLease, Metrics, Transport};
use crate::replica_tag::ReplicaTag;

/// Messages up to this size are copied into their event, which is then one write.
const MAX_COPIED_BYTES: usize = 4096;
/// The longest id of a request that an event id repeats.
const MAX_REQUEST_ID_BYTES: usize = 64;
const EVENT_END: Bytes = Bytes::from_static(b"\n\n");
/// A comment, which clients ignore.
const KEEP_ALIVE_COMMENT: Bytes = Bytes::from_static(b":\n\n");

/// One event, ready to be written.
#[derive(Debug, Clone)]
pub(super) struct OutgoingEvent {
    head: Bytes,
    /// A large message, sent after `head`.
    payload: Option<Bytes>,
}

/// The position of an event: its stream, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventPosition {
    pub(super) stream: u64,
    pub(super) event: u64,
}

/// The id of an event: its position, and in a cluster the replica whose it is and the request that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EventId {
    pub(super) replica: Option<ReplicaTag>,
    pub(super) place: EventPosition,
    pub(super) request: Option<Id>,
}

/// The writing end of an event queue.
#[derive(Debug)]
pub(super) struct EventSender {
    queue: mpsc::Sender<OutgoingEvent>,
    bytes: Arc<AtomicUsize>,
    max_bytes: usize,
}

/// The reading end of an event queue.
#[derive(Debug)]
pub(super) struct EventReceiver {
    queue: mpsc::Receiver<OutgoingEvent>,
    bytes: Arc<AtomicUsize>,
}

/// The reader is too slow, or gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventSendError {
    Full,
    Gone,
}

/// A body made of events.
struct EventBody {
    events: BoxStream<'static, OutgoingEvent>,
    pieces: VecDeque<Bytes>,
    alive: Interval,
    metrics: Arc<Metrics>,
    transport: Transport,
    _counted: GaugeLease,
}

// === impl EventPosition ===

impl EventPosition {
    fn parse(id: &str) -> Option<Self> {
        let (stream, event) = id.split_once('-')?;
        Some(Self { stream: stream.parse().ok()?, event: event.parse().ok()? })
    }
}

impl fmt::Display for EventPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.stream, self.event)
    }
}

impl From<EventPosition> for EventId {
    fn from(place: EventPosition) -> Self {
        Self { replica: None, place, request: None }
    }
}

// === impl EventId ===

impl EventId {
    /// Parses the id of an event.
    pub(super) fn parse(id: &str) -> Option<Self> {
        let Some((tag, rest)) = ReplicaTag::split(id) else {
            return EventPosition::parse(id).map(Self::from);
        };
        let (place, request) = rest.split_once('.').unwrap_or((rest, ""));
        let request = URL_SAFE_NO_PAD
            .decode(request)
            .ok()
            .and_then(|text| Id::from_raw(Raw::parse(String::from_utf8(text).ok()?).ok()?));
        Some(Self { replica: Some(tag), place: EventPosition::parse(place)?, request })
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(tag) = self.replica else { return self.place.fmt(f) };
        match &self.request {
            Some(id) if id.as_str().len() <= MAX_REQUEST_ID_BYTES => {
                write!(f, "{tag}-{}.{}", self.place, URL_SAFE_NO_PAD.encode(id.as_str()))
            }
            _ => write!(f, "{tag}-{}", self.place),
        }
    }
}

// === impl OutgoingEvent ===

impl OutgoingEvent {
    /// An event with a message.
    pub(super) fn message(id: Option<&EventId>, text: &ByteString) -> Self {
        let mut head = BytesMut::with_capacity(64 + text.len().min(MAX_COPIED_BYTES));
        if let Some(id) = id {
            head.extend_from_slice(format!("id: {id}\n").as_bytes());
        }
        head.extend_from_slice(b"event: message\ndata: ");
        Self::with_data(head, text)
    }

    /// An event without data, with an id from which the stream can be resumed.
    pub(super) fn priming(id: &EventId, retry: Duration) -> Self {
        let retry = retry.as_millis();
        let text = format!("id: {id}\nretry: {retry}\ndata:\n\n");
        Self { head: text.into(), payload: None }
    }

    /// The event that tells an HTTP+SSE client where to POST.
    pub(super) fn endpoint(place: &str) -> Self {
        let text = format!("event: endpoint\ndata: {place}\n\n");
        Self { head: text.into(), payload: None }
    }

    fn with_data(mut head: BytesMut, text: &ByteString) -> Self {
        let bytes = text.as_bytes();
        let one_line = memchr::memchr2(b'\n', b'\r', bytes).is_none();
        if one_line && bytes.len() > MAX_COPIED_BYTES {
            return Self { head: head.freeze(), payload: Some(text.clone().into_bytes()) };
        }
        head.reserve(bytes.len() + EVENT_END.len());
        let mut copied = 0;
        // Line breaks of a message stand between tokens, so a space replaces them.
        for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
            head.put_slice(&bytes[copied..at]);
            head.put_u8(b' ');
            copied = at + 1;
        }
        head.put_slice(&bytes[copied..]);
        head.put_slice(&EVENT_END);
        Self { head: head.freeze(), payload: None }
    }

    pub(super) fn len(&self) -> usize {
        self.head.len() + self.payload.as_ref().map_or(0, |payload| payload.len() + EVENT_END.len())
    }
}

// === impl EventSender ===

/// A queue of at most `max_events` events and `max_bytes` bytes.
pub(super) fn event_queue(max_events: usize, max_bytes: usize) -> (EventSender, EventReceiver) {
    let (sender, receiver) = mpsc::channel(max_events);
    let bytes = Arc::new(AtomicUsize::new(0));
    (
        EventSender { queue: sender, bytes: Arc::clone(&bytes), max_bytes },
        EventReceiver { queue: receiver, bytes },
    )
}

impl EventSender {
    pub(super) fn offer(&self, event: OutgoingEvent) -> Result<(), EventSendError> {
        let (length, waiting) = (event.len(), self.bytes.load(Relaxed));
        // A single event may have any size.
        if waiting > 0 && waiting + length > self.max_bytes {
            return Err(EventSendError::Full);
        }
        self.bytes.fetch_add(length, Relaxed);
        self.queue.try_send(event).map_err(|error| {
            self.bytes.fetch_sub(length, Relaxed);
            match error {
                mpsc::error::TrySendError::Full(_) => EventSendError::Full,
                mpsc::error::TrySendError::Closed(_) => EventSendError::Gone,
            }
        })
    }

    pub(super) fn is_read(&self) -> bool {
        !self.queue.is_closed()
    }
}

impl EventReceiver {
    /// The events of the queue, after those of `backlog`.
    pub(super) fn after(
        self,
        backlog: Vec<OutgoingEvent>,
    ) -> impl Stream<Item = OutgoingEvent> + Send + 'static {
        let fed = stream::unfold(self, |mut fed| async move {
            let event = fed.queue.recv().await?;
            fed.bytes.fetch_sub(event.len(), Relaxed);
            Some((event, fed))
        });
        stream::iter(backlog).chain(fed)
    }
}

// === impl EventBody ===

/// A response with a stream of events, counted in the metrics while it is open.
pub(super) fn response(
    events: impl Stream<Item = OutgoingEvent> + Send + 'static,
    metrics: &Arc<Metrics>,
    transport: Transport,
    keep_alive: Duration,
) -> Response {
    let mut alive = tokio::time::interval_at(tokio::time::Instant::now() + keep_alive, keep_alive);
    alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let body = EventBody {
        events: events.boxed(),
        pieces: VecDeque::new(),
        alive,
        metrics: Arc::clone(metrics),
        transport,
        _counted: metrics.count_stream(transport),
    };
    let mut response = Response::new(Body::new(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    // Tells nginx and similar proxies not to buffer events.
    let unbuffered = HeaderName::from_static("x-accel-buffering");
    headers.insert(unbuffered, HeaderValue::from_static("no"));
    response
}

impl http_body::Body for EventBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = &mut *self;
        loop {
            if let Some(piece) = this.pieces.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
            match this.events.poll_next_unpin(cx) {
                Poll::Ready(Some(event)) => {
                    this.metrics.count_sent(this.transport, event.len());
                    this.pieces.push_back(event.head);
                    this.pieces.extend(
                        event.payload.map(|payload| [payload, EVENT_END]).into_iter().flatten(),
                    );
                }
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => {
                    ready!(this.alive.poll_tick(cx));
                    this.pieces.push_back(KEEP_ALIVE_COMMENT);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(event: &OutgoingEvent) -> String {
        let mut text = String::from_utf8(event.head.to_vec()).unwrap();
        if let Some(payload) = &event.payload {
            text.push_str(std::str::from_utf8(payload).unwrap());
            text.push_str("\n\n");
        }
        assert_eq!(text.len(), event.len());
        text
    }

    #[test]
    fn events_are_lines_whatever_they_hold() {
        let place = EventPosition { stream: 3, event: 7 };
        let long = "x".repeat(MAX_COPIED_BYTES + 1);
        for (text, expected) in [
            ("{}", "id: 3-7\nevent: message\ndata: {}\n\n".to_owned()),
            ("{\r\n\"a\":1\n}", "id: 3-7\nevent: message\ndata: {  \"a\":1 }\n\n".to_owned()),
            (&long, format!("id: 3-7\nevent: message\ndata: {long}\n\n")),
        ] {
            let event = OutgoingEvent::message(Some(&place.into()), &text.to_owned().into());
            assert_eq!(written(&event), expected);
        }
        assert_eq!(EventId::parse("3-7"), Some(place.into()));
        for odd in
            ["", "3", "3-", "-7", "3-x", "a-7", "3-7-1", "00ab12cd34ef-3", "00ab12cd34ef-3-x.MQ"]
        {
            assert_eq!(EventId::parse(odd), None, "{odd}");
        }
    }

    #[test]
    fn an_id_names_its_replica_and_its_request() {
        let place = EventPosition { stream: 3, event: 7 };
        let replica = "00ab12cd34ef".parse().ok();
        let long = Id::text(&"x".repeat(MAX_REQUEST_ID_BYTES));
        for (request, text, read) in [
            (None, "00ab12cd34ef-3-7", None),
            (Some(Id::number(12)), "00ab12cd34ef-3-7.MTI", Some(Id::number(12))),
            (Some(long), "00ab12cd34ef-3-7", None),
        ] {
            let id = EventId { replica, place, request };
            assert_eq!(id.to_string(), text);
            assert_eq!(EventId::parse(text), Some(EventId { request: read, ..id }));
        }
    }

    #[tokio::test]
    async fn a_queue_holds_so_much() {
        let event = |size: usize| OutgoingEvent::message(None, &"x".repeat(size).into());
        let (by_count, read) = event_queue(2, usize::MAX);
        assert_eq!([0; 3].map(|_| by_count.offer(event(1)).is_ok()), [true, true, false]);
        drop(read);
        assert_eq!(by_count.offer(event(1)), Err(EventSendError::Gone));

        let (by_bytes, read) = event_queue(9, 100);
        assert_eq!(by_bytes.offer(event(500)), Ok(()), "one alone may be large");
        assert_eq!(by_bytes.offer(event(1)), Err(EventSendError::Full));
        let mut events = Box::pin(read.after(vec![event(2)]));
        assert_eq!(events.next().await.unwrap().len(), event(2).len());
        assert_eq!(events.next().await.unwrap().len(), event(500).len());
        assert_eq!(by_bytes.offer(event(1)), Ok(()), "what was read makes room");
    }
}
