//! A reader of server-sent events from the admin API.
//!
//! Used by `client` and [`HubWorkspace`](super::HubWorkspace). It does not reconnect when the stream ends.

use axum::body::BodyDataStream;
use bytestring::ByteString;
use futures_util::StreamExt as _;
use serde::de::DeserializeOwned;
use switchboard_wire::http::sse::SseParser;
use switchboard_wire::json::Raw;
use tokio_util::task::AbortOnDropHandle;

use super::AdminClientError;

/// The largest event: the result of a call.
const MAX_EVENT_BYTES: usize = 256 << 20;

/// Events of the hub. Dropping the stream ends its call, lease or face.
#[derive(Debug)]
pub struct AdminEventStream {
    body: BodyDataStream,
    parser: SseParser,
    _connection: AbortOnDropHandle<()>,
}

/// One event.
#[derive(Debug, Clone)]
pub struct AdminEvent {
    /// The name of the event.
    pub name: ByteString,
    /// The data of the event.
    pub data: Raw,
}

// === impl AdminEventStream ===

impl AdminEventStream {
    pub(super) fn new(body: BodyDataStream, connection: AbortOnDropHandle<()>) -> Self {
        Self { body, parser: SseParser::new(MAX_EVENT_BYTES), _connection: connection }
    }

    /// The next event; `None` once the hub has closed the stream. Cancel-safe.
    pub async fn next(&mut self) -> Option<AdminEvent> {
        loop {
            let Some(read) = self.parser.next_event() else {
                self.parser.feed(self.body.next().await?.ok()?);
                continue;
            };
            // An event without name or with invalid JSON is skipped.
            if let Some(event) = read.ok().and_then(AdminEvent::of) {
                return Some(event);
            }
        }
    }

    /// The first event, which must have this name.
    pub(super) async fn first<T: DeserializeOwned>(
        &mut self,
        name: &str,
    ) -> Result<T, AdminClientError> {
        let event =
            self.next().await.filter(|event| event.name == name).ok_or(AdminClientError::Gone)?;
        event.read()
    }
}

// === impl AdminEvent ===

impl AdminEvent {
    fn of(event: switchboard_wire::http::SseEvent) -> Option<Self> {
        Some(Self { name: event.event?, data: Raw::parse(event.data).ok()? })
    }

    /// Parses the data.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, AdminClientError> {
        serde_json::from_str(self.data.as_str()).map_err(AdminClientError::Strange)
    }
}
