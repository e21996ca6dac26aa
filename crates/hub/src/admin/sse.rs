//! Server-sent events with a name and one line of JSON.
//!
//! Used by all routes that answer with a stream. It does not parse events (`wire::http` does).

use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt as _};
use http::{HeaderName, HeaderValue};
use serde::Serialize;

/// The interval of keep-alive comments on a quiet stream.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Creates an event; a comment, which readers skip, if `data` has no form in JSON. Line breaks in JSON stand only between tokens, so a space can replace them.
pub(super) fn event(name: &str, data: &impl Serialize) -> Event {
    let text = match serde_json::to_string(data) {
        Ok(text) => text,
        Err(error) => {
            tracing::error!(%error, event = name, "an event is left out: it cannot be written as JSON");
            return Event::default().comment("an event was left out");
        }
    };
    let text = if text.contains(['\n', '\r']) { text.replace(['\n', '\r'], " ") } else { text };
    Event::default().event(name).data(text)
}

/// A response that streams events.
pub(super) fn response(events: impl Stream<Item = Event> + Send + 'static) -> Response {
    let events = events.map(Ok::<_, Infallible>);
    let mut response =
        Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_INTERVAL)).into_response();
    // Tells proxies not to buffer the stream.
    let unbuffered = HeaderName::from_static("x-accel-buffering");
    response.headers_mut().insert(unbuffered, HeaderValue::from_static("no"));
    response
}
