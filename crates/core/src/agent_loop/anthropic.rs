//! Tool definitions and tool results in the format of Anthropic's Messages API.
//!
//! Part of [`Toolbox`]; used by agent loops. It does not send anything: the caller posts the messages.

use serde_json::{Value, json};
use switchboard_wire::json::Raw;

use super::Toolbox;
use super::turn::{ModelToolCall, ModelToolResult};

// === impl Toolbox ===

impl Toolbox {
    /// Returns the tools, for `tools` of a request.
    pub fn anthropic_tools(&self) -> Vec<Value> {
        let tool = |definition: super::ToolDefinition| {
            json!({
                "name": definition.name,
                "description": definition.description,
                "input_schema": definition.input_schema,
            })
        };
        self.definitions().into_iter().map(tool).collect()
    }

    /// Makes the calls in a message of the model: takes its `content`, runs each `tool_use` block, and returns the
    /// `tool_result` blocks for the next message. Empty if the model calls no tool.
    pub async fn anthropic_results(&self, content: &[Value]) -> Vec<Value> {
        let uses: Vec<&Value> =
            content.iter().filter(|block| block["type"] == "tool_use").collect();
        let wanted: Vec<ModelToolCall> = uses
            .iter()
            .map(|block| ModelToolCall {
                name: block["name"].as_str().unwrap_or_default().to_owned(),
                arguments: Raw::from_value(&block["input"]).map_err(|error| error.to_string()),
            })
            .collect();
        let made = self.run_calls(&wanted).await;
        uses.iter().zip(made).map(|(block, made)| result(&block["id"], &made)).collect()
    }
}

fn result(id: &Value, made: &ModelToolResult) -> Value {
    let mut content: Vec<Value> = made.content.iter().map(block).collect();
    if content.is_empty()
        && let Some(structured) = &made.structured
    {
        content.push(text(structured.as_str()));
    }
    content.extend(made.context.iter().map(|context| text(context)));
    json!({
        "type": "tool_result",
        "tool_use_id": id,
        "content": content,
        "is_error": made.is_error,
    })
}

fn block(block: &Raw) -> Value {
    let member = |path: &[&str]| block.get_path(path).ok().flatten();
    let words = |path: &[&str]| member(path).and_then(|value| value.to_text());
    match words(&["type"]).as_deref() {
        Some("text") => text(&words(&["text"]).unwrap_or_default()),
        Some("image") => json!({
            "type": "image",
            "source": {
                "type": "base64",
                "media_type": words(&["mimeType"]),
                "data": words(&["data"]),
            },
        }),
        _ => text(&super::openai::content_to_text(block)),
    }
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}
