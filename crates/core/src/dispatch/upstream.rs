//! To the server and back: a connection, a place among its calls, one exchange.

use std::sync::Arc;
use std::time::Instant;

use switchboard_config::{ElicitationAnswerer, HookEvent};
use switchboard_wire::client::{Answer, Call, Event, Exchange, InputRequest, Resume, Tasks};
use switchboard_wire::envelope::code;
use switchboard_wire::json::Raw;
use switchboard_wire::{Era, Error as WireError, Remedy};

use super::handed::{Again, Open, Questions};
use super::request::Progress;
use super::visit::Visits;
use super::{CallError, CallEvent, Repeat, Request, Stage};
use crate::connection::{Connection, Live, NotReady, State};
use crate::engine::{OnProgress, Placed};

/// What sending a request came to.
pub(super) enum Sent {
    Result(Raw),
    /// The server wants it made again, and whoever made it is to do so.
    Asked(Open),
}

/// What a request that is made again takes along.
struct Told {
    state: Option<Raw>,
    answers: Vec<Answer>,
}

// === impl Stage ===

impl Stage {
    /// Sends a request to its server and follows it to its end.
    pub(super) async fn send(
        &self,
        placed: &Placed,
        request: Request,
        again: Option<&Again>,
    ) -> Result<Sent, CallError> {
        let server = &placed.name;
        let connection = self.connection(placed).await?;
        let session = self.caller.id();
        let admitted = connection.admit(Arc::clone(session));
        let _place = admitted.map_err(|_| CallError::Busy { server: server.clone() })?;
        let (key, hears) = (connection.key(), self.emit.sender());
        let _heard = self.engine.under_way.enter(key, Arc::clone(session), hears);
        let call = self.dress(placed, &request);
        let mut visits = Visits::new(self, &connection);
        let told = match again {
            None => None,
            Some(again) => {
                let answers = Box::pin(self.settle(placed, again)).await;
                Some(Told { state: again.carried.state().cloned(), answers })
            }
        };
        loop {
            let live = self.ready(placed, &connection).await?;
            if let Some(level) = &request.log_level
                && let Some(level) =
                    self.engine.level_to_tell(&self.caller, &connection, &live, level)
            {
                Box::pin(want_logs(&live, level)).await;
            }
            let began = Instant::now();
            let exchange = match &told {
                Some(told) => resume(placed, &live, &call, told)?,
                None => self.first(placed, &live, &call, &request.unasked),
            };
            match self.follow(placed, &connection, exchange, request.questions).await {
                Ok(sent) => {
                    connection.succeeded(&live, began.elapsed());
                    return Ok(sent);
                }
                Err(error) if error.code() == Some(code::URL_ELICITATION_REQUIRED) => {
                    connection.succeeded(&live, began.elapsed());
                    Box::pin(visits.pay(placed, error)).await?;
                }
                Err(error) => {
                    let repeat = Repeat::of(&request.method);
                    return Err(failed(placed, &connection, &live, error, repeat));
                }
            }
        }
    }

    /// The connection for this session's calls.
    pub(super) async fn connection(&self, placed: &Placed) -> Result<Arc<Connection>, CallError> {
        let chosen = self.engine.connection(&self.caller, placed).await;
        chosen.map_err(|error| CallError::not_connected(&placed.name, error))
    }

    /// Its session with the server, waited for if need be.
    pub(super) async fn ready(
        &self,
        placed: &Placed,
        connection: &Connection,
    ) -> Result<Arc<Live>, CallError> {
        let ready = connection.ready().await;
        ready.map_err(|error| CallError::not_connected(&placed.name, error))
    }

    /// What a modern server may ask with this call.
    fn askable(&self, placed: &Placed) -> &Raw {
        let is_queue = placed.elicitation == ElicitationAnswerer::Queue;
        self.caller.askable(|| is_queue || self.engine.queue().is_attended())
    }

    fn dress(&self, placed: &Placed, request: &Request) -> Call {
        let numbers = &self.applied.numbers;
        let timeout = request.timeout.or(placed.timeout).unwrap_or(numbers.tool_timeout);
        let mut call = Call::new(request.method.clone(), request.params.clone())
            .with_timeout(timeout)
            .with_tasks(request.tasks)
            .with_capabilities(self.askable(placed).clone());
        if let Some(task) = &request.as_task {
            call = call.as_task(task.clone());
        }
        if request.progress == Progress::Wanted {
            call = call.with_progress();
        }
        if numbers.on_progress == OnProgress::GoOn {
            call = call.without_extension();
        }
        if let Some(level) = &request.log_level {
            call = call.with_log_level(level.clone());
        }
        call
    }

    async fn follow(
        &self,
        placed: &Placed,
        connection: &Connection,
        mut exchange: Exchange,
        how: Questions,
    ) -> Result<Sent, WireError> {
        loop {
            match exchange.next().await? {
                Event::Done(result) => return Ok(Sent::Result(result)),
                Event::NeedsInput(asked)
                    if !exchange.is_under_way() && self.hands_out(how, &asked) =>
                {
                    let mut open = Box::pin(self.open(placed, asked)).await;
                    match open.settled() {
                        Some(answers) => exchange.answer(answers),
                        None => {
                            open.state = exchange.into_resume().and_then(Resume::into_state);
                            return Ok(Sent::Asked(open));
                        }
                    }
                }
                Event::NeedsInput(questions) => {
                    if exchange.is_under_way() {
                        self.engine.asked_back(connection, &self.caller);
                    }
                    let answering = Box::pin(self.answer(placed, &mut exchange, questions));
                    if let Some(result) = answering.await? {
                        return Ok(Sent::Result(result));
                    }
                }
                other => self.pass_on(other).await,
            }
        }
    }

    /// The call as it is made first. Answers that come along unasked mean something to a server that keeps nothing,
    /// and would get past hooks that want to see answers.
    fn first(&self, placed: &Placed, live: &Live, call: &Call, unasked: &[Answer]) -> Exchange {
        let hears = self.applied.hooks.has(HookEvent::ElicitationResult, &placed.name);
        match live.client.server().era() {
            // Nobody but the connection it was made on can ask for a task.
            Era::Legacy => live.client.call(call.clone().with_tasks(Tasks::Follow)),
            Era::Modern if unasked.is_empty() || hears => live.client.call(call.clone()),
            Era::Modern => {
                live.client.resume(call, Resume::Again { state: None }, unasked.to_vec())
            }
        }
    }

    async fn pass_on(&self, event: Event) {
        let event = match event {
            Event::Progress(params) => CallEvent::Progress(params),
            Event::Log(params) => CallEvent::Log(params),
            Event::Notification(notification) => CallEvent::Notification(notification),
            Event::Task(task) => CallEvent::Task(task),
            Event::Withdrawn { .. } | Event::NeedsInput(_) | Event::Done(_) => return,
        };
        self.emit.event(event).await;
    }

    /// Has the questions answered. Where the call is still under way meanwhile, it may end, go on or take them back.
    async fn answer(
        &self,
        placed: &Placed,
        exchange: &mut Exchange,
        questions: Vec<InputRequest>,
    ) -> Result<Option<Raw>, WireError> {
        let mut answering = std::pin::pin!(self.answers(placed, questions));
        loop {
            tokio::select! {
                answers = &mut answering => {
                    let answers: Vec<Answer> = answers;
                    exchange.answer(answers);
                    return Ok(None);
                }
                event = exchange.next(), if exchange.is_under_way() => match event? {
                    Event::Done(result) => return Ok(Some(result)),
                    Event::Withdrawn { .. } => return Ok(None),
                    other => self.pass_on(other).await,
                },
            }
        }
    }
}

/// The call, made again with what was asked for.
fn resume(placed: &Placed, live: &Live, call: &Call, told: &Told) -> Result<Exchange, CallError> {
    // One that became a server of the other era knows nothing of what it asked.
    if live.client.server().era() == Era::Legacy {
        return Err(CallError::Changed { server: placed.name.clone() });
    }
    let resume = Resume::Again { state: told.state.clone() };
    Ok(live.client.resume(call, resume, told.answers.clone()))
}

async fn want_logs(live: &Live, level: &str) {
    if let Err(error) = live.client.set_log_level(level).await {
        tracing::debug!(%error, "a server does not take a log level");
    }
}

/// What a failure means to the caller, and to the connection.
fn failed(
    placed: &Placed,
    connection: &Connection,
    live: &Live,
    error: WireError,
    repeat: Repeat,
) -> CallError {
    connection.failed(live, &error);
    let error = CallError::server(&placed.name, error, repeat);
    if matches!(connection.state(), State::Stopped) && error.remedy() != Remedy::Unknown {
        return CallError::not_connected(&placed.name, NotReady::Stopped);
    }
    error
}
