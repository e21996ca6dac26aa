//! Work that goes on after its call was answered, as the extension of the newest version has it.
//!
//! Nothing runs behind a task: what has become of it is worked out from the clock and from what the client answered,
//! whenever it is asked for.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use switchboard_wire::client::InputRequest;
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::meta::{TASKS_EXTENSION, method};
use switchboard_wire::server::{Asked, Context, Reply};

use super::clock::stamp;
use super::{asking, content::words, done, invalid, raw, text, tools};

/// The tasks there are. They are kept as long as the server runs.
#[derive(Debug, Default)]
pub(super) struct Tasks(Mutex<HashMap<String, Task>>);

#[derive(Debug)]
struct Task {
    created: SystemTime,
    work: Work,
}

/// What a task does.
#[derive(Debug)]
enum Work {
    /// Is done after a while, with this end.
    Wait(Duration, End),
    /// Is done when all of these are answered.
    Ask(Vec<InputRequest>),
    Cancelled,
}

#[derive(Debug, Clone)]
enum End {
    Said(String),
    /// The tool ran, and says that it failed.
    Failed,
    /// The call itself failed.
    Broken,
}

/// Milliseconds that a task is kept for, and between two looks at it.
const KEPT: u32 = 600_000;
const INTERVAL: u32 = 200;

// === impl Tasks ===

impl Tasks {
    /// Calls a tool that may become a task; `None` where no tool of this kind has the name.
    pub(super) async fn tool(
        &self,
        name: &str,
        asked: &Asked,
        context: &Context,
    ) -> Option<Result<Reply, RpcError>> {
        let can = can(context);
        let seconds = || asked.params.get_path(&["arguments", "seconds"]).ok().flatten();
        Some(match name {
            "greet" => tools::say(&format!("Hello, {}!", text(asked, &["arguments", "name"]))),
            "slow_compute" => {
                let seconds = seconds().and_then(|raw| raw.decode().ok()).unwrap_or_default();
                let lasts = Duration::from_secs(seconds);
                let said = format!("computed {}", text(asked, &["arguments", "label"]));
                if can && !lasts.is_zero() {
                    self.begin(Work::Wait(lasts, End::Said(said)))
                } else {
                    tokio::time::sleep(lasts).await;
                    tools::say(&said)
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
    pub(super) fn call(&self, asked: &Asked, context: &Context) -> Result<Reply, RpcError> {
        if !can(context) {
            return Err(needed());
        }
        let id = text(asked, &["taskId"]);
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let task = tasks.get_mut(&id).ok_or_else(|| invalid("no task has this id"))?;
        match asked.method.as_str() {
            method::TASKS_GET => return done(&task.shown(&id)),
            method::TASKS_UPDATE => task.answered(asked),
            _ => task.cancel(),
        }
        done(&json!({}))
    }

    /// A task, for a tool that is nothing else.
    fn only(&self, can: bool, work: Work) -> Result<Reply, RpcError> {
        if can { self.begin(work) } else { Err(needed()) }
    }

    /// A task that asks; before a client without tasks, a call that asks.
    fn ask(
        &self,
        can: bool,
        asked: &Asked,
        questions: Vec<InputRequest>,
    ) -> Result<Reply, RpcError> {
        if can { self.begin(Work::Ask(questions)) } else { asking::once(asked, questions, None) }
    }

    /// Asks first, and becomes a task when it has the answer.
    fn after_asking(&self, can: bool, asked: &Asked) -> Result<Reply, RpcError> {
        if !can {
            return Err(needed());
        }
        let question = asking::user_name("user_name");
        match asking::answered(asked, &question) {
            None => Ok(Reply::NeedsInput { questions: vec![question], state: None }),
            Some(answer) => self.begin(Work::Wait(Duration::ZERO, End::Said(answer))),
        }
    }

    fn begin(&self, work: Work) -> Result<Reply, RpcError> {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let id = format!("task-{}", tasks.len() + 1);
        let task = Task { created: SystemTime::now(), work };
        let mut begun = task.outline(&id, "working");
        begun["resultType"] = json!("task");
        tasks.insert(id, task);
        done(&begun)
    }
}

// === impl Task ===

impl Task {
    fn outline(&self, id: &str, status: &str) -> Value {
        json!({ "taskId": id, "status": status, "createdAt": stamp(self.created),
            "lastUpdatedAt": stamp(SystemTime::now()), "ttlMs": KEPT, "pollIntervalMs": INTERVAL })
    }

    fn shown(&self, id: &str) -> Value {
        let (status, more) = match &self.work {
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
        };
        let mut shown = self.outline(id, status);
        if let (Some(shown), Value::Object(more)) = (shown.as_object_mut(), more) {
            shown.extend(more);
        }
        shown
    }

    fn is_over(&self, lasts: Duration) -> bool {
        self.created.elapsed().unwrap_or_default() >= lasts
    }

    fn answered(&mut self, asked: &Asked) {
        if let Work::Ask(open) = &mut self.work {
            open.retain(|question| asking::answered(asked, question).is_none());
        }
    }

    /// What has ended stays as it ended.
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

fn can(context: &Context) -> bool {
    context.offers(&["extensions", TASKS_EXTENSION])
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
