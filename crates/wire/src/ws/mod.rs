//! The WebSocket client: text messages in both directions.
//!
//! Used by `client::connect`. The upgrade is an HTTP request through the [`HttpPool`], with its
//! TLS, proxies, deadlines and credentials. Afterwards [`WsReader`] reads from the socket and one
//! task writes the queue of [`WsWriter`]. The task ends with the connection: on close, on failure,
//! when the reader or the last writer is dropped; a peer that does not read delays that by two
//! seconds at most. MCP messages are text: a binary message is refused with close code 1003. It
//! does not serve WebSockets (`gateway::face::ws`).

mod close_state;
mod error;
mod handshake;
mod reader;
mod writer;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use http::HeaderMap;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use url::Url;

use crate::http::{CredentialProvider, HttpPool, NoCredentials};

pub use error::WsError;
pub use reader::WsReader;
pub use writer::WsWriter;

use close_state::CloseState;

type WsClientSocket = WebSocketStream<reqwest::Upgraded>;

/// Buffers of this size suit messages of some kilobytes; the library's own 128 KiB would be held
/// for every idle connection.
const BUFFER_BYTES: usize = 16 << 10;

/// Options of a connection.
#[derive(Clone)]
pub struct WsOptions {
    /// Headers of the upgrade request.
    pub headers: HeaderMap,
    /// The provider of credentials, called before the upgrade and after a 401 or 403.
    pub credentials: Arc<dyn CredentialProvider>,
    /// The longest message that is accepted, in bytes (16 MiB).
    pub max_message: usize,
    /// How long the response to the upgrade may take (10 s).
    pub upgrade_timeout: Duration,
    /// The silence after which a peer is pinged (30 s).
    pub ping_interval: Duration,
    /// The silence after a ping after which the peer counts as dead (20 s).
    pub pong_timeout: Duration,
}

/// Connects to a `ws` or `wss` URL with the subprotocol `mcp`.
///
/// A server that chooses another subprotocol or none is accepted, since some do;
/// [`WsReader::subprotocol`] returns it. Redirects are not followed.
pub async fn connect_websocket(
    pool: &HttpPool,
    url: &Url,
    options: WsOptions,
) -> Result<(WsWriter, WsReader), WsError> {
    let config = WebSocketConfig::default()
        .max_message_size(Some(options.max_message))
        .max_frame_size(Some(options.max_message))
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES);
    let pings = reader::PingTimer::new(options.ping_interval, options.pong_timeout);
    let limit = options.max_message;
    let (upgraded, subprotocol) = handshake::upgrade(pool, url, options).await?;
    let socket = WsClientSocket::from_raw_socket(upgraded, Role::Client, Some(config)).await;
    let (sink, stream) = socket.split();
    let closing = CloseState::default();
    let writer = WsWriter::start(sink, &closing);
    let reader = WsReader::new(stream, writer.pinger(), closing, pings, limit, subprotocol);
    Ok((writer, reader))
}

// === impl WsOptions ===

impl Default for WsOptions {
    fn default() -> Self {
        Self {
            headers: HeaderMap::new(),
            credentials: Arc::new(NoCredentials),
            max_message: 16 << 20,
            upgrade_timeout: Duration::from_secs(10),
            ping_interval: Duration::from_secs(30),
            pong_timeout: Duration::from_secs(20),
        }
    }
}

impl fmt::Debug for WsOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WsOptions")
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("max_message", &self.max_message)
            .field("upgrade_timeout", &self.upgrade_timeout)
            .field("ping_interval", &self.ping_interval)
            .field("pong_timeout", &self.pong_timeout)
            .finish_non_exhaustive()
    }
}
