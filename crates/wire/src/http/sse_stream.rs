//! The server-sent events of one HTTP response.
//!
//! Used by `client::http_channel` and `link::sse`. It feeds the parser in `sse`, and does not
//! reconnect.

use std::fmt;
use std::time::Duration;

use super::classify;
use super::error::{DisconnectKind, HttpError, RequestSummary, ResponseProgress};
use super::sse::{SseEvent, SseEventError, SseParser};
use crate::envelope::SalvagedEnvelope;

/// A response body of server-sent events. Dropping it closes the exchange.
pub struct SseStream {
    /// Boxed, like the parser: both are large, and an `HttpResponse` is moved often.
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

    /// Returns the next event; `None` when the server ended the stream after a complete event.
    ///
    /// Cancel-safe. After [`HttpError::EventTooLarge`] and [`HttpError::NotUtf8`] the stream
    /// continues, and [`SseStream::salvage`] returns the id of the lost message; any other error is
    /// followed by `None`.
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

    /// After [`HttpError::EventTooLarge`] or [`HttpError::NotUtf8`]: reads to the end of that event
    /// and returns the salvaged envelope of its message. Cancel-safe.
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

    /// Feeds the parser. Returns `false` at the end of the body.
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

    /// The id to resume after, as of the last event.
    pub fn last_event_id(&self) -> Option<&str> {
        self.parser.last_event_id()
    }

    /// The reconnection time that the server asked for.
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
