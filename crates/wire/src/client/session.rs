//! The state of a client session: open calls with their mailboxes, questions, settings, server facts.
//!
//! Used by the exchanges of callers, which send and wait, and by `connect` and `listen`, which route received
//! messages to it. It keeps no payload longer than delivery takes. It does not choose the receiver of a message
//! (`route`).

use std::{
    collections::{BTreeSet, HashMap},
    convert::Infallible,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use bytestring::ByteString;
use tokio_util::sync::CancellationToken;

use super::{
    channel::ServerChannel,
    inbox::{InboxMailbox, PendingServerQuestions, ServerInbox},
    mailbox::{CallResult, Mail, Mailbox},
    options::ClientOptions,
    request_meta::RequestMetaCache,
    server_facts::ServerFacts,
    tool_facts::ToolFactsCache,
    unsent::UnsentCancellations,
};
use crate::{
    Era, Error, Version,
    envelope::{Id, Notification, Request, Response},
    http::{HttpError, HttpResponse},
    json::Raw,
    meta::method,
    pending_post::PendingPost,
};

/// Mail for one call before its answer.
#[derive(Debug)]
pub(crate) enum CallArrival {
    Notification(Notification),
    Request(Request),
    /// The server withdraws a question.
    Withdrawn(Id),
}

pub(crate) type CallMailbox = Mailbox<CallArrival, CallResult>;

/// A session with one server.
#[derive(Debug)]
pub(crate) struct ClientSession {
    pub(crate) options: ClientOptions,
    pub(crate) channel: ServerChannel,
    pub(crate) inbox: Arc<InboxMailbox>,
    pub(crate) asked: PendingServerQuestions,
    pub(crate) tools: ToolFactsCache,
    /// Cancelled to end the connection.
    pub(crate) closing: CancellationToken,
    greeted: RwLock<Option<ServerGreeting>>,
    ids: AtomicU64,
    /// The client's name and version as JSON, written on first use.
    pub(super) info: OnceLock<Raw>,
    pub(super) declared: RequestMetaCache,
    calls: Mutex<CallTable>,
    unsent: UnsentCancellations,
    wishes: Mutex<SessionSettings>,
}

/// The facts about a server that has been greeted.
#[derive(Debug)]
struct ServerGreeting {
    facts: Arc<ServerFacts>,
    /// Whether a tool must be listed before it is called.
    tools_first: bool,
}

#[derive(Debug, Default)]
pub(super) struct CallTable {
    pub(super) open: HashMap<u64, OpenCall>,
    /// Legacy tasks, by id, and the call that started each.
    pub(super) tasks: HashMap<String, u64>,
    /// Why the session accepts no more calls.
    over: Option<Error>,
}

#[derive(Debug)]
pub(super) struct OpenCall {
    pub(super) mail: Arc<CallMailbox>,
    pub(super) can_ask: bool,
    /// Method and HTTP session generation of a call that was answered with 202: its answer can only come on the GET
    /// stream.
    pub(super) accepted: Option<(Box<str>, u64)>,
}

/// Subscriptions and log level, to be repeated in a new session.
#[derive(Debug, Default, Clone)]
pub(crate) struct SessionSettings {
    pub(crate) log_level: Option<String>,
    pub(crate) subscriptions: BTreeSet<String>,
}

/// The registration of an open call. Dropping it before the answer cancels the call at the server.
#[derive(Debug)]
pub(crate) struct CallRegistration {
    pub(crate) session: Arc<ClientSession>,
    id: u64,
    pub(crate) mail: Arc<CallMailbox>,
    /// Whether the server received the call and should be told of its cancellation.
    pub(crate) cancel: bool,
    /// The POST of the call, while it runs.
    posting: Option<PendingPost>,
}

// === impl CallArrival ===

impl Mail for CallArrival {
    fn is_droppable(&self) -> bool {
        matches!(self, Self::Notification(note) if matches!(note.method().as_ref(), method::PROGRESS | method::LOG))
    }

    fn repeats(&self, _: &Self) -> bool {
        false
    }
}

// === impl ClientSession ===

impl ClientSession {
    /// A session that ends when `closing` is cancelled.
    pub(crate) fn new(
        options: ClientOptions,
        channel: ServerChannel,
        closing: CancellationToken,
    ) -> (Arc<Self>, ServerInbox) {
        let inbox = Arc::new(Mailbox::new());
        let session = Arc::new(Self {
            options,
            channel,
            inbox: inbox.clone(),
            asked: PendingServerQuestions::default(),
            tools: ToolFactsCache::default(),
            closing,
            greeted: RwLock::new(None),
            ids: AtomicU64::new(1),
            info: OnceLock::new(),
            declared: RequestMetaCache::default(),
            calls: Mutex::default(),
            unsent: UnsentCancellations::default(),
            wishes: Mutex::default(),
        });
        (session, ServerInbox::new(inbox))
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// The server's facts; `None` before the handshake.
    pub(crate) fn facts(&self) -> Option<Arc<ServerFacts>> {
        self.read_greeting().as_ref().map(|greeted| greeted.facts.clone())
    }

    pub(crate) fn set_facts(&self, facts: ServerFacts) {
        let tools_first = match facts.version {
            Version::V2026_07_28 => self.channel.is_http(),
            Version::V2025_11_25 => facts.has_capability(&["tasks", "requests", "tools", "call"]),
            _ => false,
        };
        let greeted = ServerGreeting { facts: Arc::new(facts), tools_first };
        *self.greeted.write().unwrap_or_else(PoisonError::into_inner) = Some(greeted);
    }

    /// Whether a tool must be listed before it is called: to know its header parameters, or whether it requires a
    /// task.
    pub(crate) fn wants_tools_first(&self) -> bool {
        self.read_greeting().as_ref().is_some_and(|greeted| greeted.tools_first)
    }

    pub(crate) fn era(&self) -> Era {
        self.read_greeting().as_ref().map_or(Era::Legacy, |greeted| greeted.facts.era())
    }

    fn read_greeting(&self) -> RwLockReadGuard<'_, Option<ServerGreeting>> {
        self.greeted.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_greeted_legacy(&self) -> bool {
        self.facts().is_some_and(|facts| facts.era() == Era::Legacy)
    }

    pub(crate) fn settings(&self) -> MutexGuard<'_, SessionSettings> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // --- open calls

    /// Opens a mailbox under `id`.
    pub(crate) fn register(
        self: &Arc<Self>,
        id: u64,
        can_ask: bool,
    ) -> Result<CallRegistration, Error> {
        let mail = Arc::new(Mailbox::new());
        let mut calls = self.lock_calls();
        if let Some(error) = &calls.over {
            return Err(error.clone());
        }
        calls.open.insert(id, OpenCall { mail: mail.clone(), can_ask, accepted: None });
        drop(calls);
        Ok(CallRegistration { session: self.clone(), id, mail, cancel: false, posting: None })
    }

    /// Marks a call as accepted: its answer can only come on the server's GET stream.
    pub(crate) fn mark_accepted(&self, id: u64, asked: &str) {
        let generation = self.generation();
        if let Some(call) = self.lock_calls().open.get_mut(&id) {
            call.accepted = Some((asked.into(), generation));
        }
    }

    /// Fails the accepted calls, which wait for answers on a closed GET stream, in the session generations that
    /// `is_gone` selects.
    pub(crate) fn fail_accepted(&self, is_gone: impl Fn(u64) -> bool) {
        let waits = |_: &u64, call: &mut OpenCall| {
            call.accepted.as_ref().is_some_and(|(_, generation)| is_gone(*generation))
        };
        let lost: Vec<_> = self.lock_calls().open.extract_if(waits).collect();
        for (_, call) in lost {
            let method = call.accepted.map(|(method, _)| method.into_string()).unwrap_or_default();
            call.mail.finish(Err(Error::StreamLost { method }));
        }
    }

    /// Routes the notifications of a task to the call that started it.
    pub(crate) fn claim_task(&self, task: &str, id: u64) {
        self.lock_calls().tasks.insert(task.to_owned(), id);
    }

    pub(crate) fn release_task(&self, task: &str) {
        self.lock_calls().tasks.remove(task);
    }

    /// Redirects the mail of one call to another.
    pub(crate) fn redirect(&self, from: u64, to: u64) {
        let mut calls = self.lock_calls();
        let Some(mail) = calls.open.get(&to).map(|call| call.mail.clone()) else {
            return;
        };
        if let Some(call) = calls.open.get_mut(&from) {
            call.mail = mail;
            call.can_ask = false;
        }
    }

    /// Fails all running calls, and all later ones.
    pub(crate) fn fail_all(&self, error: &Error) {
        let open = {
            let mut calls = self.lock_calls();
            calls.over.get_or_insert_with(|| error.clone());
            std::mem::take(&mut calls.open)
        };
        for call in open.into_values() {
            call.mail.finish(Err(error.clone()));
        }
        self.inbox.finish(error.clone());
    }

    pub(super) fn lock_calls(&self) -> MutexGuard<'_, CallTable> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn call_mail(&self, id: u64) -> Option<Arc<CallMailbox>> {
        self.lock_calls().open.get(&id).map(|call| call.mail.clone())
    }

    // --- sending

    pub(crate) async fn send_response(&self, response: Response) -> Result<(), Error> {
        self.channel.send(response.text().clone(), self.facts().as_deref()).await
    }

    pub(crate) async fn send_notification(&self, note: Notification) -> Result<(), Error> {
        self.channel.send(note.text().clone(), self.facts().as_deref()).await
    }

    /// Queues a message without waiting. A message that finds no room is dropped with a warning.
    pub(crate) fn send_later(&self, text: ByteString) {
        if let Err(error) = self.channel.try_send(text) {
            tracing::debug!(%error, "a message nobody waits for was not sent");
        }
    }

    fn cancel(&self, id: u64) {
        if self.era() == Era::Modern && self.channel.is_http() {
            return; // The closed stream says it.
        }
        if self.channel.try_send(cancel_notification(id).text().clone()).is_err() {
            self.unsent.add(id);
        }
    }

    /// Cancels a call while its POST is running. The cancellation follows the POST: if it came first, the server
    /// would not know the call yet, and would run it to the end.
    fn cancel_after(&self, posting: PendingPost, id: u64) {
        let text = cancel_notification(id).text().clone();
        let taken = match &self.channel {
            ServerChannel::Http(http) => http.try_cancel_after(posting, text),
            ServerChannel::Link(link) => link.writer.try_cancel_after(posting, text),
        };
        if taken.is_err() {
            // Sent now, the cancellation could overtake the call.
            tracing::warn!(id, "a call is not cancelled: too many are being cancelled");
        }
    }

    /// Sends the cancellations that found no room, for as long as the session lives.
    pub(crate) async fn send_unsent(&self) -> Infallible {
        loop {
            let id = self.unsent.next().await;
            if let Err(error) = self.send_notification(cancel_notification(id)).await {
                tracing::debug!(%error, "a cancellation was not taken");
            }
        }
    }
}

fn cancel_notification(id: u64) -> Notification {
    let params = format!(r#"{{"requestId":{id},"reason":"the caller went away"}}"#);
    Notification::new(method::CANCELLED, Some(&Raw::from_trusted(params.into())))
}

// === impl CallRegistration ===

impl CallRegistration {
    /// The id of the call.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Waits for the answer to the call's POST.
    pub(crate) async fn post(&mut self, posting: PendingPost) -> Result<HttpResponse, HttpError> {
        let answer = self.posting.insert(posting).await;
        self.posting = None;
        answer
    }
}

impl Drop for CallRegistration {
    fn drop(&mut self) {
        self.session.lock_calls().open.remove(&self.id);
        // The call's questions have no reader left: answer them as unanswered.
        for answer in self.session.asked.take_for_call(self.id) {
            self.session.send_later(answer.text().clone());
        }
        if self.cancel && !self.mail.is_finished() {
            match self.posting.take() {
                Some(posting) => self.session.cancel_after(posting, self.id),
                None => self.session.cancel(self.id),
            }
        }
    }
}
