//! One legacy session: its server session, its running calls and their streams.
//!
//! Used by `legacy`, and by `face` to end idle sessions. A call is answered on the request that it
//! came with. If it sends more than an answer, takes long, or loses its client, the session's task
//! continues it: a lost connection cancels no call. It does not parse HTTP (`legacy`).

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytestring::ByteString;
use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use parking_lot::{Mutex, MutexGuard};
use switchboard_wire::{
    Version,
    envelope::{
        Id, MessageOrBatch, Request, Response, ResponseOutcome, RpcError, RpcMessage, code, parse,
    },
    json::Rope,
    link::{LinkReader, pair::one_way},
    queue,
    server::{
        ByteCharge, ChangeNotification, ChangeReceiver, HandlerSession as WireSession,
        ServerHandler, SourcedChange,
    },
};
use tokio::{task::unconstrained, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    call::{RequestReservation, SessionCall, SettingFailure, drain, message_weight},
    shared::{self, SharedPart},
    stream_log::{MessageWeight, Priming, SESSION_STREAM, StreamLog},
};
use crate::{
    face::{
        metrics::GaugeLease,
        options::FaceLimits,
        replicas::{SessionNotice, SessionState},
        sessions::SessionSlot,
    },
    view_provider::OpenView,
};

/// The session of one client.
pub(in crate::face) struct StreamableSession<V> {
    wire: Arc<WireSession<V>>,
    log: Mutex<StreamLog>,
    pub(super) handovers: queue::QueueSender<SessionCall<V>>,
    pub(super) under_way: AtomicUsize,
    pub(super) max_under_way: usize,
    used: Mutex<Instant>,
    version: Version,
    over: CancellationToken,
    /// What other replicas know of it, if there are any.
    shared: Option<SharedPart>,
    /// Its slot, until the session ends.
    slot: Mutex<Option<SessionSlot>>,
    _counted: GaugeLease,
}

/// The parts of a session besides its view.
pub(super) struct SessionParts {
    pub(super) limits: FaceLimits,
    pub(super) over: CancellationToken,
    pub(super) slot: SessionSlot,
    pub(super) counted: GaugeLease,
    pub(super) shared: Option<SharedPart>,
}

/// The task of a session, to be run.
pub(super) struct SessionTask<V> {
    news: ChangeReceiver,
    /// The messages of the server session that belong to no call: changes.
    voice: LinkReader,
    handovers: queue::QueueReceiver<SessionCall<V>>,
    /// What is to be told to other replicas, if there are any.
    notices: Option<queue::QueueReceiver<SessionNotice>>,
}

// === impl StreamableSession ===

impl<V: ServerHandler> StreamableSession<V> {
    /// Handles `initialize` and creates a session, unless the request is refused.
    pub(super) async fn begin(
        opened: OpenView<V>,
        hello: Request,
        making: SessionParts,
    ) -> (ByteString, Option<(Arc<Self>, SessionTask<V>)>) {
        let (writer, voice) = one_way();
        let tag = making.shared.as_ref().map(|shared| shared.group().tag);
        let mark = tag.map(|tag| tag.to_string().into());
        let wire = WireSession::with_question_mark(opened.view, writer, mark);
        let news = opened.changes.listen();
        let answer = Arc::clone(&wire).answer(Ok(RpcMessage::Request(hello))).await;
        let Some(answer) = answer else {
            return (ByteString::new(), None);
        };
        let text = answer.text().clone();
        let ResponseOutcome::Result(result) = answer.outcome() else {
            return (text, None);
        };
        let version = result.get("protocolVersion").ok().flatten();
        let version = version.and_then(|version| version.to_text()?.parse().ok());
        // Room for every call that may run, so that no handover fails.
        let notices = making.shared.as_ref().and_then(|shared| shared.stream().take_notices());
        let (handovers, waiting) = queue::bounded_queue(making.limits.streams.max(1));
        let session = Arc::new(Self {
            wire,
            log: Mutex::new(StreamLog::new(making.limits, tag)),
            handovers,
            under_way: AtomicUsize::new(0),
            max_under_way: making.limits.streams,
            used: Mutex::new(Instant::now()),
            version: version.unwrap_or(Version::LATEST_LEGACY),
            over: making.over,
            shared: making.shared,
            slot: Mutex::new(Some(making.slot)),
            _counted: making.counted,
        });
        (text, Some((session, SessionTask { news, voice, handovers: waiting, notices })))
    }

    /// Starts to answer requests. Returns `None` if too many are running.
    pub(super) fn call(
        self: &Arc<Self>,
        asked: MessageOrBatch,
        charge: ByteCharge,
    ) -> Option<SessionCall<V>> {
        let requests = match &asked {
            MessageOrBatch::One(_) => 1,
            MessageOrBatch::Batch(messages) => messages.len(),
        };
        let reserved = RequestReservation::new(self, requests)?;
        let (writer, voice) = one_way();
        let wire = Arc::clone(&self.wire);
        let is_shared = self.shared.is_some() && shared::may_change_settings(&asked);
        let id = match &asked {
            MessageOrBatch::One(RpcMessage::Request(request)) if self.shared.is_some() => {
                Some(request.id())
            }
            _ => None,
        };
        let is_setting = is_shared && id.is_some();
        let mut answering: BoxFuture<'static, _> = match asked {
            MessageOrBatch::One(message) => wire.answer_apart(Ok(message), writer).boxed(),
            MessageOrBatch::Batch(messages) => wire.answer_batch(messages, Some(writer)).boxed(),
        };
        let failure = SettingFailure::default();
        if is_shared {
            let (session, failure) = (Arc::clone(self), failure.clone());
            answering = session.answer_and_share(answering, id.clone(), failure).boxed();
        }
        let call = SessionCall::new(reserved, answering, voice, charge).of_request(id);
        Some(if is_setting { call.of_setting(failure) } else { call })
    }

    /// Answers once what the client has changed is written for all replicas.
    async fn answer_and_share(
        self: Arc<Self>,
        answering: BoxFuture<'static, Option<Rope>>,
        id: Option<Id>,
        failure: SettingFailure,
    ) -> Option<Rope> {
        let answer = answering.await;
        let Some(shared) = &self.shared else { return answer };
        let Err(error) = shared.write_changes(&self.wire).await else { return answer };
        let text = format!("the session could not be changed for all replicas: {error}");
        let told = RpcError::new(code::INTERNAL_ERROR, text);
        failure.set(error);
        Some(Response::error(id.as_ref(), &told).text().clone().into())
    }

    /// What other replicas know of the session, if there are any.
    pub(super) fn shared(&self) -> Option<&SharedPart> {
        self.shared.as_ref()
    }

    /// Whether other replicas know the session by this name.
    pub(in crate::face) fn is_named(&self, name: &str) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.name() == name)
    }

    /// Makes a state that another replica wrote this one's. Whether all of it could be.
    pub(super) async fn adopt(&self, state: SessionState) -> bool {
        match &self.shared {
            Some(shared) => shared.adopt(&self.wire, state).await,
            None => true,
        }
    }

    /// Handles a message that needs no answer.
    pub(super) async fn take(self: &Arc<Self>, message: RpcMessage) {
        Arc::clone(&self.wire).answer(Ok(message)).await;
    }

    // --- streams

    pub(super) fn log(&self) -> MutexGuard<'_, StreamLog> {
        self.log.lock()
    }

    /// Opens a stream for a call and reads it; the session's task continues the call. Returns
    /// `None` if the session has too much to do.
    pub(super) fn stream(
        self: &Arc<Self>,
        mut call: SessionCall<V>,
        first: Option<ByteString>,
    ) -> Option<impl futures_util::Stream<Item = crate::face::events::OutgoingEvent> + Send + use<V>>
    {
        // Clients of earlier versions take an event without data for a broken message.
        let primed = self.version >= Version::V2025_11_25;
        let events = {
            let mut log = self.log();
            let priming = if primed { Priming::Enabled } else { Priming::Unknown };
            let stream = log.open_for(priming, call.request());
            let events = log.follow(stream);
            if let Some(text) = first {
                log.say(stream, &text, message_weight(&text));
            }
            call.speak_on(stream);
            events
        };
        self.handovers.try_send(call).ok()?;
        Some(events)
    }

    /// Sends a message of no call on the session's GET stream.
    pub(super) fn say_aside(&self, text: &ByteString) {
        // A notification about another call is dropped: the client could not tell which call it
        // belongs to.
        if matches!(parse(text.clone()), Ok(MessageOrBatch::One(RpcMessage::Request(_)))) {
            self.pass_on(text);
            self.log().say(SESSION_STREAM, text, MessageWeight::Must);
        }
    }

    /// Sends a message of no call that arose at another replica on the GET stream, which is read here.
    pub(super) fn say_for_other(&self, text: &ByteString) {
        let weight = match parse(text.clone()) {
            Ok(MessageOrBatch::One(RpcMessage::Notification(_))) => MessageWeight::Latest,
            _ => MessageWeight::Must,
        };
        self.log().say(SESSION_STREAM, text, weight);
    }

    /// Has another replica send a message of no call, too, if it holds the GET stream.
    fn pass_on(&self, text: &ByteString) {
        if let Some(shared) = &self.shared {
            shared.stream().pass_on(text);
        }
    }

    /// Notes that the GET stream is read here.
    pub(super) fn hold_stream(&self) {
        if let Some(shared) = &self.shared {
            shared.stream().hold();
        }
    }

    async fn tell_others(&self, notice: SessionNotice) {
        if let Some(shared) = &self.shared {
            shared.tell(notice).await;
        }
    }

    /// Sends a change notification on the GET stream, if the client subscribed to it.
    fn announce(&self, announced: &SourcedChange, voice: &mut LinkReader) {
        let mut said = VecDeque::new();
        // It completes at once: the last change left the queue empty, so there is room.
        let told = unconstrained(self.wire.announce(announced)).now_or_never();
        drain(voice, &mut said);
        if told.is_none() {
            tracing::warn!("a change was not told whole");
        }
        let weight = match announced.change {
            ChangeNotification::List(_) | ChangeNotification::Resource(_) => MessageWeight::Latest,
            ChangeNotification::Other(..) => MessageWeight::Must,
        };
        for text in said {
            self.pass_on(&text);
            self.log().say(SESSION_STREAM, &text, weight);
        }
    }

    // --- life

    /// Whether the session has been idle for `after`.
    pub(in crate::face) fn is_idle(&self, after: Duration) -> bool {
        self.idle_since().is_some_and(|since| since.elapsed() >= after)
    }

    /// The time of the last use; `None` while a call runs or a stream is read.
    pub(in crate::face) fn idle_since(&self) -> Option<Instant> {
        let is_idle = self.under_way.load(Ordering::Relaxed) == 0 && self.log().read() == 0;
        is_idle.then(|| *self.used.lock())
    }

    /// Ends the session. Running calls are dropped, and the slot is free at once.
    pub(in crate::face) fn end(&self) {
        self.over.cancel();
        self.slot.lock().take();
    }
}

impl<V> StreamableSession<V> {
    /// Records a use of the session.
    pub(super) fn touch(&self) {
        *self.used.lock() = Instant::now();
    }
}

// === impl SessionTask ===

impl<V: ServerHandler> SessionTask<V> {
    /// Runs until the session ends. `closing` ends the GET stream.
    pub(super) async fn run(
        mut self,
        session: Arc<StreamableSession<V>>,
        closing: CancellationToken,
    ) {
        let mut calls = FuturesUnordered::new();
        // One at a time, so that messages stay in order.
        let mut telling = FuturesUnordered::new();
        let mut is_closing = false;
        loop {
            tokio::select! {
                () = session.over.cancelled() => break,
                () = closing.cancelled(), if !is_closing => {
                    is_closing = true;
                    session.log().finish(SESSION_STREAM, None);
                }
                Some(call) = self.handovers.recv() => calls.push(call.run()),
                Some(()) = calls.next(), if !calls.is_empty() => {}
                Some(notice) = next_notice(&mut self.notices), if telling.is_empty() => {
                    telling.push(session.tell_others(notice));
                }
                Some(()) = telling.next(), if !telling.is_empty() => {}
                change = self.news.next() => session.announce(&change, &mut self.voice),
            }
        }
        session.log().cut();
    }
}

async fn next_notice(
    notices: &mut Option<queue::QueueReceiver<SessionNotice>>,
) -> Option<SessionNotice> {
    match notices {
        Some(notices) => notices.recv().await,
        None => std::future::pending().await,
    }
}
