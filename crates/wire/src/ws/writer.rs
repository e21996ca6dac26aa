//! The sending half of a WebSocket: a bounded queue and the one task that writes it.
//!
//! Used by `client` through a link. It does not read frames (`reader`).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use bytestring::ByteString;
use futures_util::SinkExt as _;
use futures_util::stream::SplitSink;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use super::WsClientSocket;
use super::close_state::{CloseState, normal_close};
use super::error::WsError;

/// The most messages that may wait to be written; a sender waits for room.
const MAX_QUEUED_MESSAGES: usize = 16;
/// How long closing may take: flush, close frame, and the peer's close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

type WsSink = SplitSink<WsClientSocket, Message>;

/// The sending half; cheap to clone. Dropping the last one closes the connection.
#[derive(Clone)]
pub struct WsWriter {
    queue: mpsc::Sender<Message>,
    last: Arc<CloseOnDrop>,
}

/// Lets the reader send pings without keeping the queue open.
pub(super) struct Pinger(mpsc::WeakSender<Message>);

struct CloseOnDrop(CloseState);

// === impl WsWriter ===

impl WsWriter {
    pub(super) fn start(sink: WsSink, closing: &CloseState) -> Self {
        let (queue, messages) = mpsc::channel(MAX_QUEUED_MESSAGES);
        tokio::spawn(run(sink, messages, closing.clone()));
        Self { queue, last: Arc::new(CloseOnDrop(closing.clone())) }
    }

    pub(super) fn pinger(&self) -> Pinger {
        Pinger(self.queue.downgrade())
    }

    /// Queues one message; waits while the queue is full. Only an answer proves that the message
    /// arrived.
    pub async fn send(&self, text: ByteString) -> Result<(), WsError> {
        // The library's string type checks the text again; it was UTF-8 before, so this never
        // fails.
        let text = Utf8Bytes::try_from(text.into_bytes()).map_err(|_| WsError::NotUtf8)?;
        self.queue.send(Message::Text(text)).await.map_err(|_| WsError::Gone)
    }

    /// Queues one message if there is room at once.
    pub fn try_send(&self, text: ByteString) -> Result<(), WsError> {
        let text = Utf8Bytes::try_from(text.into_bytes()).map_err(|_| WsError::NotUtf8)?;
        self.queue.try_send(Message::Text(text)).map_err(|_| WsError::Gone)
    }

    /// Writes the queue, closes with code 1000 and waits for the peer's close frame, provided the
    /// reader is being read. Takes two seconds at most.
    pub async fn close(&self) {
        let closing = &self.last.0;
        closing.request_close(normal_close());
        closing.wait_written().await;
    }
}

impl fmt::Debug for WsWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WsWriter").field("open", &!self.queue.is_closed()).finish_non_exhaustive()
    }
}

// === impl Pinger ===

impl Pinger {
    /// Queues a ping. A full queue means that the peer does not read; then a ping would not help.
    pub(super) fn ping(&self) {
        if let Some(queue) = self.0.upgrade() {
            let _ = queue.try_send(Message::Ping(Bytes::new()));
        }
    }
}

// === impl CloseOnDrop ===

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.request_close(normal_close());
    }
}

// === the task ===

async fn run(mut sink: WsSink, mut messages: mpsc::Receiver<Message>, closing: CloseState) {
    let deadline = async {
        closing.wait_close_requested().await;
        tokio::time::sleep(CLOSE_TIMEOUT).await;
    };
    tokio::select! {
        () = write(&mut sink, &mut messages, &closing) => {}
        () = deadline => {}
    }
    // Dropped before `written` is marked, so that a task that waits for the end finds the socket
    // closed.
    drop(sink);
    closing.set_written();
}

async fn write(sink: &mut WsSink, messages: &mut mpsc::Receiver<Message>, closing: &CloseState) {
    while let Some(message) = next(messages, closing).await {
        if write_batch(sink, message, messages).await.is_err() {
            // The reader meets the broken connection, too, and reports it.
            return;
        }
    }
    send_close(sink, closing).await;
}

/// Returns the next message; while closing, only messages already queued.
async fn next(messages: &mut mpsc::Receiver<Message>, closing: &CloseState) -> Option<Message> {
    tokio::select! {
        biased;
        () = closing.wait_close_requested() => messages.close(),
        message = messages.recv() => return message,
    }
    messages.recv().await
}

/// Writes all waiting messages with one flush.
async fn write_batch(
    sink: &mut WsSink,
    first: Message,
    messages: &mut mpsc::Receiver<Message>,
) -> Result<(), tokio_tungstenite::tungstenite::Error> {
    sink.feed(first).await?;
    while let Ok(message) = messages.try_recv() {
        sink.feed(message).await?;
    }
    sink.flush().await
}

async fn send_close(sink: &mut WsSink, closing: &CloseState) {
    // If the peer closed first, this is refused, and the flush sends the reply that is due.
    let _ = sink.send(Message::Close(Some(closing.frame()))).await;
    if sink.flush().await.is_ok() {
        let _ = timeout(CLOSE_TIMEOUT, closing.wait_read_to_end()).await;
    }
}
