//! Sends a request to its server: chooses the connection, waits for a session, runs one exchange and answers its
//! questions.
//!
//! Used by `dispatch::tool`, `prompts_and_resources` and `tasks`. Which connection a session uses is decided in
//! `engine::session::choose_connection`.

use std::sync::Arc;
use std::time::Instant;

use switchboard_config::{ElicitationAnswerer, HookEvent};
use switchboard_wire::client::{
    CallRequest, Exchange, ExchangeEvent, InputRequest, InputResponse, ResultTypes,
    SuspendedExchange, TaskHandling,
};
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::Raw;
use switchboard_wire::{Era, Error as WireError, Remedy};

use super::continuation::{QuestionHandling, ResumedCall, UnansweredQuestions};
use super::page_visits::PageVisits;
use super::request::ProgressReports;
use super::{CallError, CallEvent, RepeatSafety, Request, Stage};
use crate::audit::CallStage;
use crate::connection::{Connection, ConnectionNotReady, ConnectionState, LiveSession};
use crate::engine::{AppliedServer, CallInFlightLease, CallLogLevel, OnProgress};

/// The result of sending a request.
pub(super) enum SendResult {
    Result(Raw),
    /// The server wants the request made again, by the caller.
    NeedsInput(UnansweredQuestions),
}

/// The state and the answers of a request that is made again.
struct ResumeInput {
    state: Option<Raw>,
    answers: Vec<InputResponse>,
}

/// The connection of a call in flight, and its lease there.
#[derive(Clone, Copy)]
struct CallPlace<'a> {
    connection: &'a Connection,
    in_flight: &'a CallInFlightLease,
}

/// How often in a row a modern server asked questions that were all refused. It gets such a call again without answers,
/// and may ask again.
#[derive(Default)]
struct RefusedRounds(usize);

/// A server that asks in so many rounds what its client cannot answer is not asked again.
const MAX_REFUSED_ROUNDS: usize = 2;

// === impl RefusedRounds ===

impl RefusedRounds {
    /// Counts a round of answers. Fails where the server would go on asking without end.
    fn count(&mut self, answers: &[InputResponse]) -> Result<(), WireError> {
        let refusal = answers.iter().find_map(|answer| answer.outcome.as_ref().err());
        let is_refused = answers.iter().all(|answer| answer.outcome.is_err());
        self.0 = if is_refused { self.0 + 1 } else { 0 };
        match refusal {
            Some(refusal) if self.0 > MAX_REFUSED_ROUNDS => {
                let text =
                    format!("the server needs an answer that its client cannot give: {refusal}");
                Err(WireError::Rpc(RpcError::new(code::MISSING_CAPABILITY, text)))
            }
            _ => Ok(()),
        }
    }
}

// === impl Stage ===

impl Stage {
    /// Sends a request to its server and follows it to its end.
    pub(super) async fn send(
        &self,
        placed: &AppliedServer,
        request: Request,
        again: Option<&ResumedCall>,
    ) -> Result<SendResult, CallError> {
        let server = &placed.name;
        self.clock.enter(CallStage::Connect);
        let connection = self.connection(placed).await?;
        let session = self.caller.id();
        let principal = self.caller.session().principal.id();
        let admitted = connection.admit(Arc::clone(session), Arc::clone(principal));
        let _place = admitted.map_err(|_| CallError::Busy { server: server.clone() })?;
        let (key, hears) = (connection.key(), self.emit.sender());
        let in_flight = self.engine.under_way.add(key, self.caller.clone(), hears);
        let call = self.build_call(placed, &request);
        let mut visits = PageVisits::new(self, &connection);
        let told = match again {
            None => None,
            Some(again) => {
                self.clock.enter(CallStage::Questions);
                let answers = Box::pin(self.collect_answers(placed, again)).await;
                Some(ResumeInput { state: again.carried.state().cloned(), answers })
            }
        };
        loop {
            self.clock.enter(CallStage::Connect);
            let live = match self.ready(placed, &connection).await {
                Ok(live) => live,
                Err(error) => {
                    self.clock.enter(CallStage::Questions);
                    Box::pin(self.sign_in_for_call(error)).await?;
                    self.clock.enter(CallStage::Connect);
                    self.ready(placed, &connection).await?
                }
            };
            let _log_level = self.want_log_level(&request, &connection, &live).await;
            self.clock.enter(CallStage::Server);
            let began = Instant::now();
            let exchange = match &told {
                Some(told) => resume(placed, &live, &call, told)?,
                None => self.start_exchange(placed, &live, &call, &request.unasked),
            };
            let place = CallPlace { connection: &connection, in_flight: &in_flight };
            match self.follow(placed, place, exchange, request.questions).await {
                Ok(sent) => {
                    connection.record_success(&live, began.elapsed());
                    return Ok(sent);
                }
                Err(error) if error.code() == Some(code::URL_ELICITATION_REQUIRED) => {
                    connection.record_success(&live, began.elapsed());
                    // The server has ended this call, so its questions are not for this call until it is repeated.
                    let _open = in_flight.open_question();
                    self.clock.enter(CallStage::Questions);
                    Box::pin(visits.visit_pages(placed, error)).await?;
                }
                Err(error) => {
                    let repeat = RepeatSafety::from_method(&request.method);
                    return Err(to_call_error(placed, &connection, &live, error, repeat));
                }
            }
        }
    }

    /// Has the server log at the level that the call wants, for as long as the returned guard is held.
    async fn want_log_level(
        &self,
        request: &Request,
        connection: &Connection,
        live: &LiveSession,
    ) -> Option<Box<CallLogLevel>> {
        let level = request.log_level.as_ref()?;
        let wanted = self.engine.want_log_level(&self.caller, connection, live, level);
        if self.engine.has_log_level_to_tell(connection, live) {
            // Boxed, since for most calls the server has the level already.
            Box::pin(self.engine.tell_log_level(connection.key(), live)).await;
        }
        wanted.map(Box::new)
    }

    /// Returns the connection for this session's calls.
    pub(super) async fn connection(
        &self,
        placed: &AppliedServer,
    ) -> Result<Arc<Connection>, CallError> {
        let chosen = self.engine.connection(&self.caller, placed).await;
        chosen.map_err(|error| CallError::not_connected(&placed.name, error))
    }

    /// Returns the session of a connection, waiting for it if necessary.
    pub(super) async fn ready(
        &self,
        placed: &AppliedServer,
        connection: &Connection,
    ) -> Result<Arc<LiveSession>, CallError> {
        let ready = connection.ready().await;
        ready.map_err(|error| CallError::not_connected(&placed.name, error))
    }

    /// The capabilities that a modern server may use with this call.
    fn askable(&self, placed: &AppliedServer) -> &Raw {
        let is_queue = placed.elicitation == ElicitationAnswerer::Queue;
        self.caller.askable_capabilities(|| {
            let queue = self.engine.queue_for(self.caller.session().principal.id());
            queue.is_some_and(|queue| is_queue || queue.is_watched())
        })
    }

    /// The types of results that the caller may know. A legacy client's results have no type.
    fn result_types(&self) -> ResultTypes {
        let is_modern = self.caller.session().era == Some(Era::Modern);
        if is_modern && !self.caller.class().opaque.is_empty() {
            ResultTypes::OfExtensions
        } else {
            ResultTypes::Protocol
        }
    }

    fn build_call(&self, placed: &AppliedServer, request: &Request) -> CallRequest {
        let numbers = &self.applied.numbers;
        let usual = || numbers.tool_timeout(self.caller.session().variables);
        let timeout = request.timeout.or(placed.timeout).unwrap_or_else(usual);
        let mut call = CallRequest::new(request.method.clone(), request.params.clone())
            .with_timeout(timeout)
            .with_task_handling(request.tasks)
            .with_result_types(self.result_types())
            .with_capabilities(self.askable(placed).clone());
        if let Some(limit) = request.time_limit.or(numbers.time_limit) {
            call = call.with_time_limit(limit);
        }
        if let Some(task) = &request.as_task {
            call = call.as_task(task.clone());
        }
        if request.progress == ProgressReports::Requested {
            call = call.with_progress();
        }
        if numbers.on_progress == OnProgress::GoOn {
            call = call.with_fixed_timeout();
        }
        if let Some(level) = &request.log_level {
            call = call.with_log_level(level.clone());
        }
        call
    }

    async fn follow(
        &self,
        placed: &AppliedServer,
        place: CallPlace<'_>,
        mut exchange: Exchange,
        how: QuestionHandling,
    ) -> Result<SendResult, WireError> {
        let mut refusals = RefusedRounds::default();
        loop {
            match exchange.next().await? {
                ExchangeEvent::Done(result) => return Ok(SendResult::Result(result)),
                ExchangeEvent::NeedsInput(asked)
                    if !exchange.is_parked() && self.returns_questions(how, &asked) =>
                {
                    self.clock.enter(CallStage::Questions);
                    let mut open = Box::pin(self.answer_without_caller(placed, asked)).await;
                    self.clock.enter(CallStage::Server);
                    match open.take_if_complete() {
                        Some(answers) => {
                            refusals.count(&answers)?;
                            exchange.answer(answers);
                        }
                        None => {
                            open.state = exchange.suspend().and_then(SuspendedExchange::into_state);
                            return Ok(SendResult::NeedsInput(open));
                        }
                    }
                }
                ExchangeEvent::NeedsInput(questions) => {
                    if exchange.is_parked() {
                        self.engine.claim_after_question(place.connection, &self.caller);
                    }
                    let _open = place.in_flight.open_question();
                    self.clock.enter(CallStage::Questions);
                    let answering =
                        Box::pin(self.answer(placed, &mut exchange, questions, &mut refusals));
                    let result = answering.await?;
                    self.clock.enter(CallStage::Server);
                    if let Some(result) = result {
                        return Ok(SendResult::Result(result));
                    }
                }
                other => self.emit_event(other).await,
            }
        }
    }

    /// Starts the exchange. Answers in advance are only for a modern server, and are left out where hooks want to
    /// see answers.
    fn start_exchange(
        &self,
        placed: &AppliedServer,
        live: &LiveSession,
        call: &CallRequest,
        unasked: &[InputResponse],
    ) -> Exchange {
        let hears = self.applied.hooks.has(HookEvent::ElicitationResult, &placed.name);
        match live.client.server_facts().era() {
            // A legacy task belongs to its connection, so the engine follows it.
            Era::Legacy => live.client.call(call.clone().with_task_handling(TaskHandling::Follow)),
            Era::Modern if unasked.is_empty() || hears => live.client.call(call.clone()),
            Era::Modern => {
                live.client.resume(call, SuspendedExchange::Again { state: None }, unasked.to_vec())
            }
        }
    }

    async fn emit_event(&self, event: ExchangeEvent) {
        let event = match event {
            ExchangeEvent::Progress(params) => CallEvent::Progress(params),
            ExchangeEvent::Log(params) => CallEvent::Log(params),
            ExchangeEvent::Notification(notification) => CallEvent::Notification(notification),
            ExchangeEvent::Task(task) => CallEvent::Task(task),
            ExchangeEvent::Withdrawn { .. }
            | ExchangeEvent::NeedsInput(_)
            | ExchangeEvent::Done(_) => return,
        };
        self.emit.send(event).await;
    }

    /// Answers the questions of a server. While the exchange is open, the server may still send a result, send events
    /// or withdraw the questions.
    async fn answer(
        &self,
        placed: &AppliedServer,
        exchange: &mut Exchange,
        questions: Vec<InputRequest>,
        refusals: &mut RefusedRounds,
    ) -> Result<Option<Raw>, WireError> {
        let mut answering = std::pin::pin!(self.answer_all(placed, questions));
        loop {
            tokio::select! {
                answers = &mut answering => {
                    let answers: Vec<InputResponse> = answers;
                    if !exchange.is_parked() {
                        refusals.count(&answers)?;
                    }
                    exchange.answer(answers);
                    return Ok(None);
                }
                event = exchange.next(), if exchange.is_parked() => match event? {
                    ExchangeEvent::Done(result) => return Ok(Some(result)),
                    ExchangeEvent::Withdrawn { .. } => return Ok(None),
                    other => self.emit_event(other).await,
                },
            }
        }
    }
}

/// Makes the call again with the requested answers.
fn resume(
    placed: &AppliedServer,
    live: &LiveSession,
    call: &CallRequest,
    told: &ResumeInput,
) -> Result<Exchange, CallError> {
    // A server that changed to the legacy era does not know the questions that it asked.
    if live.client.server_facts().era() == Era::Legacy {
        return Err(CallError::Changed { server: placed.name.clone() });
    }
    let resume = SuspendedExchange::Again { state: told.state.clone() };
    Ok(live.client.resume(call, resume, told.answers.clone()))
}

/// Converts a failure for the caller, and records it for the connection.
fn to_call_error(
    placed: &AppliedServer,
    connection: &Connection,
    live: &LiveSession,
    error: WireError,
    repeat: RepeatSafety,
) -> CallError {
    connection.record_failure(live, &error);
    let error = CallError::server(&placed.name, error, repeat);
    if matches!(connection.state(), ConnectionState::Stopped) && error.remedy() != Remedy::Unknown {
        return CallError::not_connected(&placed.name, ConnectionNotReady::Stopped);
    }
    error
}
