//! A stream of events, read as it comes.

use axum::body::BodyDataStream;
use bytestring::ByteString;
use futures_util::StreamExt as _;
use serde::de::DeserializeOwned;
use switchboard_wire::http::events::EventParser;
use switchboard_wire::json::Raw;
use tokio_util::task::AbortOnDropHandle;

use super::Error;

/// The largest event: the result of a call.
const LARGEST: usize = 256 << 20;

/// Events of the hub. Dropped, what they stand for is let go.
#[derive(Debug)]
pub struct Events {
    body: BodyDataStream,
    parser: EventParser,
    _connection: AbortOnDropHandle<()>,
}

/// One event.
#[derive(Debug, Clone)]
pub struct Event {
    /// What happened.
    pub name: ByteString,
    /// What comes with it.
    pub data: Raw,
}

// === impl Events ===

impl Events {
    pub(super) fn new(body: BodyDataStream, connection: AbortOnDropHandle<()>) -> Self {
        Self { body, parser: EventParser::new(LARGEST), _connection: connection }
    }

    /// The next one; `None` once the hub has ended the stream, or is gone. Safe to cancel.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            let Some(read) = self.parser.next_event() else {
                self.parser.feed(self.body.next().await?.ok()?);
                continue;
            };
            // What cannot be read was not written by a hub of ours; what follows may be.
            if let Some(event) = read.ok().and_then(Event::of) {
                return Some(event);
            }
        }
    }

    /// The first one, which has to be called `name`.
    pub(super) async fn first<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, Error> {
        let event = self.next().await.filter(|event| event.name == name).ok_or(Error::Gone)?;
        event.read()
    }
}

// === impl Event ===

impl Event {
    fn of(event: switchboard_wire::http::Event) -> Option<Self> {
        Some(Self { name: event.event?, data: Raw::parse(event.data).ok()? })
    }

    /// What comes with it, as what it is known to be.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_str(self.data.as_str()).map_err(Error::Strange)
    }
}
