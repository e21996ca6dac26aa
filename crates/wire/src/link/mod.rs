//! A link: one channel that carries whole messages both ways, in order.
//!
//! Pipes, sockets, a WebSocket, the HTTP+SSE pair and the in-process pair all look like this. What
//! comes in is a text that may be a message, or word of one that could not be taken whole; a link
//! knows framing and nothing else.

pub mod lines;
pub mod pair;
pub mod sse;

use bytestring::ByteString;

use crate::{
    Error,
    envelope::{MalformedMessage, MessageOrBatch, parse},
    pending_post::PendingPost,
    ws::{WsReader, WsWriter},
};

/// How long what is left to say may take to be written when a link is closed.
const CLOSE_FLUSH_TIMEOUT: std::time::Duration = std::time::Duration::from_millis(100);

/// Bytes of the messages that may wait for a peer to read them; a single message may be larger.
const MAX_QUEUED_BYTES: usize = 1 << 20;

/// One thing that came in.
#[derive(Debug)]
pub enum LinkFrame {
    /// A complete text.
    Text(ByteString),
    /// A message that was too large or not UTF-8. The link goes on with the next one.
    Broken(MalformedMessage),
}

impl LinkFrame {
    /// Bytes of the text.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Broken(_) => 0,
        }
    }

    /// Reads the envelope.
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
pub struct LinkReader(ReaderKind);

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

    /// Begins to POST one message, where the link POSTs its messages.
    pub(crate) fn post(&self, text: &ByteString) -> Option<PendingPost> {
        match &self.0 {
            WriterKind::Sse(writer) => Some(writer.post(text.clone())),
            WriterKind::Queue(_) | WriterKind::Pair(_) | WriterKind::WebSocket(_) => None,
        }
    }

    /// Has `text` sent, which takes back a message, once that message has been sent.
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

    /// Says goodbye, where the link has a way to; elsewhere sees to it that last words are said.
    pub(crate) async fn close(&self) {
        match &self.0 {
            WriterKind::WebSocket(writer) => writer.close().await,
            WriterKind::Queue(writer) => {
                // A peer that does not read does not keep us.
                let _ = tokio::time::timeout(CLOSE_FLUSH_TIMEOUT, writer.flush()).await;
            }
            WriterKind::Pair(_) | WriterKind::Sse(_) => {}
        }
    }

    /// Sends one message if there is room for it now.
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
    /// The next message; `None` once the peer has closed. Safe to cancel.
    pub async fn next(&mut self) -> Result<Option<LinkFrame>, Error> {
        match &mut self.0 {
            ReaderKind::Lines(reader) => reader.next().await,
            ReaderKind::Pair(reader) => Ok(reader.next().await.map(LinkFrame::Text)),
            ReaderKind::Sse(reader) => reader.next().await,
            ReaderKind::WebSocket(reader) => {
                Ok(reader.next().await.transpose()?.map(LinkFrame::Text))
            }
        }
    }
}

/// HTTP+SSE as a link.
pub(crate) fn sse_link(writer: sse::SseWriter, reader: sse::SseReader) -> pair::LinkEnd {
    (LinkWriter(WriterKind::Sse(writer)), LinkReader(ReaderKind::Sse(Box::new(reader))))
}

/// A WebSocket as a link.
pub(crate) fn websocket_link(writer: WsWriter, reader: WsReader) -> pair::LinkEnd {
    (LinkWriter(WriterKind::WebSocket(writer)), LinkReader(ReaderKind::WebSocket(reader)))
}
