//! Legacy requests over Streamable HTTP: `initialize`, POST, GET and DELETE of a session.
//!
//! Used by `streamable`. The session itself is in `session`, modern requests are in `modern`.

use std::sync::Arc;

use axum::response::Response;
use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use http::{HeaderMap, HeaderValue, StatusCode};
use switchboard_wire::{
    envelope::{MessageOrBatch, Request, Response as Answer, RpcError, RpcMessage, code},
    json::Rope,
    meta::method,
    server::{ByteCharge, ServerHandler},
};
use tokio_util::sync::CancellationToken;

use super::{
    call::{CallStep, DetachableCall, SessionCall},
    headers::{LAST_EVENT_ID, SESSION_ID},
    session::{SessionParts, StreamableSession},
    shared,
    stream_log::{SESSION_STREAM, StreamReadError},
};
use crate::{
    face::{
        Face, events,
        events::{EventId, OutgoingEvent},
        media::AcceptedMedia,
        metrics::Transport,
        refusal::{HttpRefusal, RefusalReason, empty_response, json_charged, json_response},
        sessions::{SessionOwner, random_session_id},
    },
    view_provider::ViewProvider,
};

/// What a client is told whose call was carried out by a replica that is gone.
const REPLICA_LOST: &str = "the replica that carried out this call is gone, and its execution is unknown; check before \
                            you make the call again";

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
    let session = session(face, owner, headers).await?;
    session.touch();
    match asked {
        MessageOrBatch::One(message @ (RpcMessage::Notification(_) | RpcMessage::Response(_))) => {
            shared::announce(&session, &message).await;
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

async fn session<F: ViewProvider>(
    face: &Arc<Face<F>>,
    owner: &SessionOwner,
    headers: &HeaderMap,
) -> Result<Arc<StreamableSession<F::View>>, HttpRefusal> {
    shared::find(face, owner, id(headers)?).await
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
    let (id, shared) = match &face.options.replicas {
        Some(group) => shared::begin(group, owner, &hello).await?,
        None => (random_session_id()?, None),
    };
    let opened = face.open_view(owner, id.clone(), Transport::Http).await?;
    let making = SessionParts {
        limits: face.options.limits,
        over: CancellationToken::new(),
        slot,
        counted: face.metrics.count_session(Transport::Http),
        shared,
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
    let takes = match takes {
        AcceptedMedia::Both if call.is_setting() => AcceptedMedia::Json,
        takes => takes,
    };
    let mut call = DetachableCall::new(call);
    let first = match takes {
        AcceptedMedia::Events => None,
        AcceptedMedia::Json => loop {
            match call.next().await {
                CallStep::Message(text) => session.say_aside(&text),
                CallStep::Answered(answer) => return whole(face, answer, call.release()),
            }
        },
        AcceptedMedia::Both => {
            match tokio::time::timeout(face.options.times.first_word, call.next()).await {
                Ok(CallStep::Answered(answer)) => return whole(face, answer, call.release()),
                Ok(CallStep::Message(text)) => Some(text),
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
    if let Some(error) = call.setting_error() {
        return Err(HttpRefusal::no_replicas(error).with_id(call.request()));
    }
    face.metrics.count_sent(Transport::Http, text.len());
    json_charged(StatusCode::OK, text, call.into_charge())
}

/// Opens or resumes the session's GET stream.
pub(super) async fn listen<F: ViewProvider>(
    face: &Arc<Face<F>>,
    owner: &SessionOwner,
    headers: &HeaderMap,
) -> Result<Response, HttpRefusal> {
    let session = session(face, owner, headers).await?;
    session.touch();
    let respond = |events| {
        events::response(events, &face.metrics, Transport::Http, face.options.times.keep_alive)
    };
    let Some(last) = headers.get(LAST_EVENT_ID) else {
        let events = session.log().listen().map_err(not_read)?;
        session.hold_stream();
        return Ok(respond(events.boxed()));
    };
    let last = last.to_str().ok().and_then(EventId::parse);
    let is_possible = |last: &EventId| last.replica.is_none() || face.tag().is_some();
    let last = last.filter(is_possible).ok_or_else(|| not_read(StreamReadError::Forgotten))?;
    if last.replica != face.tag() {
        return resume_lost(&session, &last).map(respond);
    }
    let events = session.log().resume(last.place).map_err(not_read)?;
    if last.place.stream == SESSION_STREAM {
        session.hold_stream();
    }
    Ok(respond(events.boxed()))
}

/// Goes on where the replica of a stream is gone: a call is answered with an error, since nothing is known of it; what
/// belongs to no call goes on here.
fn resume_lost<V: ServerHandler>(
    session: &StreamableSession<V>,
    last: &EventId,
) -> Result<BoxStream<'static, OutgoingEvent>, HttpRefusal> {
    match &last.request {
        None if last.place.stream == SESSION_STREAM => {
            let events = session.log().listen().map_err(not_read)?;
            session.hold_stream();
            Ok(events.boxed())
        }
        None => Err(HttpRefusal::replica_gone()),
        Some(request) => {
            let error = RpcError::new(code::INTERNAL_ERROR, REPLICA_LOST);
            let text = Answer::error(Some(request), &error).text().clone();
            let event = OutgoingEvent::message(None, &text);
            Ok(stream::once(std::future::ready(event)).boxed())
        }
    }
}

fn not_read(reason: StreamReadError) -> HttpRefusal {
    match reason {
        StreamReadError::HasReader => {
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
pub(super) async fn delete<F: ViewProvider>(
    face: &Arc<Face<F>>,
    owner: &SessionOwner,
    headers: &HeaderMap,
) -> Result<Response, HttpRefusal> {
    let session = session(face, owner, headers).await?;
    shared::end(&session).await?;
    if let Some(session) = face.sessions.remove(id(headers)?) {
        session.end();
    }
    Ok(empty_response(StatusCode::OK))
}
