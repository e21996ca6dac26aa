//! To the server and back: a connection, a place among its calls, one exchange.

use std::sync::{Arc, LazyLock};
use std::time::Instant;

use switchboard_wire::Error as WireError;
use switchboard_wire::client::{Answer, Call, Event, Exchange, InputRequest};
use switchboard_wire::envelope::code;
use switchboard_wire::json::{Edit, Raw};

use super::request::Progress;
use super::visit::Visits;
use super::{CallError, CallEvent, Request, Stage};
use crate::connection::{Connection, Live, NotReady, State};
use crate::engine::{OnProgress, Placed};

/// Forms and pages can always be shown to somebody, or be answered *cancel*.
const ELICITATION: &str = r#"{"elicitation":{"form":{},"url":{}}}"#;

// === impl Stage ===

impl Stage {
    /// Sends a request to its server and follows it to its end.
    pub(super) async fn send(&self, placed: &Placed, request: Request) -> Result<Raw, CallError> {
        let server = &placed.name;
        let connection = self.connection(placed).await?;
        let session = &self.caller.session().id;
        let _place =
            connection.admit(session).map_err(|_| CallError::Busy { server: server.clone() })?;
        let _heard = self.engine.under_way.enter(connection.key(), session, self.emit.sender());
        let call = self.dress(placed, &request);
        let mut visits = Visits::new(self, &connection);
        loop {
            let live = self.ready(placed, &connection).await?;
            if let Some(level) = &request.log_level {
                self.engine.want_logs(&connection, &live, level).await;
            }
            let began = Instant::now();
            let ended = self.follow(placed, &connection, live.client.call(call.clone())).await;
            match ended {
                Ok(result) => {
                    connection.succeeded(&live, began.elapsed());
                    return Ok(result);
                }
                Err(error) if error.code() == Some(code::URL_ELICITATION_REQUIRED) => {
                    connection.succeeded(&live, began.elapsed());
                    visits.pay(placed, error).await?;
                }
                Err(error) => return Err(failed(placed, &connection, &live, error)),
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

    fn dress(&self, placed: &Placed, request: &Request) -> Call {
        let numbers = &self.applied.numbers;
        let timeout = request.timeout.or(placed.timeout).unwrap_or(numbers.tool_timeout);
        let mut call = Call::forward(request.envelope.clone())
            .with_timeout(timeout)
            .with_tasks(request.tasks)
            .with_capabilities(self.capabilities());
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

    /// What a modern server may ask of whoever is behind this call.
    fn capabilities(&self) -> Raw {
        static OURS: LazyLock<Raw> =
            LazyLock::new(|| Raw::parse(ELICITATION).unwrap_or_else(|_| Raw::empty_object()));
        let ours = OURS.clone();
        if !self.caller.can(&["sampling"]) {
            return ours;
        }
        let session = &self.caller.session().capabilities;
        let sampling = session.get("sampling").ok().flatten().unwrap_or_else(Raw::empty_object);
        ours.with(&[Edit::set(&["sampling"], sampling.as_str())]).unwrap_or(ours)
    }

    async fn follow(
        &self,
        placed: &Placed,
        connection: &Connection,
        mut exchange: Exchange,
    ) -> Result<Raw, WireError> {
        loop {
            match exchange.next().await? {
                Event::Done(result) => return Ok(result),
                Event::NeedsInput(questions) => {
                    if exchange.is_under_way() {
                        self.engine.asked_back(connection);
                    }
                    if let Some(result) = self.answer(placed, &mut exchange, questions).await? {
                        return Ok(result);
                    }
                }
                other => self.pass_on(other).await,
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

/// What a failure means to the caller, and to the connection.
fn failed(placed: &Placed, connection: &Connection, live: &Live, error: WireError) -> CallError {
    connection.failed(live, &error);
    if matches!(connection.state(), State::Stopped) {
        return CallError::not_connected(&placed.name, NotReady::Stopped);
    }
    CallError::server(&placed.name, error)
}
