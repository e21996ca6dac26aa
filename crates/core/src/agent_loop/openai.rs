//! Tool definitions and tool results in the format of `OpenAI`'s chat completions.
//!
//! Part of [`Toolbox`]; used by agent loops. It does not send anything: the caller posts the messages.

use serde_json::{Value, json};
use switchboard_wire::json::Raw;

use super::Toolbox;
use super::turn::{ModelToolCall, ModelToolResult};

// === impl Toolbox ===

impl Toolbox {
    /// Returns the tools, for `tools` of a request.
    pub fn openai_tools(&self) -> Vec<Value> {
        let tool = |definition: super::ToolDefinition| {
            json!({
                "type": "function",
                "function": {
                    "name": definition.name,
                    "description": definition.description,
                    "parameters": definition.input_schema,
                },
            })
        };
        self.definitions().into_iter().map(tool).collect()
    }

    /// Makes the calls in a message's `tool_calls`. Returns one message of the role `tool` for each, and where
    /// results have images one message of the role `user` with them, since a `tool` message holds only text.
    pub async fn openai_results(&self, tool_calls: &[Value]) -> Vec<Value> {
        let wanted: Vec<ModelToolCall> = tool_calls.iter().map(parse_tool_call).collect();
        let made = self.run_calls(&wanted).await;
        let mut messages: Vec<Value> =
            tool_calls.iter().zip(&made).map(|(call, made)| message(&call["id"], made)).collect();
        let images: Vec<Value> =
            made.iter().flat_map(|made| &made.content).filter_map(image).collect();
        if !images.is_empty() {
            messages.push(json!({ "role": "user", "content": images }));
        }
        messages
    }
}

/// Parses a tool call. Models write the arguments as text, and not always as JSON.
fn parse_tool_call(call: &Value) -> ModelToolCall {
    let function = &call["function"];
    let written = function["arguments"].as_str().unwrap_or_default();
    let written = if written.trim().is_empty() { "{}" } else { written };
    ModelToolCall {
        name: function["name"].as_str().unwrap_or_default().to_owned(),
        arguments: Raw::parse(written.to_owned())
            .map_err(|error| format!("the arguments are not JSON: {error}")),
    }
}

fn message(id: &Value, made: &ModelToolResult) -> Value {
    let mut words: Vec<String> = made.content.iter().map(content_to_text).collect();
    if words.is_empty()
        && let Some(structured) = &made.structured
    {
        words.push(structured.as_str().to_owned());
    }
    if made.is_error {
        words.insert(0, "The tool reports an error.".to_owned());
    }
    words.extend(made.context.iter().cloned());
    json!({ "role": "tool", "tool_call_id": id, "content": words.join("\n") })
}

/// Renders a content block as text, for messages that hold only text.
pub(super) fn content_to_text(block: &Raw) -> String {
    let words =
        |path: &[&str]| block.get_path(path).ok().flatten().and_then(|value| value.to_text());
    let of = |path: &[&str]| words(path).unwrap_or_else(|| "unknown".to_owned());
    match words(&["type"]).as_deref() {
        Some("text") => words(&["text"]).unwrap_or_default(),
        Some("image") => format!("[an image, {}]", of(&["mimeType"])),
        Some("audio") => format!("[a recording, {}]", of(&["mimeType"])),
        Some("resource_link") => format!("[a link to the resource {}]", of(&["uri"])),
        Some("resource") => match words(&["resource", "text"]) {
            Some(text) => format!("[the resource {}]\n{text}", of(&["resource", "uri"])),
            None => format!("[the resource {}, not text]", of(&["resource", "uri"])),
        },
        _ => block.as_str().to_owned(),
    }
}

fn image(block: &Raw) -> Option<Value> {
    let words = |key| block.get(key).ok().flatten().and_then(|value| value.to_text());
    (words("type")? == "image").then_some(())?;
    let url = format!("data:{};base64,{}", words("mimeType")?, words("data")?);
    Some(json!({ "type": "image_url", "image_url": { "url": url } }))
}
