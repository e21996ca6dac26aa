//! Modern requests over Streamable HTTP: each stands alone, and ends with its connection.
//!
//! Used by `streamable`. It keeps no session; the view of the principal is shared (`views`).

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
    envelope::{Id, Notification, Request, Response as Answer, ResponseOutcome, RpcMessage, code},
    json::Raw,
    link::{
        LinkFrame, LinkReader, LinkWriter,
        pair::{link_pair, one_way},
    },
    meta::{self, method},
    server::{ByteCharge, HandlerSession, ServeOptions, ServerHandler, serve},
};
use tokio::task::unconstrained;
use tokio_util::sync::CancellationToken;

use super::{headers, views::SharedView};
use crate::{
    face::{
        Face, events,
        events::OutgoingEvent,
        media::{AcceptedMedia, over_budget},
        metrics::Transport,
        refusal::{HttpRefusal, RefusalReason, empty_response, json_charged, json_response},
        sessions::SessionOwner,
    },
    view_provider::ViewProvider,
};

/// A request that is being answered.
struct Exchange {
    voice: LinkReader,
    answering: Option<BoxFuture<'static, Option<Answer>>>,
    answer: Option<Answer>,
    /// The charge to its principal's budget.
    charge: ByteCharge,
    /// The input of a subscription's session, which ends when this is dropped.
    _input: Option<LinkWriter>,
}

/// The next step of an exchange.
enum ExchangeStep {
    Message(ByteString),
    Answered(Answer),
}

pub(super) async fn post<F: ViewProvider>(
    face: &Arc<Face<F>>,
    owner: &SessionOwner,
    headers: &HeaderMap,
    takes: AcceptedMedia,
    (request, charge): (Request, ByteCharge),
) -> Result<Response, HttpRefusal> {
    let id = request.id();
    headers::check(headers, &request).map_err(|refusal| refusal.with_id(Some(&id)))?;
    let most = face.options.limits.sessions;
    let opened = face.views.get(&*face.front, owner, most, &face.tasks).await;
    let view = opened.map_err(|refusal| refusal.with_id(Some(&id)))?;
    match request.method().as_ref() {
        method::LISTEN => return Box::pin(listen(face, owner, view, takes, request)).await,
        method::TOOLS_CALL => {
            let checked = view.mirrored_headers.check(&view.handler, headers, &request).await;
            checked.map_err(|refusal| refusal.with_id(Some(&id)))?;
        }
        _ => {}
    }
    let exchange = Exchange::new(Arc::clone(&view.handler), request, charge);
    answer(face, view, exchange, takes).await.map_err(|refusal| refusal.with_id(Some(&id)))
}

/// Passes a client's notification on. Modern HTTP itself defines none, but an extension may.
pub(super) async fn notify<F: ViewProvider>(
    face: &Arc<Face<F>>,
    owner: &SessionOwner,
    notification: Notification,
) -> Result<Response, HttpRefusal> {
    if method::is_extension_notification(&notification.method()) {
        let most = face.options.limits.sessions;
        let view = face.views.get(&*face.front, owner, most, &face.tasks).await?;
        let (writer, _voice) = one_way();
        let session = HandlerSession::new(Arc::clone(&view.handler), writer);
        // A notification has no answer.
        let _ = session.answer(Ok(RpcMessage::Notification(notification))).await;
    }
    Ok(empty_response(StatusCode::ACCEPTED))
}

/// Answers with plain JSON if the answer is the only message and comes soon, else with a stream.
async fn answer<F: ViewProvider>(
    face: &Arc<Face<F>>,
    view: Arc<SharedView<F::View>>,
    mut exchange: Exchange,
    takes: AcceptedMedia,
) -> Result<Response, HttpRefusal> {
    let patience = match takes {
        AcceptedMedia::Both => face.options.times.first_word,
        AcceptedMedia::Events => Duration::ZERO,
        AcceptedMedia::Json => Duration::MAX,
    };
    let first = loop {
        match tokio::time::timeout(patience, exchange.next()).await {
            Ok(Some(ExchangeStep::Answered(answer))) if takes != AcceptedMedia::Events => {
                face.metrics.count_sent(Transport::Http, answer.text().len());
                let text = answer.text().clone().into();
                return json_charged(answer_status(&answer), text, exchange.charge);
            }
            Ok(Some(ExchangeStep::Message(_))) if takes == AcceptedMedia::Json => {}
            Ok(None) => return Ok(empty_response(StatusCode::ACCEPTED)),
            Ok(Some(ExchangeStep::Message(text))) => break Some(text),
            Ok(Some(ExchangeStep::Answered(answer))) => break Some(answer.text().clone()),
            Err(_) => break None,
        }
    };
    let first = stream::iter(first.map(|text| OutgoingEvent::message(None, &text)));
    Ok(respond(face, view, first.chain(exchange.events())))
}

fn respond<F: ViewProvider>(
    face: &Face<F>,
    view: Arc<SharedView<F::View>>,
    events: impl Stream<Item = OutgoingEvent> + Send + 'static,
) -> Response {
    // The view stays open as long as the stream.
    let events = events.inspect(move |_| {
        let _held = &view;
    });
    let keep_alive = face.options.times.keep_alive;
    events::response(events, &face.metrics, Transport::Http, keep_alive)
}

/// The HTTP status for an answer.
fn answer_status(answer: &Answer) -> StatusCode {
    match answer.outcome() {
        ResponseOutcome::Result(_) => StatusCode::OK,
        ResponseOutcome::Error(error) => match error.code {
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

async fn listen<F: ViewProvider>(
    face: &Arc<Face<F>>,
    owner: &SessionOwner,
    view: Arc<SharedView<F::View>>,
    takes: AcceptedMedia,
    request: Request,
) -> Result<Response, HttpRefusal> {
    let id = request.id();
    if takes == AcceptedMedia::Json {
        let text =
            "the response to this method is an event stream; add `text/event-stream` to `Accept`";
        let refusal = HttpRefusal::new(RefusalReason::Media, StatusCode::NOT_ACCEPTABLE, text);
        return Err(refusal.with_id(Some(&id)));
    }
    let mut exchange =
        Exchange::for_subscription(&view, request, face.serve_options(owner)).await?;
    // The first message is an acknowledgement, or an error with its own status.
    let first = match exchange.next().await {
        Some(ExchangeStep::Message(text)) => text,
        Some(ExchangeStep::Answered(answer)) => answer.text().clone(),
        None => return Ok(empty_response(StatusCode::ACCEPTED)),
    };
    if let Some(refused) = parse_answer(&first) {
        return Ok(json_response(answer_status(&refused), first));
    }
    let closing = face.closing.clone();
    let first = stream::iter([OutgoingEvent::message(None, &first)]);
    let events = first.chain(exchange.events()).take_until(closing.cancelled_owned());
    Ok(respond(face, view, events.chain(end_of_subscription(&id, &face.closing))))
}

/// The result that ends a subscription when the server closes it.
fn end_of_subscription(
    id: &Id,
    closing: &CancellationToken,
) -> impl Stream<Item = OutgoingEvent> + Send + use<> {
    let result = Raw::object([
        ("resultType", Raw::string("complete")),
        ("_meta", Raw::object([(meta::SUBSCRIPTION_ID, id.raw())])),
    ]);
    let text = Answer::result(id, &result).text().clone();
    let closing = closing.clone();
    let said = move || closing.is_cancelled().then(|| OutgoingEvent::message(None, &text));
    stream::once(async move { said() }).filter_map(std::future::ready)
}

fn parse_answer(text: &ByteString) -> Option<Answer> {
    use switchboard_wire::envelope::{MessageOrBatch, parse};
    match parse(text.clone()) {
        Ok(MessageOrBatch::One(RpcMessage::Response(answer))) => Some(answer),
        _ => None,
    }
}

// === impl Exchange ===

impl Exchange {
    fn new<V: ServerHandler>(handler: Arc<V>, request: Request, charge: ByteCharge) -> Self {
        let (writer, voice) = one_way();
        let session = HandlerSession::new(handler, writer);
        let answering = Box::pin(session.answer(Ok(RpcMessage::Request(request))));
        Self { voice, answering: Some(answering), answer: None, charge, _input: None }
    }

    /// An exchange that receives change notifications; its answer comes only at its end.
    async fn for_subscription<V: ServerHandler>(
        view: &SharedView<V>,
        request: Request,
        options: ServeOptions,
    ) -> Result<Self, HttpRefusal> {
        // Its serve loop charges the request.
        let charge = options.budget.charge(0).ok_or_else(over_budget)?;
        let ((input, voice), far) = link_pair();
        // The receiver exists and has room for one message, so this cannot fail.
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

    /// Returns the next step; `None` after the answer. Cancel-safe.
    async fn next(&mut self) -> Option<ExchangeStep> {
        while let Some(answering) = &mut self.answering {
            tokio::select! {
                biased;
                Ok(Some(LinkFrame::Text(text))) = self.voice.next() => {
                    return Some(ExchangeStep::Message(text));
                }
                answer = answering => {
                    self.answer = answer;
                    self.answering = None;
                }
            }
        }
        // Messages before the answer are returned first.
        match unconstrained(self.voice.next()).now_or_never() {
            Some(Ok(Some(LinkFrame::Text(text)))) => Some(ExchangeStep::Message(text)),
            _ => self.answer.take().map(ExchangeStep::Answered),
        }
    }

    /// All remaining events.
    fn events(self) -> impl Stream<Item = OutgoingEvent> + Send + 'static {
        stream::unfold(self, |mut exchange| async move {
            let text = match exchange.next().await? {
                ExchangeStep::Message(text) => text,
                ExchangeStep::Answered(answer) => answer.text().clone(),
            };
            Some((OutgoingEvent::message(None, &text), exchange))
        })
    }
}
