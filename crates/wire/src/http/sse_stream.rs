//! The events of one exchange.

use std::fmt;
use std::time::Duration;

use super::classify;
use super::error::{DisconnectKind, HttpError, RequestSummary, ResponseProgress};
use super::sse::{SseEvent, SseEventError, SseParser};
use crate::envelope::SalvagedEnvelope;

/// A body of server-sent events. Dropping it closes the exchange.
pub struct SseStream {
    /// Boxed, like the parser, because both are large and an `Answer` is moved about.
    response: Option<Box<reqwest::Response>>,
    parser: Box<SseParser>,
    doing: RequestSummary,
    received: u64,
}

impl SseStream {
    pub(super) fn new(
        response: reqwest::Response,
        doing: RequestSummary,
        max_event: usize,
    ) -> Self {
        let parser = Box::new(SseParser::new(max_event));
        Self { response: Some(Box::new(response)), parser, doing, received: 0 }
    }

    /// The next event; `None` when the server ended the stream, at an event's end.
    ///
    /// Cancel-safe: dropping the future loses nothing. After [`HttpError::EventTooLarge`] and
    /// [`HttpError::NotUtf8`] the stream goes on, and [`SseStream::salvage`] tells whose message
    /// was lost; any other error is followed by `None`.
    pub async fn next(&mut self) -> Result<Option<SseEvent>, HttpError> {
        loop {
            if let Some(outcome) = self.parser.next_event() {
                return outcome.map(Some).map_err(|error| self.event_error(error));
            }
            if self.response.is_none() {
                return Ok(None);
            }
            if !self.feed_more().await? {
                return self.end();
            }
        }
    }

    /// After [`HttpError::EventTooLarge`] or [`HttpError::NotUtf8`]: what could be told of the
    /// message in that event, once all of it has gone by. Cancel-safe.
    pub async fn salvage(&mut self) -> Result<SalvagedEnvelope, HttpError> {
        loop {
            if let Some(salvage) = self.parser.salvage() {
                return Ok(salvage);
            }
            if self.response.is_none() || !self.feed_more().await? {
                self.end()?;
                return Ok(SalvagedEnvelope::default());
            }
        }
    }

    /// Feeds the parser; `false` at the end.
    async fn feed_more(&mut self) -> Result<bool, HttpError> {
        let Some(response) = &mut self.response else {
            return Ok(false);
        };
        match response.chunk().await {
            Ok(Some(chunk)) => {
                self.received += chunk.len() as u64;
                self.parser.feed(chunk);
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(error) => {
                self.response = None;
                Err(classify::read_error(self.doing.clone(), self.received, error))
            }
        }
    }

    /// The id to resume from, as of the last event.
    pub fn last_event_id(&self) -> Option<&str> {
        self.parser.last_event_id()
    }

    /// How long the server wants clients to wait before they reconnect.
    pub fn retry(&self) -> Option<Duration> {
        self.parser.retry()
    }

    fn end(&mut self) -> Result<Option<SseEvent>, HttpError> {
        self.response = None;
        if !self.parser.is_mid_event() {
            return Ok(None);
        }
        Err(HttpError::Closed {
            doing: self.doing.clone(),
            how: DisconnectKind::Ended,
            received: ResponseProgress::Body(self.received),
            source: None,
        })
    }

    fn event_error(&self, error: SseEventError) -> HttpError {
        let doing = self.doing.clone();
        match error {
            SseEventError::TooLarge { limit } => HttpError::EventTooLarge { doing, limit },
            SseEventError::NotUtf8 => HttpError::NotUtf8 { doing },
        }
    }
}

impl fmt::Debug for SseStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream")
            .field("doing", &self.doing)
            .field("received", &self.received)
            .field("open", &self.response.is_some())
            .finish_non_exhaustive()
    }
}
