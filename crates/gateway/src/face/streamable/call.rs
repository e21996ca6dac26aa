//! One call of a legacy session, and whose words are whose.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{Arc, PoisonError, atomic::Ordering},
    task::{Context, Poll},
};

use bytestring::ByteString;
use futures_util::{FutureExt, future::BoxFuture};
use switchboard_wire::{
    envelope::{MessageOrBatch, RpcMessage, parse},
    json::Rope,
    link::{LinkFrame, LinkReader},
    meta::method,
    server::{ByteCharge, ServerHandler},
};
use tokio::task::unconstrained;

use super::{session::StreamableSession, stream_log::MessageWeight};

/// Room for some requests in a session that answers only so many at once.
pub(super) struct RequestReservation<V> {
    session: Arc<StreamableSession<V>>,
    requests: usize,
}

/// A request, or a batch of them, that is being answered.
pub(super) struct SessionCall<V> {
    reserved: RequestReservation<V>,
    /// What it takes of its principal's budget.
    charge: Option<ByteCharge>,
    answering: Option<BoxFuture<'static, Option<Rope>>>,
    said: VecDeque<ByteString>,
    stream: Option<u64>,
}

/// What a call comes to next.
pub(super) enum CallStep {
    Said(ByteString),
    /// `None`: it was cancelled, and there is nothing to say.
    Answered(Option<Rope>),
}

/// A call whose client may go away at any time.
pub(super) struct DetachableCall<V: ServerHandler>(Option<SessionCall<V>>);

// === impl RequestReservation ===

impl<V> RequestReservation<V> {
    /// `None`: too many requests are under way.
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
        charge: ByteCharge,
    ) -> Self {
        let (answering, charge) = (Some(answering), Some(charge));
        Self { reserved, charge, answering, said: VecDeque::new(), stream: None }
    }

    /// What it took of its principal's budget, once it has ended.
    pub(super) fn into_charge(mut self) -> Option<ByteCharge> {
        self.charge.take()
    }

    fn session(&self) -> &StreamableSession<V> {
        &self.reserved.session
    }

    /// From here on everything it says goes to a stream.
    pub(super) fn speak_on(&mut self, stream: u64) {
        self.stream = Some(stream);
    }

    /// What comes next. Not to be called after the answer. Safe to cancel.
    pub(super) async fn next(&mut self) -> CallStep {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<CallStep> {
        if let Some(text) = self.said.pop_front() {
            return Poll::Ready(CallStep::Said(text));
        }
        let polled = self.poll_answer(cx);
        match (self.said.pop_front(), polled) {
            (Some(text), Poll::Pending) => Poll::Ready(CallStep::Said(text)),
            (Some(text), Poll::Ready(answer)) => {
                // Everything said before the answer comes before it.
                self.answering = Some(std::future::ready(answer).boxed());
                Poll::Ready(CallStep::Said(text))
            }
            (None, Poll::Ready(answer)) => Poll::Ready(CallStep::Answered(answer)),
            (None, Poll::Pending) => Poll::Pending,
        }
    }

    fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<Option<Rope>> {
        let session = Arc::clone(&self.reserved.session);
        let mut voice = session.voice.lock().unwrap_or_else(PoisonError::into_inner);
        let polled = match &mut self.answering {
            Some(answering) => Pin::new(answering).poll(cx),
            None => Poll::Ready(None),
        };
        if polled.is_ready() {
            self.answering = None;
        }
        drain(&mut voice, &mut self.said);
        polled
    }

    /// Goes on to the end, on its stream.
    pub(super) async fn run(mut self) {
        loop {
            match (self.next().await, self.stream) {
                (CallStep::Said(text), Some(stream)) => {
                    self.session().log().say(stream, &text, message_weight(&text));
                }
                (CallStep::Said(text), None) => self.session().say_aside(&text),
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

/// Takes everything that was said, however much of this task's turn is used up.
pub(super) fn drain(voice: &mut LinkReader, said: &mut VecDeque<ByteString>) {
    while let Some(Ok(Some(frame))) = unconstrained(voice.next()).now_or_never() {
        if let LinkFrame::Text(text) = frame {
            said.push_back(text);
        }
    }
}

impl<V> Drop for SessionCall<V> {
    fn drop(&mut self) {
        // A question that is given up takes itself back; nobody else is to say it for this call.
        if let Some(answering) = self.answering.take() {
            let voice = &self.reserved.session.voice;
            let mut voice = voice.lock().unwrap_or_else(PoisonError::into_inner);
            drop(answering);
            drain(&mut voice, &mut self.said);
        }
    }
}

// === impl DetachableCall ===

impl<V: ServerHandler> DetachableCall<V> {
    pub(super) fn new(call: SessionCall<V>) -> Self {
        Self(Some(call))
    }

    /// [`Call::next`].
    pub(super) async fn next(&mut self) -> CallStep {
        match &mut self.0 {
            Some(call) => call.next().await,
            None => CallStep::Answered(None),
        }
    }

    /// Out of danger.
    pub(super) fn release(mut self) -> Option<SessionCall<V>> {
        self.0.take()
    }
}

impl<V: ServerHandler> Drop for DetachableCall<V> {
    fn drop(&mut self) {
        let Some(call) = self.0.take() else { return };
        if call.answering.is_some() {
            let handovers = call.reserved.session.handovers.clone();
            // A session with too much to do lets it go, which cancels it.
            if handovers.try_send(call).is_err() {
                tracing::debug!("a call was given up with its client");
            }
        }
    }
}

/// Whether a client that reads slowly may lose a message.
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
