//! Content negotiation and request bodies: `Accept`, `Content-Type`, and reading within size and
//! time limits.
//!
//! Used by `streamable`, `sse` and `ws`. It does not parse messages (`wire::envelope`).

use std::{future::poll_fn, pin::pin};

use bytes::{Bytes, BytesMut};
use bytestring::ByteString;
use http::{HeaderMap, StatusCode, header};
use http_body::Body;
use switchboard_wire::{
    envelope::code,
    server::{ByteBudget, ByteCharge},
};

use super::{
    options::{FaceLimits, FaceTimeouts},
    refusal::{HttpRefusal, RefusalReason},
};

/// The response types that a client accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AcceptedMedia {
    Json,
    Events,
    Both,
}

/// The `Accept` value of nearly every client.
const USUAL_ACCEPT: &[u8] = b"application/json, text/event-stream";
const JSON_ACCEPT: &[u8] = b"application/json";

/// Parses `Accept`. A missing header accepts all types.
pub(super) fn parse_accept(headers: &HeaderMap) -> Result<AcceptedMedia, HttpRefusal> {
    let mut values = headers.get_all(header::ACCEPT).iter();
    if let (Some(value), None) = (values.next(), values.next())
        && value.as_bytes() == USUAL_ACCEPT
    {
        return Ok(AcceptedMedia::Both);
    }
    let (mut json, mut events, mut said) = (false, false, false);
    for value in headers.get_all(header::ACCEPT) {
        for range in value.to_str().unwrap_or_default().split(',') {
            said = true;
            let (kind, refused) = media_range(range);
            let is = |name: &str| !refused && kind.eq_ignore_ascii_case(name);
            json |= is("application/json") || is("application/*") || is("*/*");
            events |= is("text/event-stream") || is("text/*") || is("*/*");
        }
    }
    match (json, events) {
        (false, false) if said => Err(HttpRefusal::new(
            RefusalReason::Media,
            StatusCode::NOT_ACCEPTABLE,
            "answers are `application/json` or `text/event-stream`; name both in `Accept`",
        )),
        (true, false) => Ok(AcceptedMedia::Json),
        (false, true) => Ok(AcceptedMedia::Events),
        _ => Ok(AcceptedMedia::Both),
    }
}

/// Requires that the client accepts an event stream.
pub(super) fn require_event_stream(headers: &HeaderMap) -> Result<(), HttpRefusal> {
    match parse_accept(headers) {
        Ok(AcceptedMedia::Events | AcceptedMedia::Both) => Ok(()),
        _ => Err(HttpRefusal::new(
            RefusalReason::Media,
            StatusCode::NOT_ACCEPTABLE,
            "the answer is `text/event-stream`; name it in `Accept`",
        )),
    }
}

/// The media type of a range, and whether `q=0` refuses it.
fn media_range(range: &str) -> (&str, bool) {
    let mut parts = range.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default();
    let refused = parts.any(|part| {
        part.strip_prefix("q=").and_then(|q| q.parse::<f32>().ok()).is_some_and(|q| q <= 0.0)
    });
    (kind, refused)
}

/// Requires a JSON content type.
pub(super) fn require_json(headers: &HeaderMap) -> Result<(), HttpRefusal> {
    let said = headers.get(header::CONTENT_TYPE);
    if said.is_some_and(|value| value.as_bytes() == JSON_ACCEPT) {
        return Ok(());
    }
    let said = said.and_then(|value| value.to_str().ok());
    let kind = said.map(|said| media_range(said).0).unwrap_or_default();
    if kind.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(HttpRefusal::new(
        RefusalReason::Media,
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "messages are sent with `Content-Type: application/json`",
    ))
}

/// Reads the whole body as text, and charges it to the principal's budget.
pub(super) async fn read_text(
    body: impl Body<Data = Bytes>,
    limits: &FaceLimits,
    times: &FaceTimeouts,
    budget: &ByteBudget,
) -> Result<(ByteString, ByteCharge), HttpRefusal> {
    // Refused by the announced length, before a byte is read.
    if body.size_hint().lower() > limits.body as u64 {
        return Err(too_large(limits.body));
    }
    let mut charge = budget.charge(0).ok_or_else(over_budget)?;
    let reading = tokio::time::timeout(times.body, read_body(body, limits.body, &mut charge));
    let bytes = reading.await.unwrap_or_else(|_| Err(too_slow()))?;
    let text = ByteString::try_from(bytes).map_err(|_| {
        let text = "the body is not UTF-8";
        HttpRefusal::new(RefusalReason::Body, StatusCode::BAD_REQUEST, text)
            .with_code(code::PARSE_ERROR)
    })?;
    Ok((text, charge))
}

/// The refusal for a principal over its memory budget.
pub(super) fn over_budget() -> HttpRefusal {
    HttpRefusal::full("your requests that are under way are too large together; try again")
}

/// Reads a body. A body in one chunk, the usual case, is not copied.
async fn read_body(
    body: impl Body<Data = Bytes>,
    limit: usize,
    charge: &mut ByteCharge,
) -> Result<Bytes, HttpRefusal> {
    let mut body = pin!(body);
    let mut whole = Bytes::new();
    let mut gathered = BytesMut::new();
    while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        let frame = frame.map_err(|_| {
            let text = "the body ended before it was whole";
            HttpRefusal::new(RefusalReason::Body, StatusCode::BAD_REQUEST, text)
        })?;
        let Ok(piece) = frame.into_data() else { continue };
        if whole.len() + gathered.len() + piece.len() > limit {
            return Err(too_large(limit));
        }
        if !charge.grow(piece.len()) {
            return Err(over_budget());
        }
        if whole.is_empty() && gathered.is_empty() {
            whole = piece;
            continue;
        }
        gathered.extend_from_slice(&std::mem::take(&mut whole));
        gathered.extend_from_slice(&piece);
    }
    Ok(if gathered.is_empty() { whole } else { gathered.freeze() })
}

fn too_large(limit: usize) -> HttpRefusal {
    let text = format!("a message may hold {limit} bytes; send less at once");
    HttpRefusal::new(RefusalReason::Body, StatusCode::PAYLOAD_TOO_LARGE, text)
        .with_code(code::INVALID_REQUEST)
}

fn too_slow() -> HttpRefusal {
    let text = "the body took too long to arrive";
    HttpRefusal::new(RefusalReason::Body, StatusCode::REQUEST_TIMEOUT, text)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn what_accept_means() {
        for (said, expected) in [
            (None, Some(AcceptedMedia::Both)),
            (Some("application/json, text/event-stream"), Some(AcceptedMedia::Both)),
            (Some("*/*"), Some(AcceptedMedia::Both)),
            (Some("Application/JSON;q=0.5"), Some(AcceptedMedia::Json)),
            (Some("text/event-stream"), Some(AcceptedMedia::Events)),
            (Some("application/json, text/event-stream;q=0"), Some(AcceptedMedia::Json)),
            (Some("text/html"), None),
            (Some(""), None),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(said) = said {
                headers.insert(header::ACCEPT, HeaderValue::from_static(said));
            }
            assert_eq!(parse_accept(&headers).ok(), expected, "{said:?}");
        }
    }

    #[test]
    fn only_json_is_a_message() {
        for (said, taken) in [
            ("application/json", true),
            ("application/json; charset=utf-8", true),
            ("APPLICATION/JSON", true),
            ("text/plain", false),
            ("application/jsonp", false),
            ("", false),
        ] {
            let value = HeaderValue::from_static(said);
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, value)]);
            assert_eq!(require_json(&headers).is_ok(), taken, "{said:?}");
        }
    }
}
