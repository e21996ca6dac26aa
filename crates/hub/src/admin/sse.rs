//! Server-sent events, each with a name and one line of JSON.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt as _};
use http::{HeaderName, HeaderValue};
use serde::Serialize;

/// How often a stream that has nothing to say shows that it is there.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// One event. Line breaks stand between tokens of JSON, where a space means the same.
pub(super) fn event(name: &str, data: &impl Serialize) -> Event {
    let text = serde_json::to_string(data).unwrap_or_else(|_| "{}".to_owned());
    let text = if text.contains(['\n', '\r']) { text.replace(['\n', '\r'], " ") } else { text };
    Event::default().event(name).data(text)
}

/// An answer that is a stream of events.
pub(super) fn response(events: impl Stream<Item = Event> + Send + 'static) -> Response {
    let events = events.map(Ok::<_, Infallible>);
    let mut response =
        Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_INTERVAL)).into_response();
    // Proxies that gather what they pass on would hold events back.
    let unbuffered = HeaderName::from_static("x-accel-buffering");
    response.headers_mut().insert(unbuffered, HeaderValue::from_static("no"));
    response
}
