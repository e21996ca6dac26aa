//! Removal of servers' task ids from messages.
//!
//! Used by `tasks`, `call`, `consent` and `local_tasks`. Clients know tasks by sealed ids, so a server's id in a
//! message of a task would mean nothing to them.

use switchboard_wire::client::InputRequest;
use switchboard_wire::envelope::Notification;
use switchboard_wire::json::{JsonEdit, Raw};
use switchboard_wire::meta::RELATED_TASK;

/// Removes the server's related task from a result or from parameters.
pub(in super::super) fn hide_task(raw: Raw) -> Raw {
    without_task(raw, &[])
}

/// Removes the server's related task from a question.
pub(in super::super) fn hide_task_of(question: InputRequest) -> InputRequest {
    InputRequest { params: hide_task(question.params), ..question }
}

/// Removes the server's related task from a notification.
pub(in super::super) fn hide_task_in(notification: Notification) -> Notification {
    let Some(params) = notification.params() else { return notification };
    let hidden = hide_task(params.clone());
    if hidden.as_str() == params.as_str() {
        return notification;
    }
    Notification::new(&notification.method(), Some(&hidden))
}

/// Removes the server's related task from the state of a task: in itself, its result and its questions.
pub(super) fn hide_task_in_state(state: Raw) -> Raw {
    let state = without_task(without_task(state, &[]), &["result"]);
    let questions = state.get("inputRequests").ok().flatten();
    let Some(questions) = questions.as_ref().and_then(InputRequest::from_input_requests) else {
        return state;
    };
    let hidden: Vec<InputRequest> = questions.into_iter().map(hide_task_of).collect();
    let questions = InputRequest::to_input_requests(&hidden);
    state.overwrite(&[JsonEdit::set(&["inputRequests"], questions.as_str())])
}

/// Removes the member from the `_meta` at `path`, and `_meta` too if it is then empty.
fn without_task(raw: Raw, path: &[&str]) -> Raw {
    let meta: Vec<&str> = path.iter().copied().chain(["_meta"]).collect();
    let task: Vec<&str> = meta.iter().copied().chain([RELATED_TASK]).collect();
    if !matches!(raw.peek_path(&task), Ok(Some(_))) {
        return raw;
    }
    let members = raw.get_path(&meta).ok().flatten().map_or(0, |meta| meta.members().count());
    let edit = if members > 1 { JsonEdit::remove(&task) } else { JsonEdit::remove(&meta) };
    raw.overwrite(&[edit])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: &str = r#""io.modelcontextprotocol/related-task":{"taskId":"t"}"#;

    #[test]
    fn a_servers_task_is_hidden() {
        let check = |raw: &str, expected: &str| {
            let hidden = hide_task_in_state(Raw::parse(raw.to_owned()).unwrap());
            assert_eq!(hidden.as_str(), expected);
        };
        check(&format!(r#"{{"_meta":{{{TASK}}},"a":1}}"#), r#"{"a":1}"#);
        check(&format!(r#"{{"_meta":{{"b":2,{TASK}}}}}"#), r#"{"_meta":{"b":2}}"#);
        check(r#"{"_meta":{}}"#, r#"{"_meta":{}}"#);
        check(&format!(r#"{{"result":{{"x":1,"_meta":{{{TASK}}}}}}}"#), r#"{"result":{"x":1}}"#);
        check(
            &format!(
                r#"{{"inputRequests":{{"q":{{"method":"m","params":{{"_meta":{{{TASK}}}}}}}}}}}"#
            ),
            r#"{"inputRequests":{"q":{"method":"m","params":{}}}}"#,
        );
    }
}
