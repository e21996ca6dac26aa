//! The HTTP+SSE face of 2024-11-05: a GET stream with the answers, and a path to POST messages to.
//!
//! Used by `routes`. The session ends with its stream; it cannot be resumed. The client side is in
//! `wire::link::sse`.

use std::sync::Arc;

use axum::{body::Body, response::Response};
use bytestring::ByteString;
use futures_util::{Stream, StreamExt, future::BoxFuture, stream};
use http::{Method, StatusCode, request::Parts};
use switchboard_wire::{
    Error,
    envelope::parse,
    link::{LinkFrame, LinkReader, LinkWriter, pair::link_pair},
    server::{ServeOptions, ServerHandler, serve},
    trace_context,
};
use tokio_util::sync::CancellationToken;

use super::{
    Face,
    events::{self, OutgoingEvent},
    media,
    metrics::{GaugeLease, Transport},
    refusal::{HttpRefusal, empty_response},
    replicas::{RelayPath, Relayed, ReplicaError, ReplicaGroup, ReplicaTag, relay},
    sessions::{SessionOwner, SessionSlot, random_session_id},
};
use crate::view_provider::{OpenView, ViewProvider, ViewSelection};

/// One client's session.
struct SseSession {
    reader: LinkReader,
    serving: Option<BoxFuture<'static, ()>>,
    closing: CancellationToken,
    registered: Option<SessionRegistration>,
    _slot: SessionSlot,
    _counted: GaugeLease,
}

/// Registers the session for POSTs, until it is dropped.
struct SessionRegistration {
    id: String,
    forget: Box<dyn Fn(&str) + Send>,
}

/// Opens a session.
pub(super) async fn open<F: ViewProvider>(
    face: &Arc<Face<F>>,
    owner: SessionOwner,
    request: Parts,
) -> Result<Response, HttpRefusal> {
    if request.method != Method::GET {
        return Err(HttpRefusal::method("GET"));
    }
    media::require_event_stream(&request.headers)?;
    face.metrics.count_request(Transport::Sse, 0);
    face.check_replicas(&owner)?;
    let slot = face.slot(&owner)?;
    let id = random_session_id()?;
    let id = face.tag().map_or(id.clone(), |tag| tag.mark(&id));
    let opened = face.open_view(&owner, id.clone(), Transport::Sse).await?;
    let place = format!("{}?sessionId={id}", post_path(&owner.part));
    let bounds = face.serve_options(&owner);
    let ((writer, reader), far) = link_pair();
    face.posts.insert(id.clone(), owner, writer);
    let forgetting = Arc::clone(face);
    let forget = Box::new(move |id: &str| drop(forgetting.posts.remove(id)));
    let session = SseSession {
        reader,
        serving: Some(Box::pin(serve_session(opened, far, bounds))),
        closing: face.closing.clone(),
        registered: Some(SessionRegistration { id, forget }),
        _slot: slot,
        _counted: face.metrics.count_session(Transport::Sse),
    };
    let events = stream::iter([OutgoingEvent::endpoint(&place)]).chain(session.events());
    Ok(events::response(events, &face.metrics, Transport::Sse, face.options.times.keep_alive))
}

/// The path to POST to. It has no origin, since clients must not trust another one.
fn post_path(part: &ViewSelection) -> String {
    let encoded = |name: &str| {
        url::form_urlencoded::byte_serialize(name.as_bytes())
            .collect::<String>()
            .replace('+', "%20")
    };
    match part {
        ViewSelection::Everything => "/messages".to_owned(),
        ViewSelection::Server(name) => format!("/messages/{}", encoded(name)),
        ViewSelection::Agent(name) => format!("/messages/agent/{}", encoded(name)),
    }
}

async fn serve_session<V: ServerHandler>(
    opened: OpenView<V>,
    far: (LinkWriter, LinkReader),
    bounds: ServeOptions,
) {
    let served = serve(far, opened.view, &opened.changes, bounds).await;
    if let Err(error) = served {
        tracing::debug!(%error, "a session ended");
    }
}

/// Takes a message for a session.
pub(super) async fn post<F: ViewProvider>(
    face: &Face<F>,
    owner: SessionOwner,
    parts: &Parts,
    body: Body,
) -> Result<Response, HttpRefusal> {
    if parts.method != Method::POST {
        return Err(HttpRefusal::method("POST"));
    }
    media::require_json(&parts.headers)?;
    face.check_replicas(&owner)?;
    let id = session_id(parts).ok_or_else(HttpRefusal::no_session)?;
    let options = &face.options;
    if let Some((group, home)) = other_home(face, parts, &id) {
        let budget = face.budgets.of(owner.principal.id());
        let (text, _charge) =
            media::read_text(body, &options.limits, &options.times, &budget).await?;
        let request = (parts, text.into_bytes());
        let relayed = relay(group, home, RelayPath::Messages, &owner, request).await;
        return relayed.map_err(|error| match error {
            ReplicaError::Gone => HttpRefusal::no_session(),
            error => HttpRefusal::no_replicas(&error),
        });
    }
    let writer = face.posts.get(&id, &owner)?;
    let budget = face.budgets.of(owner.principal.id());
    // The charge ends here: the message goes to a bounded queue.
    let (text, _charge) = media::read_text(body, &options.limits, &options.times, &budget).await?;
    face.metrics.count_request(Transport::Sse, text.len());
    let text = trace_context::with_header_context(text, &parts.headers);
    let asked = parse(text.clone()).map_err(|malformed| HttpRefusal::malformed(&malformed))?;
    face.take_rest(&owner, &asked)?;
    match writer.try_send(text) {
        Ok(()) => Ok(empty_response(StatusCode::ACCEPTED)),
        Err(Error::Busy) => Err(HttpRefusal::full("this session has too much to do; try again")),
        Err(_) => Err(HttpRefusal::no_session()),
    }
}

/// The other replica that holds the stream of a session.
fn other_home<'a, F: ViewProvider>(
    face: &'a Face<F>,
    parts: &Parts,
    id: &str,
) -> Option<(&'a ReplicaGroup, ReplicaTag)> {
    let group = face.options.replicas.as_ref()?;
    let (home, _) = ReplicaTag::split(id)?;
    let is_other = home != group.tag && parts.extensions.get::<Relayed>().is_none();
    is_other.then_some((group, home))
}

fn session_id(parts: &Parts) -> Option<String> {
    let query = parts.uri.query()?;
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs.find(|(key, _)| key == "sessionId").map(|(_, id)| id.into_owned())
}

// === impl SseSession ===

impl SseSession {
    /// The events of the session until its end.
    fn events(self) -> impl Stream<Item = OutgoingEvent> + Send + 'static {
        stream::unfold(self, |mut session| async move {
            let text = session.next().await?;
            Some((OutgoingEvent::message(None, &text), session))
        })
    }

    async fn next(&mut self) -> Option<ByteString> {
        loop {
            tokio::select! {
                frame = self.reader.next() => match frame {
                    Ok(Some(LinkFrame::Text(text))) => return Some(text),
                    Ok(Some(LinkFrame::Broken(_))) => {}
                    Ok(None) | Err(_) => return None,
                },
                // After the shutdown, POSTs are refused, and the answers that are ready are still
                // sent.
                () = self.closing.cancelled(), if self.registered.is_some() => {
                    self.registered = None;
                }
                () = wait_until_served(&mut self.serving) => self.serving = None,
            }
        }
    }
}

/// Waits until the serve loop has ended.
async fn wait_until_served(serving: &mut Option<BoxFuture<'static, ()>>) {
    match serving {
        Some(serving) => serving.await,
        None => std::future::pending().await,
    }
}

// === impl SessionRegistration ===

impl Drop for SessionRegistration {
    fn drop(&mut self) {
        (self.forget)(&self.id);
    }
}
