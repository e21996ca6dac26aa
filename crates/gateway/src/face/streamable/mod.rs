//! Streamable HTTP of both eras at one address: legacy with sessions, modern without.

mod call;
mod headers;
mod legacy;
mod log;
mod mirrored;
mod modern;
mod session;
mod views;

use std::{pin::pin, sync::Arc};

use axum::response::Response;
use bytes::Bytes;
use http::{Method, StatusCode, request::Parts};
use http_body::Body;
use switchboard_wire::envelope::{Message, Parsed, code, parse};

use headers::Named;
pub(super) use session::Session;
pub(super) use views::Views;

use super::{
    Face, media,
    metrics::Transport,
    refusal::{Reason, Refusal, empty},
    sessions::Owner,
    woken::only_when_woken,
};
use crate::front::Front;

/// Answers one HTTP request.
pub(super) async fn answer<F: Front>(
    face: &Arc<Face<F>>,
    owner: Owner,
    parts: Parts,
    body: impl Body<Data = Bytes>,
) -> Result<Response, Refusal> {
    match parts.method {
        Method::POST => post(face, &owner, &parts, body).await,
        Method::GET => {
            face.metrics.request(Transport::Http, 0);
            sessions_only(&parts)?;
            media::takes_events(&parts.headers)?;
            Named::by(&parts.headers).check_legacy()?;
            legacy::listen(face, &owner, &parts.headers)
        }
        Method::DELETE => {
            face.metrics.request(Transport::Http, 0);
            sessions_only(&parts)?;
            legacy::delete(face, &owner, &parts.headers)
        }
        _ => Err(Refusal::method("GET, POST, DELETE")),
    }
}

/// Modern clients have no sessions to listen to or to end.
fn sessions_only(parts: &Parts) -> Result<(), Refusal> {
    if Named::by(&parts.headers).is_modern() {
        return Err(Refusal::method("POST"));
    }
    Ok(())
}

async fn post<F: Front>(
    face: &Arc<Face<F>>,
    owner: &Owner,
    parts: &Parts,
    body: impl Body<Data = Bytes>,
) -> Result<Response, Refusal> {
    media::is_json(&parts.headers)?;
    let takes = media::takes(&parts.headers)?;
    let options = &face.options;
    let budget = face.budgets.of(&owner.principal);
    let (text, charge) = media::text(body, &options.limits, &options.times, &budget).await?;
    face.metrics.request(Transport::Http, text.len());
    let asked = parse(text).map_err(|malformed| Refusal::malformed(&malformed))?;
    face.take_rest(owner, &asked)?;
    let named = Named::by(&parts.headers);
    match asked {
        Parsed::One(Message::Request(request))
            if named.is_modern() || headers::says_modern(request.params().as_ref()) =>
        {
            let answered =
                pin!(modern::post(face, owner, &parts.headers, takes, (request, charge)));
            only_when_woken(answered).await
        }
        // Modern clients over HTTP have nothing to notify of, and may do so all the same.
        Parsed::One(Message::Notification(_)) if named.is_modern() => {
            Ok(empty(StatusCode::ACCEPTED))
        }
        _ if named.is_modern() => {
            let text = "this version takes one request or notification at a time";
            let refusal = Refusal::new(Reason::Body, StatusCode::BAD_REQUEST, text);
            Err(refusal.with_code(code::INVALID_REQUEST))
        }
        asked => {
            named.check_legacy()?;
            let answered = pin!(legacy::post(face, owner, &parts.headers, takes, (asked, charge)));
            only_when_woken(answered).await
        }
    }
}
