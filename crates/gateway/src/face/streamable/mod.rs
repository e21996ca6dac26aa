//! The Streamable HTTP face, for both eras on one path: legacy with sessions, modern without.
//!
//! Used by `routes`. It chooses the era of each request; `legacy` and `modern` answer it.

mod call;
mod headers;
mod home;
mod legacy;
mod mirrored;
mod modern;
mod session;
mod shared;
mod stream_holder;
mod stream_log;
mod views;

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use http::{Method, StatusCode, request::Parts};
use http_body::Body;
use switchboard_wire::{
    envelope::{MessageOrBatch, RpcMessage, code, parse},
    trace_context,
};

use headers::NamedVersion;
pub(super) use session::StreamableSession;
pub(super) use shared::{SessionRestorer, follow_change, take_notice};
pub(super) use views::SharedViews;

use super::{
    Face, media,
    metrics::Transport,
    refusal::{HttpRefusal, RefusalReason},
    replicas::ReplicaError,
    sessions::SessionOwner,
};
use crate::view_provider::ViewProvider;

/// Answers one HTTP request.
pub(super) async fn answer<F: ViewProvider>(
    face: &Arc<Face<F>>,
    owner: SessionOwner,
    parts: Parts,
    body: impl Body<Data = Bytes>,
) -> Result<Response, HttpRefusal> {
    face.check_replicas(&owner)?;
    match parts.method {
        Method::POST => post(face, &owner, &parts, body).await,
        Method::GET => {
            face.metrics.count_request(Transport::Http, 0);
            sessions_only(&parts)?;
            media::require_event_stream(&parts.headers)?;
            NamedVersion::from_headers(&parts.headers).check_legacy()?;
            if let Some(home) = home::of_stream(face, &parts) {
                match home.relay(&owner, (&parts, Bytes::new())).await {
                    // Its events are lost; the session goes on.
                    Err(ReplicaError::Gone) => {}
                    // Reading executes nothing: the client resumes again.
                    Err(ReplicaError::Interrupted(cause)) => {
                        return Err(HttpRefusal::no_replicas(&ReplicaError::Unreachable(cause)));
                    }
                    relayed => return relayed.map_err(|error| HttpRefusal::no_replicas(&error)),
                }
            }
            legacy::listen(face, &owner, &parts.headers).await
        }
        Method::DELETE => {
            face.metrics.count_request(Transport::Http, 0);
            sessions_only(&parts)?;
            legacy::delete(face, &owner, &parts.headers).await
        }
        _ => Err(HttpRefusal::method("GET, POST, DELETE")),
    }
}

/// Refuses GET and DELETE of modern clients, which have no sessions.
fn sessions_only(parts: &Parts) -> Result<(), HttpRefusal> {
    if NamedVersion::from_headers(&parts.headers).is_modern() {
        return Err(HttpRefusal::method("POST"));
    }
    Ok(())
}

async fn post<F: ViewProvider>(
    face: &Arc<Face<F>>,
    owner: &SessionOwner,
    parts: &Parts,
    body: impl Body<Data = Bytes>,
) -> Result<Response, HttpRefusal> {
    media::require_json(&parts.headers)?;
    let takes = media::parse_accept(&parts.headers)?;
    let options = &face.options;
    let budget = face.budgets.of(owner.principal.id());
    let (text, charge) = media::read_text(body, &options.limits, &options.times, &budget).await?;
    face.metrics.count_request(Transport::Http, text.len());
    let text = trace_context::with_header_context(text, &parts.headers);
    let relayable = face.options.replicas.is_some().then(|| text.clone());
    let asked = parse(text).map_err(|malformed| HttpRefusal::malformed(&malformed))?;
    face.take_rest(owner, &asked)?;
    if let (Some(text), Some(home)) = (relayable, home::of_message(face, parts, &asked)) {
        return home.relay_message(owner, parts, text, &asked).await;
    }
    let named = NamedVersion::from_headers(&parts.headers);
    match asked {
        MessageOrBatch::One(RpcMessage::Request(request))
            if named.is_modern() || headers::says_modern(request.params().as_ref()) =>
        {
            modern::post(face, owner, &parts.headers, takes, (request, charge)).await
        }
        MessageOrBatch::One(RpcMessage::Notification(notification)) if named.is_modern() => {
            modern::notify(face, owner, notification).await
        }
        _ if named.is_modern() => {
            let text = "this version takes one request or notification at a time";
            let refusal = HttpRefusal::new(RefusalReason::Body, StatusCode::BAD_REQUEST, text);
            Err(refusal.with_code(code::INVALID_REQUEST))
        }
        asked => {
            named.check_legacy()?;
            legacy::post(face, owner, &parts.headers, takes, (asked, charge)).await
        }
    }
}
