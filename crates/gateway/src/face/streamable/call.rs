//! One running call of a legacy session, and the messages that belong to it.
//!
//! Used by `legacy` and `session`. It does not choose between JSON and a stream (`legacy`).

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{Arc, OnceLock, atomic::Ordering},
    task::{Context, Poll},
};

use bytestring::ByteString;
use futures_util::{FutureExt, future::BoxFuture};
use switchboard_wire::{
    envelope::{Id, MessageOrBatch, RpcMessage, parse},
    json::Rope,
    link::{LinkFrame, LinkReader},
    meta::method,
    server::{ByteCharge, ServerHandler},
};
use tokio::task::unconstrained;

use super::{session::StreamableSession, stream_log::MessageWeight};
use crate::face::replicas::ReplicaError;

/// A reservation for some of the concurrent requests of a session.
pub(super) struct RequestReservation<V> {
    session: Arc<StreamableSession<V>>,
    requests: usize,
}

/// A request or a batch that is being answered.
pub(super) struct SessionCall<V> {
    reserved: RequestReservation<V>,
    /// The charge to its principal's budget.
    charge: Option<ByteCharge>,
    answering: Option<BoxFuture<'static, Option<Rope>>>,
    /// The messages of the call other than its answer. It is read by the task that polls the call, so that calls of one
    /// session wait for no lock of one another.
    voice: LinkReader,
    said: VecDeque<ByteString>,
    stream: Option<u64>,
    /// The id of the request, if another replica may have to say that its answer is lost.
    request: Option<Id>,
    /// Of a request that changes what replicas share of its session: why it could not be changed.
    setting: Option<SettingFailure>,
}

/// Why a change of a session could not be written for all replicas, once that is known. Clones share it.
#[derive(Clone, Default)]
pub(super) struct SettingFailure(Arc<OnceLock<ReplicaError>>);

/// The next step of a call.
pub(super) enum CallStep {
    Message(ByteString),
    /// The answer; `None` if the call was cancelled.
    Answered(Option<Rope>),
}

/// A call that continues in the session's task if its client disconnects.
pub(super) struct DetachableCall<V: ServerHandler>(Option<SessionCall<V>>);

// === impl RequestReservation ===

impl<V> RequestReservation<V> {
    /// Reserves room. Returns `None` if too many requests are running.
    pub(super) fn new(session: &Arc<StreamableSession<V>>, requests: usize) -> Option<Self> {
        let before = session.under_way.fetch_add(requests, Ordering::Relaxed);
        let reserved = Self { session: Arc::clone(session), requests };
        (before + requests <= session.max_under_way).then_some(reserved)
    }
}

impl<V> Drop for RequestReservation<V> {
    fn drop(&mut self) {
        self.session.under_way.fetch_sub(self.requests, Ordering::Relaxed);
        self.session.touch();
    }
}

// === impl SessionCall ===

impl<V: ServerHandler> SessionCall<V> {
    pub(super) fn new(
        reserved: RequestReservation<V>,
        answering: BoxFuture<'static, Option<Rope>>,
        voice: LinkReader,
        charge: ByteCharge,
    ) -> Self {
        let (answering, charge) = (Some(answering), Some(charge));
        let said = VecDeque::new();
        let (stream, request, setting) = (None, None, None);
        Self { reserved, charge, answering, voice, said, stream, request, setting }
    }

    /// The call of a request that changes what replicas share of its session.
    pub(super) fn of_setting(self, failure: SettingFailure) -> Self {
        Self { setting: Some(failure), ..self }
    }

    /// Whether the request changes what replicas share of its session. Its status tells whether that could be done.
    pub(super) fn is_setting(&self) -> bool {
        self.setting.is_some()
    }

    /// Why the change could not be written, once the call has been answered.
    pub(super) fn setting_error(&self) -> Option<&ReplicaError> {
        self.setting.as_ref()?.0.get()
    }

    /// The call of the request with this id.
    pub(super) fn of_request(self, request: Option<Id>) -> Self {
        Self { request, ..self }
    }

    /// The id of the request, if there are other replicas.
    pub(super) fn request(&self) -> Option<&Id> {
        self.request.as_ref()
    }

    /// The charge of a call that has ended.
    pub(super) fn into_charge(self) -> Option<ByteCharge> {
        self.charge
    }

    fn session(&self) -> &StreamableSession<V> {
        &self.reserved.session
    }

    /// Sends all further messages of the call to a stream.
    pub(super) fn speak_on(&mut self, stream: u64) {
        self.stream = Some(stream);
    }

    /// Returns the next step. Must not be called after the answer. Cancel-safe.
    pub(super) async fn next(&mut self) -> CallStep {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<CallStep> {
        if let Some(text) = self.said.pop_front() {
            return Poll::Ready(CallStep::Message(text));
        }
        let polled = self.poll_answer(cx);
        match (self.said.pop_front(), polled) {
            (Some(text), Poll::Pending) => Poll::Ready(CallStep::Message(text)),
            (Some(text), Poll::Ready(answer)) => {
                // Messages before the answer are returned first.
                self.answering = Some(std::future::ready(answer).boxed());
                Poll::Ready(CallStep::Message(text))
            }
            (None, Poll::Ready(answer)) => Poll::Ready(CallStep::Answered(answer)),
            (None, Poll::Pending) => Poll::Pending,
        }
    }

    fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<Option<Rope>> {
        let polled = match &mut self.answering {
            Some(answering) => Pin::new(answering).poll(cx),
            None => Poll::Ready(None),
        };
        if polled.is_ready() {
            self.answering = None;
        }
        drain(&mut self.voice, &mut self.said);
        polled
    }

    /// Runs the call to its end, on its stream.
    pub(super) async fn run(mut self) {
        loop {
            match (self.next().await, self.stream) {
                (CallStep::Message(text), Some(stream)) => {
                    self.session().log().say(stream, &text, message_weight(&text));
                }
                (CallStep::Message(text), None) => self.session().say_aside(&text),
                (CallStep::Answered(answer), stream) => {
                    if let Some(stream) = stream {
                        let text = answer.map(Rope::into_text);
                        self.session().log().finish(stream, text.as_ref());
                    }
                    return;
                }
            }
        }
    }
}

/// Takes all waiting messages, regardless of the task's cooperative budget.
pub(super) fn drain(voice: &mut LinkReader, said: &mut VecDeque<ByteString>) {
    while let Some(Ok(Some(frame))) = unconstrained(voice.next()).now_or_never() {
        if let LinkFrame::Text(text) = frame {
            said.push_back(text);
        }
    }
}

// === impl SettingFailure ===

impl SettingFailure {
    pub(super) fn set(&self, error: ReplicaError) {
        // A change is written once.
        let _ = self.0.set(error);
    }
}

// === impl DetachableCall ===

impl<V: ServerHandler> DetachableCall<V> {
    pub(super) fn new(call: SessionCall<V>) -> Self {
        Self(Some(call))
    }

    /// Returns the next step, like `SessionCall::next`.
    pub(super) async fn next(&mut self) -> CallStep {
        match &mut self.0 {
            Some(call) => call.next().await,
            None => CallStep::Answered(None),
        }
    }

    /// Takes the call out, so that it is not handed over on drop.
    pub(super) fn release(mut self) -> Option<SessionCall<V>> {
        self.0.take()
    }
}

impl<V: ServerHandler> Drop for DetachableCall<V> {
    fn drop(&mut self) {
        let Some(call) = self.0.take() else { return };
        if call.answering.is_some() {
            let handovers = call.reserved.session.handovers.clone();
            // If the session has too much to do, the call is dropped, which cancels it.
            if handovers.try_send(call).is_err() {
                tracing::debug!("a call was given up with its client");
            }
        }
    }
}

/// Whether a slow client may lose a message.
pub(super) fn message_weight(text: &ByteString) -> MessageWeight {
    match parse(text.clone()) {
        Ok(MessageOrBatch::One(RpcMessage::Notification(note)))
            if matches!(note.method().as_ref(), method::PROGRESS | method::LOG) =>
        {
            MessageWeight::May
        }
        _ => MessageWeight::Must,
    }
}
