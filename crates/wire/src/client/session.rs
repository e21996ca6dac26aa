//! One conversation with one server: who is waiting for what, and where what arrives belongs.
//!
//! The session is shared by the caller's exchanges, which send and wait, and by the reader of the
//! channel, which sorts. It holds no payload longer than it takes to hand it on.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use bytestring::ByteString;
use tokio_util::sync::CancellationToken;

use super::{
    channel::Channel,
    facts::ServerFacts,
    inbox::{Asked, Inbox, InboxMail, Incoming, Owner, Question, Reply},
    mailbox::{Mail, Mailbox, Verdict},
    options::{Attribution, ClientOptions},
    tools::ToolBook,
};
use crate::{
    Era, Error,
    envelope::{Id, Malformed, Message, Notification, Request, Response, RpcError, code},
    json::Raw,
    meta::{self, method},
};

/// What arrives for one call before its answer.
#[derive(Debug)]
pub(crate) enum Arrival {
    Notification(Notification),
    Request(Request),
    /// The server takes back a question.
    Withdrawn(Id),
}

pub(crate) type CallMail = Mailbox<Arrival, Verdict>;

/// One conversation.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) options: ClientOptions,
    pub(crate) channel: Channel,
    pub(crate) inbox: Arc<InboxMail>,
    pub(crate) asked: Asked,
    pub(crate) tools: ToolBook,
    /// Cancelled when the connection is to end.
    pub(crate) closing: CancellationToken,
    facts: RwLock<Option<Arc<ServerFacts>>>,
    ids: AtomicU64,
    calls: Mutex<Calls>,
    wishes: Mutex<Wishes>,
}

#[derive(Debug, Default)]
struct Calls {
    open: HashMap<u64, OpenCall>,
    /// Legacy tasks, by id, and the call that started each.
    tasks: HashMap<String, u64>,
    /// Why no call can be opened any more.
    over: Option<Error>,
}

#[derive(Debug)]
struct OpenCall {
    mail: Arc<CallMail>,
    can_ask: bool,
}

/// What was asked of the server beyond single calls, to be asked again of a new session.
#[derive(Debug, Default, Clone)]
pub(crate) struct Wishes {
    pub(crate) log_level: Option<String>,
    pub(crate) subscriptions: BTreeSet<String>,
}

/// A place in the table of open calls; leaving it early cancels the call upstream.
#[derive(Debug)]
pub(crate) struct Registered {
    session: Arc<Session>,
    id: u64,
    pub(crate) mail: Arc<CallMail>,
    /// Whether the server has heard of the call and would want to hear of its end.
    pub(crate) cancel: bool,
}

// === impl Arrival ===

impl Mail for Arrival {
    fn is_droppable(&self) -> bool {
        matches!(self, Self::Notification(note) if matches!(note.method().as_ref(), method::PROGRESS | method::LOG))
    }

    fn repeats(&self, _: &Self) -> bool {
        false
    }
}

// === impl Session ===

impl Session {
    pub(crate) fn new(options: ClientOptions, channel: Channel) -> (Arc<Self>, Inbox) {
        let inbox = Arc::new(Mailbox::new());
        let session = Arc::new(Self {
            options,
            channel,
            inbox: inbox.clone(),
            asked: Asked::default(),
            tools: ToolBook::default(),
            closing: CancellationToken::new(),
            facts: RwLock::new(None),
            ids: AtomicU64::new(1),
            calls: Mutex::default(),
            wishes: Mutex::default(),
        });
        (session, Inbox::new(inbox))
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// What the server said of itself; `None` before it was greeted.
    pub(crate) fn facts(&self) -> Option<Arc<ServerFacts>> {
        self.facts.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_facts(&self, facts: ServerFacts) {
        *self.facts.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(facts));
    }

    pub(crate) fn era(&self) -> Era {
        self.facts().map_or(Era::Legacy, |facts| facts.era())
    }

    pub(crate) fn is_greeted_legacy(&self) -> bool {
        self.facts().is_some_and(|facts| facts.era() == Era::Legacy)
    }

    pub(crate) fn wishes(&self) -> MutexGuard<'_, Wishes> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // --- open calls

    /// Opens a mailbox under `id`.
    pub(crate) fn register(self: &Arc<Self>, id: u64, can_ask: bool) -> Result<Registered, Error> {
        let mail = Arc::new(Mailbox::new());
        let mut calls = self.lock_calls();
        if let Some(error) = &calls.over {
            return Err(error.clone());
        }
        calls.open.insert(id, OpenCall { mail: mail.clone(), can_ask });
        drop(calls);
        Ok(Registered { session: self.clone(), id, mail, cancel: false })
    }

    /// Ties what a server says about a task to the call that started it.
    pub(crate) fn own_task(&self, task: &str, id: u64) {
        self.lock_calls().tasks.insert(task.to_owned(), id);
    }

    pub(crate) fn disown_task(&self, task: &str) {
        self.lock_calls().tasks.remove(task);
    }

    /// Has what arrives for one call arrive for another instead.
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

    /// Fails everything under way, and everything after.
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

    fn lock_calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call_mail(&self, id: u64) -> Option<Arc<CallMail>> {
        self.lock_calls().open.get(&id).map(|call| call.mail.clone())
    }

    // --- sorting what arrives

    /// Hands a message to whom it belongs. Waits only as long as a mailbox has patience.
    pub(crate) async fn route(self: &Arc<Self>, message: Message) {
        match message {
            Message::Response(response) => self.route_response(response),
            Message::Notification(note) => self.route_notification(note).await,
            Message::Request(request) => self.route_request(request).await,
        }
    }

    fn route_response(&self, response: Response) {
        let Some(id) = response.id() else {
            return self.route_anonymous(response);
        };
        let call = id.as_u64().and_then(|id| self.lock_calls().open.remove(&id));
        match call {
            Some(call) => call.mail.finish(Ok(response)),
            None => tracing::debug!(%id, "an answer nobody waits for"),
        }
    }

    /// An error about a message the peer could not read. With one call under way it is that one.
    fn route_anonymous(&self, response: Response) {
        let mut calls = self.lock_calls();
        let only = (calls.open.len() == 1).then(|| calls.open.keys().next().copied()).flatten();
        match only.and_then(|id| calls.open.remove(&id)) {
            Some(call) => call.mail.finish(Ok(response)),
            None => {
                tracing::warn!(error = ?response.outcome(), "the peer could not read a message");
            }
        }
    }

    async fn route_notification(&self, note: Notification) {
        match note.method().as_ref() {
            method::PROGRESS => match self.call_of_progress(&note) {
                Some(mail) => {
                    let _ = mail.put(Arrival::Notification(note)).await;
                }
                None => tracing::debug!("progress nobody waits for"),
            },
            method::CANCELLED => self.withdraw(&note),
            method::ACKNOWLEDGED => {
                if let Some(mail) = self.call_of_subscription(&note) {
                    let _ = mail.put(Arrival::Notification(note)).await;
                }
            }
            method::TASKS_STATUS | method::TASKS_CHANGED => {}
            method::LOG if self.era() == Era::Modern => match self.sole_call() {
                Some((_, mail)) => {
                    let _ = mail.put(Arrival::Notification(note)).await;
                }
                None => self.deliver(Incoming::from_notification(note)).await,
            },
            _ => self.deliver(Incoming::from_notification(note)).await,
        }
    }

    pub(crate) async fn deliver(&self, incoming: Incoming) {
        if let Err(refused) = self.inbox.put(incoming).await {
            tracing::warn!(?refused, "the inbox is full");
        }
    }

    fn call_of_progress(&self, note: &Notification) -> Option<Arc<CallMail>> {
        let token = note.params()?.get(meta::PROGRESS_TOKEN).ok()??;
        self.call_mail(token.as_str().parse().ok()?)
    }

    fn call_of_subscription(&self, note: &Notification) -> Option<Arc<CallMail>> {
        let params = note.params()?;
        let tag = params.get_path(&["_meta", meta::SUBSCRIPTION_ID]).ok()??;
        self.call_mail(tag.as_str().parse().ok()?)
    }

    /// The server takes back one of its questions.
    fn withdraw(&self, note: &Notification) {
        let id = note.params().and_then(|params| params.get("requestId").ok().flatten());
        let Some(id) = id.and_then(Id::from_raw) else {
            return;
        };
        match self.asked.remove(&id) {
            Some((id, Owner::Call(call))) => {
                if let Some(mail) = self.call_mail(call) {
                    let _ = mail.try_put(Arrival::Withdrawn(id));
                }
            }
            Some((id, Owner::Inbox)) => {
                let _ = self.inbox.try_put(Incoming::Withdrawn { key: id.to_string() });
            }
            None => {}
        }
    }

    async fn route_request(self: &Arc<Self>, request: Request) {
        if let Some(answer) = self.own_answer(&request) {
            return self.later(answer.text().clone());
        }
        match self.owner_of(&request) {
            Some((call, mail)) => {
                if !self.asked.add(&request, Owner::Call(call)) {
                    return self.refuse(&request);
                }
                if let Err(Arrival::Request(request)) = mail.put(Arrival::Request(request)).await {
                    self.asked.remove(&request.id());
                    self.refuse(&request);
                }
            }
            None => self.ask_inbox(request).await,
        }
    }

    pub(crate) async fn ask_inbox(self: &Arc<Self>, request: Request) {
        if !self.asked.add(&request, Owner::Inbox) {
            return self.refuse(&request);
        }
        let reply = Reply { session: self.clone(), id: request.id() };
        let question = Question::new(request.method().into_owned(), request.params(), reply);
        // A question that finds no room is dropped, and so answered.
        let _ = self.inbox.put(Incoming::Question(question)).await;
    }

    fn refuse(&self, request: &Request) {
        let error = RpcError::new(code::INTERNAL_ERROR, "too many questions wait already");
        self.later(Response::error(Some(&request.id()), &error).text().clone());
    }

    /// Requests the session answers itself.
    pub(crate) fn own_answer(&self, request: &Request) -> Option<Response> {
        let id = request.id();
        if self.facts().is_some_and(|facts| facts.era() == Era::Modern) {
            let error =
                RpcError::new(code::METHOD_NOT_FOUND, "this version has no server requests");
            return Some(Response::error(Some(&id), &error));
        }
        match request.method().as_ref() {
            method::PING => Some(Response::result(&id, &Raw::empty_object())),
            method::ROOTS_LIST => {
                let roots = Raw::of(self.options.roots.as_ref()?).ok()?;
                let result = format!(r#"{{"roots":{roots}}}"#);
                Some(Response::result(&id, &Raw::trusted(result.into())))
            }
            _ => None,
        }
    }

    /// The call a server's request belongs to, if that can be told.
    fn owner_of(&self, request: &Request) -> Option<(u64, Arc<CallMail>)> {
        let task = request
            .params()
            .and_then(|params| params.get_path(&["_meta", meta::RELATED_TASK, "taskId"]).ok()?)
            .and_then(|task| task.to_text());
        if let Some(task) = task {
            let id = self.lock_calls().tasks.get(&task).copied()?;
            return Some((id, self.call_mail(id)?));
        }
        match self.options.attribution {
            Attribution::SoleCall => self.sole_call(),
            Attribution::Inbox => None,
        }
    }

    /// The only call under way that can be asked something, if there is exactly one.
    fn sole_call(&self) -> Option<(u64, Arc<CallMail>)> {
        let calls = self.lock_calls();
        let mut askable = calls.open.iter().filter(|(_, call)| call.can_ask);
        match (askable.next(), askable.next()) {
            (Some((id, call)), None) => Some((*id, call.mail.clone())),
            _ => None,
        }
    }

    /// A message that could not be read: the call it names fails, or the inbox hears of it.
    pub(crate) async fn route_malformed(&self, malformed: Malformed) {
        let id = malformed.id.clone();
        let named = id.as_ref().and_then(Id::as_u64);
        let call = named
            .filter(|_| !malformed.wants_answer)
            .and_then(|id| self.lock_calls().open.remove(&id));
        if let Some(call) = call {
            return call.mail.finish(Err(Error::Malformed(malformed)));
        }
        if let (Some(id), true) = (&id, malformed.wants_answer) {
            self.later(Response::error(Some(id), &malformed.to_rpc_error()).text().clone());
        }
        self.deliver(Incoming::Problem(Error::Malformed(malformed))).await;
    }

    // --- sending

    pub(crate) async fn send_response(&self, response: Response) -> Result<(), Error> {
        self.channel.send(response.text().clone(), self.facts().as_deref()).await
    }

    pub(crate) async fn send_notification(&self, note: Notification) -> Result<(), Error> {
        self.channel.send(note.text().clone(), self.facts().as_deref()).await
    }

    /// Sends from where nothing can be waited for. What finds no room is lost, and said to be.
    pub(crate) fn later(&self, text: ByteString) {
        if let Err(error) = self.channel.try_send(text) {
            tracing::debug!(%error, "a message nobody waits for was not sent");
        }
    }

    fn cancel(&self, id: u64) {
        if self.era() == Era::Modern && self.channel.is_http() {
            return; // The closed stream says it.
        }
        let params = format!(r#"{{"requestId":{id},"reason":"the caller went away"}}"#);
        let note = Notification::new(method::CANCELLED, Some(&Raw::trusted(params.into())));
        self.later(note.text().clone());
    }
}

// === impl Registered ===

impl Registered {
    /// The id the call goes by.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.session.lock_calls().open.remove(&self.id);
        // Its questions have nobody left to answer them.
        for answer in self.session.asked.give_up(self.id) {
            self.session.later(answer.text().clone());
        }
        if self.cancel && !self.mail.is_finished() {
            self.session.cancel(self.id);
        }
    }
}
