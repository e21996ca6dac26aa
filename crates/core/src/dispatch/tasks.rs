//! Tasks that a modern server made of a call, handed to a caller who follows them itself.
//!
//! What comes of such a task is shown to its caller as it would have been of the call: only where the rules let the tool
//! be seen, and kept to its limits. Hooks that want to see a result or a question see none of a task that somebody else
//! follows, so where there are any the engine follows it itself.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use switchboard_config::HookEvent;
use switchboard_wire::client::{InputRequest, Tasks};
use switchboard_wire::json::{Edit, Raw, quote};
use switchboard_wire::meta::method;

use super::record::Record;
use super::tool::ToolCall;
use super::upstream::Sent;
use super::{CallError, Finish, Outcome, Request, Stage};
use crate::catalog::{Listed, Style};
use crate::engine::Placed;
use crate::results::Shape;

/// A call that its server made a task of.
#[derive(Debug)]
pub struct Tasked {
    /// The task, as the server told of it, under the server's own id.
    pub state: Raw,
    /// What it is known by from then on.
    pub task: Task,
}

/// A task of a server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Task {
    /// The server.
    pub server: String,
    /// Tells the server from another that is configured under its name meanwhile.
    signature: String,
    /// What the server calls it.
    pub id: String,
    /// The tool that was called, by its full name.
    tool: String,
}

// === impl Task ===

impl Task {
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
    pub(super) fn tasks(&self, call: &ToolCall, wanted: Tasks) -> Tasks {
        let hooks = &self.applied.hooks;
        let server = &call.found.placed.name;
        let is_watched = hooks.has(HookEvent::PostToolUse, call.uncut())
            || hooks.has(HookEvent::Elicitation, server)
            || hooks.has(HookEvent::ElicitationResult, server);
        if is_watched { Tasks::Follow } else { wanted }
    }

    /// A task's state, with its result kept to limits and without questions that are answered here.
    async fn shown(&self, placed: &Placed, task: &Task, state: Raw) -> Result<Raw, CallError> {
        if let Some(result) = state.get("result").ok().flatten() {
            let found = self.snapshot().catalog.tool(&task.tool).cloned();
            let policy =
                found.map_or_else(|| self.policy(), |listed| self.policy().for_tool(&listed.tool));
            self.mention(placed, &result);
            let kept = self.limit(Shape::Tool, policy, result).await;
            let edit = Edit::set(&["result"], kept.result.as_str());
            return Ok(state.with(&[edit]).unwrap_or(state));
        }
        let asked = state.get("inputRequests").ok().flatten();
        let Some(asked) = asked.as_ref().and_then(InputRequest::read_all) else { return Ok(state) };
        let open = self.open(placed, asked).await;
        if let Some(responses) = open.responses() {
            let params =
                format!(r#"{{"taskId":{},"inputResponses":{responses}}}"#, quote(&task.id));
            let update = Request::of(method::TASKS_UPDATE, &params);
            self.send(placed, update, None).await?;
        }
        let left = InputRequest::write_all(&open.questions);
        Ok(state.with(&[Edit::set(&["inputRequests"], left.as_str())]).unwrap_or(state))
    }
}

/// Asks something of a task.
pub(super) async fn ask(
    stage: &Stage,
    request: Request,
    task: Task,
    record: &mut Record,
) -> Result<Finish, CallError> {
    let placed = stage.placed(&task.server)?;
    record.server(&placed.name);
    if placed.signature != task.signature {
        return Err(CallError::Changed { server: task.server });
    }
    // A rule may have come since that hides the tool.
    stage.find_in::<Arc<Listed>>(Style::Full, &task.tool, Some(&task.server)).await?;
    let id = quote(&task.id);
    let params = request.params();
    let request = request.edited(&params, &[Edit::set(&["taskId"], &id)])?;
    let result = match stage.send(&placed, request, None).await? {
        Sent::Result(result) => result,
        Sent::Asked(_) => return Err(CallError::InputNeeded { server: task.server }),
    };
    record.received(result.as_str().len());
    let result = stage.shown(&placed, &task, result).await?;
    let server = Some(task.server);
    Ok(Finish::done(Outcome { result, server, decision: None, context: Vec::new(), kept: None }))
}
