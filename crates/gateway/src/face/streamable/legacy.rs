//! Legacy requests: a session that begins with `initialize`, and what is posted to it.

use std::sync::Arc;

use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode};
use switchboard_wire::{
    envelope::{Message, Parsed, Request},
    json::Rope,
    meta::method,
    server::ByteCharge,
};
use tokio_util::sync::CancellationToken;

use super::{
    call::{Call, Happened, Held},
    headers::{LAST_EVENT_ID, SESSION_ID},
    log::NotRead,
    session::{Making, Session},
};
use crate::{
    face::{
        Face, events,
        events::Place,
        media::Takes,
        metrics::Transport,
        refusal::{Reason, Refusal, empty, json, json_charged},
        sessions::{Owner, unguessable},
    },
    front::{Front, Opening},
};

pub(super) async fn post<F: Front>(
    face: &Arc<Face<F>>,
    owner: &Owner,
    headers: &HeaderMap,
    takes: Takes,
    (asked, charge): (Parsed, ByteCharge),
) -> Result<Response, Refusal> {
    if let Parsed::One(Message::Request(request)) = &asked
        && request.method() == method::INITIALIZE
    {
        return Box::pin(begin(face, owner, request.clone())).await;
    }
    let session = session(face, owner, headers)?;
    session.touch();
    match asked {
        Parsed::One(message @ (Message::Notification(_) | Message::Response(_))) => {
            session.take(message).await;
            Ok(empty(StatusCode::ACCEPTED))
        }
        Parsed::Batch(messages) if begins(&messages) => {
            let text = "`initialize` stands alone, not in a batch";
            Err(Refusal::new(Reason::Body, StatusCode::BAD_REQUEST, text))
        }
        asked => {
            let busy = || Refusal::full("too many calls are under way in this session; try again");
            let call = session.call(asked, charge).ok_or_else(busy)?;
            answer(face, &session, call, takes).await
        }
    }
}

fn begins<E>(messages: &[Result<Message, E>]) -> bool {
    messages.iter().any(|message| {
        matches!(message, Ok(Message::Request(request)) if request.method() == method::INITIALIZE)
    })
}

fn session<F: Front>(
    face: &Face<F>,
    owner: &Owner,
    headers: &HeaderMap,
) -> Result<Arc<Session<F::View>>, Refusal> {
    face.sessions.get(id(headers)?, owner)
}

fn id(headers: &HeaderMap) -> Result<&str, Refusal> {
    let id = headers.get(SESSION_ID).ok_or_else(Refusal::session_missing)?;
    id.to_str().map_err(|_| Refusal::no_session())
}

async fn begin<F: Front>(
    face: &Arc<Face<F>>,
    owner: &Owner,
    hello: Request,
) -> Result<Response, Refusal> {
    let slot = face.slot(owner)?;
    let id = unguessable()?;
    let opening = Opening {
        principal: owner.principal.to_string(),
        session: id.clone(),
        part: owner.part.clone(),
        transport: Transport::Http.as_str(),
    };
    let opened = face.front.open(opening).await.map_err(|_| Refusal::no_such_part(&owner.part))?;
    let making = Making {
        limits: face.options.limits,
        over: CancellationToken::new(),
        slot,
        counted: face.metrics.session(Transport::Http),
    };
    let (text, begun) = Session::begin(opened, hello, making).await;
    let mut response = json(StatusCode::OK, text);
    if let Some((session, running)) = begun {
        face.sessions.insert(id.clone(), owner.clone(), Arc::clone(&session));
        face.tasks.spawn(running.run(Arc::clone(&session), face.closing.clone()));
        if let Ok(id) = HeaderValue::try_from(id) {
            response.headers_mut().insert(SESSION_ID, id);
        }
    }
    Ok(response)
}

/// Plain JSON if that is all there is; a stream if anything comes before the answer, or for long
/// nothing does.
async fn answer<F: Front>(
    face: &Arc<Face<F>>,
    session: &Arc<Session<F::View>>,
    call: Call<F::View>,
    takes: Takes,
) -> Result<Response, Refusal> {
    let mut call = Held::new(call);
    let first = match takes {
        Takes::Events => None,
        Takes::Json => loop {
            match call.next().await {
                Happened::Said(text) => session.say_aside(&text),
                Happened::Answered(answer) => return whole(face, answer, call.release()),
            }
        },
        Takes::Both => match tokio::time::timeout(face.options.times.first_word, call.next()).await
        {
            Ok(Happened::Answered(answer)) => return whole(face, answer, call.release()),
            Ok(Happened::Said(text)) => Some(text),
            Err(_) => None,
        },
    };
    let events = call.release().and_then(|call| session.stream(call, first));
    let busy = || Refusal::full("this session has too much to do; try again");
    let events = events.ok_or_else(busy)?;
    Ok(events::response(events, &face.metrics, Transport::Http, face.options.times.keep_alive))
}

/// A call that was cancelled has nothing to say.
fn whole<F: Front>(
    face: &Face<F>,
    answer: Option<Rope>,
    call: Option<Call<F::View>>,
) -> Result<Response, Refusal> {
    let (Some(text), Some(call)) = (answer, call) else {
        return Ok(empty(StatusCode::ACCEPTED));
    };
    face.metrics.sent(Transport::Http, text.len());
    json_charged(StatusCode::OK, text, call.into_charge())
}

/// Opens the session's own stream, or takes one up again.
pub(super) fn listen<F: Front>(
    face: &Face<F>,
    owner: &Owner,
    headers: &HeaderMap,
) -> Result<Response, Refusal> {
    let session = session(face, owner, headers)?;
    session.touch();
    let keep_alive = face.options.times.keep_alive;
    match headers.get(LAST_EVENT_ID) {
        None => {
            let events = session.log().listen().map_err(not_read)?;
            Ok(events::response(events, &face.metrics, Transport::Http, keep_alive))
        }
        Some(last) => {
            let place = last.to_str().ok().and_then(Place::parse);
            let place = place.ok_or_else(|| not_read(NotRead::Forgotten))?;
            let events = session.log().resume(place).map_err(not_read)?;
            Ok(events::response(events, &face.metrics, Transport::Http, keep_alive))
        }
    }
}

fn not_read(reason: NotRead) -> Refusal {
    match reason {
        NotRead::Taken => {
            let text = "this session's stream is open already; close it first";
            Refusal::new(Reason::Session, StatusCode::CONFLICT, text)
        }
        NotRead::Forgotten => {
            let text = "`Last-Event-ID` names no event that is still kept here; open the stream without it";
            Refusal::new(Reason::Session, StatusCode::BAD_REQUEST, text)
        }
    }
}

/// Ends a session.
pub(super) fn delete<F: Front>(
    face: &Face<F>,
    owner: &Owner,
    headers: &HeaderMap,
) -> Result<Response, Refusal> {
    session(face, owner, headers)?;
    if let Some(session) = face.sessions.remove(id(headers)?) {
        session.end();
    }
    Ok(empty(StatusCode::OK))
}
