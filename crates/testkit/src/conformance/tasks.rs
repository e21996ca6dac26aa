//! Tasks of the conformance server, in the form of the modern extension and of 2025-11-25.
//!
//! Used by `conformance`. No work runs behind a task: its state is computed from the clock and from the client's
//! answers, whenever it is requested.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use switchboard_wire::Era;
use switchboard_wire::client::InputRequest;
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::{JsonEdit, Raw};
use switchboard_wire::meta::{RELATED_TASK, TASKS_EXTENSION, method};
use switchboard_wire::server::{HandlerReply, HandlerRequest, RequestContext};

use super::clock::stamp;
use super::{asking, content::words, done, invalid, raw, text, tools};

/// All tasks, kept as long as the server runs.
#[derive(Debug, Default)]
pub(super) struct Tasks(Mutex<HashMap<String, Task>>);

#[derive(Debug)]
struct Task {
    created: SystemTime,
    work: Work,
}

/// The work of a task.
#[derive(Debug)]
enum Work {
    /// Done after a while, with this outcome.
    Wait(Duration, End),
    /// Done when all these questions are answered.
    Ask(Vec<InputRequest>),
    Cancelled,
}

#[derive(Debug, Clone)]
enum End {
    Said(String),
    /// The tool ran and reports a failure.
    Failed,
    /// The call failed.
    Broken,
}

/// The TTL of a task, and its poll interval, in milliseconds.
const KEPT: u32 = 600_000;
const INTERVAL: u32 = 200;

// === impl Tasks ===

impl Tasks {
    /// Calls a tool that may become a task. Returns `None` if no task tool has the name.
    pub(super) async fn tool(
        &self,
        name: &str,
        asked: &HandlerRequest,
        context: &RequestContext,
    ) -> Option<Result<HandlerReply, RpcError>> {
        let era = context.version.era();
        let can = wants(asked, context).then_some(era);
        let seconds = || asked.params.get_path(&["arguments", "seconds"]).ok().flatten();
        Some(match name {
            "greet" => tools::say(&format!("Hello, {}!", text(asked, &["arguments", "name"]))),
            "slow_compute" => {
                let seconds = seconds().and_then(|raw| raw.decode().ok()).unwrap_or_default();
                let lasts = Duration::from_secs(seconds);
                let said = format!("computed {}", text(asked, &["arguments", "label"]));
                match can {
                    Some(era) if era == Era::Legacy || !lasts.is_zero() => {
                        self.begin(era, Work::Wait(lasts, End::Said(said)))
                    }
                    _ => {
                        tokio::time::sleep(lasts).await;
                        tools::say(&said)
                    }
                }
            }
            "failing_job" => self.only(can, Work::Wait(Duration::from_secs(1), End::Failed)),
            "protocol_error_job" => self.only(can, Work::Wait(Duration::ZERO, End::Broken)),
            "confirm_delete" => self.ask(can, asked, vec![asking::confirm("confirm")]),
            "multi_input" => {
                let questions = ["first", "second"].map(asking::confirm).to_vec();
                self.ask(can, asked, questions)
            }
            "test_tool_with_task" => self.after_asking(can, asked),
            _ => return None,
        })
    }

    /// `tasks/get`, `tasks/update`, `tasks/cancel`.
    pub(super) fn call(
        &self,
        asked: &HandlerRequest,
        context: &RequestContext,
    ) -> Result<HandlerReply, RpcError> {
        let era = context.version.era();
        if era == Era::Modern && !declares(context) {
            return Err(needed());
        }
        let id = text(asked, &["taskId"]);
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let task = tasks.get_mut(&id).ok_or_else(|| invalid("no task has this id"))?;
        match (&*asked.method, era) {
            (method::TASKS_GET, Era::Modern) => return done(&task.shown(&id)),
            (method::TASKS_GET, Era::Legacy) => {}
            (method::TASKS_UPDATE, _) => task.answered(asked),
            _ => task.cancel(),
        }
        done(&match era {
            Era::Modern => json!({}),
            Era::Legacy => task.outline(era, &id, task.state().0),
        })
    }

    /// `tasks/result` of 2025-11-25: waits, asks the open questions, and returns the result of the call.
    pub(super) async fn result(&self, asked: &HandlerRequest) -> Result<HandlerReply, RpcError> {
        let id = text(asked, &["taskId"]);
        loop {
            {
                let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                let task = tasks.get_mut(&id).ok_or_else(|| invalid("no task has this id"))?;
                task.answered(asked);
                match task.state() {
                    ("input_required", _) => return Ok(task.questions(&id)),
                    ("working", _) => {}
                    ("completed", more) => return done(&more["result"]),
                    (status, _) => return Err(RpcError::new(code::INTERNAL_ERROR, status)),
                }
            }
            tokio::time::sleep(Duration::from_millis(INTERVAL.into())).await;
        }
    }

    /// Starts a task, for a tool that only works as a task.
    fn only(&self, can: Option<Era>, work: Work) -> Result<HandlerReply, RpcError> {
        can.map_or_else(|| Err(needed()), |era| self.begin(era, work))
    }

    /// Starts a task that asks; without task support in the client, a call that asks.
    fn ask(
        &self,
        can: Option<Era>,
        asked: &HandlerRequest,
        questions: Vec<InputRequest>,
    ) -> Result<HandlerReply, RpcError> {
        match can {
            Some(era) => self.begin(era, Work::Ask(questions)),
            None => asking::once(asked, questions, None),
        }
    }

    /// Asks first, and becomes a task when it has the answer.
    fn after_asking(
        &self,
        can: Option<Era>,
        asked: &HandlerRequest,
    ) -> Result<HandlerReply, RpcError> {
        let era = can.ok_or_else(needed)?;
        let question = asking::user_name("user_name");
        match asking::answered(asked, &question) {
            None => Ok(HandlerReply::NeedsInput { questions: vec![question], state: None }),
            Some(answer) => self.begin(era, Work::Wait(Duration::ZERO, End::Said(answer))),
        }
    }

    fn begin(&self, era: Era, work: Work) -> Result<HandlerReply, RpcError> {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let id = format!("task-{}", tasks.len() + 1);
        let task = Task { created: SystemTime::now(), work };
        let outline = task.outline(era, &id, "working");
        tasks.insert(id, task);
        match era {
            Era::Legacy => done(&json!({ "task": outline })),
            Era::Modern => {
                let mut begun = outline;
                begun["resultType"] = json!("task");
                done(&begun)
            }
        }
    }
}

// === impl Task ===

impl Task {
    /// The state of a task without its result. The older version names no units.
    fn outline(&self, era: Era, id: &str, status: &str) -> Value {
        let (ttl, interval) = match era {
            Era::Legacy => ("ttl", "pollInterval"),
            Era::Modern => ("ttlMs", "pollIntervalMs"),
        };
        json!({ "taskId": id, "status": status, "createdAt": stamp(self.created),
            "lastUpdatedAt": stamp(SystemTime::now()), ttl: KEPT, interval: INTERVAL })
    }

    /// The status of the task, and the members that belong to it.
    fn state(&self) -> (&'static str, Value) {
        match &self.work {
            Work::Cancelled => ("cancelled", json!({})),
            Work::Ask(open) if open.is_empty() => {
                ("completed", json!({ "result": said("all answered") }))
            }
            Work::Ask(open) => ("input_required", json!({ "inputRequests": requests(open) })),
            Work::Wait(lasts, _) if !self.is_over(*lasts) => ("working", json!({})),
            Work::Wait(_, End::Said(text)) => ("completed", json!({ "result": said(text) })),
            Work::Wait(_, End::Failed) => {
                let mut result = said("it failed, as it always does");
                result["isError"] = json!(true);
                ("completed", json!({ "result": result }))
            }
            Work::Wait(_, End::Broken) => {
                let error = json!({ "code": code::INTERNAL_ERROR, "message": "it broke" });
                ("failed", json!({ "error": error }))
            }
        }
    }

    fn shown(&self, id: &str) -> Value {
        let (status, more) = self.state();
        let mut shown = self.outline(Era::Modern, id, status);
        if let (Some(shown), Value::Object(more)) = (shown.as_object_mut(), more) {
            shown.extend(more);
        }
        shown
    }

    /// The open questions, as requests that name their task.
    fn questions(&self, id: &str) -> HandlerReply {
        let Work::Ask(open) = &self.work else {
            return HandlerReply::Complete(Raw::empty_object());
        };
        let related = Raw::from_value(&json!({ "taskId": id })).unwrap();
        let edit = || JsonEdit::set(&["_meta", RELATED_TASK], related.as_str());
        let tagged = |question: &InputRequest| InputRequest {
            params: question.params.with_edits(&[edit()]).unwrap(),
            ..question.clone()
        };
        HandlerReply::NeedsInput { questions: open.iter().map(tagged).collect(), state: None }
    }

    fn is_over(&self, lasts: Duration) -> bool {
        self.created.elapsed().unwrap_or_default() >= lasts
    }

    fn answered(&mut self, asked: &HandlerRequest) {
        if let Work::Ask(open) = &mut self.work {
            open.retain(|question| asking::answered(asked, question).is_none());
        }
    }

    /// Cancels the task, unless it has ended.
    fn cancel(&mut self) {
        let over = match &self.work {
            Work::Wait(lasts, _) => self.is_over(*lasts),
            Work::Ask(open) => open.is_empty(),
            Work::Cancelled => true,
        };
        if !over {
            self.work = Work::Cancelled;
        }
    }
}

/// Whether a call may become a task: a modern client supports tasks, or a legacy one asks for one.
fn wants(asked: &HandlerRequest, context: &RequestContext) -> bool {
    match context.version.era() {
        Era::Modern => declares(context),
        Era::Legacy => matches!(asked.params.get("task"), Ok(Some(_))),
    }
}

fn declares(context: &RequestContext) -> bool {
    context.has_capability(&["extensions", TASKS_EXTENSION])
}

fn needed() -> RpcError {
    let data =
        format!(r#"{{"requiredCapabilities":{{"extensions":{{"{TASKS_EXTENSION}":{{}}}}}}}}"#);
    RpcError::new(code::MISSING_CAPABILITY, "this needs a client with tasks").with_data(raw(&data))
}

fn said(text: &str) -> Value {
    json!({ "content": [words(text)] })
}

fn requests(open: &[InputRequest]) -> Value {
    let request = |question: &InputRequest| {
        let params: Value = question.params.decode().unwrap_or_default();
        (question.key.clone(), json!({ "method": question.method, "params": params }))
    };
    open.iter().map(request).collect()
}
