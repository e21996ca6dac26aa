//! Tasks: calls that continue after the client got a handle, by the tasks extension of 2026-07-28.
//!
//! Used by `server`. A plugin asks in the middle of a call to turn it into a task. The client gets a handle
//! at once, the call continues here, and its questions and result wait until the client polls. Clients of the
//! legacy era have no tasks.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, SystemTime},
};

use parking_lot::{Mutex, MutexGuard};
use serde_json::json;
use switchboard_core::logs::format_timestamp;
use switchboard_plugin_sdk::abi::v2::TASK;
use switchboard_wire::{
    Era,
    client::{InputRequest, InputResponse},
    envelope::{RpcError, code},
    json::Raw,
    meta::{TASKS_EXTENSION, method},
    server::{HandlerReply, HandlerRequest, RequestContext},
};
use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{
    call::{WorkerCall, WorkerCallEvent, WorkerCallStep},
    catalog::ItemRef,
    normalize,
    question::WorkerQuestion,
    server::{hung_fault, invalid_params, text_param},
};

/// The limit of tasks, ended ones included.
const MAX_TASKS: usize = 256;
/// How long a task is kept, from its start. A task that has not ended by then is cancelled.
const TASK_TTL: Duration = Duration::from_secs(60 * 60);
/// The poll interval that clients are told.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The tasks by id. An id is random and entitles its holder to the task.
#[derive(Default)]
pub(crate) struct PluginTasks(Mutex<HashMap<String, Arc<PluginTask>>>);

/// A call that becomes a task.
pub(crate) struct DetachedCall {
    pub(crate) call: WorkerCall,
    pub(crate) place: ItemRef,
    /// The client's capabilities, for questions.
    pub(crate) capabilities: Raw,
    /// How long the plugin waits for an answer.
    pub(crate) patience: Duration,
}

struct PluginTask {
    created: SystemTime,
    begun: Instant,
    standing: Mutex<PluginTaskState>,
    /// Notified when answers arrive.
    heard: Notify,
    cancelled: CancellationToken,
}

struct PluginTaskState {
    status: PluginTaskStatus,
    updated: SystemTime,
    /// The plugin's last progress message.
    message: Option<String>,
}

enum PluginTaskStatus {
    Working,
    Asking(WorkerQuestion),
    Completed(Raw),
    Failed(RpcError),
    Cancelled,
}

/// The error if a call cannot become a task.
pub(crate) fn refusal(asked: &HandlerRequest, context: &RequestContext) -> Option<RpcError> {
    if asked.method != method::TOOLS_CALL {
        return Some(RpcError::new(code::INVALID_REQUEST, "only calls of tools become tasks"));
    }
    (!declares_tasks(context)).then(tasks_needed_error)
}

fn tasks_needed_error() -> RpcError {
    let needed = json!({ "requiredCapabilities": { "extensions": { TASKS_EXTENSION: {} } } });
    let error = RpcError::new(code::MISSING_CAPABILITY, "the client cannot be given a task");
    error.with_data(Raw::from(&needed))
}

fn declares_tasks(context: &RequestContext) -> bool {
    context.version.era() == Era::Modern && context.has_capability(&["extensions", TASKS_EXTENSION])
}

// === impl PluginTasks ===

impl PluginTasks {
    /// Turns a call into a task and returns its handle; `None` if the limit is reached.
    pub(crate) fn begin(&self, detached: DetachedCall) -> Option<Raw> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).ok()?;
        let id = format!("{:032x}", u128::from_le_bytes(bytes));
        let now = SystemTime::now();
        let task = Arc::new(PluginTask {
            created: now,
            begun: Instant::now(),
            standing: Mutex::new(PluginTaskState {
                status: PluginTaskStatus::Working,
                updated: now,
                message: None,
            }),
            heard: Notify::new(),
            cancelled: CancellationToken::new(),
        });
        let mut all = self.all();
        if all.len() >= MAX_TASKS {
            return None;
        }
        let kind = ("resultType", Raw::string("task"));
        let handle = Raw::object(task.facts(&id).into_iter().chain([kind]));
        all.insert(id, task.clone());
        drop(all);
        tokio::spawn(run_task(task, detached));
        Some(handle)
    }

    /// Answers `tasks/get`, `tasks/update` and `tasks/cancel`.
    pub(crate) fn answer(
        &self,
        asked: &HandlerRequest,
        context: &RequestContext,
    ) -> Result<HandlerReply, RpcError> {
        if !declares_tasks(context) {
            return Err(tasks_needed_error());
        }
        let id = text_param(&asked.params, &["taskId"])?;
        let task = self.all().get(&id).cloned();
        let task = task.ok_or_else(|| invalid_params("no task has this id"))?;
        match &*asked.method {
            method::TASKS_UPDATE => task.apply_answers(&asked.answers),
            method::TASKS_CANCEL => task.cancel(),
            _ => return Ok(HandlerReply::Complete(task.to_json(&id))),
        }
        Ok(HandlerReply::Complete(Raw::empty_object()))
    }

    /// Removes expired tasks, and cancels those that have not ended.
    pub(crate) fn sweep(&self) {
        self.all().retain(|_, task| {
            let stays = task.begun.elapsed() < TASK_TTL;
            if !stays {
                task.cancelled.cancel();
            }
            stays
        });
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<PluginTask>>> {
        self.0.lock()
    }
}

/// Follows a task until it ends or is cancelled.
async fn run_task(task: Arc<PluginTask>, detached: DetachedCall) {
    let end = task.cancelled.run_until_cancelled(follow(&task, detached)).await;
    task.end(match end {
        Some(Ok(result)) => PluginTaskStatus::Completed(result),
        Some(Err(error)) => PluginTaskStatus::Failed(error),
        None => PluginTaskStatus::Cancelled,
    });
}

async fn follow(task: &PluginTask, detached: DetachedCall) -> Result<Raw, RpcError> {
    let DetachedCall { mut call, place, capabilities, patience } = detached;
    let mut questions = 0;
    loop {
        let asks = task.is_asking();
        let patience = if asks { patience } else { place.slot.call_timeout() };
        let next = tokio::select! {
            () = task.heard.notified() => {
                if let Some(question) = task.take_answered_question() {
                    call.answer(&question.id.clone(), question.into_answer()).await;
                }
                continue;
            }
            next = timeout(patience, call.next()) => next,
        };
        match next {
            Ok(WorkerCallStep::Event(WorkerCallEvent::Note { method, params })) => {
                task.note(&method, &params);
            }
            Ok(WorkerCallStep::Event(WorkerCallEvent::Ask { id, method, .. }))
                if method == TASK =>
            {
                call.answer(&id, Ok(Raw::empty_object())).await;
            }
            Ok(WorkerCallStep::Event(WorkerCallEvent::Ask { id, method, params })) => {
                questions += 1;
                let question = WorkerQuestion::new(id, method, params, &capabilities);
                let question = question.with_key(&format!("question-{questions}"));
                match task.ask(question) {
                    None => {}
                    Some(moot) => call.answer(&moot.id.clone(), moot.into_answer()).await,
                }
            }
            Ok(WorkerCallStep::Done(outcome)) => {
                return Ok(normalize::normalize_result(
                    place.offer.abi,
                    method::TOOLS_CALL,
                    outcome?,
                ));
            }
            Ok(WorkerCallStep::Gone(fault)) => return Err(fault.to_rpc(&place.offer.name)),
            Err(_) if asks => {
                return Err(RpcError::new(code::INTERNAL_ERROR, "the question was not answered"));
            }
            Err(_) => return Err(hung_fault(&call, &place.slot).to_rpc(&place.offer.name)),
        }
    }
}

// === impl PluginTask ===

impl PluginTask {
    /// The task's JSON for the client.
    fn to_json(&self, id: &str) -> Raw {
        let facts = self.facts(id);
        let end = match &self.lock_state().status {
            PluginTaskStatus::Asking(question) if !question.unanswered().is_empty() => {
                let asked = InputRequest::to_input_requests(&question.unanswered());
                Some(("inputRequests", asked))
            }
            PluginTaskStatus::Working
            | PluginTaskStatus::Asking(_)
            | PluginTaskStatus::Cancelled => None,
            PluginTaskStatus::Completed(result) => Some(("result", result.clone())),
            PluginTaskStatus::Failed(error) => Some(("error", error.to_raw())),
        };
        Raw::object(facts.into_iter().chain(end))
    }

    /// The members that every answer about it has.
    fn facts(&self, id: &str) -> Vec<(&'static str, Raw)> {
        let standing = self.lock_state();
        let message = standing.message.as_ref();
        let mut facts = vec![
            ("taskId", Raw::string(id)),
            ("status", Raw::string(standing.status.as_str())),
            ("createdAt", Raw::string(&format_timestamp(self.created))),
            ("lastUpdatedAt", Raw::string(&format_timestamp(standing.updated))),
            ("ttlMs", Raw::from(json!(TASK_TTL.as_millis()))),
            ("pollIntervalMs", Raw::from(json!(POLL_INTERVAL.as_millis()))),
        ];
        facts.extend(message.map(|message| ("statusMessage", Raw::string(message))));
        facts
    }

    fn note(&self, told: &str, params: &Raw) {
        let message = params.get("message").ok().flatten().and_then(|message| message.to_text());
        if let Some(message) = message.filter(|_| told == method::PROGRESS) {
            self.change(|standing| standing.message = Some(message));
        }
    }

    /// Presents a question to the client; returns it if the client cannot be asked anything.
    fn ask(&self, question: WorkerQuestion) -> Option<WorkerQuestion> {
        if question.unanswered().is_empty() {
            return Some(question);
        }
        self.change(|standing| standing.status = PluginTaskStatus::Asking(question));
        None
    }

    fn is_asking(&self) -> bool {
        matches!(self.lock_state().status, PluginTaskStatus::Asking(_))
    }

    /// Applies answers; those without a question are ignored.
    fn apply_answers(&self, answers: &[InputResponse]) {
        self.change(|standing| {
            if let PluginTaskStatus::Asking(question) = &mut standing.status {
                question.apply_answers(answers);
            }
        });
        self.heard.notify_one();
    }

    /// Takes the question when all parts are answered.
    fn take_answered_question(&self) -> Option<WorkerQuestion> {
        let mut standing = self.lock_state();
        match std::mem::replace(&mut standing.status, PluginTaskStatus::Working) {
            PluginTaskStatus::Asking(question) if question.unanswered().is_empty() => {
                Some(question)
            }
            other => {
                standing.status = other;
                None
            }
        }
    }

    fn cancel(&self) {
        self.end(PluginTaskStatus::Cancelled);
        self.cancelled.cancel();
    }

    /// Ends the task; a task that has ended keeps its status.
    fn end(&self, end: PluginTaskStatus) {
        self.change(|standing| {
            if matches!(standing.status, PluginTaskStatus::Working | PluginTaskStatus::Asking(_)) {
                standing.status = end;
            }
        });
    }

    fn change(&self, change: impl FnOnce(&mut PluginTaskState)) {
        let mut standing = self.lock_state();
        change(&mut standing);
        standing.updated = SystemTime::now();
    }

    fn lock_state(&self) -> MutexGuard<'_, PluginTaskState> {
        self.standing.lock()
    }
}

// === impl PluginTaskStatus ===

impl PluginTaskStatus {
    fn as_str(&self) -> &'static str {
        match self {
            Self::Asking(question) if !question.unanswered().is_empty() => "input_required",
            // All parts are answered, and the plugin is about to get the answers.
            Self::Working | Self::Asking(_) => "working",
            Self::Completed(_) => "completed",
            Self::Failed(_) => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}
