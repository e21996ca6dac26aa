//! What it takes to bring one call to its end.
//!
//! Plain sequential code, polled by the exchange that owns it: dress the request, send it, pass on
//! what arrives, ask what is asked, follow tasks. Sent again only where the server said that it did
//! not run: its session had expired, or headers and body disagreed.

use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
};

use tokio::sync::oneshot;

use super::{
    call::{Answer, Call, InputRequest, Tasks},
    channel::Channel,
    exchange::{Emitted, Event},
    lists::List,
    request::Extras,
    session::{Arrival, Session},
    stream::{Arrived, Opened, Stream},
};
use crate::{
    Era, Error,
    envelope::{Id, Notification, Outcome, Request, Response, RpcError, code},
    json::Raw,
    meta::method,
};

/// How a run ends.
pub(crate) enum Finished {
    Done(Raw),
    /// Modern: to be made again, with answers and this state.
    NeedsInput {
        questions: Vec<InputRequest>,
        state: Option<Raw>,
    },
}

/// Questions, and the way their answers come back. Without one the call is to be made again.
pub(crate) struct Ask {
    pub(crate) questions: Vec<InputRequest>,
    pub(crate) reply: Option<oneshot::Sender<Vec<Answer>>>,
    pub(crate) state: Option<Raw>,
}

/// What an exchange and its driver share.
pub(crate) struct Underway {
    pub(crate) call: Call,
    /// What the driver has said and the exchange has not taken yet. The exchange looks each time it has polled the
    /// driver, so nobody has to be woken.
    said: Mutex<Option<Emitted>>,
}

/// Brings one call to its end.
pub(crate) struct Driver {
    pub(crate) session: Arc<Session>,
    underway: Arc<Underway>,
    /// The call's extras, where they are not the caller's own.
    extras: Option<Box<Extras>>,
    /// Questions that came while another was being answered.
    backlog: VecDeque<Request>,
}

/// One try's end.
enum Tried {
    Answered(Stream, Response),
    Expired,
}

/// What asking came to.
pub(crate) enum Asked {
    Answered(Vec<Answer>),
    Withdrawn,
    /// The call was answered while its question was still open.
    Overtaken(Response),
}

// === impl Finished ===

impl Finished {
    pub(crate) fn emitted(self) -> Emitted {
        match self {
            Self::Done(result) => Emitted::Event(Event::Done(result)),
            Self::NeedsInput { questions, state } => {
                Emitted::Ask(Ask { questions, reply: None, state })
            }
        }
    }
}

// === impl Underway ===

impl Underway {
    pub(crate) fn new(call: Call) -> Arc<Self> {
        Arc::new(Self { call, said: Mutex::new(None) })
    }

    /// What was said last, if it was not taken before.
    pub(crate) fn take(&self) -> Option<Emitted> {
        self.said().take()
    }

    /// Says something, once what was said before is taken.
    async fn say(&self, emitted: Emitted) {
        let mut emitted = Some(emitted);
        poll_fn(|_| {
            let mut said = self.said();
            if said.is_some() {
                return Poll::Pending;
            }
            *said = emitted.take();
            Poll::Ready(())
        })
        .await;
    }

    fn said(&self) -> MutexGuard<'_, Option<Emitted>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Driver ===

impl Driver {
    pub(crate) fn new(session: Arc<Session>, underway: Arc<Underway>) -> Self {
        Self { session, underway, extras: None, backlog: VecDeque::new() }
    }

    fn call(&self) -> &Call {
        &self.underway.call
    }

    fn extras(&self) -> &Extras {
        self.extras.as_deref().unwrap_or(&self.call().extras)
    }

    pub(crate) async fn run(mut self) -> Result<Finished, Error> {
        self.prepare_tool().await?;
        let mut relisted = false;
        let mut renewed = false;
        loop {
            let generation = self.session.generation();
            match self.attempt().await? {
                Tried::Expired if renewed => return Err(Error::Closed),
                Tried::Expired => {
                    renewed = true;
                    Box::pin(self.session.renew(generation)).await?;
                }
                Tried::Answered(_, response) if !relisted && self.headers_disagree(&response) => {
                    relisted = true;
                    Box::pin(self.session.list(List::Tools)).await?;
                }
                Tried::Answered(stream, response) => return self.judge(stream, &response).await,
            }
        }
    }

    /// Learns what has to be known of a tool before it can be called.
    async fn prepare_tool(&mut self) -> Result<(), Error> {
        if !self.session.wants_tools_first() {
            return Ok(());
        }
        let Some(name) = self.call().tool_name() else {
            return Ok(());
        };
        if self.session.tools.get(&name).is_none() {
            Box::pin(self.session.list(List::Tools)).await?;
        }
        let needs_task = self.session.tools.get(&name).is_some_and(|tool| tool.needs_task);
        if needs_task && self.session.era() == Era::Legacy && self.call().tasks == Tasks::Follow {
            let mut extras = self.extras().clone();
            extras.task.get_or_insert_with(Raw::empty_object);
            self.extras = Some(Box::new(extras));
        }
        Ok(())
    }

    async fn attempt(&mut self) -> Result<Tried, Error> {
        let Call { method, params, .. } = self.call();
        let out = self.session.prepare(method, params.as_ref(), self.extras())?;
        match self.session.open(out).await? {
            Opened::Expired => Ok(Tried::Expired),
            Opened::Stream(mut stream) => {
                let response = self.follow(&mut stream).await?;
                Ok(Tried::Answered(stream, response))
            }
        }
    }

    fn headers_disagree(&self, response: &Response) -> bool {
        matches!(&self.session.channel, Channel::Http(_))
            && self.call().tool_name().is_some()
            && matches!(response.outcome(), Outcome::Error(error) if error.code == code::HEADER_MISMATCH)
    }

    /// Passes on what arrives until the answer does.
    pub(crate) async fn follow(&mut self, stream: &mut Stream) -> Result<Response, Error> {
        loop {
            let request = match self.backlog.pop_front() {
                Some(request) => request,
                None => match stream.next().await? {
                    Arrived::Done(response) => return Ok(response),
                    Arrived::Mail(Arrival::Request(request)) => request,
                    Arrived::Mail(Arrival::Notification(note)) => {
                        self.pass_on(note).await;
                        continue;
                    }
                    Arrived::Mail(Arrival::Withdrawn(id)) => {
                        self.forget(&id);
                        continue;
                    }
                },
            };
            if let Some(response) = Box::pin(self.put_question(stream, &request)).await? {
                return Ok(response);
            }
        }
    }

    /// A question that was taken back before anybody was asked.
    fn forget(&mut self, id: &Id) {
        self.backlog.retain(|request| request.id() != *id);
    }

    pub(crate) async fn pass_on(&mut self, note: Notification) {
        let params = || note.params().unwrap_or_else(Raw::empty_object);
        let event = match note.method().as_ref() {
            method::PROGRESS => Event::Progress(params()),
            method::LOG => Event::Log(params()),
            _ => Event::Notification(note),
        };
        self.say(event).await;
    }

    pub(crate) async fn say(&mut self, event: Event) {
        self.underway.say(Emitted::Event(event)).await;
    }

    /// A legacy server's request: asked, and the answer sent back.
    pub(crate) async fn put_question(
        &mut self,
        stream: &mut Stream,
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
            Asked::Answered(answers) => {
                self.session.asked.remove(&id);
                let outcome = answers.into_iter().find(|answer| answer.key == id.to_string());
                self.session.send_response(to_response(&id, outcome)).await?;
                Ok(None)
            }
            Asked::Withdrawn => Ok(None),
            Asked::Overtaken(response) => Ok(Some(response)),
        }
    }

    /// Asks and waits. What arrives meanwhile on `stream` is looked at, since it may make the
    /// question moot.
    pub(crate) async fn ask(
        &mut self,
        questions: Vec<InputRequest>,
        stream: Option<&mut Stream>,
    ) -> Result<Asked, Error> {
        let keys: Vec<String> = questions.iter().map(|question| question.key.clone()).collect();
        let (reply, mut answered) = oneshot::channel();
        let ask = Ask { questions, reply: Some(reply), state: None };
        self.underway.say(Emitted::Ask(ask)).await;
        let Some(stream) = stream else {
            return answered.await.map(Asked::Answered).map_err(|_| Error::Closed);
        };
        loop {
            let arrived = tokio::select! {
                biased;
                answers = &mut answered => {
                    return answers.map(Asked::Answered).map_err(|_| Error::Closed);
                }
                arrived = stream.next() => arrived?,
            };
            match arrived {
                Arrived::Done(response) => return Ok(Asked::Overtaken(response)),
                Arrived::Mail(Arrival::Request(request)) => self.backlog.push_back(request),
                Arrived::Mail(Arrival::Withdrawn(id)) if keys.contains(&id.to_string()) => {
                    self.say(Event::Withdrawn { key: id.to_string() }).await;
                    return Ok(Asked::Withdrawn);
                }
                Arrived::Mail(Arrival::Withdrawn(id)) => self.forget(&id),
                // While a person thinks, progress is of no use.
                Arrived::Mail(_) => {}
            }
        }
    }

    /// What the answer means.
    async fn judge(mut self, stream: Stream, response: &Response) -> Result<Finished, Error> {
        let result = match response.outcome() {
            Outcome::Result(result) => result,
            Outcome::Error(error) => return Err(Error::Rpc(error)),
        };
        let result = match self.session.era() {
            Era::Modern => return self.judge_modern(result).await,
            Era::Legacy if self.extras().task.is_some() && self.call().tasks == Tasks::Follow => {
                Box::pin(self.follow_legacy_task(stream, result)).await?
            }
            Era::Legacy => result,
        };
        Ok(Finished::Done(result))
    }

    async fn judge_modern(mut self, result: Raw) -> Result<Finished, Error> {
        let asked = self.call().method.clone();
        let kind =
            result.get("resultType").map_err(|error| Error::invalid(&asked, error.to_string()))?;
        match kind.as_ref().map(Raw::as_str) {
            None | Some("\"complete\"") => Ok(Finished::Done(result)),
            Some("\"input_required\"") if self.call().can_ask() => read_questions(&asked, &result),
            Some("\"task\"") if self.call().tasks == Tasks::Hand => Ok(Finished::Done(result)),
            Some("\"task\"") if asked == method::TOOLS_CALL => {
                Box::pin(self.follow_modern_task(result)).await.map(Finished::Done)
            }
            Some(other) => Err(Error::invalid(&asked, format!("its type is {other}"))),
        }
    }
}

fn read_questions(asked: &str, result: &Raw) -> Result<Finished, Error> {
    let member = |key| result.get(key).map_err(|error| Error::invalid(asked, error.to_string()));
    let state = member("requestState")?;
    let requests = member("inputRequests")?;
    if state.is_none() && requests.is_none() {
        return Err(Error::invalid(asked, "it wants input and asks for none"));
    }
    let questions = match &requests {
        None => Vec::new(),
        Some(requests) => InputRequest::read_all(requests)
            .ok_or_else(|| Error::invalid(asked, "its questions cannot be read"))?,
    };
    Ok(Finished::NeedsInput { questions, state })
}

fn to_response(id: &Id, answer: Option<Answer>) -> Response {
    match answer.map(|answer| answer.outcome) {
        Some(Ok(result)) => Response::result(id, &result),
        Some(Err(error)) => Response::error(Some(id), &error),
        None => Response::error(Some(id), &RpcError::new(code::INTERNAL_ERROR, "nobody answered")),
    }
}
