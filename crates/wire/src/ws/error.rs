//! Errors of the WebSocket client, one variant for each kind of failure.
//!
//! Used by `client` and `core::connection`. The remedy is decided in `remedy`.

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use tokio_tungstenite::tungstenite;
use tungstenite::error::{CapacityError, ProtocolError};

use crate::http::{HttpError, RequestSummary, Source};

/// A failure of the WebSocket client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // fields: `doing` is what was attempted, `source` the cause; the rest is said below
pub enum WsError {
    /// The upgrade failed as an HTTP request: no connection, no response, sign-in needed, refused.
    #[error("cannot open a WebSocket")]
    Http(#[from] HttpError),
    /// The URL is not `ws` or `wss`.
    #[error("`{scheme}` is not a WebSocket scheme")]
    Scheme { scheme: String },
    /// The server answered the upgrade with another status. `text` is the beginning of the body.
    #[error("{doing}: the server answered {status} instead of switching to WebSocket")]
    NotUpgraded { doing: RequestSummary, status: StatusCode, text: Bytes },
    /// The server switched protocols, but violated the handshake.
    #[error("{doing}: the server did not complete the WebSocket handshake: {fault}")]
    Handshake { doing: RequestSummary, fault: &'static str },
    /// The peer closed the connection. 1005 stands for a close frame without a code.
    #[error("the server closed the WebSocket with code {code}{}", reason_suffix(.reason))]
    Closed { code: u16, reason: String },
    /// The connection ended without a close frame.
    #[error("the WebSocket connection was lost")]
    Lost { source: Option<Source> },
    /// The peer sent neither data nor a pong.
    #[error("the WebSocket peer is silent: no pong within {after:?}")]
    DeadPeer { after: Duration },
    /// A message is longer than `limit`; the connection is closed.
    #[error("a WebSocket message is larger than {limit} bytes")]
    TooLarge { limit: usize },
    /// A binary message, refused with close code 1003; the connection is closed.
    #[error("the server sent a binary message where MCP sends text")]
    Binary,
    /// A text message that is not UTF-8; the connection is closed.
    #[error("a WebSocket message is not UTF-8")]
    NotUtf8,
    /// The peer violated the framing; the connection is closed.
    #[error("the server broke the WebSocket protocol")]
    Protocol { source: Source },
    /// The connection has ended and takes no messages; the reader reports why.
    #[error("the WebSocket is closed")]
    Gone,
}

impl WsError {
    /// Classifies an error of the library. `limit` is the message limit.
    pub(super) fn from_library(error: tungstenite::Error, limit: usize) -> Self {
        use tungstenite::Error;
        match error {
            Error::Capacity(CapacityError::MessageTooLong { .. }) => Self::TooLarge { limit },
            Error::Utf8(_) => Self::NotUtf8,
            Error::Protocol(ProtocolError::ResetWithoutClosingHandshake)
            | Error::ConnectionClosed
            | Error::AlreadyClosed => Self::Lost { source: None },
            Error::Io(source) => Self::Lost { source: Some(source.into()) },
            other => Self::Protocol { source: other.into() },
        }
    }
}

fn reason_suffix(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {}", reason.escape_debug()) }
}
