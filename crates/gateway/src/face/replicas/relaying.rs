//! A whole HTTP request that another replica answers: taken apart here, put together and answered there.
//!
//! Used by `streamable` and `sse` for what belongs to one replica, and by `follower`. Access control has admitted the
//! caller where the request arrived. It does not choose the replica.

use std::sync::Arc;

use axum::{body::Body, response::IntoResponse, response::Response};
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{HeaderName, HeaderValue, Request, StatusCode, Uri, header, request::Parts};
use serde::{Deserialize, Serialize};

use super::{RelayedHead, RelayedRequest, RelayedResponse, ReplicaError, ReplicaGroup, ReplicaTag};
use crate::{
    face::{
        Face,
        refusal::{HttpRefusal, RefusalReason},
        sessions::SessionOwner,
        sse, streamable,
    },
    view_provider::ViewProvider,
};

/// The headers that pass besides those of the protocol, which begin with [`PROTOCOL_PREFIX`]. None is a credential.
const PASSED_HEADERS: [HeaderName; 5] = [
    header::ACCEPT,
    header::CONTENT_TYPE,
    HeaderName::from_static("last-event-id"),
    HeaderName::from_static("traceparent"),
    HeaderName::from_static("tracestate"),
];
const PROTOCOL_PREFIX: &str = "mcp-";

/// The face that answers a relayed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RelayPath {
    /// Streamable HTTP.
    Mcp,
    /// Messages of HTTP+SSE.
    Messages,
}

/// Marks a request that came from another replica: it is answered here, whatever it says.
#[derive(Debug, Clone, Copy)]
pub(in crate::face) struct Relayed;

/// Has another replica answer a request.
pub(in crate::face) async fn relay(
    group: &ReplicaGroup,
    to: ReplicaTag,
    path: RelayPath,
    owner: &SessionOwner,
    (parts, body): (&Parts, Bytes),
) -> Result<Response, ReplicaError> {
    let is_passed = |name: &HeaderName| {
        name.as_str().starts_with(PROTOCOL_PREFIX) || PASSED_HEADERS.contains(name)
    };
    let headers = parts.headers.iter().filter(|(name, _)| is_passed(name));
    let head = RelayedHead {
        owner: owner.to_text()?,
        path,
        method: parts.method.to_string(),
        query: parts.uri.query().map(str::to_owned),
        headers: text_pairs(headers),
    };
    let answered = group.relay.relay(to, RelayedRequest { head, body }).await?;
    let mut response = Response::new(Body::from_stream(answered.body));
    *response.status_mut() =
        StatusCode::from_u16(answered.status).unwrap_or(StatusCode::BAD_GATEWAY);
    for (name, value) in answered.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().append(name, value);
        }
    }
    Ok(response)
}

/// Answers a request that came from another replica.
pub(super) async fn answer<F: ViewProvider>(
    face: &Arc<Face<F>>,
    request: RelayedRequest,
) -> RelayedResponse {
    let path = request.head.path;
    let answered = match into_parts(request) {
        None => {
            let text = "a replica of another version sent a request that cannot be understood";
            Err(HttpRefusal::new(RefusalReason::Body, StatusCode::BAD_GATEWAY, text))
        }
        Some((owner, parts, body)) => match path {
            // Boxed: both futures are large, and few requests are relayed.
            RelayPath::Mcp => Box::pin(streamable::answer(face, owner, parts, body)).await,
            RelayPath::Messages => Box::pin(sse::post(face, owner, &parts, body)).await,
        },
    };
    let (parts, body) = answered.unwrap_or_else(IntoResponse::into_response).into_parts();
    // A body that breaks off ends: whoever reads it sees that the answer is missing.
    let body = body.into_data_stream().take_while(|piece| std::future::ready(piece.is_ok()));
    let body = body.filter_map(|piece| std::future::ready(piece.ok().map(Ok)));
    RelayedResponse {
        status: parts.status.as_u16(),
        headers: text_pairs(parts.headers.iter()),
        body: body.boxed(),
    }
}

fn into_parts(request: RelayedRequest) -> Option<(SessionOwner, Parts, Body)> {
    let RelayedRequest { head, body } = request;
    let query = head.query.map(|query| format!("?{query}")).unwrap_or_default();
    let mut made = Request::builder()
        .method(head.method.as_str())
        .uri(Uri::try_from(format!("/{query}")).ok()?);
    for (name, value) in head.headers {
        made = made.header(name, value);
    }
    let (mut parts, ()) = made.body(()).ok()?.into_parts();
    parts.extensions.insert(Relayed);
    Some((SessionOwner::of_text(&head.owner)?, parts, Body::from(body)))
}

/// The headers whose values are text, which are all of the protocol's.
fn text_pairs<'a>(
    headers: impl Iterator<Item = (&'a HeaderName, &'a HeaderValue)>,
) -> Vec<(String, String)> {
    let pair = |(name, value): (&HeaderName, &HeaderValue)| {
        Some((name.to_string(), value.to_str().ok()?.to_owned()))
    };
    headers.filter_map(pair).collect()
}
