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
    let (left, from_left) = one_way();
    let (right, from_right) = one_way();
    ((left, from_right), (right, from_left))
}

/// Creates one direction of a pair: the reader receives the writer's messages.
pub fn one_way() -> LinkEnd {
    let bytes = |text: &ByteString| text.len();
    let (sender, receiver) =
        queue::byte_bounded_queue(MAX_QUEUED_MESSAGES, MAX_QUEUED_BYTES, bytes);
    (
        LinkWriter(WriterKind::Pair(PairWriter(sender))),
        LinkReader::new(ReaderKind::Pair(PairReader(receiver))),
    )
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
