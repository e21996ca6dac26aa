//! Tasks that a modern server made of a call, handed to a caller that follows them.
//!
//! Used by `dispatch::tool`; the gateway keeps a [`ServerTask`] for its client. The result of a task is treated
//! like the result of a call: shown only where rules show the tool, and limited. Hooks cannot see results or
//! questions of a task that a client follows, so with hooks the engine follows the task itself.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use switchboard_config::HookEvent;
use switchboard_wire::client::{InputRequest, TaskHandling};
use switchboard_wire::json::{JsonEdit, Raw, quote};
use switchboard_wire::meta::method;

use super::call_recorder::CallRecorder;
use super::tool::ToolCall;
use super::upstream::SendResult;
use super::{CallError, CallFinish, CallOrigin, CallOutcome, Request, Stage};
use crate::catalog::{ListedTool, NameStyle};
use crate::engine::AppliedServer;
use crate::results::ResultShape;

/// A call that its server made a task of.
#[derive(Debug)]
pub struct StartedTask {
    /// The state of the task as the server sent it, under the server's own id.
    pub state: Raw,
    /// The handle of the task for later requests.
    pub task: ServerTask,
}

/// A task of a server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ServerTask {
    /// The server.
    pub server: String,
    /// Tells the server from another that got its name in the meantime.
    signature: String,
    /// The server's id of the task.
    pub id: String,
    /// The tool that was called, by its full name.
    tool: String,
}

// === impl ServerTask ===

impl ServerTask {
    /// Returns the task in a result, if there is one.
    pub(super) fn of(call: &ToolCall, result: &Raw) -> Option<Self> {
        let kind = result.get("resultType").ok().flatten()?;
        let placed = &call.found.placed;
        (kind.as_str() == "\"task\"").then_some(())?;
        Some(Self {
            server: placed.name.clone(),
            signature: placed.signature.clone(),
            id: result.get("taskId").ok().flatten()?.to_text()?,
            tool: call.found.item.name.clone(),
        })
    }
}

// === impl Stage ===

impl Stage {
    /// Returns whether the caller may follow a task of this call.
    pub(super) fn task_handling(&self, call: &ToolCall, wanted: TaskHandling) -> TaskHandling {
        let hooks = &self.applied.hooks;
        let server = &call.found.placed.name;
        let is_watched = hooks.has(HookEvent::PostToolUse, call.full_name())
            || hooks.has(HookEvent::Elicitation, server)
            || hooks.has(HookEvent::ElicitationResult, server);
        if is_watched { TaskHandling::Follow } else { wanted }
    }

    /// Returns a task's state with a limited result, and without questions that the engine answers.
    async fn limit_task_state(
        &self,
        placed: &AppliedServer,
        task: &ServerTask,
        origin: CallOrigin,
        state: Raw,
    ) -> Result<Raw, CallError> {
        if let Some(result) = state.get("result").ok().flatten() {
            let found = self.snapshot().catalog.tool(&task.tool).cloned();
            let policy = found
                .map_or_else(|| self.policy(), |listed| self.tool_policy(&listed.tool, origin));
            self.mention(placed, &result);
            let kept = self.limit(ResultShape::Tool, policy, result).await;
            let edit = JsonEdit::set(&["result"], kept.result.as_str());
            return Ok(state.overwrite(&[edit]));
        }
        let asked = state.get("inputRequests").ok().flatten();
        let Some(asked) = asked.as_ref().and_then(InputRequest::from_input_requests) else {
            return Ok(state);
        };
        let open = self.answer_without_caller(placed, asked).await;
        if let Some(responses) = open.responses() {
            let members = [("taskId", Raw::string(&task.id)), ("inputResponses", responses)];
            let update = Request::with_members(method::TASKS_UPDATE, members);
            self.send(placed, update, None).await?;
        }
        let left = InputRequest::to_input_requests(&open.questions);
        Ok(state.overwrite(&[JsonEdit::set(&["inputRequests"], left.as_str())]))
    }
}

/// Makes a request about a task.
pub(super) async fn call_task(
    stage: &Stage,
    request: Request,
    task: ServerTask,
    record: &mut CallRecorder,
) -> Result<CallFinish, CallError> {
    let placed = stage.applied_server(&task.server)?;
    record.set_server(&placed);
    if placed.signature != task.signature {
        return Err(CallError::Changed { server: task.server });
    }
    // A rule may hide the tool by now.
    stage.find_in::<Arc<ListedTool>>(NameStyle::Full, &task.tool, Some(&task.server)).await?;
    let (id, origin) = (quote(&task.id), request.origin);
    let params = request.params();
    let request = request.with_edits(&params, &[JsonEdit::set(&["taskId"], &id)])?;
    let result = match stage.send(&placed, request, None).await? {
        SendResult::Result(result) => result,
        SendResult::NeedsInput(_) => return Err(CallError::InputNeeded { server: task.server }),
    };
    record.set_received(result.as_str().len());
    let result = stage.limit_task_state(&placed, &task, origin, result).await?;
    let server = Some(task.server);
    Ok(CallFinish::done(CallOutcome {
        result,
        server,
        decision: None,
        context: Vec::new(),
        limited: None,
    }))
}
