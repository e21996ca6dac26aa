//! Routing of received messages: to a call's mailbox, to the inbox, or to a built-in answer.
//!
//! Used by `connect` and `listen`, which read the channel, and by `request_stream`. It does not wait for readers
//! longer than a `mailbox` does.

use std::sync::Arc;

use super::{
    inbox::{InboxEvent, QuestionOwner, QuestionResponder, ServerQuestion},
    options::CallAttribution,
    session::{CallArrival, CallMailbox, ClientSession},
};
use crate::{
    Era, Error,
    envelope::{
        Id, MalformedMessage, MalformedShape, Notification, Request, Response, RpcError,
        RpcMessage, code, parse_own_id,
    },
    json::Raw,
    meta::{self, method},
};

impl ClientSession {
    /// Delivers a message to its call or to the inbox. Waits only as long as the mailbox has credit.
    pub(crate) async fn route(self: &Arc<Self>, message: RpcMessage) {
        match message {
            RpcMessage::Response(response) => self.route_response(response),
            RpcMessage::Notification(note) => self.route_notification(note).await,
            RpcMessage::Request(request) => self.route_request(request).await,
        }
    }

    fn route_response(&self, response: Response) {
        let call = response.id_number().and_then(|id| self.lock_calls().open.remove(&id));
        if let Some(call) = call {
            return call.mail.finish(Ok(response));
        }
        match response.id() {
            Some(id) => tracing::debug!(%id, "an answer nobody waits for"),
            None => self.route_anonymous(response),
        }
    }

    /// Routes an error without an id, about a message that the server could not parse. It belongs to the only running
    /// call, if there is one.
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
                    let _ = mail.put(CallArrival::Notification(note)).await;
                }
                None => tracing::debug!("progress nobody waits for"),
            },
            method::CANCELLED => self.withdraw(&note),
            method::ACKNOWLEDGED => {
                if let Some(mail) = self.call_of_subscription(&note) {
                    let _ = mail.put(CallArrival::Notification(note)).await;
                }
            }
            method::TASKS_STATUS | method::TASKS_CHANGED => {}
            method::LOG if self.logs_belong_to_calls() => match self.sole_call(|_| true) {
                Some((_, mail)) => {
                    let _ = mail.put(CallArrival::Notification(note)).await;
                }
                None => self.deliver(InboxEvent::from_notification(note)).await,
            },
            _ => self.deliver(InboxEvent::from_notification(note)).await,
        }
    }

    fn logs_belong_to_calls(&self) -> bool {
        self.era() == Era::Modern || self.options.legacy_logs == CallAttribution::SoleCall
    }

    pub(crate) async fn deliver(&self, incoming: InboxEvent) {
        if let Err(refused) = self.inbox.put(incoming).await {
            tracing::warn!(?refused, "the inbox is full");
        }
    }

    fn call_of_progress(&self, note: &Notification) -> Option<Arc<CallMailbox>> {
        let token = note.params()?.get(meta::PROGRESS_TOKEN).ok()??;
        self.call_mail(parse_own_id(token.as_str())?)
    }

    fn call_of_subscription(&self, note: &Notification) -> Option<Arc<CallMailbox>> {
        let params = note.params()?;
        let tag = params.get_path(&["_meta", meta::SUBSCRIPTION_ID]).ok()??;
        self.call_mail(parse_own_id(tag.as_str())?)
    }

    /// Withdraws a question, as the server asks.
    fn withdraw(&self, note: &Notification) {
        let id = note.params().and_then(|params| params.get("requestId").ok().flatten());
        let Some(id) = id.and_then(Id::from_raw) else {
            return;
        };
        match self.asked.remove(&id) {
            Some((id, QuestionOwner::Call(call))) => {
                if let Some(mail) = self.call_mail(call) {
                    let _ = mail.try_put(CallArrival::Withdrawn(id));
                }
            }
            Some((id, QuestionOwner::Inbox)) => {
                let _ = self.inbox.try_put(InboxEvent::Withdrawn { key: id.to_string() });
            }
            None => {}
        }
    }

    async fn route_request(self: &Arc<Self>, request: Request) {
        if let Some(answer) = self.builtin_answer(&request) {
            return self.send_later(answer.text().clone());
        }
        match self.owner_of(&request) {
            Some((call, mail)) => {
                if !self.asked.add(&request, QuestionOwner::Call(call)) {
                    return self.refuse(&request);
                }
                if let Err(CallArrival::Request(request)) =
                    mail.put(CallArrival::Request(request)).await
                {
                    self.asked.remove(&request.id());
                    self.refuse(&request);
                }
            }
            None => self.ask_inbox(request).await,
        }
    }

    pub(crate) async fn ask_inbox(self: &Arc<Self>, request: Request) {
        if !self.asked.add(&request, QuestionOwner::Inbox) {
            return self.refuse(&request);
        }
        let reply = QuestionResponder { session: self.clone(), id: request.id() };
        let question = ServerQuestion::new(request.method().into_owned(), request.params(), reply);
        // A question that finds no room is dropped, which answers it.
        let _ = self.inbox.put(InboxEvent::Question(question)).await;
    }

    fn refuse(&self, request: &Request) {
        let error = RpcError::new(code::INTERNAL_ERROR, "too many questions wait already");
        self.send_later(Response::error(Some(&request.id()), &error).text().clone());
    }

    /// The answer to a request that the session handles without the client: `ping`, `roots/list`.
    pub(crate) fn builtin_answer(&self, request: &Request) -> Option<Response> {
        let id = request.id();
        if self.facts().is_some_and(|facts| facts.era() == Era::Modern) {
            let error =
                RpcError::new(code::METHOD_NOT_FOUND, "this version has no server requests");
            return Some(Response::error(Some(&id), &error));
        }
        match request.method().as_ref() {
            method::PING => Some(Response::result(&id, &Raw::empty_object())),
            method::ROOTS_LIST => {
                let roots = Raw::from_value(self.options.roots.as_ref()?).ok()?;
                let result = format!(r#"{{"roots":{roots}}}"#);
                Some(Response::result(&id, &Raw::from_trusted(result.into())))
            }
            _ => None,
        }
    }

    /// The call that a server's request belongs to, if it can be determined.
    fn owner_of(&self, request: &Request) -> Option<(u64, Arc<CallMailbox>)> {
        let task = request
            .params()
            .and_then(|params| params.get_path(&["_meta", meta::RELATED_TASK, "taskId"]).ok()?)
            .and_then(|task| task.to_text());
        if let Some(task) = task {
            let id = self.lock_calls().tasks.get(&task).copied()?;
            return Some((id, self.call_mail(id)?));
        }
        match self.options.attribution {
            // A call with an open question is not expected to ask another, unless it is the only call.
            CallAttribution::SoleCall => self.sole_call(|_| true).or_else(|| {
                let waiting = self.asked.calls_with_questions();
                self.sole_call(|call| !waiting.contains(&call))
            }),
            CallAttribution::Inbox => None,
        }
    }

    /// The only running call that accepts questions and satisfies `is_meant`, if there is exactly one.
    fn sole_call(&self, is_meant: impl Fn(u64) -> bool) -> Option<(u64, Arc<CallMailbox>)> {
        let calls = self.lock_calls();
        let mut askable = calls.open.iter().filter(|(id, call)| call.can_ask && is_meant(**id));
        match (askable.next(), askable.next()) {
            (Some((id, call)), None) => Some((*id, call.mail.clone())),
            _ => None,
        }
    }

    /// Routes a message that could not be parsed: the call that it names fails, or the inbox reports it.
    pub(crate) async fn route_malformed(&self, malformed: MalformedMessage) {
        let id = malformed.id.clone();
        let named = id.as_ref().and_then(Id::as_u64);
        let call = named
            .filter(|_| malformed.looks != MalformedShape::LikeACall)
            .and_then(|id| self.lock_calls().open.remove(&id));
        if let Some(call) = call {
            return call.mail.finish(Err(Error::Malformed(malformed)));
        }
        if let (Some(id), MalformedShape::LikeACall) = (&id, malformed.looks) {
            self.send_later(Response::error(Some(id), &malformed.to_rpc_error()).text().clone());
        }
        self.deliver(InboxEvent::Problem(Error::Malformed(malformed))).await;
    }
}
