//! A task of ours in the words of either era.

use serde_json::{Value, json};
use switchboard_core::logs::stamp;
use switchboard_wire::Era;
use switchboard_wire::client::InputRequest;
use switchboard_wire::json::{Edit, Raw};

use super::own::{OwnTask, Standing, Status};

/// How often a client should look.
const POLL: u64 = 1000;

/// How a task stands: everything there is to know for a modern client, without result and questions for a legacy one.
pub(super) fn task(id: &str, task: &OwnTask, standing: &Standing, era: Era) -> Raw {
    let millis = u64::try_from(task.ttl.as_millis()).unwrap_or(u64::MAX);
    let (ttl, poll) = match era {
        Era::Modern => ("ttlMs", "pollIntervalMs"),
        Era::Legacy => ("ttl", "pollInterval"),
    };
    let mut shown = json!({
        "taskId": id,
        "status": status(standing, era),
        "createdAt": stamp(task.created),
        "lastUpdatedAt": stamp(standing.updated),
        ttl: millis,
        poll: POLL,
    });
    if let Some(message) = message(standing) {
        shown["statusMessage"] = Value::String(message);
    }
    let shown = Raw::of(&shown).unwrap_or_else(|_| Raw::empty_object());
    if era == Era::Legacy {
        return shown;
    }
    match &standing.status {
        Status::Completed(result) => with(shown, "result", result.as_str()),
        Status::Failed(error) => with(shown, "error", error.to_raw().as_str()),
        Status::Working if !standing.questions.is_empty() => {
            let questions = InputRequest::write_all(&standing.questions);
            with(shown, "inputRequests", questions.as_str())
        }
        Status::Working | Status::Cancelled => shown,
    }
}

/// The answer to the call that became a task.
pub(super) fn created(era: Era, state: Raw) -> Raw {
    match era {
        Era::Modern => with(state, "resultType", "\"task\""),
        Era::Legacy => with(Raw::empty_object(), "task", state.as_str()),
    }
}

/// What ties a message to a task of a legacy client.
pub(super) fn related(id: &str) -> Raw {
    Raw::of(&json!({ "taskId": id })).unwrap_or_else(|_| Raw::empty_object())
}

fn status(standing: &Standing, era: Era) -> &'static str {
    match &standing.status {
        Status::Working if standing.questions.is_empty() => "working",
        Status::Working => "input_required",
        // There a tool's own failure is one of the task.
        Status::Completed(result) if era == Era::Legacy && is_error(result) => "failed",
        Status::Completed(_) => "completed",
        Status::Failed(_) => "failed",
        Status::Cancelled => "cancelled",
    }
}

fn message(standing: &Standing) -> Option<String> {
    match &standing.status {
        Status::Failed(error) => Some(error.message.clone()),
        _ => standing.message.clone(),
    }
}

fn is_error(result: &Raw) -> bool {
    matches!(result.get("isError"), Ok(Some(value)) if value.as_str() == "true")
}

fn with(raw: Raw, key: &str, value: &str) -> Raw {
    raw.with(&[Edit::set(&[key], value)]).unwrap_or(raw)
}
