//! A pair of connected links inside one process, without copies.
//!
//! Used for in-process servers, by the faces to run a session, and by tests. It does not serialize
//! messages further: they stay the texts they are.

use bytestring::ByteString;

use super::{LinkReader, LinkWriter, MAX_QUEUED_BYTES, ReaderKind, WriterKind};
use crate::{Error, queue};

/// The most messages that may wait in one direction.
const MAX_QUEUED_MESSAGES: usize = 256;

/// The sending half of one end.
#[derive(Debug, Clone)]
pub(super) struct PairWriter(queue::QueueSender<ByteString>);

/// The receiving half of one end.
#[derive(Debug)]
pub(super) struct PairReader(queue::QueueReceiver<ByteString>);

/// One end of a linked pair.
pub type LinkEnd = (LinkWriter, LinkReader);

/// Creates a linked pair. Dropping either end closes the other.
pub fn link_pair() -> (LinkEnd, LinkEnd) {
    let queue = || {
        queue::byte_bounded_queue(MAX_QUEUED_MESSAGES, MAX_QUEUED_BYTES, |text: &ByteString| {
            text.len()
        })
    };
    let (left, from_left) = queue();
    let (right, from_right) = queue();
    let end = |writer, reader| {
        (
            LinkWriter(WriterKind::Pair(PairWriter(writer))),
            LinkReader(ReaderKind::Pair(PairReader(reader))),
        )
    };
    (end(left, from_right), end(right, from_left))
}

// === impl PairWriter ===

impl PairWriter {
    pub(super) async fn send(&self, text: ByteString) -> Result<(), Error> {
        self.0.send(text).await.map_err(|_| Error::Closed)
    }

    pub(super) fn try_send(&self, text: ByteString) -> Result<(), Error> {
        self.0.try_send(text).map_err(|error| match error {
            queue::QueueSendError::Full(_) => Error::Busy,
            queue::QueueSendError::Closed(_) => Error::Closed,
        })
    }
}

// === impl PairReader ===

impl PairReader {
    pub(super) async fn next(&mut self) -> Option<ByteString> {
        self.0.recv().await
    }
}
