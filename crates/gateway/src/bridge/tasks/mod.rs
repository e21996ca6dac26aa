//! Tasks: calls whose clients come back for the result.
//!
//! A modern client before a modern server has the server's own task, and nothing is kept here. In the other pairings the
//! call is made a task of here: the engine follows it, whatever its server makes of it, and what it asks and comes to
//! waits for the client. Either way a task's id is sealed: it carries its server, and is for the principal and endpoint
//! it was given to.

mod own;
mod related;
mod render;

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use switchboard_core::Request;
use switchboard_core::dispatch::{Task, Tasked};
use switchboard_core::sealing::{Bound, Digest, Kind, Refused};
use switchboard_wire::client::{InputRequest, Tasks};
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::{Edit, Raw, quote};
use switchboard_wire::meta::{self, method};
use switchboard_wire::server::{Asked, Context, Reply};
use switchboard_wire::{Era, Version};

pub(super) use own::OwnTasks;
pub(super) use related::{hide_task, hide_task_in, hide_task_of};

use super::view::View;
use super::{call, refusal};
use own::{OwnTask, Standing, Status};

/// How long a task is kept if its client does not say.
const KEPT: Duration = Duration::from_secs(60 * 60);
/// The longest one is kept.
const MOST: Duration = Duration::from_secs(24 * 60 * 60);
/// How long the id of a server's own task counts: longer than servers keep tasks.
const COUNTS: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// What is to become of a call.
pub(super) enum Wish {
    /// Its result.
    Result,
    /// A task of its server, if that makes one.
    Theirs,
    /// A task of ours.
    Ours {
        /// How long it is kept.
        ttl: Duration,
        /// The `task` member for a server that can make tasks of calls too.
        task: Option<Raw>,
    },
}

/// What a task's id says, once it is opened.
#[derive(Serialize, Deserialize)]
enum Named {
    Theirs(Task),
    Ours { run: u64, number: u64, server: String },
}

// === impl View ===

impl View {
    /// What the client wants of this call, and what its server can do.
    pub(super) fn wish(&self, asked: &Asked, context: &Context) -> Wish {
        if asked.method != method::TOOLS_CALL {
            return Wish::Result;
        }
        match context.version {
            Version::V2025_11_25 => match asked.params.get("task").ok().flatten() {
                None => Wish::Result,
                Some(wanted) => {
                    let ttl = wanted.get("ttl").ok().flatten().and_then(|ttl| ttl.decode().ok());
                    let ttl = ttl.map_or(KEPT, Duration::from_millis).min(MOST);
                    Wish::Ours { ttl, task: self.task_support(asked, context).then_some(wanted) }
                }
            },
            Version::V2026_07_28 if context.offers(&["extensions", meta::TASKS_EXTENSION]) => {
                if self.task_support(asked, context) {
                    Wish::Ours { ttl: KEPT, task: Some(Raw::empty_object()) }
                } else {
                    Wish::Theirs
                }
            }
            _ => Wish::Result,
        }
    }

    /// Whether a 2025-11-25 server says that this tool can be called as a task.
    fn task_support(&self, asked: &Asked, context: &Context) -> bool {
        let name = asked.params.get("name").ok().flatten().and_then(|name| name.to_text());
        let Some(listed) = name.and_then(|name| self.listed(&name, context)) else { return false };
        let support = listed.tool.item.get_path(&["execution", "taskSupport"]).ok().flatten();
        support.is_some_and(|support| matches!(support.as_str(), "\"optional\"" | "\"required\""))
    }

    /// Makes a task of a call here.
    pub(super) fn begin_task(
        &self,
        asked: &Asked,
        context: &Context,
        ttl: Duration,
        task: Option<Raw>,
    ) -> Result<Reply, RpcError> {
        // Refused before there is a task that could only fail.
        super::own::must_be_object(asked)?;
        let params = asked.params.with(&[Edit::remove(&["task"])]);
        let params = params.map_err(|error| call::invalid(&error.to_string()))?;
        let name = params.get("name").ok().flatten().and_then(|name| name.to_text());
        let asked = Asked { params, ..asked.clone() };
        // It may take as long as it is kept.
        let mut request = self.request(&asked, context)?.with_timeout(ttl);
        if let Some(task) = task {
            request = request.as_task(task);
        }
        let running = self.bridge().engine.call(&self.caller(context)?, request);
        let owner = self.task_owner();
        let started = self.bridge().tasks.start(running, owner, ttl);
        let (number, task) = started.map_err(|own::Full| {
            RpcError::new(code::INTERNAL_ERROR, "too many tasks are kept already; try again later")
        })?;
        let server = self.server_of(&name.unwrap_or_default(), context);
        let named = Named::Ours { run: self.bridge().parked.run(), number, server };
        let id = task.keep_id(self.seal_task(&named, ttl)?);
        let era = context.version.era();
        let state = render::task(id, &task, &task.standing(), era);
        Ok(Reply::Complete(render::created(era, state)))
    }

    /// A server's own task, under an id of ours.
    pub(super) fn hand_task(&self, tasked: Tasked) -> Result<Reply, RpcError> {
        let id = quote(&self.seal_task(&Named::Theirs(tasked.task), COUNTS)?);
        let state = related::hide_task_in_state(tasked.state);
        let state = state.with(&[Edit::set(&["taskId"], &id)]);
        state.map(Reply::Complete).map_err(|error| call::invalid(&error.to_string()))
    }

    /// Answers what is asked of tasks.
    pub(super) async fn task(&self, asked: Asked, context: &Context) -> Result<Reply, RpcError> {
        let era = context.version.era();
        match (&*asked.method, era) {
            (method::TASKS_LIST, Era::Legacy) => return self.list_tasks(),
            (method::TASKS_LIST | method::TASKS_RESULT, Era::Modern)
            | (method::TASKS_UPDATE, Era::Legacy) => return Err(unknown(&asked.method)),
            _ if era == Era::Modern && !context.offers(&["extensions", meta::TASKS_EXTENSION]) => {
                return Err(undeclared());
            }
            _ => {}
        }
        let id = asked.params.get("taskId").ok().flatten().and_then(|id| id.to_text());
        let id = id.ok_or_else(|| call::invalid("`taskId` must be a string"))?;
        match self.open_task(&id)? {
            Named::Theirs(task) => self.ask_theirs(task, &id, &asked, context).await,
            Named::Ours { run, number, .. } => {
                if run != self.bridge().parked.run() {
                    return Err(gone(
                        "restarted",
                        "this task was lost when the gateway was restarted",
                    ));
                }
                let task = self.bridge().tasks.get(number);
                let task = task.ok_or_else(|| gone("expired", "this task is no longer kept"))?;
                self.ask_ours(&task, &id, asked, era).await
            }
        }
    }

    /// Asks the server, under its own id.
    async fn ask_theirs(
        &self,
        task: Task,
        id: &str,
        asked: &Asked,
        context: &Context,
    ) -> Result<Reply, RpcError> {
        if context.version.era() == Era::Legacy {
            // Only modern clients were ever given one.
            return Err(foreign());
        }
        let request = Request::forward(asked.method.clone(), Some(asked.params.clone()));
        let request = request.of_task(task).with_tasks(Tasks::Hand);
        let done = self.bridge().engine.call(&self.caller(context)?, request).outcome().await;
        let result = done.map_err(|error| refusal::error(&error))?.result;
        let result = related::hide_task_in_state(result);
        if !matches!(result.get("taskId"), Ok(Some(_))) {
            return Ok(Reply::Complete(result));
        }
        let result = result.with(&[Edit::set(&["taskId"], &quote(id))]);
        result.map(Reply::Complete).map_err(|error| call::invalid(&error.to_string()))
    }

    async fn ask_ours(
        &self,
        task: &Arc<OwnTask>,
        id: &str,
        asked: Asked,
        era: Era,
    ) -> Result<Reply, RpcError> {
        match (&*asked.method, era) {
            (method::TASKS_GET, _) => {
                Ok(Reply::Complete(render::task(id, task, &task.standing(), era)))
            }
            (method::TASKS_UPDATE, Era::Modern) => {
                task.answer(asked.answers);
                Ok(Reply::Complete(Raw::empty_object()))
            }
            (method::TASKS_CANCEL, Era::Modern) => {
                task.cancel();
                Ok(Reply::Complete(Raw::empty_object()))
            }
            (method::TASKS_CANCEL, Era::Legacy) => {
                if !matches!(task.standing().status, Status::Working) {
                    return Err(call::invalid("this task has ended already"));
                }
                task.cancel();
                let standing = task.ended().await;
                Ok(Reply::Complete(render::task(id, task, &standing, era)))
            }
            (method::TASKS_RESULT, Era::Legacy) => {
                task.answer(asked.answers);
                result(id, task.settled().await)
            }
            _ => Err(unknown(&asked.method)),
        }
    }

    fn list_tasks(&self) -> Result<Reply, RpcError> {
        let mut shown = Vec::new();
        for task in self.bridge().tasks.of(&self.task_owner()) {
            // One without an id is just being made.
            if let Some(id) = task.id() {
                shown.push(render::task(id, &task, &task.standing(), Era::Legacy).to_string());
            }
        }
        let list = Raw::parse(format!(r#"{{"tasks":[{}]}}"#, shown.join(",")));
        list.map(Reply::Complete).map_err(|error| call::invalid(&error.to_string()))
    }

    fn task_owner(&self) -> (String, String) {
        (self.place(), self.opening.principal.clone())
    }

    fn server_of(&self, name: &str, context: &Context) -> String {
        self.listed(name, context).map(|listed| listed.server().to_owned()).unwrap_or_default()
    }

    fn seal_task(&self, named: &Named, lasts: Duration) -> Result<String, RpcError> {
        let cannot = |error: &dyn std::error::Error| {
            RpcError::new(code::INTERNAL_ERROR, format!("the task cannot be kept: {error}"))
        };
        let payload = serde_json::to_vec(named).map_err(|error| cannot(&error))?;
        let place = self.place();
        let sealed = self.sealer().seal(&self.task_bound(&place), &payload, lasts);
        sealed.map_err(|error| cannot(&error))
    }

    fn open_task(&self, id: &str) -> Result<Named, RpcError> {
        let place = self.place();
        let payload =
            self.sealer().open(&self.task_bound(&place), id).map_err(|why| match why {
                Refused::Foreign => foreign(),
                Refused::Expired => gone("expired", "this task is no longer kept"),
            })?;
        serde_json::from_slice(&payload).map_err(|_| foreign())
    }

    fn task_bound<'a>(&'a self, place: &'a str) -> Bound<'a> {
        Bound {
            kind: Kind::Task,
            place,
            principal: &self.opening.principal,
            method: "",
            name: "",
            arguments: Digest::default(),
        }
    }
}

/// The result of a task that has ended, or its questions first.
fn result(id: &str, standing: Standing) -> Result<Reply, RpcError> {
    let related = render::related(id);
    match standing.status {
        Status::Working => {
            let tagged = |question: InputRequest| {
                let edit = Edit::set(&["_meta", meta::RELATED_TASK], related.as_str());
                let params = question.params.with(&[edit]).unwrap_or(question.params);
                InputRequest { params, ..question }
            };
            let questions = standing.questions.into_iter().map(tagged).collect();
            Ok(Reply::NeedsInput { questions, state: None })
        }
        Status::Completed(result) => {
            let edit = Edit::set(&["_meta", meta::RELATED_TASK], related.as_str());
            Ok(Reply::Complete(result.with(&[edit]).unwrap_or(result)))
        }
        Status::Failed(error) => Err(error),
        Status::Cancelled => Err(gone("cancelled", "this task was cancelled")),
    }
}

fn unknown(asked: &str) -> RpcError {
    RpcError::new(code::METHOD_NOT_FOUND, format!("Method not found: {asked}"))
}

/// What a client is told that asks after tasks and did not say that it knows them.
fn undeclared() -> RpcError {
    let error =
        RpcError::new(code::MISSING_CAPABILITY, "declare the tasks extension to ask after tasks");
    let needed = json!({ "extensions": { meta::TASKS_EXTENSION: {} } });
    match Raw::of(&json!({ "requiredCapabilities": needed })) {
        Ok(data) => error.with_data(data),
        Err(_) => error,
    }
}

fn foreign() -> RpcError {
    gone(
        "foreign",
        "this task was not given out here, its id was changed, or it is another client's",
    )
}

fn gone(reason: &str, text: &str) -> RpcError {
    let error = RpcError::new(code::INVALID_PARAMS, text);
    match Raw::of(&json!({ "reason": reason })) {
        Ok(data) => error.with_data(data),
        Err(_) => error,
    }
}
