//! A bounded, incremental parser for server-sent events, after the WHATWG standard.
//!
//! Used by `sse_stream`, by the hub's admin client and by a fuzz target. Callers feed chunks and
//! take events out; chunk boundaries make no difference. If the one `data:` line of an event lies
//! within a chunk, the event is a slice of that chunk. Two differences from the standard: an event
//! without data is reported if it sets an id (servers prime a stream that way), and invalid UTF-8
//! is an error, not replaced. It does not read from the network.

mod event_fields;
mod skipped_event;

use std::mem;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use bytestring::ByteString;
use memchr::memchr2;

use event_fields::EventFields;
use skipped_event::SkippedEvent;

use crate::envelope::SalvagedEnvelope;

/// The byte order mark that may stand before the first line.
const BOM: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// One server-sent event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The `event` field, if there was one that is not empty.
    pub event: Option<ByteString>,
    /// The `data` lines, joined by line feeds; empty for an event that only sets an id.
    pub data: ByteString,
    /// The `id` field of this very event. An empty one resets the last event id.
    pub id: Option<ByteString>,
}

/// An event that was skipped. The parser continues with the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseEventError {
    /// The event is longer than the limit. Reported as soon as that is certain; its rest is
    /// skipped.
    #[error("an event is larger than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// A field in use is not UTF-8.
    #[error("an event is not UTF-8")]
    NotUtf8,
}

/// An incremental parser.
#[derive(Debug)]
pub struct SseParser {
    limit: usize,
    chunk: Bytes,
    /// The beginning of an incomplete line.
    partial: BytesMut,
    /// The current line is ignored: a comment, or part of an oversized event.
    dropping: bool,
    /// The oversized event that is being skipped.
    skipping: Option<SkippedEvent>,
    /// The envelope salvaged from the last skipped event.
    salvage: Option<SalvagedEnvelope>,
    /// The last line ended in CR, so a LF that follows belongs to its end.
    after_cr: bool,
    bom: BomState,
    block: EventFields,
    last_id: Option<ByteString>,
    retry: Option<Duration>,
}

/// Whether a byte order mark may still come, and how many bytes of the mark were seen.
#[derive(Debug)]
enum BomState {
    Matched(usize),
    Past,
}

type ParsedEvent = Option<Result<SseEvent, SseEventError>>;

// === impl SseParser ===

impl SseParser {
    /// A parser that skips events of more than `limit` bytes (without line ends and comments).
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            chunk: Bytes::new(),
            partial: BytesMut::new(),
            dropping: false,
            skipping: None,
            salvage: None,
            after_cr: false,
            bom: BomState::Matched(0),
            block: EventFields::default(),
            last_id: None,
            retry: None,
        }
    }

    /// Adds received bytes. Callers take all events out first; otherwise the remaining bytes and
    /// the chunk are copied together.
    pub fn feed(&mut self, chunk: Bytes) {
        if self.chunk.is_empty() {
            self.chunk = chunk;
        } else {
            self.chunk = [&self.chunk[..], &chunk[..]].concat().into();
        }
    }

    /// Returns the next event, or `None` if more bytes are needed.
    pub fn next_event(&mut self) -> ParsedEvent {
        self.skip_bom();
        while !self.chunk.is_empty() {
            let outcome = self.line();
            if outcome.is_some() {
                return outcome;
            }
        }
        None
    }

    /// After an error: the envelope salvaged from the skipped event. `None` until the rest of an
    /// oversized event has been fed.
    pub fn salvage(&mut self) -> Option<SalvagedEnvelope> {
        while self.skipping.is_some() && !self.chunk.is_empty() {
            self.line();
        }
        self.salvage.take()
    }

    /// Takes one line, or its available part, out of a non-empty chunk.
    fn line(&mut self) -> ParsedEvent {
        if mem::take(&mut self.after_cr) && self.chunk[0] == b'\n' {
            self.chunk.advance(1);
            return None;
        }
        if let Some(end) = memchr2(b'\n', b'\r', &self.chunk) {
            let piece = self.chunk.split_to(end);
            self.after_cr = self.chunk.get_u8() == b'\r';
            self.end_line(piece)
        } else {
            let piece = mem::take(&mut self.chunk);
            self.keep(&piece)
        }
    }

    /// The id to resume from, as of the last complete event.
    pub fn last_event_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// The reconnection time the server asked for.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Whether an event is incomplete; at the end of a stream it is lost.
    pub fn is_mid_event(&self) -> bool {
        !self.partial.is_empty() || self.skipping.is_some() || self.block.size > 0
    }

    fn skip_bom(&mut self) {
        while let BomState::Matched(seen) = self.bom {
            match self.chunk.first() {
                None => return,
                Some(byte) if *byte == BOM[seen] => {
                    self.chunk.advance(1);
                    self.bom = if seen == 2 { BomState::Past } else { BomState::Matched(seen + 1) };
                }
                Some(_) => {
                    self.partial.extend_from_slice(&BOM[..seen]);
                    self.bom = BomState::Past;
                }
            }
        }
    }

    /// Keeps the incomplete line at the end of a chunk; `piece` is not empty.
    fn keep(&mut self, piece: &[u8]) -> ParsedEvent {
        if let Some(skip) = &mut self.skipping {
            skip.piece(piece);
            self.dropping = true;
            return None;
        }
        let comment = self.partial.is_empty() && piece[0] == b':';
        if self.dropping || comment {
            self.dropping = true;
            return None;
        }
        if self.block.size + self.partial.len() + piece.len() > self.limit {
            self.dropping = true;
            let begun = mem::take(&mut self.partial);
            return Some(Err(self.too_large([&begun, piece])));
        }
        self.partial.extend_from_slice(piece);
        None
    }

    fn end_line(&mut self, piece: Bytes) -> ParsedEvent {
        if mem::take(&mut self.dropping) {
            if let Some(skip) = &mut self.skipping {
                skip.piece(&piece);
                skip.end_line();
            }
            return None;
        }
        let line = if self.partial.is_empty() {
            piece
        } else {
            self.partial.extend_from_slice(&piece);
            self.partial.split().freeze()
        };
        match line.first() {
            None => return self.dispatch(),
            Some(b':') => return None,
            Some(_) => {}
        }
        if let Some(skip) = &mut self.skipping {
            skip.piece(&line);
            skip.end_line();
            return None;
        }
        self.block.size += line.len();
        if self.block.size > self.limit {
            let error = self.too_large([&line, b""]);
            self.skipping.iter_mut().for_each(SkippedEvent::end_line);
            return Some(Err(error));
        }
        if let Some(retry) = self.block.add(&line) {
            self.retry = Some(retry);
        }
        None
    }

    /// Skips the event from the middle of a line, but keeps its id: resuming before it would only
    /// deliver it again.
    fn too_large(&mut self, line: [&[u8]; 2]) -> SseEventError {
        let mut skip = SkippedEvent::after(self.block.data());
        for piece in line {
            skip.piece(piece);
        }
        self.skipping = Some(skip);
        self.block = EventFields::with_id(self.block.id.take());
        SseEventError::TooLarge { limit: self.limit }
    }

    /// Completes the event at a blank line.
    fn dispatch(&mut self) -> ParsedEvent {
        let mut block = mem::take(&mut self.block);
        if let Some(id) = &block.id {
            self.last_id = (!id.is_empty()).then(|| id.clone());
        }
        if let Some(skip) = self.skipping.take() {
            self.salvage = Some(skip.finish());
            return None;
        }
        if let Some(skip) = block.broken() {
            self.salvage = Some(skip.finish());
            return Some(Err(SseEventError::NotUtf8));
        }
        block.finish().map(Ok)
    }
}
