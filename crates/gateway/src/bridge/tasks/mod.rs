//! Tasks: calls that a client starts and polls for the result.
//!
//! Used by `call` and `view`. A modern client of a modern server gets the server's own task, and the bridge keeps
//! nothing; where there are several replicas, its id names the one whose process of the server has the task. In the
//! other pairings the bridge runs the call as a local task (`local_tasks`): the engine follows the call, and its
//! questions and result wait for the client. Task ids are sealed in both cases: an id contains its server, and is valid
//! for one principal and endpoint.

mod local_tasks;
mod related;
mod render;

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use switchboard_core::Request;
use switchboard_core::dispatch::{ServerTask, StartedTask};
use switchboard_core::sealing::{HandleBinding, HandleKind, HandleRefusal, JsonDigest};
use switchboard_wire::client::{InputRequest, TaskHandling};
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::{JsonEdit, Raw, quote};
use switchboard_wire::meta::{self, method};
use switchboard_wire::server::{HandlerReply, HandlerRequest, RequestContext};
use switchboard_wire::{Era, Version};

pub(super) use local_tasks::LocalTasks;
pub(super) use related::{hide_task, hide_task_in, hide_task_of};

use super::apps::{AddressedRequest, ToolCaller};
use super::view::BridgeView;
use super::{call, refusal};
use local_tasks::{LocalTask, LocalTaskState, LocalTaskStatus};

/// How long a task is kept if its client names no TTL.
const DEFAULT_TASK_TTL: Duration = Duration::from_secs(60 * 60);
/// The longest TTL of a task.
const MAX_TASK_TTL: Duration = Duration::from_secs(24 * 60 * 60);
/// How long the id of a server's own task stays valid: longer than servers keep tasks.
const SERVER_TASK_ID_LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The form of a call's outcome.
pub(super) enum TaskMode {
    /// The result.
    Result,
    /// A task of the server, if the server makes one.
    Theirs,
    /// A local task.
    Ours {
        /// How long the task is kept.
        ttl: Duration,
        /// The `task` member, for a server that supports tasks too.
        task: Option<Raw>,
    },
}

/// The content of a task id, unsealed.
#[derive(Serialize, Deserialize)]
enum SealedTaskId {
    Theirs(ServerTask),
    Ours { run: u64, number: u64, server: String },
}

// === impl BridgeView ===

impl BridgeView {
    /// Chooses the form of the outcome, from the client's request and the server's capabilities.
    pub(super) fn task_mode(&self, asked: &HandlerRequest, context: &RequestContext) -> TaskMode {
        if asked.method != method::TOOLS_CALL {
            return TaskMode::Result;
        }
        match context.version {
            Version::V2025_11_25 => match asked.params.get("task").ok().flatten() {
                None => TaskMode::Result,
                Some(wanted) => {
                    let ttl = wanted.get("ttl").ok().flatten().and_then(|ttl| ttl.decode().ok());
                    let ttl = ttl.map_or(DEFAULT_TASK_TTL, Duration::from_millis).min(MAX_TASK_TTL);
                    TaskMode::Ours {
                        ttl,
                        task: self.task_support(asked, context).then_some(wanted),
                    }
                }
            },
            Version::V2026_07_28
                if context.has_capability(&["extensions", meta::TASKS_EXTENSION]) =>
            {
                if self.task_support(asked, context) {
                    TaskMode::Ours { ttl: DEFAULT_TASK_TTL, task: Some(Raw::empty_object()) }
                } else {
                    TaskMode::Theirs
                }
            }
            _ => TaskMode::Result,
        }
    }

    /// Whether a 2025-11-25 server declares task support for this tool.
    fn task_support(&self, asked: &HandlerRequest, context: &RequestContext) -> bool {
        let name = asked.params.get("name").ok().flatten().and_then(|name| name.to_text());
        let Some(listed) = name.and_then(|name| self.find_tool(&name, context)) else {
            return false;
        };
        let support = listed.tool.item.get_path(&["execution", "taskSupport"]).ok().flatten();
        support.is_some_and(|support| matches!(support.as_str(), "\"optional\"" | "\"required\""))
    }

    /// Starts a local task for a call.
    pub(super) fn begin_task(
        &self,
        asked: &HandlerRequest,
        caller: ToolCaller,
        context: &RequestContext,
        ttl: Duration,
        task: Option<Raw>,
    ) -> Result<HandlerReply, RpcError> {
        // Refused before a task is made that could only fail.
        super::gateway_tools::must_be_object(asked)?;
        let params = asked.params.with_edits(&[JsonEdit::remove(&["task"])]);
        let params = params.map_err(|error| call::invalid_params(&error.to_string()))?;
        let name = params.get("name").ok().flatten().and_then(|name| name.to_text());
        let asked = HandlerRequest { params, ..asked.clone() };
        // The call may take as long as the task is kept.
        let mut request = self.request(&asked, caller, context)?.with_timeout(ttl);
        if let Some(task) = task {
            request = request.as_task(task);
        }
        let running = self.bridge().engine.call(&self.caller(context)?, request);
        let owner = self.task_owner();
        let started = self.bridge().tasks.start(running, owner, ttl, self.address_form());
        let (number, task) = started.map_err(|local_tasks::TooManyTasks| {
            RpcError::new(
                code::INTERNAL_ERROR,
                "too many of your tasks are kept already; try again when their time is up",
            )
        })?;
        let server = self.server_of(&name.unwrap_or_default(), context);
        let named = SealedTaskId::Ours { run: self.bridge().parked.run(), number, server };
        let id = task.keep_id(self.mark_home(self.seal_task(&named, ttl)?));
        let era = context.version.era();
        let state = render::render_task(id, &task, &task.state(), era);
        Ok(HandlerReply::Complete(render::created_result(era, state)))
    }

    /// Returns a server's own task to the client, under a sealed id.
    pub(super) fn hand_out_server_task(
        &self,
        tasked: StartedTask,
    ) -> Result<HandlerReply, RpcError> {
        let state = self.address_form().translate_task(tasked.state, &tasked.task.server)?;
        let is_reached_by_all = self.is_over_http(&tasked.task.server);
        let id = self.seal_task(&SealedTaskId::Theirs(tasked.task), SERVER_TASK_ID_LIFETIME)?;
        // Each replica has its own process of a server, and only that one knows the task.
        let id = if is_reached_by_all { id } else { self.mark_home(id) };
        let state = related::hide_task_in_state(state);
        let state = state.with_edits(&[JsonEdit::set(&["taskId"], &quote(&id))]);
        state.map(HandlerReply::Complete).map_err(|error| call::invalid_params(&error.to_string()))
    }

    /// Answers the `tasks/…` requests of a client.
    pub(super) async fn task(
        &self,
        asked: HandlerRequest,
        context: &RequestContext,
    ) -> Result<HandlerReply, RpcError> {
        let era = context.version.era();
        match (&*asked.method, era) {
            (method::TASKS_LIST, Era::Legacy) => return Ok(self.list_tasks()),
            (method::TASKS_LIST | method::TASKS_RESULT, Era::Modern)
            | (method::TASKS_UPDATE, Era::Legacy) => return Err(unknown(&asked.method)),
            _ if era == Era::Modern
                && !context.has_capability(&["extensions", meta::TASKS_EXTENSION]) =>
            {
                return Err(undeclared());
            }
            _ => {}
        }
        let id = asked.params.get("taskId").ok().flatten().and_then(|id| id.to_text());
        let id = id.ok_or_else(|| call::invalid_params("`taskId` must be a string"))?;
        match self.open_task(&id)? {
            SealedTaskId::Theirs(task) => self.ask_server_task(task, &id, &asked, context).await,
            SealedTaskId::Ours { run, number, .. } => {
                if run != self.bridge().parked.run() {
                    return Err(gone(
                        "restarted",
                        "this task was lost when the gateway was restarted",
                    ));
                }
                let task = self.bridge().tasks.get(number);
                let task = task.ok_or_else(|| gone("expired", "this task is no longer kept"))?;
                self.ask_own_task(&task, &id, asked, era).await
            }
        }
    }

    /// The server of the task that a message of an extension names, and its parameters with the server's own id.
    pub(super) fn find_task(&self, asked: &HandlerRequest) -> Option<AddressedRequest> {
        let asked_method = &*asked.method;
        if !method::is_extension_request(asked_method)
            && !method::is_extension_notification(asked_method)
        {
            return None;
        }
        let id = asked.params.get("taskId").ok().flatten()?.to_text()?;
        // Another id may be one that only the extension knows.
        match self.open_task(&id).ok()? {
            SealedTaskId::Theirs(task) => {
                let own = quote(&task.id);
                let params = asked.params.with_edits(&[JsonEdit::set(&["taskId"], &own)]).ok()?;
                Some(AddressedRequest { server: task.server, params })
            }
            // The server knows the call, and no task.
            SealedTaskId::Ours { server, .. } => {
                Some(AddressedRequest { server, params: asked.params.clone() })
            }
        }
    }

    /// Forwards a request about a task to its server, under the server's id.
    async fn ask_server_task(
        &self,
        task: ServerTask,
        id: &str,
        asked: &HandlerRequest,
        context: &RequestContext,
    ) -> Result<HandlerReply, RpcError> {
        if context.version.era() == Era::Legacy {
            // Only modern clients get ids of server tasks.
            return Err(foreign());
        }
        let request = Request::forward(asked.method.clone(), Some(asked.params.clone()));
        let (origin, server) = (Self::origin(ToolCaller::Client, context), task.server.clone());
        let request = request.of_task(task).with_tasks(TaskHandling::Hand).from_origin(origin);
        let done = self.bridge().engine.call(&self.caller(context)?, request).outcome().await;
        let result = done.map_err(|error| refusal::to_rpc_error(&error))?.result;
        let result = self.address_form().translate_task(result, &server)?;
        let result = related::hide_task_in_state(result);
        if !matches!(result.get("taskId"), Ok(Some(_))) {
            return Ok(HandlerReply::Complete(result));
        }
        let result = result.with_edits(&[JsonEdit::set(&["taskId"], &quote(id))]);
        result.map(HandlerReply::Complete).map_err(|error| call::invalid_params(&error.to_string()))
    }

    async fn ask_own_task(
        &self,
        task: &Arc<LocalTask>,
        id: &str,
        asked: HandlerRequest,
        era: Era,
    ) -> Result<HandlerReply, RpcError> {
        match (&*asked.method, era) {
            (method::TASKS_GET, _) => {
                Ok(HandlerReply::Complete(render::render_task(id, task, &task.state(), era)))
            }
            (method::TASKS_UPDATE, Era::Modern) => {
                task.answer_usable(asked.answers);
                Ok(HandlerReply::Complete(Raw::empty_object()))
            }
            (method::TASKS_CANCEL, Era::Modern) => {
                task.cancel();
                Ok(HandlerReply::Complete(Raw::empty_object()))
            }
            (method::TASKS_CANCEL, Era::Legacy) => {
                if !matches!(task.state().status, LocalTaskStatus::Working) {
                    return Err(call::invalid_params("this task has ended already"));
                }
                task.cancel();
                let standing = task.wait_until_ended().await;
                Ok(HandlerReply::Complete(render::render_task(id, task, &standing, era)))
            }
            (method::TASKS_RESULT, Era::Legacy) => {
                task.answer(asked.answers);
                result(id, task.wait_until_settled().await)
            }
            _ => Err(unknown(&asked.method)),
        }
    }

    fn list_tasks(&self) -> HandlerReply {
        let mut shown = Vec::new();
        for task in self.bridge().tasks.list_of_owner(&self.task_owner()) {
            // A task without an id is just being made.
            if let Some(id) = task.id() {
                shown.push(render::render_task(id, &task, &task.state(), Era::Legacy));
            }
        }
        HandlerReply::Complete(Raw::object([("tasks", Raw::array(shown))]))
    }

    fn task_owner(&self) -> (String, String) {
        (self.place(), self.opening.principal.to_string())
    }

    fn server_of(&self, name: &str, context: &RequestContext) -> String {
        self.find_tool(name, context).map(|listed| listed.server().to_owned()).unwrap_or_default()
    }

    /// Whether every replica reaches the same server.
    fn is_over_http(&self, server: &str) -> bool {
        let snapshot = self.snapshot();
        let mut servers = snapshot.iter().flat_map(|snapshot| &snapshot.servers);
        servers.any(|known| known.name == server && known.transport == Some("http"))
    }

    fn seal_task(&self, named: &SealedTaskId, lasts: Duration) -> Result<String, RpcError> {
        let cannot = |error: &dyn std::error::Error| {
            RpcError::new(code::INTERNAL_ERROR, format!("the task cannot be kept: {error}"))
        };
        let payload = serde_json::to_vec(named).map_err(|error| cannot(&error))?;
        let place = self.place();
        let sealed = self.sealer().seal(&self.task_bound(&place), &payload, lasts);
        sealed.map_err(|error| cannot(&error))
    }

    fn open_task(&self, id: &str) -> Result<SealedTaskId, RpcError> {
        let place = self.place();
        let payload =
            self.sealer().open(&self.task_bound(&place), self.without_home(id)).map_err(|why| {
                match why {
                    HandleRefusal::Foreign => foreign(),
                    HandleRefusal::Expired => gone("expired", "this task is no longer kept"),
                }
            })?;
        serde_json::from_slice(&payload).map_err(|_| foreign())
    }

    fn task_bound<'a>(&'a self, place: &'a str) -> HandleBinding<'a> {
        HandleBinding {
            kind: HandleKind::Task,
            place,
            principal: self.opening.principal.id(),
            method: "",
            name: "",
            arguments: JsonDigest::default(),
        }
    }
}

/// The result of a task that has ended, or its questions first.
fn result(id: &str, standing: LocalTaskState) -> Result<HandlerReply, RpcError> {
    let related = render::related_meta(id);
    match standing.status {
        LocalTaskStatus::Working => {
            let tagged = |question: InputRequest| {
                let edit = JsonEdit::set(&["_meta", meta::RELATED_TASK], related.as_str());
                let params = question.params.overwrite(&[edit]);
                InputRequest { params, ..question }
            };
            let questions = standing.questions.into_iter().map(tagged).collect();
            Ok(HandlerReply::NeedsInput { questions, state: None })
        }
        LocalTaskStatus::Completed(result) => {
            let edit = JsonEdit::set(&["_meta", meta::RELATED_TASK], related.as_str());
            Ok(HandlerReply::Complete(result.overwrite(&[edit])))
        }
        LocalTaskStatus::Failed(error) => Err(error),
        LocalTaskStatus::Cancelled => Err(gone("cancelled", "this task was cancelled")),
    }
}

fn unknown(asked: &str) -> RpcError {
    RpcError::new(code::METHOD_NOT_FOUND, format!("Method not found: {asked}"))
}

/// The error for a client that uses tasks without declaring them.
fn undeclared() -> RpcError {
    let error =
        RpcError::new(code::MISSING_CAPABILITY, "declare the tasks extension to ask after tasks");
    let needed = json!({ "extensions": { meta::TASKS_EXTENSION: {} } });
    error.with_data(Raw::from(json!({ "requiredCapabilities": needed })))
}

fn foreign() -> RpcError {
    gone("foreign", "this task was not issued here, its id was changed, or it is another client's")
}

fn gone(reason: &str, text: &str) -> RpcError {
    RpcError::new(code::INVALID_PARAMS, text).with_data(Raw::from(json!({ "reason": reason })))
}
