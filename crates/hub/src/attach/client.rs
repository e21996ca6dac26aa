//! The client's end.

use bytestring::ByteString;
use switchboard_wire::{
    Error,
    envelope::{MessageOrBatch, RpcMessage, parse},
    link::{LinkFrame, LinkReader, LinkWriter, pair::LinkEnd},
};

/// The client's two halves, and what has been read ahead.
pub(super) struct ClientLink {
    pub(super) writer: LinkWriter,
    pub(super) incoming: ClientReader,
}

/// What the client sends.
pub(super) struct ClientReader {
    reader: LinkReader,
    ahead: Option<LinkFrame>,
    ended: bool,
}

// === impl Client ===

impl ClientLink {
    pub(super) fn new((writer, reader): LinkEnd) -> Self {
        Self { writer, incoming: ClientReader { reader, ahead: None, ended: false } }
    }

    /// Tells the client something; one that is gone hears nothing.
    pub(super) async fn send(&self, text: ByteString) {
        if let Err(error) = self.writer.send(text).await {
            tracing::debug!(%error, "the client is gone");
        }
    }

    /// Whether it has closed its end, and nothing is left of what it sent.
    pub(super) fn is_gone(&self) -> bool {
        self.incoming.ended && self.incoming.ahead.is_none()
    }
}

// === impl ClientReader ===

impl ClientReader {
    /// The next thing; `None` once the client has closed. Safe to cancel.
    pub(super) async fn next(&mut self) -> Option<LinkFrame> {
        self.peek().await;
        self.ahead.take()
    }

    /// Waits until there is something to take, or nothing more to come. Safe to cancel.
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

    /// Whether something was read ahead.
    pub(super) fn is_waiting(&self) -> bool {
        self.ahead.is_some()
    }

    /// Whether what was read ahead wants an answer.
    pub(super) fn is_request(&self) -> bool {
        let Some(LinkFrame::Text(text)) = &self.ahead else {
            return false;
        };
        matches!(
            parse(text.clone()),
            Ok(MessageOrBatch::One(RpcMessage::Request(_)) | MessageOrBatch::Batch(_))
        )
    }

    /// What was read ahead.
    pub(super) fn take(&mut self) -> Option<LinkFrame> {
        self.ahead.take()
    }
}

fn log_error(error: &Error) {
    tracing::debug!(%error, "the client cannot be read");
}
