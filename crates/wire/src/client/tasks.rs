//! Tasks of a call: polls a task to its end, in both eras.
//!
//! Used by `exchange_driver`. Modern: the answer to a call may be a task, which is polled with
//! `tasks/get`; its questions stand in its state and are answered with `tasks/update`. 2025-11-25:
//! the caller asks for a task, polls it, and fetches its result with `tasks/result`, on which the
//! server may also ask. A caller that goes away cancels the task. It does not run tasks for clients
//! (`gateway::bridge::tasks`).

use std::{collections::HashSet, sync::Arc, time::Duration};

use super::{
    call_request::{InputRequest, input_responses},
    exchange::ExchangeEvent,
    exchange_driver::{AskOutcome, ExchangeDriver},
    request::RequestExtras,
    request_stream::{OpenOutcome, RequestStream, StreamItem},
    session::{CallArrival, ClientSession},
};
use crate::{
    Error,
    envelope::{ResponseOutcome, RpcError},
    json::{Raw, quote},
    meta::method,
};

/// The poll interval if the server names none.
const DEFAULT_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The shortest poll interval, even if the server names a shorter one.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The longest poll interval, even if the server names a longer one.
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(60);

/// A task that is cancelled on drop unless it has ended.
struct FollowedTask {
    session: Arc<ClientSession>,
    id: String,
    ended: bool,
}

/// The state of a task, as the server reports it.
struct TaskState {
    raw: Raw,
    status: String,
}

impl ExchangeDriver {
    pub(super) async fn follow_modern_task(&mut self, created: Raw) -> Result<Raw, Error> {
        let mut state = TaskState::read(created)?;
        let mut task = FollowedTask::new(&self.session, state.text("taskId")?);
        let mut asked = HashSet::new();
        let mut shown = String::new();
        loop {
            if state.status != shown {
                shown.clone_from(&state.status);
                self.emit_event(ExchangeEvent::Task(state.raw.clone())).await;
            }
            match state.status.as_str() {
                "completed" => return task.end(state.member("result")),
                "failed" => return task.end(Err(state.error())),
                "cancelled" => return task.end(Err(state.cancelled_error())),
                "input_required" => self.answer_task(&task.id, &state, &mut asked).await?,
                _ => {}
            }
            tokio::time::sleep(state.poll_interval("pollIntervalMs")).await;
            let params = task.params();
            state = TaskState::read(self.session.request(method::TASKS_GET, Some(&params)).await?)?;
        }
    }

    /// Asks the caller the task's questions that were not asked before.
    async fn answer_task(
        &mut self,
        task: &str,
        state: &TaskState,
        asked: &mut HashSet<String>,
    ) -> Result<(), Error> {
        let requests = state.raw.get("inputRequests").ok().flatten();
        let questions =
            requests.as_ref().and_then(InputRequest::from_input_requests).unwrap_or_default();
        let questions: Vec<_> =
            questions.into_iter().filter(|question| asked.insert(question.key.clone())).collect();
        if questions.is_empty() {
            return Ok(());
        }
        if let AskOutcome::Answered(answers) = self.ask(questions, None).await? {
            let responses = input_responses(&answers);
            let params = format!(r#"{{"taskId":{},"inputResponses":{responses}}}"#, quote(task));
            let params = Raw::from_trusted(params.into());
            self.session.request(method::TASKS_UPDATE, Some(&params)).await?;
        }
        Ok(())
    }

    /// Follows a 2025-11-25 task. `stream` is the call that started the task: its progress and
    /// questions arrive there.
    pub(super) async fn follow_legacy_task(
        &mut self,
        stream: RequestStream,
        created: Raw,
    ) -> Result<Raw, Error> {
        let Ok(Some(task)) = created.get("task") else {
            return Ok(created); // The server answered at once, which it may.
        };
        let mut state = TaskState::read(task)?;
        let mut task = FollowedTask::new(&self.session, state.text("taskId")?);
        let mut stream = stream.into_task_stream()?;
        self.session.claim_task(&task.id, stream.id());
        let mut shown = String::new();
        loop {
            if state.status != shown {
                shown.clone_from(&state.status);
                self.emit_event(ExchangeEvent::Task(state.raw.clone())).await;
            }
            let pause = match state.status.as_str() {
                "cancelled" => return task.end(Err(state.cancelled_error())),
                "completed" | "failed" | "input_required" => Duration::ZERO,
                _ => state.poll_interval("pollInterval"),
            };
            self.attend(&mut stream, pause).await?;
            if pause.is_zero() {
                let result = self.task_result(&task, &stream).await;
                return task.end(result);
            }
            let params = task.params();
            state = TaskState::read(self.session.request(method::TASKS_GET, Some(&params)).await?)?;
        }
    }

    /// Passes on waiting messages, and those that arrive during a pause.
    async fn attend(&mut self, stream: &mut RequestStream, pause: Duration) -> Result<(), Error> {
        let over = tokio::time::sleep(pause);
        tokio::pin!(over);
        loop {
            let arrived = tokio::select! {
                biased;
                arrived = stream.next() => arrived?,
                () = &mut over => return Ok(()),
            };
            match arrived {
                StreamItem::Mail(CallArrival::Notification(note)) => {
                    self.emit_notification(note).await;
                }
                StreamItem::Mail(CallArrival::Request(request)) => {
                    self.relay_question(stream, &request).await?;
                }
                StreamItem::Mail(CallArrival::Withdrawn(_)) | StreamItem::Last(_) => {}
            }
        }
    }

    /// Waits for the result; the server may ask questions first.
    async fn task_result(
        &mut self,
        task: &FollowedTask,
        made: &RequestStream,
    ) -> Result<Raw, Error> {
        let (params, extras) = (task.params(), RequestExtras::default());
        let mut out = self.session.prepare(method::TASKS_RESULT, Some(&params), &extras)?;
        out.can_ask = true;
        let id = out.id;
        // Claimed before sending: a question may come at once.
        self.session.claim_task(&task.id, id);
        let OpenOutcome::Stream(mut stream) = self.session.open(out).await? else {
            return Err(Error::Closed);
        };
        self.session.redirect(made.id(), id);
        match self.follow(&mut stream).await?.outcome() {
            ResponseOutcome::Result(result) => Ok(result),
            ResponseOutcome::Error(error) => Err(Error::Rpc(error)),
        }
    }
}

// === impl TaskState ===

impl TaskState {
    fn read(raw: Raw) -> Result<Self, Error> {
        let status = raw.get("status").ok().flatten().and_then(|status| status.to_text());
        let status = status.ok_or_else(|| Error::invalid(method::TASKS_GET, "it has no status"))?;
        Ok(Self { raw, status })
    }

    fn member(&self, key: &str) -> Result<Raw, Error> {
        let missing = || Error::invalid(method::TASKS_GET, format!("it has no `{key}`"));
        self.raw.get(key).ok().flatten().ok_or_else(missing)
    }

    fn text(&self, key: &str) -> Result<String, Error> {
        let not_text = || Error::invalid(method::TASKS_GET, format!("`{key}` is no text"));
        self.member(key)?.to_text().ok_or_else(not_text)
    }

    fn message(&self) -> String {
        self.text("statusMessage").unwrap_or_default()
    }

    fn error(&self) -> Error {
        match self.raw.get("error") {
            Ok(Some(error)) => Error::Rpc(RpcError::from_raw(&error)),
            _ => Error::invalid(method::TASKS_GET, format!("it failed: {}", self.message())),
        }
    }

    fn cancelled_error(&self) -> Error {
        Error::TaskCancelled { reason: self.message() }
    }

    fn poll_interval(&self, key: &str) -> Duration {
        let wanted = self.raw.get(key).ok().flatten().and_then(|value| value.decode::<u64>().ok());
        wanted
            .map_or(DEFAULT_POLL_INTERVAL, Duration::from_millis)
            .clamp(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL)
    }
}

// === impl FollowedTask ===

impl FollowedTask {
    fn new(session: &Arc<ClientSession>, id: String) -> Self {
        Self { session: session.clone(), id, ended: false }
    }

    fn params(&self) -> Raw {
        Raw::from_trusted(format!(r#"{{"taskId":{}}}"#, quote(&self.id)).into())
    }

    fn end(&mut self, result: Result<Raw, Error>) -> Result<Raw, Error> {
        self.ended = true;
        result
    }
}

impl Drop for FollowedTask {
    fn drop(&mut self) {
        self.session.release_task(&self.id);
        if self.ended {
            return;
        }
        let (params, extras) = (self.params(), RequestExtras::default());
        if let Ok(out) = self.session.prepare(method::TASKS_CANCEL, Some(&params), &extras) {
            self.session.channel.try_send_with(out.text, out.headers);
        }
    }
}
