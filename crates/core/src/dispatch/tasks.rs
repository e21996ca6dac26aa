//! Tasks that a modern server made of a call, handed to a caller who follows them itself.
//!
//! What comes of such a task is shown to its caller as it would have been of the call: only where the rules let the tool
//! be seen, and kept to its limits. Hooks that want to see a result or a question see none of a task that somebody else
//! follows, so where there are any the engine follows it itself.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use switchboard_config::HookEvent;
use switchboard_wire::client::{InputRequest, TaskHandling};
use switchboard_wire::json::{JsonEdit, Raw, quote};
use switchboard_wire::meta::method;

use super::call_recorder::CallRecorder;
use super::tool::ToolCall;
use super::upstream::SendResult;
use super::{CallError, CallFinish, CallOutcome, Request, Stage};
use crate::catalog::{ListedTool, NameStyle};
use crate::engine::AppliedServer;
use crate::results::ResultShape;

/// A call that its server made a task of.
#[derive(Debug)]
pub struct StartedTask {
    /// The task, as the server told of it, under the server's own id.
    pub state: Raw,
    /// What it is known by from then on.
    pub task: ServerTask,
}

/// A task of a server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ServerTask {
    /// The server.
    pub server: String,
    /// Tells the server from another that is configured under its name meanwhile.
    signature: String,
    /// What the server calls it.
    pub id: String,
    /// The tool that was called, by its full name.
    tool: String,
}

// === impl ServerTask ===

impl ServerTask {
    /// The task that a result tells of, if it does.
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
    /// Whether somebody else may follow what becomes of a call.
    pub(super) fn task_handling(&self, call: &ToolCall, wanted: TaskHandling) -> TaskHandling {
        let hooks = &self.applied.hooks;
        let server = &call.found.placed.name;
        let is_watched = hooks.has(HookEvent::PostToolUse, call.uncut())
            || hooks.has(HookEvent::Elicitation, server)
            || hooks.has(HookEvent::ElicitationResult, server);
        if is_watched { TaskHandling::Follow } else { wanted }
    }

    /// A task's state, with its result kept to limits and without questions that are answered here.
    async fn limit_task_state(
        &self,
        placed: &AppliedServer,
        task: &ServerTask,
        state: Raw,
    ) -> Result<Raw, CallError> {
        if let Some(result) = state.get("result").ok().flatten() {
            let found = self.snapshot().catalog.tool(&task.tool).cloned();
            let policy =
                found.map_or_else(|| self.policy(), |listed| self.policy().for_tool(&listed.tool));
            self.mention(placed, &result);
            let kept = self.limit(ResultShape::Tool, policy, result).await;
            let edit = JsonEdit::set(&["result"], kept.result.as_str());
            return Ok(state.with_edits(&[edit]).unwrap_or(state));
        }
        let asked = state.get("inputRequests").ok().flatten();
        let Some(asked) = asked.as_ref().and_then(InputRequest::from_input_requests) else {
            return Ok(state);
        };
        let open = self.answer_without_caller(placed, asked).await;
        if let Some(responses) = open.responses() {
            let params =
                format!(r#"{{"taskId":{},"inputResponses":{responses}}}"#, quote(&task.id));
            let update = Request::of(method::TASKS_UPDATE, &params);
            self.send(placed, update, None).await?;
        }
        let left = InputRequest::to_input_requests(&open.questions);
        Ok(state.with_edits(&[JsonEdit::set(&["inputRequests"], left.as_str())]).unwrap_or(state))
    }
}

/// Asks something of a task.
pub(super) async fn call_task(
    stage: &Stage,
    request: Request,
    task: ServerTask,
    record: &mut CallRecorder,
) -> Result<CallFinish, CallError> {
    let placed = stage.applied_server(&task.server)?;
    record.set_server(&placed.name);
    if placed.signature != task.signature {
        return Err(CallError::Changed { server: task.server });
    }
    // A rule may have come since that hides the tool.
    stage.find_in::<Arc<ListedTool>>(NameStyle::Full, &task.tool, Some(&task.server)).await?;
    let id = quote(&task.id);
    let params = request.params();
    let request = request.with_edits(&params, &[JsonEdit::set(&["taskId"], &id)])?;
    let result = match stage.send(&placed, request, None).await? {
        SendResult::Result(result) => result,
        SendResult::Asked(_) => return Err(CallError::InputNeeded { server: task.server }),
    };
    record.set_received(result.as_str().len());
    let result = stage.limit_task_state(&placed, &task, result).await?;
    let server = Some(task.server);
    Ok(CallFinish::done(CallOutcome {
        result,
        server,
        decision: None,
        context: Vec::new(),
        kept: None,
    }))
}
