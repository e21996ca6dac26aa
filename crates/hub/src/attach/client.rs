//! The link to the client of `connect`, with one message of read-ahead.
//!
//! Used by `relay` and `reconnect`. It does not parse messages, except to tell requests from notifications while no hub
//! is connected.

use bytestring::ByteString;
use switchboard_wire::{
    Error,
    envelope::{MessageOrBatch, RpcMessage, parse},
    link::{LinkFrame, LinkReader, LinkWriter, pair::LinkEnd},
};

/// Writer and reader of the client's link.
pub(super) struct ClientLink {
    pub(super) writer: LinkWriter,
    pub(super) incoming: ClientReader,
}

/// The reader, with at most one frame read ahead.
pub(super) struct ClientReader {
    reader: LinkReader,
    ahead: Option<LinkFrame>,
    ended: bool,
}

// === impl ClientLink ===

impl ClientLink {
    pub(super) fn new((writer, reader): LinkEnd) -> Self {
        Self { writer, incoming: ClientReader { reader, ahead: None, ended: false } }
    }

    /// Sends a message to the client; a closed client is only logged.
    pub(super) async fn send(&self, text: ByteString) {
        if let Err(error) = self.writer.send(text).await {
            tracing::debug!(%error, "the client is gone");
        }
    }

    /// Whether the client has closed its end and every frame was taken.
    pub(super) fn is_gone(&self) -> bool {
        self.incoming.ended && self.incoming.ahead.is_none()
    }
}

// === impl ClientReader ===

impl ClientReader {
    /// The next frame; `None` once the client has closed. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<LinkFrame> {
        self.peek().await;
        self.ahead.take()
    }

    /// Waits until a frame is read ahead or the client has closed. Cancel-safe.
    pub(super) async fn peek(&mut self) {
        if self.ahead.is_some() || self.ended {
            return;
        }
        match self.reader.next().await {
            Ok(Some(frame)) => self.ahead = Some(frame),
            Ok(None) => self.ended = true,
            Err(error) => {
                log_error(&error);
                self.ended = true;
            }
        }
    }

    /// Whether a frame was read ahead.
    pub(super) fn is_waiting(&self) -> bool {
        self.ahead.is_some()
    }

    /// Whether the frame that was read ahead expects an answer.
    pub(super) fn is_request(&self) -> bool {
        let Some(LinkFrame::Text(text)) = &self.ahead else {
            return false;
        };
        matches!(
            parse(text.clone()),
            Ok(MessageOrBatch::One(RpcMessage::Request(_)) | MessageOrBatch::Batch(_))
        )
    }

    /// Takes the frame that was read ahead.
    pub(super) fn take(&mut self) -> Option<LinkFrame> {
        self.ahead.take()
    }
}

fn log_error(error: &Error) {
    tracing::debug!(%error, "the client cannot be read");
}
