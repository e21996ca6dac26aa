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
    envelope::{Malformed, Parsed, parse},
    ws::{WsReader, WsWriter},
};

/// How long what is left to say may take to be written when a link is closed.
const LAST_WORDS: std::time::Duration = std::time::Duration::from_millis(100);

/// Bytes of the messages that may wait for a peer to read them; a single message may be larger.
const MAX_QUEUED_BYTES: usize = 1 << 20;

/// One thing that came in.
#[derive(Debug)]
pub enum Frame {
    /// A complete text.
    Text(ByteString),
    /// A message that was too large or not UTF-8. The link goes on with the next one.
    Broken(Malformed),
}

impl Frame {
    /// Bytes of the text.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Broken(_) => 0,
        }
    }

    /// Reads the envelope.
    pub fn parse(self) -> Result<Parsed, Malformed> {
        match self {
            Self::Text(text) => parse(text),
            Self::Broken(malformed) => Err(malformed),
        }
    }
}

/// The sending half of a link. Clones share it.
#[derive(Debug, Clone)]
pub struct LinkWriter(Writer);

#[derive(Debug, Clone)]
enum Writer {
    Queue(lines::LineWriter),
    Pair(pair::PairWriter),
    Sse(sse::SseWriter),
    WebSocket(WsWriter),
}

/// The receiving half of a link.
#[derive(Debug)]
pub struct LinkReader(Reader);

#[derive(Debug)]
enum Reader {
    Lines(Box<lines::BoxedLines>),
    Pair(pair::PairReader),
    Sse(Box<sse::SseReader>),
    WebSocket(WsReader),
}

// === impl LinkWriter ===

impl LinkWriter {
    /// Sends one message, waiting for room.
    pub async fn send(&self, text: ByteString) -> Result<(), Error> {
        match &self.0 {
            Writer::Queue(writer) => writer.send(text).await,
            Writer::Pair(writer) => writer.send(text).await,
            Writer::Sse(writer) => writer.send(text).await,
            Writer::WebSocket(writer) => Ok(writer.send(text).await?),
        }
    }

    /// Says goodbye, where the link has a way to; elsewhere sees to it that last words are said.
    pub(crate) async fn close(&self) {
        match &self.0 {
            Writer::WebSocket(writer) => writer.close().await,
            Writer::Queue(writer) => {
                // A peer that does not read does not keep us.
                let _ = tokio::time::timeout(LAST_WORDS, writer.flushed()).await;
            }
            Writer::Pair(_) | Writer::Sse(_) => {}
        }
    }

    /// Sends one message if there is room for it now.
    pub fn try_send(&self, text: ByteString) -> Result<(), Error> {
        match &self.0 {
            Writer::Queue(writer) => writer.try_send(text),
            Writer::Pair(writer) => writer.try_send(text),
            Writer::Sse(writer) => writer.try_send(text),
            Writer::WebSocket(writer) => Ok(writer.try_send(text)?),
        }
    }
}

// === impl LinkReader ===

impl LinkReader {
    /// The next message; `None` once the peer has closed. Safe to cancel.
    pub async fn next(&mut self) -> Result<Option<Frame>, Error> {
        match &mut self.0 {
            Reader::Lines(reader) => reader.next().await,
            Reader::Pair(reader) => Ok(reader.next().await.map(Frame::Text)),
            Reader::Sse(reader) => reader.next().await,
            Reader::WebSocket(reader) => Ok(reader.next().await.transpose()?.map(Frame::Text)),
        }
    }
}

/// HTTP+SSE as a link.
pub(crate) fn of_sse(writer: sse::SseWriter, reader: sse::SseReader) -> pair::End {
    (LinkWriter(Writer::Sse(writer)), LinkReader(Reader::Sse(Box::new(reader))))
}

/// A WebSocket as a link.
pub(crate) fn of_web_socket(writer: WsWriter, reader: WsReader) -> pair::End {
    (LinkWriter(Writer::WebSocket(writer)), LinkReader(Reader::WebSocket(reader)))
}
