//! HTTP+SSE, the oldest transport: a stream that is opened with GET, and an address to POST to.
//!
//! The session lives in its stream and ends with it.

use std::sync::Arc;

use axum::{body::Body, response::Response};
use bytestring::ByteString;
use futures_util::{Stream, StreamExt, future::BoxFuture, stream};
use http::{Method, StatusCode, request::Parts};
use switchboard_wire::{
    Error,
    envelope::parse,
    link::{Frame, LinkReader, LinkWriter, pair::pair},
    server::{Handler, ServeOptions, serve},
};
use tokio_util::sync::CancellationToken;

use super::{
    Face,
    events::{self, Event},
    media,
    metrics::{Counted, Transport},
    refusal::{Refusal, empty},
    sessions::{Owner, Slot, unguessable},
};
use crate::front::{Front, Opened, Opening, Part};

/// One client's session.
struct Session {
    reader: LinkReader,
    serving: Option<BoxFuture<'static, ()>>,
    closing: CancellationToken,
    registered: Option<Registered>,
    _slot: Slot,
    _counted: Counted,
}

/// A place to post to, for as long as the session lasts.
struct Registered {
    id: String,
    forget: Box<dyn Fn(&str) + Send>,
}

/// Opens a session.
pub(super) async fn open<F: Front>(
    face: &Arc<Face<F>>,
    owner: Owner,
    request: Parts,
) -> Result<Response, Refusal> {
    if request.method != Method::GET {
        return Err(Refusal::method("GET"));
    }
    media::takes_events(&request.headers)?;
    face.metrics.request(Transport::Sse, 0);
    let slot = face.slot(&owner)?;
    let id = unguessable()?;
    let opening = Opening {
        principal: owner.principal.to_string(),
        session: id.clone(),
        part: owner.part.clone(),
        transport: Transport::Sse.as_str(),
    };
    let opened = face.front.open(opening).await.map_err(|_| Refusal::no_such_part(&owner.part))?;
    let place = format!("{}?sessionId={id}", posting_place(&owner.part));
    let bounds = face.serve_options(&owner);
    let ((writer, reader), far) = pair();
    face.posts.insert(id.clone(), owner, writer);
    let forgetting = Arc::clone(face);
    let forget = Box::new(move |id: &str| drop(forgetting.posts.remove(id)));
    let session = Session {
        reader,
        serving: Some(Box::pin(serving(opened, far, bounds))),
        closing: face.closing.clone(),
        registered: Some(Registered { id, forget }),
        _slot: slot,
        _counted: face.metrics.session(Transport::Sse),
    };
    let events = stream::iter([Event::endpoint(&place)]).chain(session.events());
    Ok(events::response(events, &face.metrics, Transport::Sse, face.options.times.keep_alive))
}

/// Relative to the origin, which is all a client may trust.
fn posting_place(part: &Part) -> String {
    let encoded = |name: &str| {
        url::form_urlencoded::byte_serialize(name.as_bytes())
            .collect::<String>()
            .replace('+', "%20")
    };
    match part {
        Part::Everything => "/messages".to_owned(),
        Part::Server(name) => format!("/messages/{}", encoded(name)),
        Part::Agent(name) => format!("/messages/agent/{}", encoded(name)),
    }
}

async fn serving<V: Handler>(
    opened: Opened<V>,
    far: (LinkWriter, LinkReader),
    bounds: ServeOptions,
) {
    let served = serve(far, opened.view, &opened.changes, bounds).await;
    if let Err(error) = served {
        tracing::debug!(%error, "a session ended");
    }
}

/// Takes a message for a session.
pub(super) async fn post<F: Front>(
    face: &Face<F>,
    owner: Owner,
    parts: &Parts,
    body: Body,
) -> Result<Response, Refusal> {
    if parts.method != Method::POST {
        return Err(Refusal::method("POST"));
    }
    media::is_json(&parts.headers)?;
    let id = session_id(parts).ok_or_else(Refusal::no_session)?;
    let writer = face.posts.get(&id, &owner)?;
    let options = &face.options;
    let budget = face.budgets.of(&owner.principal);
    // From here to its session it is held by a queue, which has bounds of its own.
    let (text, _charge) = media::text(body, &options.limits, &options.times, &budget).await?;
    face.metrics.request(Transport::Sse, text.len());
    let asked = parse(text.clone()).map_err(|malformed| Refusal::malformed(&malformed))?;
    face.take_rest(&owner, &asked)?;
    match writer.try_send(text) {
        Ok(()) => Ok(empty(StatusCode::ACCEPTED)),
        Err(Error::Busy) => Err(Refusal::full("this session has too much to do; try again")),
        Err(_) => Err(Refusal::no_session()),
    }
}

fn session_id(parts: &Parts) -> Option<String> {
    let query = parts.uri.query()?;
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs.find(|(key, _)| key == "sessionId").map(|(_, id)| id.into_owned())
}

// === impl Session ===

impl Session {
    /// What it says, for as long as it lasts.
    fn events(self) -> impl Stream<Item = Event> + Send + 'static {
        stream::unfold(self, |mut session| async move {
            let text = session.next().await?;
            Some((Event::message(None, &text), session))
        })
    }

    async fn next(&mut self) -> Option<ByteString> {
        loop {
            tokio::select! {
                frame = self.reader.next() => match frame {
                    Ok(Some(Frame::Text(text))) => return Some(text),
                    Ok(Some(Frame::Broken(_))) => {}
                    Ok(None) | Err(_) => return None,
                },
                // Without a place to post to the session comes to its end, and says what is ready.
                () = self.closing.cancelled(), if self.registered.is_some() => {
                    self.registered = None;
                }
                () = served(&mut self.serving) => self.serving = None,
            }
        }
    }
}

/// Waits for the end of what is left to serve.
async fn served(serving: &mut Option<BoxFuture<'static, ()>>) {
    match serving {
        Some(serving) => serving.await,
        None => std::future::pending().await,
    }
}

// === impl Registered ===

impl Drop for Registered {
    fn drop(&mut self) {
        (self.forget)(&self.id);
    }
}
