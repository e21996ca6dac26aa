//! One running call as its caller sees it: events, questions and the result, equal in both eras.
//!
//! Used by `core::dispatch`, which polls it. It does not send or receive: `exchange_driver` does, polled from here.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{sync::oneshot, task::coop, time::Instant};

use super::{
    Client,
    call_request::{CallRequest, InputRequest, InputResponse},
    exchange_driver::{ExchangeDriver, SharedExchange},
};
use crate::{Error, envelope::Notification, json::Raw};

/// An event of a call.
#[derive(Debug)]
pub enum ExchangeEvent {
    /// The parameters of a progress notification.
    Progress(Raw),
    /// The parameters of a log message.
    Log(Raw),
    /// Another notification that belongs to the call.
    Notification(Notification),
    /// The state of the task that the server made of the call, each time the state changes.
    Task(Raw),
    /// The server asks questions: answer them with [`Exchange::answer`], or put the call away with
    /// [`Exchange::suspend`]. The list may be empty; then the server only wants the call again.
    NeedsInput(Vec<InputRequest>),
    /// The server withdraws a question.
    Withdrawn {
        /// The key of the question.
        key: String,
    },
    /// The result, which is the last event.
    Done(Raw),
}

/// A running call. It makes progress only while [`Exchange::next`] is polled. Dropping it before its end cancels it
/// at the server.
pub struct Exchange {
    client: Client,
    underway: Arc<SharedExchange>,
    running: Option<RunningDriver>,
    asking: PendingInput,
    /// When the call fails without an answer or progress.
    timeout: Option<Deadline>,
    /// When the call fails without an answer, whatever progress arrives.
    time_limit: Option<Deadline>,
}

/// A moment at which a call fails.
#[derive(Clone, Copy)]
struct Deadline {
    at: Instant,
    /// The time from the start of the clock to `at`.
    after: Duration,
}

struct RunningDriver {
    driver: Pin<Box<dyn Future<Output = Result<DriverOutput, Error>> + Send>>,
    /// The driver's last output, held back while earlier output of the driver is still unread.
    outcome: Option<Result<DriverOutput, Error>>,
}

/// Output of the driver, while it runs and at its end: the result, or questions to repeat the call with.
pub(crate) enum DriverOutput {
    Event(ExchangeEvent),
    Ask { questions: Vec<InputRequest>, pending: PendingInput },
}

/// Whether the server waits for an answer, and how to send it.
pub(crate) enum PendingInput {
    No,
    /// The call is still running.
    Parked(oneshot::Sender<Vec<InputResponse>>),
    /// The call has ended; it is to be repeated with this state.
    Again(Option<Raw>),
}

/// A call that is put away until its questions are answered.
pub enum SuspendedExchange {
    /// Repeat the call with this state, unchanged.
    Again {
        /// The `requestState` of the server.
        state: Option<Raw>,
    },
    /// The exchange, still waiting. It keeps its result if one arrives.
    Parked(Box<Exchange>),
}

// === impl Exchange ===

impl Exchange {
    pub(crate) fn new(client: Client, call: CallRequest) -> Self {
        let timeout = call.timeout.map(Deadline::new);
        let time_limit = call.time_limit.map(Deadline::new);
        let underway = SharedExchange::new(call);
        let driver = ExchangeDriver::new(client.session().clone(), underway.clone());
        let running = RunningDriver { driver: Box::pin(driver.run()), outcome: None };
        let running = Some(running);
        Self { client, underway, running, asking: PendingInput::No, timeout, time_limit }
    }

    /// Returns the next event. Cancel-safe. An error is final.
    pub async fn next(&mut self) -> Result<ExchangeEvent, Error> {
        let deadlines = [self.timeout, self.time_limit].into_iter().flatten();
        let emitted = match deadlines.min_by_key(|deadline| deadline.at) {
            Some(deadline) if !self.is_parked() => {
                match tokio::time::timeout_at(deadline.at, self.advance()).await {
                    Ok(emitted) => emitted,
                    Err(_) => Err(self.expired()),
                }
            }
            _ => self.advance().await,
        };
        if emitted.is_err() {
            self.running = None;
        }
        Ok(self.apply_output(emitted?))
    }

    /// Waits for the result and ignores other events. A question is an error.
    pub async fn result(mut self) -> Result<Raw, Error> {
        loop {
            match self.next().await? {
                ExchangeEvent::Done(result) => return Ok(result),
                ExchangeEvent::NeedsInput(questions) if !questions.is_empty() => {
                    let method = self.underway.call.method.to_string();
                    let asked = questions[0].method.clone();
                    return Err(Error::InputNeeded { method, asked });
                }
                ExchangeEvent::NeedsInput(_) => self.answer(Vec::new()),
                _ => {}
            }
        }
    }

    /// Answers the questions of the last [`ExchangeEvent::NeedsInput`]; [`Exchange::next`] continues.
    pub fn answer(&mut self, answers: Vec<InputResponse>) {
        match std::mem::replace(&mut self.asking, PendingInput::No) {
            PendingInput::No => {}
            // If the call has ended meanwhile, `next` returns its end.
            PendingInput::Parked(reply) => drop(reply.send(answers)),
            PendingInput::Again(state) => {
                let call = self.underway.call.with_answers(state, &answers);
                *self = Self::new(self.client.clone(), call);
            }
        }
        self.restart_timeout();
        self.time_limit = self.underway.call.time_limit.map(Deadline::new);
    }

    /// Puts the call away. Returns `None` if the server is not waiting for an answer.
    pub fn suspend(mut self) -> Option<SuspendedExchange> {
        match std::mem::replace(&mut self.asking, PendingInput::No) {
            PendingInput::No => None,
            PendingInput::Again(state) => Some(SuspendedExchange::Again { state }),
            parked @ PendingInput::Parked(_) => {
                self.asking = parked;
                Some(SuspendedExchange::Parked(Box::new(self)))
            }
        }
    }

    /// Whether the server waits for an answer while the call continues. Then [`Exchange::next`] may be polled
    /// meanwhile: it may return other events, the end of the call, or the withdrawal of the questions.
    pub fn is_parked(&self) -> bool {
        matches!(self.asking, PendingInput::Parked(_))
    }

    fn restart_timeout(&mut self) {
        self.timeout = self.timeout.map(|timeout| Deadline::new(timeout.after));
    }

    /// The error of a call whose time is over.
    fn expired(&self) -> Error {
        let method = self.underway.call.method.to_string();
        let is_over = |deadline: &Deadline| deadline.at <= Instant::now();
        match (self.time_limit.filter(is_over), self.timeout) {
            (Some(Deadline { after, .. }), _) => Error::TimeLimit { method, after },
            (None, timeout) => {
                let after = timeout.map_or(Duration::ZERO, |timeout| timeout.after);
                Error::Timeout { method, after }
            }
        }
    }

    async fn advance(&mut self) -> Result<DriverOutput, Error> {
        let Some(running) = &mut self.running else {
            return Err(Error::Closed);
        };
        poll_fn(|cx| {
            // A server that sends progress without pause must not keep the caller's task from pausing.
            let budget = ready!(coop::poll_proceed(cx));
            let polled = running.poll(&self.underway, cx);
            if polled.is_ready() {
                budget.made_progress();
            }
            polled
        })
        .await
    }

    fn apply_output(&mut self, emitted: DriverOutput) -> ExchangeEvent {
        match emitted {
            DriverOutput::Ask { questions, pending } => {
                if matches!(pending, PendingInput::Again(_)) {
                    self.running = None;
                }
                self.asking = pending;
                ExchangeEvent::NeedsInput(questions)
            }
            DriverOutput::Event(event) => {
                match &event {
                    ExchangeEvent::Progress(_) if self.underway.call.extend_on_progress => {
                        self.restart_timeout();
                    }
                    ExchangeEvent::Withdrawn { .. } => self.asking = PendingInput::No,
                    ExchangeEvent::Done(_) => self.running = None,
                    _ => {}
                }
                event
            }
        }
    }
}

// === impl Deadline ===

impl Deadline {
    fn new(after: Duration) -> Self {
        Self { at: Instant::now() + after, after }
    }
}

// === impl RunningDriver ===

impl RunningDriver {
    /// Polls the driver and returns its next output. Its outcome comes after all other output.
    fn poll(
        &mut self,
        underway: &SharedExchange,
        cx: &mut Context<'_>,
    ) -> Poll<Result<DriverOutput, Error>> {
        if self.outcome.is_none()
            && let Poll::Ready(outcome) = self.driver.as_mut().poll(cx)
        {
            self.outcome = Some(outcome);
        }
        if let Some(emitted) = underway.take_output() {
            return Poll::Ready(Ok(emitted));
        }
        match self.outcome.take() {
            Some(outcome) => Poll::Ready(outcome),
            None => Poll::Pending,
        }
    }
}

// === impl SuspendedExchange ===

impl SuspendedExchange {
    /// The `requestState` of a call that has ended and is to be repeated.
    pub fn into_state(self) -> Option<Raw> {
        match self {
            Self::Again { state } => state,
            Self::Parked(_) => None,
        }
    }
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange").field("call", &self.underway.call).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for SuspendedExchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Again { state } => f.debug_struct("Again").field("state", state).finish(),
            Self::Parked(exchange) => f.debug_tuple("Parked").field(exchange).finish(),
        }
    }
}
