//! The state of one server session, and the dispatch of each message by era.
//!
//! Used by `serve` and by the Streamable HTTP face. It does not read from the link (`serve`) and holds no transport.

use std::{
    any::Any,
    collections::HashMap,
    future::ready,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use bytestring::ByteString;
use futures_util::{FutureExt as _, future::Either};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use super::{
    ChangeNotification, ClientFacts, PrerenderedResult, ServerHandler, SourcedChange,
    SubscribedResource,
    cancel::CancelFlag,
    context::LogSeverity,
    in_flight_request::{InFlightRequest, UnrenderedAnswer},
    legacy, modern, render,
};
use crate::{
    Error, Version,
    envelope::{
        Id, IdKey, MalformedMessage, MalformedShape, Notification, Request, Response,
        ResponseOutcome, RpcError, RpcMessage, code,
    },
    json::{JsonEdit, JsonKind, Raw, Rope},
    link::LinkWriter,
    meta::{self, method},
};

/// The session of one client.
#[derive(Debug)]
pub struct HandlerSession<H> {
    pub(super) handler: Arc<H>,
    pub(super) outbox: Outbox,
    pub(super) state: Mutex<SessionState>,
    questions: QuestionIds,
}

/// The ids of questions to a legacy client: numbers, or texts with the mark of the process that asks.
#[derive(Debug)]
struct QuestionIds {
    mark: Option<Arc<str>>,
    next: AtomicU64,
}

/// What a legacy client has set in its session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientSettings {
    /// The least severe log level that it wants.
    pub log_level: Option<&'static str>,
    /// The resources that it subscribed to, in no order.
    pub subscriptions: Vec<SubscribedResource>,
}

/// How long a droppable message waits for a client that does not read.
const OFFER_TIMEOUT: Duration = Duration::from_millis(100);

/// The channel to the client. Clones share it: every call has one.
#[derive(Debug, Clone)]
pub(super) struct Outbox(Arc<SharedOutbox>);

#[derive(Debug)]
struct SharedOutbox {
    writer: LinkWriter,
    /// Whether the client did not read during the last wait.
    stalled: AtomicBool,
}

#[derive(Debug, Default)]
pub(super) struct SessionState {
    /// The client's facts, set by `initialize`.
    pub(super) greeted: Option<ClientFacts>,
    pub(super) log_level: Option<LogSeverity>,
    /// Registered and running requests, so that they can be cancelled.
    pub(super) running: HashMap<Id, Arc<CancelFlag>>,
    /// Questions sent to a legacy client.
    asked: HashMap<u64, oneshot::Sender<ResponseOutcome>>,
    /// Legacy: the client's subscriptions by URI, each with the guard that ends it.
    pub(super) subscriptions: HashMap<SubscribedResource, Box<dyn Any + Send + Sync>>,
    /// Modern: the filter of each open listen request.
    pub(super) listening: HashMap<IdKey, modern::ListenFilter>,
}

/// The parameters of a request.
pub(super) struct RequestParams {
    pub(super) all: Raw,
    /// `_meta`, or `null`.
    pub(super) meta: Raw,
    /// Where the messages that belong to the request go.
    pub(super) outbox: Outbox,
}

// === impl Outbox ===

impl Outbox {
    pub(super) fn new(writer: LinkWriter) -> Self {
        Self(Arc::new(SharedOutbox { writer, stalled: AtomicBool::new(false) }))
    }

    /// Sends a message that must arrive.
    pub(super) async fn send(&self, text: ByteString) {
        if let Err(error) = self.0.writer.send(text).await {
            tracing::debug!(%error, "the client is gone");
        }
    }

    /// Sends a message that may be lost. Waits a moment if the client was reading last time, else not at all.
    pub(super) async fn offer(&self, text: ByteString) {
        let SharedOutbox { writer, stalled } = &*self.0;
        let patience = if stalled.load(Ordering::Relaxed) { Duration::ZERO } else { OFFER_TIMEOUT };
        let sent = match writer.try_send(text.clone()) {
            Err(Error::Busy) => {
                let waiting = tokio::time::timeout(patience, writer.send(text)).await;
                waiting.unwrap_or(Err(Error::Busy))
            }
            sent => sent,
        };
        stalled.store(matches!(sent, Err(Error::Busy)), Ordering::Relaxed);
        if let Err(error) = sent {
            tracing::debug!(%error, "a notification was dropped");
        }
    }

    /// Sends a message that may be lost, without waiting.
    fn try_send(&self, text: ByteString) {
        if let Err(error) = self.0.writer.try_send(text) {
            tracing::debug!(%error, "a notification was dropped");
        }
    }
}

// === impl QuestionIds ===

impl QuestionIds {
    fn id(&self, number: u64) -> Id {
        match &self.mark {
            None => Id::number(number),
            Some(mark) => Id::text(&format!("{mark}-{number}")),
        }
    }

    /// The number of a question of this session.
    fn number(&self, id: &Id) -> Option<u64> {
        let Some(mark) = &self.mark else { return id.as_u64() };
        let text = id.raw().to_text()?;
        text.strip_prefix(&**mark)?.strip_prefix('-')?.parse().ok()
    }
}

// === impl HandlerSession ===

impl<H: ServerHandler> HandlerSession<H> {
    /// A session that sends to `writer`.
    pub fn new(handler: Arc<H>, writer: LinkWriter) -> Arc<Self> {
        Self::with_question_mark(handler, writer, None)
    }

    /// A session whose questions have ids that begin with `mark`, so that no other process that answers for the same
    /// session asks under the same id.
    pub fn with_question_mark(
        handler: Arc<H>,
        writer: LinkWriter,
        mark: Option<Arc<str>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            handler,
            outbox: Outbox::new(writer),
            state: Mutex::default(),
            questions: QuestionIds { mark, next: AtomicU64::new(1) },
        })
    }

    /// What the client has set so far.
    pub fn client_settings(&self) -> ClientSettings {
        let state = self.state();
        ClientSettings {
            log_level: state.log_level.map(LogSeverity::as_str),
            subscriptions: state.subscriptions.keys().cloned().collect(),
        }
    }

    /// Sets the log level back to one that [`client_settings`](Self::client_settings) gave, or to none.
    pub fn restore_log_level(&self, level: Option<&str>) {
        self.state().log_level = level.and_then(LogSeverity::parse);
    }

    pub(super) fn state(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock()
    }

    /// Answers one message. Returns `None` if it needs no answer.
    ///
    /// The message is registered before the returned future is polled, so that a cancellation right behind its
    /// request finds the request.
    pub fn answer(
        self: Arc<Self>,
        message: Result<RpcMessage, MalformedMessage>,
    ) -> impl Future<Output = Option<Response>> + Send + use<H> {
        let outbox = self.outbox.clone();
        let answered = self.start_answer(message, outbox);
        answered.map(|answered| answered.map(UnrenderedAnswer::into_response))
    }

    /// Answers one message with a rope, in which large payloads are not copied. The messages that belong to the request
    /// (progress, logs, questions) go to `said` in place of the session's own writer, so that requests of one session
    /// that are answered on several threads share no channel.
    pub fn answer_apart(
        self: Arc<Self>,
        message: Result<RpcMessage, MalformedMessage>,
        said: LinkWriter,
    ) -> impl Future<Output = Option<Rope>> + Send + use<H> {
        self.answer_in_pieces(message, Outbox::new(said))
    }

    pub(super) fn answer_in_pieces(
        self: Arc<Self>,
        message: Result<RpcMessage, MalformedMessage>,
        outbox: Outbox,
    ) -> impl Future<Output = Option<Rope>> + Send + use<H> {
        let answered = self.start_answer(message, outbox);
        answered.map(|answered| answered.map(UnrenderedAnswer::into_pieces))
    }

    fn start_answer(
        self: Arc<Self>,
        message: Result<RpcMessage, MalformedMessage>,
        outbox: Outbox,
    ) -> impl Future<Output = Option<UnrenderedAnswer>> + Send + use<H> {
        match self.admit_message(message, outbox) {
            Ok(request) => Either::Left(request.answer()),
            Err(answer) => Either::Right(ready(answer.map(UnrenderedAnswer::Error))),
        }
    }

    /// Registers a request, or handles any other message at once.
    fn admit_message(
        self: Arc<Self>,
        message: Result<RpcMessage, MalformedMessage>,
        outbox: Outbox,
    ) -> Result<InFlightRequest<H>, Option<Response>> {
        match message {
            Ok(RpcMessage::Request(request)) => {
                return InFlightRequest::new(self, request, outbox).map_err(Some);
            }
            Ok(RpcMessage::Notification(note)) => self.handle_notification(note),
            Ok(RpcMessage::Response(response)) => self.resolve_question(&response),
            Err(malformed) if malformed.looks != MalformedShape::LikeAnAnswer => {
                return Err(Some(Response::error(
                    malformed.id.as_ref(),
                    &malformed.to_rpc_error(),
                )));
            }
            Err(malformed) => {
                tracing::debug!(%malformed, "an answer that cannot be read");
                self.fail_question(&malformed);
            }
        }
        Err(None)
    }

    /// Dispatches a request by era. The era follows from the request's own metadata, not from earlier requests.
    pub(super) async fn dispatch(
        self: &Arc<Self>,
        request: &Request,
        asked: &str,
        outbox: &Outbox,
    ) -> Result<Rope, RpcError> {
        let params = request.params().filter(|params| params.kind() != JsonKind::Null);
        let params = params.unwrap_or_else(Raw::empty_object);
        if params.kind() != JsonKind::Object {
            return Err(RpcError::new(code::INVALID_PARAMS, "`params` must be an object"));
        }
        let bad = |error: crate::json::JsonMemberError| {
            RpcError::new(code::INVALID_PARAMS, error.to_string())
        };
        // Most legacy requests have no `_meta`.
        let own = params.get("_meta").map_err(bad)?.unwrap_or_else(Raw::null);
        let version = own.get(meta::PROTOCOL_VERSION).map_err(bad)?;
        let params = RequestParams { all: params, meta: own, outbox: outbox.clone() };
        match version {
            Some(version) => modern::dispatch(self, request, asked, params, &version).await,
            None => legacy::dispatch(self, asked, params).await,
        }
    }

    fn handle_notification(&self, note: Notification) {
        match note.method().as_ref() {
            method::CANCELLED => {
                let id = note.params().and_then(|params| params.get("requestId").ok().flatten());
                if let Some(id) = id.and_then(Id::from_raw) {
                    let mut state = self.state();
                    let listening = state.listening.remove(&id.key());
                    // The id is free again: a client may reuse it after a cancellation.
                    let running = state.running.remove(&id);
                    // Released first: the woken task may need the lock.
                    drop(state);
                    drop(listening);
                    if let Some(running) = running {
                        running.cancel();
                    }
                }
            }
            method::INITIALIZED => {}
            _ => {
                let stated = note.params().and_then(|params| modern::stated_facts(&params));
                let client = stated.or_else(|| self.state().greeted.clone());
                self.handler.on_notification(note, client);
            }
        }
    }

    // --- questions to a legacy client

    /// Sends a request to the client and waits for the answer. Dropping the future cancels the request.
    pub(super) async fn ask(&self, outbox: &Outbox, asked: &str, params: &Raw) -> ResponseOutcome {
        let number = self.questions.next.fetch_add(1, Ordering::Relaxed);
        let (reply, answer) = oneshot::channel();
        self.state().asked.insert(number, reply);
        let id = self.questions.id(number);
        let waiting = WithdrawOnDrop { state: &self.state, outbox, number, id: &id };
        let request = Request::new(&id, asked, Some(params));
        outbox.send(request.text().clone()).await;
        let gone =
            || ResponseOutcome::Error(RpcError::new(code::INTERNAL_ERROR, "the client is gone"));
        let outcome = answer.await.unwrap_or_else(|_| gone());
        drop(waiting);
        outcome
    }

    fn resolve_question(&self, response: &Response) {
        let waiting = response.id().and_then(|id| self.questions.number(&id));
        if let Some(reply) = waiting.and_then(|id| self.state().asked.remove(&id)) {
            let _ = reply.send(response.outcome());
        }
    }

    fn fail_question(&self, malformed: &MalformedMessage) {
        let waiting = malformed.id.as_ref().and_then(|id| self.questions.number(id));
        if let Some(reply) = waiting.and_then(|id| self.state().asked.remove(&id)) {
            let _ = reply.send(ResponseOutcome::Error(malformed.to_rpc_error()));
        }
    }

    // --- changes

    /// Sends a change notification, in each form that the client subscribed to.
    pub async fn announce(&self, announced: &SourcedChange) {
        let change = &announced.change;
        let params = change.params();
        let (greeted, subscribed, tags) = {
            let state = self.state();
            let subscribed = match change {
                ChangeNotification::Resource(uri) => {
                    state.subscriptions.keys().any(|resource| resource.uri == *uri)
                }
                _ => true,
            };
            let tags: Vec<Raw> = state
                .listening
                .values()
                .filter(|listening| listening.wants(announced))
                .map(|listening| listening.tag.clone())
                .collect();
            (state.greeted.is_some(), subscribed, tags)
        };
        if greeted && subscribed {
            let note = Notification::new(change.method(), Some(&params));
            self.outbox.send(note.text().clone()).await;
        }
        for tag in tags {
            let edit = [JsonEdit::set(&["_meta", meta::SUBSCRIPTION_ID], tag.as_str())];
            let note = Notification::new(change.method(), Some(&params.clone().overwrite(&edit)));
            self.outbox.send(note.text().clone()).await;
        }
    }

    /// Renders a result or an error for `version`.
    pub(super) fn render(
        &self,
        version: Version,
        asked: &str,
        outcome: Result<Raw, RpcError>,
    ) -> Result<Rope, RpcError> {
        match outcome {
            Ok(result) => render::result(version.era(), asked, &result, || self.handler.info()),
            Err(error) => Err(render::error(version.era(), asked, error)),
        }
    }

    /// Renders a result that is sent many times.
    pub(super) fn render_repeated(
        &self,
        version: Version,
        asked: &str,
        result: &PrerenderedResult,
    ) -> Result<Rope, RpcError> {
        result.render(version.era(), asked, || self.handler.info()).map(Rope::from)
    }
}

/// A question that is withdrawn on drop unless it was answered.
struct WithdrawOnDrop<'a> {
    state: &'a Mutex<SessionState>,
    outbox: &'a Outbox,
    number: u64,
    id: &'a Id,
}

impl Drop for WithdrawOnDrop<'_> {
    fn drop(&mut self) {
        let mut state = self.state.lock();
        if state.asked.remove(&self.number).is_some() {
            let params = format!(r#"{{"requestId":{}}}"#, self.id.as_str());
            let note =
                Notification::new(method::CANCELLED, Some(&Raw::from_trusted(params.into())));
            self.outbox.try_send(note.text().clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{
        FutureExt,
        future::{BoxFuture, pending},
    };

    use super::*;
    use crate::{
        link::pair::link_pair,
        server::{HandlerReply, HandlerRequest, RequestContext, ServerDescription},
    };

    /// A handler that never answers a call.
    struct Silent;

    impl ServerHandler for Silent {
        fn describe(&self) -> ServerDescription {
            let nothing = Raw::empty_object;
            ServerDescription { info: nothing(), capabilities: nothing(), instructions: None }
        }

        fn call<'a>(
            &'a self,
            _: HandlerRequest,
            _: &'a RequestContext,
        ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
            Box::pin(pending())
        }
    }

    #[tokio::test]
    async fn an_id_is_free_again_when_nobody_waits_for_its_answer() {
        let (_near, (writer, _reader)) = link_pair();
        let session = HandlerSession::new(Arc::new(Silent), writer);
        let ask = |method: &str, params: &str| {
            let params = Raw::parse(params.to_owned()).unwrap();
            let request = Request::new(&Id::number(1), method, Some(&params));
            Arc::clone(&session).answer(Ok(RpcMessage::Request(request)))
        };
        ask(method::INITIALIZE, r#"{"protocolVersion":"2025-11-25"}"#).await.unwrap();
        let mut given_up = Box::pin(ask(method::TOOLS_CALL, r#"{"name":"a"}"#));
        assert!(given_up.as_mut().now_or_never().is_none());
        let taken = ask(method::PING, "{}").await.unwrap();
        assert!(taken.text().contains("in use"), "{}", taken.text());
        drop(given_up);
        let free = ask(method::PING, "{}").await.unwrap();
        assert!(matches!(free.outcome(), ResponseOutcome::Result(_)), "{}", free.text());
    }
}
