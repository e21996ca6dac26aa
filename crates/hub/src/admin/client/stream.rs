//! A stream of events, read as it comes.

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

/// Events of the hub. Dropped, what they stand for is let go.
#[derive(Debug)]
pub struct AdminEventStream {
    body: BodyDataStream,
    parser: SseParser,
    _connection: AbortOnDropHandle<()>,
}

/// One event.
#[derive(Debug, Clone)]
pub struct AdminEvent {
    /// What happened.
    pub name: ByteString,
    /// What comes with it.
    pub data: Raw,
}

// === impl AdminEventStream ===

impl AdminEventStream {
    pub(super) fn new(body: BodyDataStream, connection: AbortOnDropHandle<()>) -> Self {
        Self { body, parser: SseParser::new(MAX_EVENT_BYTES), _connection: connection }
    }

    /// The next one; `None` once the hub has ended the stream, or is gone. Safe to cancel.
    pub async fn next(&mut self) -> Option<AdminEvent> {
        loop {
            let Some(read) = self.parser.next_event() else {
                self.parser.feed(self.body.next().await?.ok()?);
                continue;
            };
            // What cannot be read was not written by a hub of ours; what follows may be.
            if let Some(event) = read.ok().and_then(AdminEvent::of) {
                return Some(event);
            }
        }
    }

    /// The first one, which has to be called `name`.
    pub(super) async fn first<T: DeserializeOwned>(
        &mut self,
        name: &str,
    ) -> Result<T, AdminClientError> {
        let event =
            self.next().await.filter(|event| event.name == name).ok_or(AdminClientError::Gone)?;
        event.read()
    }
}

// === impl Event ===

impl AdminEvent {
    fn of(event: switchboard_wire::http::SseEvent) -> Option<Self> {
        Some(Self { name: event.event?, data: Raw::parse(event.data).ok()? })
    }

    /// What comes with it, as what it is known to be.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, AdminClientError> {
        serde_json::from_str(self.data.as_str()).map_err(AdminClientError::Strange)
    }
}
