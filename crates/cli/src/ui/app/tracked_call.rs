//! A call that a form has started, and the request bodies for calls and completions.
//!
//! Used by `form`, `perform` and `update`. The call itself runs in `link`.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::event::CallUpdate;
use super::form::{Form, Purpose};
use super::hub_model::RequestFailure;

/// A call of this UI.
#[derive(Debug)]
pub(crate) struct TrackedCall {
    pub(crate) ticket: u64,
    pub(crate) state: CallState,
    began: Instant,
}

/// The state of a call.
#[derive(Debug)]
pub(crate) enum CallState {
    /// Running, with the parameters of the latest progress.
    Underway {
        progress: Option<Value>,
    },
    Done {
        result: Value,
        note: Option<String>,
        took: Duration,
    },
    Failed(RequestFailure),
    Cancelled,
}

// === impl TrackedCall ===

impl TrackedCall {
    pub(crate) fn new(ticket: u64) -> Self {
        Self { ticket, state: CallState::Underway { progress: None }, began: Instant::now() }
    }

    pub(crate) fn is_underway(&self) -> bool {
        matches!(self.state, CallState::Underway { .. })
    }

    /// Applies an update; ignored once the call has ended.
    pub(crate) fn apply_update(&mut self, news: CallUpdate) {
        if !self.is_underway() {
            return;
        }
        self.state = match news {
            CallUpdate::Progress(params) => CallState::Underway { progress: Some(params) },
            CallUpdate::Done { result, note } => {
                CallState::Done { result, note, took: self.began.elapsed() }
            }
            CallUpdate::Failed(wrong) => CallState::Failed(wrong),
            // A question has a window of its own.
            CallUpdate::Question(_) => return,
        };
    }
}

/// The request body for a form; `None` if its purpose is no call.
pub(crate) fn body(purpose: &Purpose, value: &Value) -> Option<Value> {
    match purpose {
        Purpose::Tool { name } => Some(tool(name, value)),
        Purpose::Prompt { name, .. } => Some(json!({
            "method": "prompts/get", "params": { "name": name, "arguments": value }, "progress": true,
        })),
        Purpose::Resource { server, .. } => Some(json!({
            "method": "resources/read", "params": value, "server": server, "progress": true,
        })),
        Purpose::Answer { .. } | Purpose::Sampling { .. } | Purpose::Add => None,
    }
}

/// The request body for a tool call.
pub(crate) fn tool(name: &str, arguments: &Value) -> Value {
    json!({
        "method": "tools/call", "params": { "name": name, "arguments": arguments }, "progress": true,
    })
}

/// The request body for completions of the focused field, with the other fields as context; `None` for forms without
/// completions.
pub(crate) fn completion(form: &Form) -> Option<Value> {
    let key = &form.blanks.get(form.focus)?.field.key;
    let value = form.texts().swap_remove(form.focus);
    let (reference, server, argument) = match &form.purpose {
        Purpose::Prompt { name, server } => {
            let argument = json!({ "name": key, "value": value });
            (json!({ "type": "ref/prompt", "name": name }), server, argument)
        }
        // The form has one field with the whole URI; its variables are completed one at a time.
        Purpose::Resource { server, template: Some(template) } => {
            let (name, value) = variable(template, &value)?;
            let argument = json!({ "name": name, "value": value });
            (json!({ "type": "ref/resource", "uri": template }), server, argument)
        }
        _ => return None,
    };
    let mut params = json!({ "ref": reference, "argument": argument });
    let known = known(form);
    if !known.is_empty() {
        params["context"] = json!({ "arguments": known });
    }
    Some(json!({ "method": "completion/complete", "params": params, "server": server }))
}

/// The values of the other fields.
fn known(form: &Form) -> Map<String, Value> {
    let all = form.blanks.iter().zip(form.texts()).enumerate();
    let others = all.filter(|(number, (_, text))| *number != form.focus && !text.is_empty());
    others.map(|(_, (blank, text))| (blank.field.key.clone(), text.into())).collect()
}

/// The first variable of a template that is not complete yet, and its typed value.
fn variable<'t>(template: &'t str, typed: &'t str) -> Option<(&'t str, &'t str)> {
    let (before, rest) = template.split_once('{')?;
    let (name, after) = rest.split_once('}')?;
    let value = typed.strip_prefix(before)?;
    let name = name.trim_start_matches(['+', '#', '.', '/', ';', '?', '&']).trim_end_matches('*');
    let is_passed = !after.is_empty() && value.contains(after.split('{').next().unwrap_or(after));
    // A value that still starts with a brace was not typed yet.
    let value = if value.starts_with('{') { "" } else { value };
    (!is_passed || value.is_empty()).then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_that_is_typed() {
        for (template, typed, expected) in [
            ("file:///{path}", "file:///a", Some(("path", "a"))),
            ("file:///{+path}", "file:///{+path}", Some(("path", ""))),
            ("x://{a}/{b}", "x://1", Some(("a", "1"))),
            ("x://{a}/{b}", "x://1/2", None),
            ("x://{a}", "y://", None),
            ("plain", "plain", None),
        ] {
            assert_eq!(variable(template, typed), expected, "{template} {typed}");
        }
    }
}
