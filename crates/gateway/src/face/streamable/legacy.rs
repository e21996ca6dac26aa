//! Legacy requests over Streamable HTTP: `initialize`, POST, GET and DELETE of a session.
//!
//! Used by `streamable`. The session itself is in `session`, modern requests are in `modern`.

use std::sync::Arc;

use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode};
use switchboard_wire::{
    envelope::{MessageOrBatch, Request, RpcMessage},
    json::Rope,
    meta::method,
    server::ByteCharge,
};
use tokio_util::sync::CancellationToken;

use super::{
    call::{CallStep, DetachableCall, SessionCall},
    headers::{LAST_EVENT_ID, SESSION_ID},
    session::{SessionParts, StreamableSession},
    stream_log::StreamReadError,
};
use crate::{
    face::{
        Face, events,
        events::EventPosition,
        media::AcceptedMedia,
        metrics::Transport,
        refusal::{HttpRefusal, RefusalReason, empty_response, json_charged, json_response},
        sessions::{SessionOwner, random_session_id},
    },
    view_provider::ViewProvider,
};

pub(super) async fn post<F: ViewProvider>(
    face: &Arc<Face<F>>,
    owner: &SessionOwner,
    headers: &HeaderMap,
    takes: AcceptedMedia,
    (asked, charge): (MessageOrBatch, ByteCharge),
) -> Result<Response, HttpRefusal> {
    if let MessageOrBatch::One(RpcMessage::Request(request)) = &asked
        && request.method() == method::INITIALIZE
    {
        return Box::pin(begin(face, owner, request.clone())).await;
    }
    let session = session(face, owner, headers)?;
    session.touch();
    match asked {
        MessageOrBatch::One(message @ (RpcMessage::Notification(_) | RpcMessage::Response(_))) => {
            session.take(message).await;
            Ok(empty_response(StatusCode::ACCEPTED))
        }
        MessageOrBatch::Batch(messages) if begins(&messages) => {
            let text = "`initialize` stands alone, not in a batch";
            Err(HttpRefusal::new(RefusalReason::Body, StatusCode::BAD_REQUEST, text))
        }
        asked => {
            let busy =
                || HttpRefusal::full("too many calls are under way in this session; try again");
            let call = session.call(asked, charge).ok_or_else(busy)?;
            answer(face, &session, call, takes).await
        }
    }
}

fn begins<E>(messages: &[Result<RpcMessage, E>]) -> bool {
    messages.iter().any(|message| {
        matches!(message, Ok(RpcMessage::Request(request)) if request.method() == method::INITIALIZE)
    })
}

fn session<F: ViewProvider>(
    face: &Face<F>,
    owner: &SessionOwner,
    headers: &HeaderMap,
) -> Result<Arc<StreamableSession<F::View>>, HttpRefusal> {
    face.sessions.get(id(headers)?, owner)
}

fn id(headers: &HeaderMap) -> Result<&str, HttpRefusal> {
    let id = headers.get(SESSION_ID).ok_or_else(HttpRefusal::session_missing)?;
    id.to_str().map_err(|_| HttpRefusal::no_session())
}

async fn begin<F: ViewProvider>(
    face: &Arc<Face<F>>,
    owner: &SessionOwner,
    hello: Request,
) -> Result<Response, HttpRefusal> {
    let slot = face.slot(owner)?;
    let id = random_session_id()?;
    let opened = face.open_view(owner, id.clone(), Transport::Http).await?;
    let making = SessionParts {
        limits: face.options.limits,
        over: CancellationToken::new(),
        slot,
        counted: face.metrics.count_session(Transport::Http),
    };
    let (text, begun) = StreamableSession::begin(opened, hello, making).await;
    let mut response = json_response(StatusCode::OK, text);
    if let Some((session, running)) = begun {
        face.sessions.insert(id.clone(), owner.clone(), Arc::clone(&session));
        face.tasks.spawn(running.run(Arc::clone(&session), face.closing.clone()));
        if let Ok(id) = HeaderValue::try_from(id) {
            response.headers_mut().insert(SESSION_ID, id);
        }
    }
    Ok(response)
}

/// Answers with plain JSON if the answer is the only message and comes soon, else with a stream.
async fn answer<F: ViewProvider>(
    face: &Arc<Face<F>>,
    session: &Arc<StreamableSession<F::View>>,
    call: SessionCall<F::View>,
    takes: AcceptedMedia,
) -> Result<Response, HttpRefusal> {
    let mut call = DetachableCall::new(call);
    let first = match takes {
        AcceptedMedia::Events => None,
        AcceptedMedia::Json => loop {
            match call.next().await {
                CallStep::Said(text) => session.say_aside(&text),
                CallStep::Answered(answer) => return whole(face, answer, call.release()),
            }
        },
        AcceptedMedia::Both => {
            match tokio::time::timeout(face.options.times.first_word, call.next()).await {
                Ok(CallStep::Answered(answer)) => return whole(face, answer, call.release()),
                Ok(CallStep::Said(text)) => Some(text),
                Err(_) => None,
            }
        }
    };
    let events = call.release().and_then(|call| session.stream(call, first));
    let busy = || HttpRefusal::full("this session has too much to do; try again");
    let events = events.ok_or_else(busy)?;
    Ok(events::response(events, &face.metrics, Transport::Http, face.options.times.keep_alive))
}

/// The response to a finished call; a cancelled call has no body.
fn whole<F: ViewProvider>(
    face: &Face<F>,
    answer: Option<Rope>,
    call: Option<SessionCall<F::View>>,
) -> Result<Response, HttpRefusal> {
    let (Some(text), Some(call)) = (answer, call) else {
        return Ok(empty_response(StatusCode::ACCEPTED));
    };
    face.metrics.count_sent(Transport::Http, text.len());
    json_charged(StatusCode::OK, text, call.into_charge())
}

/// Opens or resumes the session's GET stream.
pub(super) fn listen<F: ViewProvider>(
    face: &Face<F>,
    owner: &SessionOwner,
    headers: &HeaderMap,
) -> Result<Response, HttpRefusal> {
    let session = session(face, owner, headers)?;
    session.touch();
    let keep_alive = face.options.times.keep_alive;
    match headers.get(LAST_EVENT_ID) {
        None => {
            let events = session.log().listen().map_err(not_read)?;
            Ok(events::response(events, &face.metrics, Transport::Http, keep_alive))
        }
        Some(last) => {
            let place = last.to_str().ok().and_then(EventPosition::parse);
            let place = place.ok_or_else(|| not_read(StreamReadError::Forgotten))?;
            let events = session.log().resume(place).map_err(not_read)?;
            Ok(events::response(events, &face.metrics, Transport::Http, keep_alive))
        }
    }
}

fn not_read(reason: StreamReadError) -> HttpRefusal {
    match reason {
        StreamReadError::Taken => {
            let text = "this session's stream is open already; close it first";
            HttpRefusal::new(RefusalReason::Session, StatusCode::CONFLICT, text)
        }
        StreamReadError::Forgotten => {
            let text = "`Last-Event-ID` names no event that is still kept here; open the stream without it";
            HttpRefusal::new(RefusalReason::Session, StatusCode::BAD_REQUEST, text)
        }
    }
}

/// Ends a session.
pub(super) fn delete<F: ViewProvider>(
    face: &Face<F>,
    owner: &SessionOwner,
    headers: &HeaderMap,
) -> Result<Response, HttpRefusal> {
    session(face, owner, headers)?;
    if let Some(session) = face.sessions.remove(id(headers)?) {
        session.end();
    }
    Ok(empty_response(StatusCode::OK))
}
