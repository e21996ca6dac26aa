//! An example command line for a tool, made from its input schema.
//!
//! Used by `call` (in failures) and `tools`. It does not guess useful values.

use serde_json::Value;
use std::sync::Arc;

use switchboard_config::command_line;
use switchboard_core::catalog::ListedTool;

use super::lookup::path;

/// The most arguments in an example.
const MAX_EXAMPLE_ARGUMENTS: usize = 6;

/// A `switchboard call` of the tool with all required arguments.
pub(super) fn example_call(tool: &Arc<ListedTool>) -> String {
    let schema: Value = tool.tool.input_schema.decode().unwrap_or_default();
    let required = schema["required"].as_array().into_iter().flatten();
    let words = required.filter_map(Value::as_str).take(MAX_EXAMPLE_ARGUMENTS);
    let words = words.map(|name| argument(name, &schema["properties"][name]));
    command_line("call", std::iter::once(path(tool)).chain(words))
}

fn argument(name: &str, schema: &Value) -> String {
    let given = ["default", "const"].iter().find_map(|key| schema.get(key));
    let given = given.or_else(|| schema["enum"].get(0)).or_else(|| schema["examples"].get(0));
    match (given, schema["type"].as_str()) {
        (Some(Value::String(text)), _) => format!("{name}={text}"),
        (Some(other), _) => format!("{name}:={other}"),
        (None, Some("integer" | "number")) => format!("{name}={}", smallest_value(schema)),
        (None, Some("boolean")) => format!("{name}=true"),
        (None, Some("array")) => format!("{name}=a,b"),
        (None, Some("object")) => format!("{name}:={{}}"),
        (None, Some("string")) => format!("{name}=TEXT"),
        (None, _) => format!("{name}=VALUE"),
    }
}

fn smallest_value(schema: &Value) -> String {
    schema.get("minimum").map_or_else(|| "1".to_owned(), ToString::to_string)
}
