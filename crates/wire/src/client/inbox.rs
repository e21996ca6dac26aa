//! What a server says that belongs to no call.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};

use super::{
    lists::ListKind,
    mailbox::{Mail, Mailbox, MailboxItem},
    session::ClientSession,
};
use crate::{
    Error,
    envelope::{Id, IdKey, Notification, Request, Response, RpcError, code},
    json::Raw,
    meta::method,
};

/// What comes out of a connection besides answers.
#[derive(Debug)]
pub enum InboxEvent {
    /// A list is not what it was.
    ListChanged(ListKind),
    /// A resource is not what it was.
    ResourceUpdated {
        /// Which.
        uri: String,
        /// The whole notification's parameters.
        params: Raw,
    },
    /// A log message of a legacy server, or one that no call can be named for.
    Log(Raw),
    /// The user has done what a URL elicitation asked for.
    ElicitationComplete(Raw),
    /// A request that belongs to no call.
    Question(ServerQuestion),
    /// The server takes back a question it asked.
    Withdrawn {
        /// The question's key.
        key: String,
    },
    /// A notification without a meaning of its own here.
    Notification(Notification),
    /// Something that could not be read; the connection goes on.
    Problem(Error),
}

/// A request of the server that someone has to answer. Dropped, it is answered *cancel* where that
/// is an answer, and with an error elsewhere.
#[derive(Debug)]
pub struct ServerQuestion {
    key: String,
    method: String,
    params: Raw,
    reply: Option<QuestionResponder>,
}

/// The way back for one answer.
#[derive(Debug)]
pub(crate) struct QuestionResponder {
    pub(crate) session: Arc<ClientSession>,
    pub(crate) id: Id,
}

/// Where [`InboxEvent`] comes out.
#[derive(Debug)]
pub struct ServerInbox {
    mail: Arc<InboxMailbox>,
}

pub(crate) type InboxMailbox = Mailbox<InboxEvent, Error>;

// === impl InboxEvent ===

impl Mail for InboxEvent {
    fn is_droppable(&self) -> bool {
        matches!(self, Self::Log(_) | Self::Problem(_) | Self::Notification(_))
    }

    /// What has changed twice before anybody looked has changed.
    fn repeats(&self, waiting: &Self) -> bool {
        match (self, waiting) {
            (Self::ListChanged(list), Self::ListChanged(other)) => list == other,
            (Self::ResourceUpdated { uri, .. }, Self::ResourceUpdated { uri: other, .. }) => {
                uri == other
            }
            _ => false,
        }
    }
}

impl InboxEvent {
    /// Sorts a notification by its method.
    pub(crate) fn from_notification(notification: Notification) -> Self {
        let params = || notification.params().unwrap_or_else(Raw::empty_object);
        match notification.method().as_ref() {
            method::TOOLS_CHANGED => Self::ListChanged(ListKind::Tools),
            method::PROMPTS_CHANGED => Self::ListChanged(ListKind::Prompts),
            method::RESOURCES_CHANGED => Self::ListChanged(ListKind::Resources),
            method::LOG => Self::Log(params()),
            method::ELICITATION_COMPLETE => Self::ElicitationComplete(params()),
            method::RESOURCE_UPDATED => match params().get("uri") {
                Ok(Some(uri)) if uri.to_text().is_some() => Self::ResourceUpdated {
                    uri: uri.to_text().unwrap_or_default(),
                    params: params(),
                },
                _ => Self::Notification(notification),
            },
            _ => Self::Notification(notification),
        }
    }
}

// === impl Inbox ===

impl ServerInbox {
    pub(crate) fn new(mail: Arc<InboxMailbox>) -> Self {
        Self { mail }
    }

    /// The next thing, or why there will be none. Safe to cancel.
    pub async fn next(&mut self) -> Result<InboxEvent, Error> {
        match self.mail.take().await {
            Some(MailboxItem::Mail(incoming)) => Ok(incoming),
            Some(MailboxItem::Last(error)) => {
                // Asked again, it says the same.
                Err(error)
            }
            None => Err(Error::Closed),
        }
    }
}

// === impl Question ===

impl ServerQuestion {
    pub(crate) fn new(method: String, params: Option<Raw>, reply: QuestionResponder) -> Self {
        let key = reply.id.to_string();
        Self { key, method, params: params.unwrap_or_else(Raw::empty_object), reply: Some(reply) }
    }

    /// Names this question, until it is answered.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What is asked: `elicitation/create`, `sampling/createMessage`, …
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The details.
    pub fn params(&self) -> &Raw {
        &self.params
    }

    /// Answers.
    pub async fn answer(mut self, outcome: Result<Raw, RpcError>) -> Result<(), Error> {
        match self.reply.take() {
            Some(reply) => reply.send(outcome).await,
            None => Ok(()),
        }
    }
}

impl Drop for ServerQuestion {
    fn drop(&mut self) {
        if let Some(reply) = self.reply.take() {
            reply.send_later(unanswered_outcome(&self.method));
        }
    }
}

// === impl QuestionResponder ===

impl QuestionResponder {
    pub(crate) async fn send(self, outcome: Result<Raw, RpcError>) -> Result<(), Error> {
        self.session.asked.remove(&self.id);
        self.session.send_response(response(&self.id, outcome)).await
    }

    /// From where nothing can be waited for.
    pub(crate) fn send_later(self, outcome: Result<Raw, RpcError>) {
        if self.session.asked.remove(&self.id).is_none() {
            return;
        }
        self.session.send_later(response(&self.id, outcome).text().clone());
    }
}

fn response(id: &Id, outcome: Result<Raw, RpcError>) -> Response {
    match outcome {
        Ok(result) => Response::result(id, &result),
        Err(error) => Response::error(Some(id), &error),
    }
}

/// What a server is told when nobody answers its question.
pub(crate) fn unanswered_outcome(asked: &str) -> Result<Raw, RpcError> {
    match asked {
        method::ELICIT => {
            Ok(Raw::from_trusted(bytestring::ByteString::from_static(r#"{"action":"cancel"}"#)))
        }
        method::SAMPLE | method::ROOTS_LIST => {
            Err(RpcError::new(code::INTERNAL_ERROR, "nobody answered"))
        }
        unknown => Err(method_not_found(unknown)),
    }
}

/// The answer to a request of a server that clients do not know.
pub(crate) fn method_not_found(asked: &str) -> RpcError {
    RpcError::new(code::METHOD_NOT_FOUND, format!("Method not found: {asked}"))
}

/// Questions that wait for an answer, and whose they are, so that the server can take them back.
#[derive(Debug, Default)]
pub(crate) struct PendingServerQuestions(Mutex<HashMap<IdKey, PendingServerQuestion>>);

#[derive(Debug)]
struct PendingServerQuestion {
    id: Id,
    method: String,
    owner: QuestionOwner,
}

/// Whom a question was given to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuestionOwner {
    Call(u64),
    Inbox,
}

// === impl PendingServerQuestions ===

impl PendingServerQuestions {
    /// Remembers a question. `false`: too many wait already, or this id is in use.
    pub(crate) fn add(&self, request: &Request, owner: QuestionOwner) -> bool {
        let id = request.id();
        let mut waiting = self.lock();
        if waiting.len() >= super::mailbox::MAX_WAITING_MAIL || waiting.contains_key(&id.key()) {
            return false;
        }
        let method = request.method().into_owned();
        waiting.insert(id.key(), PendingServerQuestion { id, method, owner });
        true
    }

    /// Forgets a question; tells whose it was, and its id as the question itself spelt it.
    pub(crate) fn remove(&self, id: &Id) -> Option<(Id, QuestionOwner)> {
        let waiting = self.lock().remove(&id.key())?;
        Some((waiting.id, waiting.owner))
    }

    /// The calls that wait for an answer.
    pub(crate) fn calls_with_questions(&self) -> HashSet<u64> {
        let call = |waiting: &PendingServerQuestion| match waiting.owner {
            QuestionOwner::Call(call) => Some(call),
            QuestionOwner::Inbox => None,
        };
        self.lock().values().filter_map(call).collect()
    }

    /// Forgets the questions of a call that is over; what the server is to be told of each.
    pub(crate) fn take_for_call(&self, call: u64) -> Vec<Response> {
        let owner = QuestionOwner::Call(call);
        let mut waiting = self.lock();
        if waiting.is_empty() {
            return Vec::new();
        }
        let given_up = waiting.extract_if(|_, waiting| waiting.owner == owner);
        given_up
            .map(|(_, waiting)| response(&waiting.id, unanswered_outcome(&waiting.method)))
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IdKey, PendingServerQuestion>> {
        self.0.lock()
    }
}
