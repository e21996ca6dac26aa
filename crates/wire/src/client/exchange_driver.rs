//! The driver of one call: sequential code that runs the call to its end.
//!
//! Used by `exchange`, which owns and polls it. It writes and sends the request, passes events on, relays questions
//! and follows tasks (`tasks`). It repeats a request only if the server did not run it: the session had expired, or
//! headers and body disagreed.

use std::{collections::VecDeque, future::poll_fn, sync::Arc, task::Poll};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use super::{
    call_request::{CallRequest, InputRequest, InputResponse, ResultTypes, TaskHandling},
    channel::ServerChannel,
    exchange::{DriverOutput, ExchangeEvent, PendingInput},
    lists::ListKind,
    request::RequestExtras,
    request_stream::{OpenOutcome, RequestStream, StreamItem},
    session::{CallArrival, ClientSession},
};
use crate::{
    Era, Error,
    envelope::{Id, Notification, Request, Response, ResponseOutcome, RpcError, code},
    json::Raw,
    meta::method,
};

/// State that an exchange shares with its driver.
pub(crate) struct SharedExchange {
    pub(crate) call: CallRequest,
    /// Output of the driver that the exchange has not taken yet. The exchange checks it after each poll of the
    /// driver, so no waker is needed.
    said: Mutex<Option<DriverOutput>>,
}

/// Brings one call to its end.
pub(crate) struct ExchangeDriver {
    pub(crate) session: Arc<ClientSession>,
    underway: Arc<SharedExchange>,
    /// The extras of the request, where they differ from the caller's.
    extras: Option<Box<RequestExtras>>,
    /// Questions that arrived while another question was being answered.
    backlog: VecDeque<Request>,
}

/// The outcome of one attempt.
enum AttemptOutcome {
    Answered(RequestStream, Response),
    Expired,
}

/// The outcome of a question.
pub(crate) enum AskOutcome {
    Answered(Vec<InputResponse>),
    Withdrawn,
    /// The call's answer arrived while the question was still open.
    Overtaken(Response),
}

// === impl SharedExchange ===

impl SharedExchange {
    pub(crate) fn new(call: CallRequest) -> Arc<Self> {
        Arc::new(Self { call, said: Mutex::new(None) })
    }

    /// Takes the driver's last output, if the exchange has not taken it yet.
    pub(crate) fn take_output(&self) -> Option<DriverOutput> {
        self.lock_output().take()
    }

    /// Emits output, as soon as the exchange has taken the previous output.
    async fn emit(&self, emitted: DriverOutput) {
        let mut emitted = Some(emitted);
        poll_fn(|_| {
            let mut said = self.lock_output();
            if said.is_some() {
                return Poll::Pending;
            }
            *said = emitted.take();
            Poll::Ready(())
        })
        .await;
    }

    fn lock_output(&self) -> MutexGuard<'_, Option<DriverOutput>> {
        self.said.lock()
    }
}

// === impl ExchangeDriver ===

impl ExchangeDriver {
    pub(crate) fn new(session: Arc<ClientSession>, underway: Arc<SharedExchange>) -> Self {
        Self { session, underway, extras: None, backlog: VecDeque::new() }
    }

    fn call(&self) -> &CallRequest {
        &self.underway.call
    }

    fn extras(&self) -> &RequestExtras {
        self.extras.as_deref().unwrap_or(&self.call().extras)
    }

    /// Runs the call. Returns its last output.
    pub(crate) async fn run(mut self) -> Result<DriverOutput, Error> {
        self.prepare_tool().await?;
        let mut relisted = false;
        let mut renewed = false;
        loop {
            let generation = self.session.generation();
            match self.attempt().await? {
                AttemptOutcome::Expired if renewed => return Err(Error::Closed),
                AttemptOutcome::Expired => {
                    renewed = true;
                    Box::pin(self.session.renew(generation)).await?;
                }
                AttemptOutcome::Answered(_, response)
                    if !relisted && self.headers_disagree(&response) =>
                {
                    relisted = true;
                    Box::pin(self.session.list(ListKind::Tools)).await?;
                }
                AttemptOutcome::Answered(stream, response) => {
                    return self.judge(stream, &response).await;
                }
            }
        }
    }

    /// Lists the server's tools if the call needs facts about its tool: header parameters, required tasks.
    async fn prepare_tool(&mut self) -> Result<(), Error> {
        if !self.session.wants_tools_first() {
            return Ok(());
        }
        let Some(name) = self.call().tool_name() else {
            return Ok(());
        };
        if self.session.tools.get(&name).is_none() {
            Box::pin(self.session.list(ListKind::Tools)).await?;
        }
        let needs_task = self.session.tools.get(&name).is_some_and(|tool| tool.needs_task);
        if needs_task
            && self.session.era() == Era::Legacy
            && self.call().tasks == TaskHandling::Follow
        {
            let mut extras = self.extras().clone();
            extras.task.get_or_insert_with(Raw::empty_object);
            self.extras = Some(Box::new(extras));
        }
        Ok(())
    }

    async fn attempt(&mut self) -> Result<AttemptOutcome, Error> {
        let CallRequest { method, params, .. } = self.call();
        let out = self.session.prepare(method, params.as_ref(), self.extras())?;
        match self.session.open(out).await? {
            OpenOutcome::Expired => Ok(AttemptOutcome::Expired),
            OpenOutcome::Stream(mut stream) => {
                let response = self.follow(&mut stream).await?;
                Ok(AttemptOutcome::Answered(stream, response))
            }
        }
    }

    fn headers_disagree(&self, response: &Response) -> bool {
        matches!(&self.session.channel, ServerChannel::Http(_))
            && self.call().tool_name().is_some()
            && matches!(response.outcome(), ResponseOutcome::Error(error) if error.code == code::HEADER_MISMATCH)
    }

    /// Passes messages on until the answer arrives.
    pub(crate) async fn follow(&mut self, stream: &mut RequestStream) -> Result<Response, Error> {
        loop {
            let request = match self.backlog.pop_front() {
                Some(request) => request,
                None => match stream.next().await? {
                    StreamItem::Last(response) => return Ok(response),
                    StreamItem::Mail(CallArrival::Request(request)) => request,
                    StreamItem::Mail(CallArrival::Notification(note)) => {
                        self.emit_notification(note).await;
                        continue;
                    }
                    StreamItem::Mail(CallArrival::Withdrawn(id)) => {
                        self.forget(&id);
                        continue;
                    }
                },
            };
            if let Some(response) = Box::pin(self.relay_question(stream, &request)).await? {
                return Ok(response);
            }
        }
    }

    /// Drops a question that the server withdrew before the caller was asked.
    fn forget(&mut self, id: &Id) {
        self.backlog.retain(|request| request.id() != *id);
    }

    pub(crate) async fn emit_notification(&mut self, note: Notification) {
        let params = || note.params().unwrap_or_else(Raw::empty_object);
        let event = match note.method().as_ref() {
            method::PROGRESS => ExchangeEvent::Progress(params()),
            method::LOG => ExchangeEvent::Log(params()),
            _ => ExchangeEvent::Notification(note),
        };
        self.emit_event(event).await;
    }

    pub(crate) async fn emit_event(&mut self, event: ExchangeEvent) {
        self.underway.emit(DriverOutput::Event(event)).await;
    }

    /// Asks the caller the question of a legacy server, and sends the answer back.
    pub(crate) async fn relay_question(
        &mut self,
        stream: &mut RequestStream,
        request: &Request,
    ) -> Result<Option<Response>, Error> {
        let id = request.id();
        let question = InputRequest {
            key: id.to_string(),
            method: request.method().into_owned(),
            params: request.params().unwrap_or_else(Raw::empty_object),
        };
        stream.park();
        match self.ask(vec![question], Some(stream)).await? {
            AskOutcome::Answered(answers) => {
                self.session.asked.remove(&id);
                let outcome = answers.into_iter().find(|answer| answer.key == id.to_string());
                self.session.send_response(to_response(&id, outcome)).await?;
                Ok(None)
            }
            AskOutcome::Withdrawn => Ok(None),
            AskOutcome::Overtaken(response) => Ok(Some(response)),
        }
    }

    /// Asks the caller and waits. Messages that arrive on `stream` meanwhile are read, since they may end the call or
    /// withdraw the question.
    pub(crate) async fn ask(
        &mut self,
        questions: Vec<InputRequest>,
        stream: Option<&mut RequestStream>,
    ) -> Result<AskOutcome, Error> {
        let keys: Vec<String> = questions.iter().map(|question| question.key.clone()).collect();
        let (reply, mut answered) = oneshot::channel();
        let pending = PendingInput::Parked(reply);
        self.underway.emit(DriverOutput::Ask { questions, pending }).await;
        let Some(stream) = stream else {
            return answered.await.map(AskOutcome::Answered).map_err(|_| Error::Closed);
        };
        loop {
            let arrived = tokio::select! {
                biased;
                answers = &mut answered => {
                    return answers.map(AskOutcome::Answered).map_err(|_| Error::Closed);
                }
                arrived = stream.next() => arrived?,
            };
            match arrived {
                StreamItem::Last(response) => return Ok(AskOutcome::Overtaken(response)),
                StreamItem::Mail(CallArrival::Request(request)) => self.backlog.push_back(request),
                StreamItem::Mail(CallArrival::Withdrawn(id)) if keys.contains(&id.to_string()) => {
                    self.emit_event(ExchangeEvent::Withdrawn { key: id.to_string() }).await;
                    return Ok(AskOutcome::Withdrawn);
                }
                StreamItem::Mail(CallArrival::Withdrawn(id)) => self.forget(&id),
                // The caller does not read progress while a question is open.
                StreamItem::Mail(_) => {}
            }
        }
    }

    /// Turns the server's answer into the last output of the call.
    async fn judge(
        mut self,
        stream: RequestStream,
        response: &Response,
    ) -> Result<DriverOutput, Error> {
        let result = match response.outcome() {
            ResponseOutcome::Result(result) => result,
            ResponseOutcome::Error(error) => return Err(Error::Rpc(error)),
        };
        let result = match self.session.era() {
            Era::Modern => return self.judge_modern(result).await,
            Era::Legacy
                if self.extras().task.is_some() && self.call().tasks == TaskHandling::Follow =>
            {
                Box::pin(self.follow_legacy_task(stream, result)).await?
            }
            Era::Legacy => result,
        };
        Ok(done(result))
    }

    async fn judge_modern(mut self, result: Raw) -> Result<DriverOutput, Error> {
        let asked = self.call().method.clone();
        let kind =
            result.get("resultType").map_err(|error| Error::invalid(&asked, error.to_string()))?;
        match kind.as_ref().map(Raw::as_str) {
            None | Some("\"complete\"") => Ok(done(result)),
            Some("\"input_required\"") if self.call().can_ask() => read_questions(&asked, &result),
            Some("\"task\"") if self.call().tasks == TaskHandling::Hand => Ok(done(result)),
            Some("\"task\"") if asked == method::TOOLS_CALL => {
                Box::pin(self.follow_modern_task(result)).await.map(done)
            }
            Some(of_extension)
                if self.call().result_types == ResultTypes::OfExtensions
                    && is_type_of_extension(of_extension) =>
            {
                Ok(done(result))
            }
            Some(other) => Err(Error::invalid(&asked, format!("its type is {other}"))),
        }
    }
}

/// Whether the protocol itself has no result of this type, so that it belongs to an extension.
fn is_type_of_extension(kind: &str) -> bool {
    kind.starts_with('"') && !matches!(kind, "\"complete\"" | "\"input_required\"" | "\"task\"")
}

fn read_questions(asked: &str, result: &Raw) -> Result<DriverOutput, Error> {
    let member = |key| result.get(key).map_err(|error| Error::invalid(asked, error.to_string()));
    let state = member("requestState")?;
    let requests = member("inputRequests")?;
    if state.is_none() && requests.is_none() {
        return Err(Error::invalid(asked, "it wants input and asks for none"));
    }
    let questions = match &requests {
        None => Vec::new(),
        Some(requests) => InputRequest::from_input_requests(requests)
            .ok_or_else(|| Error::invalid(asked, "its questions cannot be read"))?,
    };
    Ok(DriverOutput::Ask { questions, pending: PendingInput::Again(state) })
}

fn done(result: Raw) -> DriverOutput {
    DriverOutput::Event(ExchangeEvent::Done(result))
}

fn to_response(id: &Id, answer: Option<InputResponse>) -> Response {
    match answer.map(|answer| answer.outcome) {
        Some(Ok(result)) => Response::result(id, &result),
        Some(Err(error)) => Response::error(Some(id), &error),
        None => Response::error(
            Some(id),
            &RpcError::new(code::INTERNAL_ERROR, "the question was not answered"),
        ),
    }
}
