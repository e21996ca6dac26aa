//! Server-sent events, parsed as the WHATWG describes them, within bounds.
//!
//! Feed chunks as they arrive and take events out; how the bytes were cut into chunks makes no
//! difference. An event whose one `data:` line lies within one chunk is a slice of that chunk.
//! Two things differ from the standard on purpose: an event without data is reported when it sets
//! an id (servers prime a stream so), and bytes that are not UTF-8 are an error, not replaced.

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

/// An event that cannot be given. The parser goes on with the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseEventError {
    /// Longer than the limit; reported as soon as that is certain, then skipped to its end.
    #[error("an event is larger than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// A field that matters is not UTF-8.
    #[error("an event is not UTF-8")]
    NotUtf8,
}

/// An incremental parser.
#[derive(Debug)]
pub struct SseParser {
    limit: usize,
    chunk: Bytes,
    /// The beginning of a line whose end has not come yet.
    partial: BytesMut,
    /// The current line has begun and is of no interest: a comment, or part of an oversized event.
    dropping: bool,
    /// The current event was too large; what is left of it is skipped.
    skipping: Option<SkippedEvent>,
    /// What could be told of the last event that was not given.
    salvage: Option<SalvagedEnvelope>,
    /// The last line ended in CR, so a LF that follows belongs to it.
    after_cr: bool,
    bom: BomState,
    block: EventFields,
    last_id: Option<ByteString>,
    retry: Option<Duration>,
}

/// Whether the stream may still begin with a byte order mark, and how much of it was seen.
#[derive(Debug)]
enum BomState {
    Matched(usize),
    Past,
}

type ParsedEvent = Option<Result<SseEvent, SseEventError>>;

// === impl SseParser ===

impl SseParser {
    /// A parser that refuses events of more than `limit` bytes (lines without their ends, comments
    /// not counted).
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

    /// Adds received bytes. Take all events out before the next chunk; otherwise the two are copied
    /// together.
    pub fn feed(&mut self, chunk: Bytes) {
        if self.chunk.is_empty() {
            self.chunk = chunk;
        } else {
            self.chunk = [&self.chunk[..], &chunk[..]].concat().into();
        }
    }

    /// The next event in what was fed, or `None` when more bytes are needed.
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

    /// After an error: what could be told of the message in the event that was not given. `None`
    /// while the rest of an event that is too large has yet to be fed.
    pub fn salvage(&mut self) -> Option<SalvagedEnvelope> {
        while self.skipping.is_some() && !self.chunk.is_empty() {
            self.line();
        }
        self.salvage.take()
    }

    /// Takes one line, or as much of it as there is, out of a chunk that is not empty.
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

    /// Whether an event has begun that is not complete; at the end of a stream it is lost.
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

    /// The chunk ended within a line; `piece` is not empty.
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

    /// Gives up the event in the middle of a line, but keeps its id: resuming before it would only
    /// bring it back.
    fn too_large(&mut self, line: [&[u8]; 2]) -> SseEventError {
        let mut skip = SkippedEvent::after(self.block.data());
        for piece in line {
            skip.piece(piece);
        }
        self.skipping = Some(skip);
        self.block = EventFields::with_id(self.block.id.take());
        SseEventError::TooLarge { limit: self.limit }
    }

    /// A blank line: the event is complete.
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
