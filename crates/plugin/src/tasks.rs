//! Calls that go on after they were answered: tasks, as the extension of the newest version has them.
//!
//! A plugin says in the middle of a call that the call is to become a task. Its client gets a handle at once, the call
//! goes on here, and what it asks and comes to waits until the client looks. Clients of the older era have none of it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};
use switchboard_core::logs::stamp;
use switchboard_plugin_sdk::abi::v2::TASK;
use switchboard_wire::{
    Era,
    client::{Answer, InputRequest},
    envelope::{RpcError, code},
    json::Raw,
    meta::{TASKS_EXTENSION, method},
    server::{Asked, Context, Reply},
};
use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{
    call::{Call, Event, Next},
    catalog::Place,
    normal,
    question::Question,
    server::{hung, invalid, raw, text},
};

/// Tasks that may be there at once, those that have ended among them.
const MOST: usize = 256;
/// How long a task is kept, from its beginning. What has not ended by then is cancelled.
const KEPT: Duration = Duration::from_secs(60 * 60);
/// How often a client is told to look.
const INTERVAL: Duration = Duration::from_millis(500);

/// The tasks there are, by their ids. Whoever knows an id may use it; nobody guesses one.
#[derive(Default)]
pub(crate) struct Tasks(Mutex<HashMap<String, Arc<Task>>>);

/// What a task was before.
pub(crate) struct Detached {
    pub(crate) call: Call,
    pub(crate) place: Place,
    /// What its client can be asked.
    pub(crate) capabilities: Raw,
    /// How long an answer is waited for.
    pub(crate) patience: Duration,
}

struct Task {
    created: SystemTime,
    begun: Instant,
    standing: Mutex<Standing>,
    /// Answers have come.
    heard: Notify,
    cancelled: CancellationToken,
}

struct Standing {
    status: Status,
    updated: SystemTime,
    /// What the plugin said last of how far it is.
    message: Option<String>,
}

enum Status {
    Working,
    Asking(Question),
    Completed(Raw),
    Failed(RpcError),
    Cancelled,
}

/// Why a call cannot become a task, if it cannot.
pub(crate) fn refusal(asked: &Asked, context: &Context) -> Option<RpcError> {
    if asked.method != method::TOOLS_CALL {
        return Some(RpcError::new(code::INVALID_REQUEST, "only calls of tools become tasks"));
    }
    (!declares(context)).then(needed)
}

fn needed() -> RpcError {
    let needed = json!({ "requiredCapabilities": { "extensions": { TASKS_EXTENSION: {} } } });
    let error = RpcError::new(code::MISSING_CAPABILITY, "the client cannot be given a task");
    error.with_data(raw(&needed))
}

fn declares(context: &Context) -> bool {
    context.version.era() == Era::Modern && context.offers(&["extensions", TASKS_EXTENSION])
}

// === impl Tasks ===

impl Tasks {
    /// Makes a task of a call, and returns its handle; `None` where there is no room for one more.
    pub(crate) fn begin(&self, detached: Detached) -> Option<Raw> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).ok()?;
        let id = format!("{:032x}", u128::from_le_bytes(bytes));
        let now = SystemTime::now();
        let task = Arc::new(Task {
            created: now,
            begun: Instant::now(),
            standing: Mutex::new(Standing { status: Status::Working, updated: now, message: None }),
            heard: Notify::new(),
            cancelled: CancellationToken::new(),
        });
        let mut all = self.all();
        if all.len() >= MOST {
            return None;
        }
        let mut handle = task.outline(&id);
        handle["resultType"] = json!("task");
        all.insert(id, task.clone());
        drop(all);
        tokio::spawn(live(task, detached));
        Some(raw(&handle))
    }

    /// Answers `tasks/get`, `tasks/update` and `tasks/cancel`.
    pub(crate) fn answer(&self, asked: &Asked, context: &Context) -> Result<Reply, RpcError> {
        if !declares(context) {
            return Err(needed());
        }
        let id = text(&asked.params, &["taskId"])?;
        let task = self.all().get(&id).cloned();
        let task = task.ok_or_else(|| invalid("no task has this id"))?;
        match &*asked.method {
            method::TASKS_UPDATE => task.hear(&asked.answers),
            method::TASKS_CANCEL => task.cancel(),
            _ => return Ok(Reply::Complete(raw(&task.shown(&id)))),
        }
        Ok(Reply::Complete(Raw::empty_object()))
    }

    /// Forgets what has been there for too long, and cancels it if it has not ended.
    pub(crate) fn sweep(&self) {
        self.all().retain(|_, task| {
            let stays = task.begun.elapsed() < KEPT;
            if !stays {
                task.cancelled.cancel();
            }
            stays
        });
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<Task>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Follows a task until it has ended, or is cancelled.
async fn live(task: Arc<Task>, detached: Detached) {
    let end = task.cancelled.run_until_cancelled(follow(&task, detached)).await;
    task.end(match end {
        Some(Ok(result)) => Status::Completed(result),
        Some(Err(error)) => Status::Failed(error),
        None => Status::Cancelled,
    });
}

async fn follow(task: &Task, detached: Detached) -> Result<Raw, RpcError> {
    let Detached { mut call, place, capabilities, patience } = detached;
    let mut questions = 0;
    loop {
        let asks = task.is_asking();
        let patience = if asks { patience } else { place.seat.patience() };
        let next = tokio::select! {
            () = task.heard.notified() => {
                if let Some(question) = task.answered() {
                    call.answer(&question.id.clone(), question.answer()).await;
                }
                continue;
            }
            next = timeout(patience, call.next()) => next,
        };
        match next {
            Ok(Next::Event(Event::Note { method, params })) => task.note(&method, &params),
            Ok(Next::Event(Event::Ask { id, method, .. })) if method == TASK => {
                call.answer(&id, Ok(Raw::empty_object())).await;
            }
            Ok(Next::Event(Event::Ask { id, method, params })) => {
                questions += 1;
                let question = Question::new(id, method, params, &capabilities);
                let question = question.called(&format!("question-{questions}"));
                match task.ask(question) {
                    None => {}
                    Some(moot) => call.answer(&moot.id.clone(), moot.answer()).await,
                }
            }
            Ok(Next::Done(outcome)) => {
                return Ok(normal::result(place.offer.abi, method::TOOLS_CALL, outcome?));
            }
            Ok(Next::Gone(fault)) => return Err(fault.to_rpc(&place.offer.name)),
            Err(_) if asks => return Err(RpcError::new(code::INTERNAL_ERROR, "nobody answered")),
            Err(_) => return Err(hung(&call, &place.seat).to_rpc(&place.offer.name)),
        }
    }
}

// === impl Task ===

impl Task {
    /// What a client sees of it.
    fn shown(&self, id: &str) -> Value {
        let mut shown = self.outline(id);
        match &self.standing().status {
            Status::Asking(question) if !question.open().is_empty() => {
                shown["inputRequests"] = requests(&question.open());
            }
            Status::Working | Status::Asking(_) | Status::Cancelled => {}
            Status::Completed(result) => shown["result"] = value(result),
            Status::Failed(error) => shown["error"] = value(&error.to_raw()),
        }
        shown
    }

    /// The same without what came of it.
    fn outline(&self, id: &str) -> Value {
        let standing = self.standing();
        let mut shown = json!({
            "taskId": id,
            "status": standing.status.word(),
            "createdAt": stamp(self.created),
            "lastUpdatedAt": stamp(standing.updated),
            "ttlMs": KEPT.as_millis(),
            "pollIntervalMs": INTERVAL.as_millis(),
        });
        if let Some(message) = &standing.message {
            shown["statusMessage"] = json!(message);
        }
        shown
    }

    fn note(&self, told: &str, params: &Raw) {
        let message = params.get("message").ok().flatten().and_then(|message| message.to_text());
        if let Some(message) = message.filter(|_| told == method::PROGRESS) {
            self.change(|standing| standing.message = Some(message));
        }
    }

    /// Puts a question before the client; or returns it, where nothing of it can be asked.
    fn ask(&self, question: Question) -> Option<Question> {
        if question.open().is_empty() {
            return Some(question);
        }
        self.change(|standing| standing.status = Status::Asking(question));
        None
    }

    fn is_asking(&self) -> bool {
        matches!(self.standing().status, Status::Asking(_))
    }

    /// Takes in answers. What is not asked is ignored.
    fn hear(&self, answers: &[Answer]) {
        self.change(|standing| {
            if let Status::Asking(question) = &mut standing.status {
                question.hear(answers);
            }
        });
        self.heard.notify_one();
    }

    /// The question, once all of it has been answered.
    fn answered(&self) -> Option<Question> {
        let mut standing = self.standing();
        match std::mem::replace(&mut standing.status, Status::Working) {
            Status::Asking(question) if question.open().is_empty() => Some(question),
            other => {
                standing.status = other;
                None
            }
        }
    }

    fn cancel(&self) {
        self.end(Status::Cancelled);
        self.cancelled.cancel();
    }

    /// What has ended stays as it ended.
    fn end(&self, end: Status) {
        self.change(|standing| {
            if matches!(standing.status, Status::Working | Status::Asking(_)) {
                standing.status = end;
            }
        });
    }

    fn change(&self, change: impl FnOnce(&mut Standing)) {
        let mut standing = self.standing();
        change(&mut standing);
        standing.updated = SystemTime::now();
    }

    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Status ===

impl Status {
    fn word(&self) -> &'static str {
        match self {
            Self::Asking(question) if !question.open().is_empty() => "input_required",
            // The plugin is about to hear the last answer.
            Self::Working | Self::Asking(_) => "working",
            Self::Completed(_) => "completed",
            Self::Failed(_) => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

fn requests(open: &[InputRequest]) -> Value {
    let request = |asked: &InputRequest| {
        (asked.key.clone(), json!({ "method": asked.method, "params": value(&asked.params) }))
    };
    open.iter().map(request).collect()
}

/// JSON is a value.
fn value(raw: &Raw) -> Value {
    raw.decode().unwrap_or_default()
}
