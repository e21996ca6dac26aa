//! Modern requests: each stands alone, and ends with its connection.

use std::{sync::Arc, time::Duration};

use axum::response::Response;
use bytestring::ByteString;
use futures_util::{
    FutureExt, Stream, StreamExt,
    future::BoxFuture,
    stream::{self},
};
use http::{HeaderMap, StatusCode};
use switchboard_wire::{
    envelope::{Id, Message, Outcome, Request, Response as Answer, code},
    json::{Edit, Raw},
    link::{Frame, LinkReader, LinkWriter, pair::pair},
    meta::{self, method},
    placed,
    server::{ByteCharge, Handler, ServeOptions, Session, serve},
};
use tokio::task::unconstrained;
use tokio_util::sync::CancellationToken;

use super::{headers, views::View};
use crate::{
    face::{
        Face, events,
        events::Event,
        media::{Takes, over_budget},
        metrics::Transport,
        refusal::{Reason, Refusal, empty, json, json_charged},
        sessions::Owner,
    },
    front::Front,
};

/// A request that is being answered.
struct Exchange {
    voice: LinkReader,
    answering: Option<BoxFuture<'static, Option<Answer>>>,
    answer: Option<Answer>,
    /// What it takes of its principal's budget.
    charge: ByteCharge,
    /// Where the request came in, for a session that is served; it ends when this goes.
    _input: Option<LinkWriter>,
}

/// What an exchange comes to next.
enum Happened {
    Said(ByteString),
    Answered(Answer),
}

pub(super) async fn post<F: Front>(
    face: &Arc<Face<F>>,
    owner: &Owner,
    headers: &HeaderMap,
    takes: Takes,
    (request, charge): (Request, ByteCharge),
) -> Result<Response, Refusal> {
    let id = request.id();
    headers::check(headers, &request).map_err(|refusal| refusal.about(Some(&id)))?;
    let most = face.options.limits.sessions;
    let opened = face.views.get(&*face.front, owner, most, &face.tasks).await;
    let view = opened.map_err(|refusal| refusal.about(Some(&id)))?;
    match request.method().as_ref() {
        method::LISTEN => return Box::pin(listen(face, owner, view, takes, request)).await,
        method::TOOLS_CALL => {
            let checked = view.book.check(&view.handler, headers, &request).await;
            checked.map_err(|refusal| refusal.about(Some(&id)))?;
        }
        _ => {}
    }
    let exchange = Exchange::new(Arc::clone(&view.handler), request, charge);
    answer(face, view, exchange, takes).await.map_err(|refusal| refusal.about(Some(&id)))
}

/// Plain JSON if that is all there is; a stream if anything comes before the answer, or for long
/// nothing does.
async fn answer<F: Front>(
    face: &Arc<Face<F>>,
    view: Arc<View<F::View>>,
    mut exchange: Exchange,
    takes: Takes,
) -> Result<Response, Refusal> {
    let patience = match takes {
        Takes::Both => face.options.times.first_word,
        Takes::Events => Duration::ZERO,
        Takes::Json => Duration::MAX,
    };
    let first = loop {
        match tokio::time::timeout(patience, exchange.next()).await {
            Ok(Some(Happened::Answered(answer))) if takes != Takes::Events => {
                face.metrics.sent(Transport::Http, answer.text().len());
                let text = answer.text().clone().into();
                return json_charged(status(&answer), text, exchange.charge);
            }
            Ok(Some(Happened::Said(_))) if takes == Takes::Json => {}
            Ok(None) => return Ok(empty(StatusCode::ACCEPTED)),
            Ok(Some(Happened::Said(text))) => break Some(text),
            Ok(Some(Happened::Answered(answer))) => break Some(answer.text().clone()),
            Err(_) => break None,
        }
    };
    let first = stream::iter(first.map(|text| Event::message(None, &text)));
    Ok(respond(face, view, first.chain(exchange.events())))
}

fn respond<F: Front>(
    face: &Face<F>,
    view: Arc<View<F::View>>,
    events: impl Stream<Item = Event> + Send + 'static,
) -> Response {
    // The view stays open while somebody listens.
    let events = events.inspect(move |_| {
        let _held = &view;
    });
    let keep_alive = face.options.times.keep_alive;
    events::response(events, &face.metrics, Transport::Http, keep_alive)
}

/// The status that goes with an answer.
fn status(answer: &Answer) -> StatusCode {
    match answer.outcome() {
        Outcome::Result(_) => StatusCode::OK,
        Outcome::Error(error) => match error.code {
            code::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
            code::HEADER_MISMATCH
            | code::MISSING_CAPABILITY
            | code::UNSUPPORTED_VERSION
            | code::INVALID_REQUEST
            | code::PARSE_ERROR => StatusCode::BAD_REQUEST,
            _ => StatusCode::OK,
        },
    }
}

// --- listening

async fn listen<F: Front>(
    face: &Arc<Face<F>>,
    owner: &Owner,
    view: Arc<View<F::View>>,
    takes: Takes,
    request: Request,
) -> Result<Response, Refusal> {
    let id = request.id();
    if takes == Takes::Json {
        let text = "what is listened to comes as `text/event-stream`; name it in `Accept`";
        let refusal = Refusal::new(Reason::Media, StatusCode::NOT_ACCEPTABLE, text);
        return Err(refusal.about(Some(&id)));
    }
    let mut exchange = Exchange::listening(&view, request, face.serve_options(owner)).await?;
    // The first word is an acknowledgement, or an error that has a status.
    let first = match exchange.next().await {
        Some(Happened::Said(text)) => text,
        Some(Happened::Answered(answer)) => answer.text().clone(),
        None => return Ok(empty(StatusCode::ACCEPTED)),
    };
    if let Some(refused) = as_answer(&first) {
        return Ok(json(status(&refused), first));
    }
    let closing = face.closing.clone();
    let first = stream::iter([Event::message(None, &first)]);
    let events = first.chain(exchange.events()).take_until(closing.cancelled_owned());
    Ok(respond(face, view, events.chain(goodbye(&id, &face.closing))))
}

/// The end of a subscription that we end ourselves is told as a result.
fn goodbye(id: &Id, closing: &CancellationToken) -> impl Stream<Item = Event> + Send + use<> {
    let tag = [
        Edit::set(&["resultType"], "\"complete\""),
        Edit::set(&["_meta", meta::SUBSCRIPTION_ID], id.as_str()),
    ];
    let result = Raw::empty_object().with(&tag).unwrap_or_else(|_| Raw::empty_object());
    let text = Answer::result(id, &result).text().clone();
    let closing = closing.clone();
    let said = move || closing.is_cancelled().then(|| Event::message(None, &text));
    stream::once(async move { said() }).filter_map(std::future::ready)
}

fn as_answer(text: &ByteString) -> Option<Answer> {
    use switchboard_wire::envelope::{Parsed, parse};
    match parse(text.clone()) {
        Ok(Parsed::One(Message::Response(answer))) => Some(answer),
        _ => None,
    }
}

// === impl Exchange ===

impl Exchange {
    fn new<V: Handler>(handler: Arc<V>, request: Request, charge: ByteCharge) -> Self {
        let ((_, voice), (writer, _)) = pair();
        let session = Session::new(handler, writer);
        let answering = placed(|| session.answer(Ok(Message::Request(request))));
        Self { voice, answering: Some(answering), answer: None, charge, _input: None }
    }

    /// An exchange that hears of changes too, and so has no answer of its own.
    async fn listening<V: Handler>(
        view: &View<V>,
        request: Request,
        options: ServeOptions,
    ) -> Result<Self, Refusal> {
        // What it holds is charged where it is served.
        let charge = options.budget.charge(0).ok_or_else(over_budget)?;
        let ((input, voice), far) = pair();
        // The other end is at hand, and there is room for one.
        let _ = input.send(request.text().clone()).await;
        let (handler, changes) = (Arc::clone(&view.handler), view.changes.clone());
        let serving = async move {
            if let Err(error) = serve(far, handler, &changes, options).await {
                tracing::debug!(%error, "nothing more is heard");
            }
            None
        };
        let answering = Some(serving.boxed());
        Ok(Self { voice, answering, answer: None, charge, _input: Some(input) })
    }

    /// What comes next; `None` after the answer. Safe to cancel.
    async fn next(&mut self) -> Option<Happened> {
        while let Some(answering) = &mut self.answering {
            tokio::select! {
                biased;
                Ok(Some(Frame::Text(text))) = self.voice.next() => {
                    return Some(Happened::Said(text));
                }
                answer = answering => {
                    self.answer = answer;
                    self.answering = None;
                }
            }
        }
        // What was said before the answer comes before it.
        match unconstrained(self.voice.next()).now_or_never() {
            Some(Ok(Some(Frame::Text(text)))) => Some(Happened::Said(text)),
            _ => self.answer.take().map(Happened::Answered),
        }
    }

    /// All that is to come.
    fn events(self) -> impl Stream<Item = Event> + Send + 'static {
        stream::unfold(self, |mut exchange| async move {
            let text = match exchange.next().await? {
                Happened::Said(text) => text,
                Happened::Answered(answer) => answer.text().clone(),
            };
            Some((Event::message(None, &text), exchange))
        })
    }
}
