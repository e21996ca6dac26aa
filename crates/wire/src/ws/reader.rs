//! The receiving half of a WebSocket, with the ping timer that detects a dead peer.
//!
//! Used by `client` through a link. It does not write frames (`writer`).

use std::fmt;
use std::time::Duration;

use bytestring::ByteString;
use futures_util::StreamExt as _;
use futures_util::stream::SplitStream;
use tokio::time::{Instant, timeout_at};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use super::WsClientSocket;
use super::close_state::{CloseState, close_frame, normal_close};
use super::error::WsError;
use super::writer::Pinger;

/// The receiving half. Dropping it closes the connection.
pub struct WsReader {
    stream: SplitStream<WsClientSocket>,
    pinger: Pinger,
    closing: CloseState,
    pings: PingTimer,
    limit: usize,
    subprotocol: Option<String>,
    ended: bool,
}

/// The deadline by which the peer must send something.
pub(super) struct PingTimer {
    interval: Duration,
    timeout: Duration,
    state: PingState,
    deadline: Instant,
}

enum PingState {
    /// The peer sent something recently.
    Quiet,
    /// A ping waits for its pong.
    Pinged,
}

enum ReadStep {
    Message(ByteString),
    Heard,
    End(Option<WsError>),
}

// === impl WsReader ===

impl WsReader {
    pub(super) fn new(
        stream: SplitStream<WsClientSocket>,
        pinger: Pinger,
        closing: CloseState,
        pings: PingTimer,
        limit: usize,
        subprotocol: Option<String>,
    ) -> Self {
        Self { stream, pinger, closing, pings, limit, subprotocol, ended: false }
    }

    /// The subprotocol that the server chose.
    pub fn subprotocol(&self) -> Option<&str> {
        self.subprotocol.as_deref()
    }

    /// Returns the next message; `None` after an error, and after this side closed. Cancel-safe.
    ///
    /// It also sends and answers pings, so a connection must be read to stay alive.
    pub async fn next(&mut self) -> Option<Result<ByteString, WsError>> {
        if self.ended {
            return None;
        }
        self.pings.resume();
        loop {
            let step = match timeout_at(self.pings.deadline, self.stream.next()).await {
                Ok(received) => self.handle_received(received),
                Err(_) => self.handle_silence(),
            };
            match step {
                ReadStep::Message(text) => return Some(Ok(text)),
                ReadStep::Heard => {}
                ReadStep::End(error) => {
                    self.end(error.as_ref());
                    return error.map(Err);
                }
            }
        }
    }

    fn handle_received(
        &mut self,
        received: Option<Result<Message, tokio_tungstenite::tungstenite::Error>>,
    ) -> ReadStep {
        self.pings.record_activity();
        match received {
            Some(Ok(Message::Text(text))) => match ByteString::try_from(bytes::Bytes::from(text)) {
                Ok(text) => ReadStep::Message(text),
                Err(_) => ReadStep::End(Some(WsError::NotUtf8)),
            },
            Some(Ok(Message::Binary(_))) => ReadStep::End(Some(WsError::Binary)),
            Some(Ok(Message::Close(frame))) => self.end_step(closed_error(frame)),
            Some(Ok(_)) => ReadStep::Heard,
            Some(Err(error)) => self.end_step(WsError::from_library(error, self.limit)),
            None => self.end_step(WsError::Lost { source: None }),
        }
    }

    /// Ends the connection. If this side closed it, that is no error.
    fn end_step(&self, error: WsError) -> ReadStep {
        ReadStep::End((!self.closing.is_close_requested()).then_some(error))
    }

    fn handle_silence(&mut self) -> ReadStep {
        match self.pings.state {
            PingState::Quiet => {
                self.pinger.ping();
                self.pings.start_pong_timeout();
                ReadStep::Heard
            }
            PingState::Pinged => self.end_step(WsError::DeadPeer { after: self.pings.timeout }),
        }
    }

    fn end(&mut self, error: Option<&WsError>) {
        self.ended = true;
        self.closing.request_close(match error {
            Some(WsError::Binary) => close_frame(1003, "text only"),
            Some(WsError::NotUtf8) => close_frame(1007, "not UTF-8"),
            Some(WsError::TooLarge { .. }) => close_frame(1009, "message too large"),
            Some(WsError::Protocol { .. }) => close_frame(1002, ""),
            _ => normal_close(),
        });
        self.closing.set_read_to_end();
    }
}

impl Drop for WsReader {
    fn drop(&mut self) {
        self.closing.request_close(normal_close());
        self.closing.set_read_to_end();
    }
}

impl fmt::Debug for WsReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WsReader")
            .field("subprotocol", &self.subprotocol)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

fn closed_error(frame: Option<CloseFrame>) -> WsError {
    let (code, reason) =
        frame.map_or((1005, String::new()), |frame| (frame.code.into(), frame.reason.to_string()));
    WsError::Closed { code, reason }
}

// === impl PingTimer ===

impl PingTimer {
    pub(super) fn new(interval: Duration, timeout: Duration) -> Self {
        let deadline = Instant::now() + interval;
        Self { interval, timeout, state: PingState::Quiet, deadline }
    }

    fn record_activity(&mut self) {
        self.state = PingState::Quiet;
        self.deadline = Instant::now() + self.interval;
    }

    fn start_pong_timeout(&mut self) {
        self.state = PingState::Pinged;
        self.deadline = Instant::now() + self.timeout;
    }

    /// Restarts the timer after a pause in reading: a pong could not be seen meanwhile, so an
    /// expired deadline proves nothing.
    fn resume(&mut self) {
        let now = Instant::now();
        if matches!(self.state, PingState::Pinged) && self.deadline <= now {
            self.deadline = now + self.timeout;
        }
    }
}
