//! The inbox of a client: notifications and questions of a server that belong to no call.
//!
//! Used by `core::connection`, which reads it, and by `route`, which fills it. It does not decide
//! which call a message belongs to (`route`).

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::task::coop::consume_budget;

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

/// A notification, question or problem that is no answer to a call.
#[derive(Debug)]
pub enum InboxEvent {
    /// The server changed a list.
    ListChanged(ListKind),
    /// The server changed a resource.
    ResourceUpdated {
        /// The URI of the resource.
        uri: String,
        /// The parameters of the notification, complete.
        params: Raw,
    },
    /// A log message that cannot be attributed to a call.
    Log(Raw),
    /// The user has finished a URL elicitation.
    ElicitationComplete(Raw),
    /// A request that belongs to no call.
    Question(ServerQuestion),
    /// The server withdraws a question.
    Withdrawn {
        /// The question's key.
        key: String,
    },
    /// Any other notification.
    Notification(Notification),
    /// A message could not be parsed; the connection continues.
    Problem(Error),
}

/// A request of the server that the client has to answer. Dropping it answers *cancel* where the
/// method allows that, and an error otherwise.
#[derive(Debug)]
pub struct ServerQuestion {
    key: String,
    method: String,
    params: Raw,
    reply: Option<QuestionResponder>,
}

/// The sender for the one answer to a question.
#[derive(Debug)]
pub(crate) struct QuestionResponder {
    pub(crate) session: Arc<ClientSession>,
    pub(crate) id: Id,
}

/// The receiving end for [`InboxEvent`]s.
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

    /// A change notification repeats a waiting one: the reader needs only one.
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

// === impl ServerInbox ===

impl ServerInbox {
    pub(crate) fn new(mail: Arc<InboxMailbox>) -> Self {
        Self { mail }
    }

    /// Returns the next event, or the error that ended the connection. Cancel-safe.
    pub async fn next(&mut self) -> Result<InboxEvent, Error> {
        // A server that sends without pause must not keep the reader's task from pausing.
        consume_budget().await;
        match self.mail.take().await {
            Some(MailboxItem::Mail(incoming)) => Ok(incoming),
            Some(MailboxItem::Last(error)) => {
                // The mailbox is finished, so another call returns this error again.
                Err(error)
            }
            None => Err(Error::Closed),
        }
    }
}

// === impl ServerQuestion ===

impl ServerQuestion {
    pub(crate) fn new(method: String, params: Option<Raw>, reply: QuestionResponder) -> Self {
        let key = reply.id.to_string();
        Self { key, method, params: params.unwrap_or_else(Raw::empty_object), reply: Some(reply) }
    }

    /// The key of this question, until it is answered.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The method: `elicitation/create`, `sampling/createMessage`, …
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The parameters of the question.
    pub fn params(&self) -> &Raw {
        &self.params
    }

    /// Sends the answer.
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

    /// Queues the answer without waiting, for callers that are not async.
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

/// The answer to a question that was dropped unanswered.
pub(crate) fn unanswered_outcome(asked: &str) -> Result<Raw, RpcError> {
    match asked {
        method::ELICIT => {
            Ok(Raw::from_trusted(bytestring::ByteString::from_static(r#"{"action":"cancel"}"#)))
        }
        method::SAMPLE | method::ROOTS_LIST => {
            Err(RpcError::new(code::INTERNAL_ERROR, "the question was not answered"))
        }
        unknown => Err(method_not_found(unknown)),
    }
}

/// The error for a method that no client supports.
pub(crate) fn method_not_found(asked: &str) -> RpcError {
    RpcError::new(code::METHOD_NOT_FOUND, format!("Method not found: {asked}"))
}

/// Open questions with their owners, so that the server can withdraw them.
#[derive(Debug, Default)]
pub(crate) struct PendingServerQuestions(Mutex<HashMap<IdKey, PendingServerQuestion>>);

#[derive(Debug)]
struct PendingServerQuestion {
    id: Id,
    method: String,
    owner: QuestionOwner,
}

/// The reader of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuestionOwner {
    Call(u64),
    Inbox,
}

// === impl PendingServerQuestions ===

impl PendingServerQuestions {
    /// Adds a question. Returns `false` if too many are open, or the id is in use.
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

    /// Removes a question. Returns its owner, and its id in the spelling of the request.
    pub(crate) fn remove(&self, id: &Id) -> Option<(Id, QuestionOwner)> {
        let waiting = self.lock().remove(&id.key())?;
        Some((waiting.id, waiting.owner))
    }

    /// The ids of calls with open questions.
    pub(crate) fn calls_with_questions(&self) -> HashSet<u64> {
        let call = |waiting: &PendingServerQuestion| match waiting.owner {
            QuestionOwner::Call(call) => Some(call),
            QuestionOwner::Inbox => None,
        };
        self.lock().values().filter_map(call).collect()
    }

    /// Removes the questions of a call that has ended. Returns the answers to send to the server.
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
