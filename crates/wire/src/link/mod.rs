//! A link: a channel that carries whole messages in both directions, in order.
//!
//! Used by `client` and `server` sessions. Pipes, sockets, WebSocket, HTTP+SSE and the in-process
//! pair are links. A received frame is a text, or the report of a message that was too large or not
//! UTF-8. A link knows framing only; it does not parse messages.

pub mod lines;
pub mod pair;
pub mod sse;
mod turn;

use bytestring::ByteString;
use tokio::task::coop::consume_budget;

use crate::{
    Error,
    envelope::{MalformedMessage, MessageOrBatch, parse},
    pending_post::PendingPost,
    ws::{WsReader, WsWriter},
};
use turn::LinkTurn;

/// How long queued messages may take to be written when a link is closed.
const CLOSE_FLUSH_TIMEOUT: std::time::Duration = std::time::Duration::from_millis(100);

/// The most bytes of queued messages; a single message may be larger.
const MAX_QUEUED_BYTES: usize = 1 << 20;

/// A received frame.
#[derive(Debug)]
pub enum LinkFrame {
    /// A complete text.
    Text(ByteString),
    /// A message that was too large or not UTF-8. The link continues with the next one.
    Broken(MalformedMessage),
}

impl LinkFrame {
    /// The length of the text in bytes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Broken(_) => 0,
        }
    }

    /// Parses the envelope.
    pub fn parse(self) -> Result<MessageOrBatch, MalformedMessage> {
        match self {
            Self::Text(text) => parse(text),
            Self::Broken(malformed) => Err(malformed),
        }
    }
}

/// The sending half of a link. Clones share it.
#[derive(Debug, Clone)]
pub struct LinkWriter(WriterKind);

#[derive(Debug, Clone)]
enum WriterKind {
    Queue(lines::LineWriter),
    Pair(pair::PairWriter),
    Sse(sse::SseWriter),
    WebSocket(WsWriter),
}

/// The receiving half of a link.
#[derive(Debug)]
pub struct LinkReader {
    kind: ReaderKind,
    turn: LinkTurn,
}

#[derive(Debug)]
enum ReaderKind {
    Lines(Box<lines::BoxedLineReader>),
    Pair(pair::PairReader),
    Sse(Box<sse::SseReader>),
    WebSocket(WsReader),
}

// === impl LinkWriter ===

impl LinkWriter {
    /// Sends one message, waiting for room.
    pub async fn send(&self, text: ByteString) -> Result<(), Error> {
        match &self.0 {
            WriterKind::Queue(writer) => writer.send(text).await,
            WriterKind::Pair(writer) => writer.send(text).await,
            WriterKind::Sse(writer) => writer.send(text).await,
            WriterKind::WebSocket(writer) => Ok(writer.send(text).await?),
        }
    }

    /// Starts to POST one message, if the link is HTTP+SSE.
    pub(crate) fn post(&self, text: &ByteString) -> Option<PendingPost> {
        match &self.0 {
            WriterKind::Sse(writer) => Some(writer.post(text.clone())),
            WriterKind::Queue(_) | WriterKind::Pair(_) | WriterKind::WebSocket(_) => None,
        }
    }

    /// Queues the cancellation `text`, to be sent after the message that it cancels.
    pub(crate) fn try_cancel_after(
        &self,
        posting: PendingPost,
        text: ByteString,
    ) -> Result<(), Error> {
        match &self.0 {
            WriterKind::Sse(writer) => writer.try_cancel_after(posting, text),
            WriterKind::Queue(_) | WriterKind::Pair(_) | WriterKind::WebSocket(_) => {
                Err(Error::Closed)
            }
        }
    }

    /// Closes a WebSocket with a close frame; flushes the queue of other links.
    pub(crate) async fn close(&self) {
        match &self.0 {
            WriterKind::WebSocket(writer) => writer.close().await,
            WriterKind::Queue(writer) => {
                // A peer that does not read must not delay the close.
                let _ = tokio::time::timeout(CLOSE_FLUSH_TIMEOUT, writer.flush()).await;
            }
            WriterKind::Pair(_) | WriterKind::Sse(_) => {}
        }
    }

    /// Sends one message if there is room at once.
    pub fn try_send(&self, text: ByteString) -> Result<(), Error> {
        match &self.0 {
            WriterKind::Queue(writer) => writer.try_send(text),
            WriterKind::Pair(writer) => writer.try_send(text),
            WriterKind::Sse(writer) => writer.try_send(text),
            WriterKind::WebSocket(writer) => Ok(writer.try_send(text)?),
        }
    }
}

// === impl LinkReader ===

impl LinkReader {
    fn new(kind: ReaderKind) -> Self {
        Self { kind, turn: LinkTurn::default() }
    }

    /// Returns the next message; `None` after the peer has closed. Cancel-safe.
    ///
    /// After a number of messages or bytes it lets other tasks run first, however much the peer has sent.
    pub async fn next(&mut self) -> Result<Option<LinkFrame>, Error> {
        self.turn.wait().await;
        // The queue of a pair takes part in the budget already. The other kinds return what lies in a buffer without
        // any I/O that tokio could count.
        if !matches!(self.kind, ReaderKind::Pair(_)) {
            consume_budget().await;
        }
        let frame = match &mut self.kind {
            ReaderKind::Lines(reader) => reader.next().await?,
            ReaderKind::Pair(reader) => reader.next().await.map(LinkFrame::Text),
            ReaderKind::Sse(reader) => reader.next().await?,
            ReaderKind::WebSocket(reader) => reader.next().await.transpose()?.map(LinkFrame::Text),
        };
        self.turn.spend(frame.as_ref().map_or(0, LinkFrame::len));
        Ok(frame)
    }
}

/// HTTP+SSE as a link.
pub(crate) fn sse_link(writer: sse::SseWriter, reader: sse::SseReader) -> pair::LinkEnd {
    (LinkWriter(WriterKind::Sse(writer)), LinkReader::new(ReaderKind::Sse(Box::new(reader))))
}

/// A WebSocket as a link.
pub(crate) fn websocket_link(writer: WsWriter, reader: WsReader) -> pair::LinkEnd {
    (LinkWriter(WriterKind::WebSocket(writer)), LinkReader::new(ReaderKind::WebSocket(reader)))
}
