//! Rendering of local tasks for either era.
//!
//! Used by `tasks`. Tasks of servers are not rendered; they pass with another id.

use serde_json::{Value, json};
use switchboard_core::logs::format_timestamp;
use switchboard_wire::Era;
use switchboard_wire::client::InputRequest;
use switchboard_wire::json::{JsonEdit, Raw};

use super::local_tasks::{LocalTask, LocalTaskState, LocalTaskStatus};

/// The poll interval that clients are told.
const POLL_INTERVAL_MS: u64 = 1000;

/// The state of a task: complete for a modern client, without result and questions for a legacy one.
pub(super) fn render_task(id: &str, task: &LocalTask, standing: &LocalTaskState, era: Era) -> Raw {
    let millis = u64::try_from(task.ttl.as_millis()).unwrap_or(u64::MAX);
    let (ttl, poll) = match era {
        Era::Modern => ("ttlMs", "pollIntervalMs"),
        Era::Legacy => ("ttl", "pollInterval"),
    };
    let mut shown = json!({
        "taskId": id,
        "status": status(standing, era),
        "createdAt": format_timestamp(task.created),
        "lastUpdatedAt": format_timestamp(standing.updated),
        ttl: millis,
        poll: POLL_INTERVAL_MS,
    });
    if let Some(message) = message(standing) {
        shown["statusMessage"] = Value::String(message);
    }
    let shown = Raw::from(shown);
    if era == Era::Legacy {
        return shown;
    }
    match &standing.status {
        LocalTaskStatus::Completed(result) => with_member(shown, "result", result.as_str()),
        LocalTaskStatus::Failed(error) => with_member(shown, "error", error.to_raw().as_str()),
        LocalTaskStatus::Working if !standing.questions.is_empty() => {
            let questions = InputRequest::to_input_requests(&standing.questions);
            with_member(shown, "inputRequests", questions.as_str())
        }
        LocalTaskStatus::Working | LocalTaskStatus::Cancelled => shown,
    }
}

/// The answer to the call that became a task.
pub(super) fn created_result(era: Era, state: Raw) -> Raw {
    match era {
        Era::Modern => with_member(state, "resultType", "\"task\""),
        Era::Legacy => Raw::object([("task", state)]),
    }
}

/// The `_meta` that ties a message to a task of a legacy client.
pub(super) fn related_meta(id: &str) -> Raw {
    Raw::from(json!({ "taskId": id }))
}

fn status(standing: &LocalTaskState, era: Era) -> &'static str {
    match &standing.status {
        LocalTaskStatus::Working if standing.questions.is_empty() => "working",
        LocalTaskStatus::Working => "input_required",
        // In the legacy era, a tool result with `isError` makes the task fail.
        LocalTaskStatus::Completed(result) if era == Era::Legacy && is_error(result) => "failed",
        LocalTaskStatus::Completed(_) => "completed",
        LocalTaskStatus::Failed(_) => "failed",
        LocalTaskStatus::Cancelled => "cancelled",
    }
}

fn message(standing: &LocalTaskState) -> Option<String> {
    match &standing.status {
        LocalTaskStatus::Failed(error) => Some(error.message.clone()),
        _ => standing.message.clone(),
    }
}

fn is_error(result: &Raw) -> bool {
    matches!(result.get("isError"), Ok(Some(value)) if value.as_str() == "true")
}

fn with_member(raw: Raw, key: &str, value: &str) -> Raw {
    raw.overwrite(&[JsonEdit::set(&[key], value)])
}
