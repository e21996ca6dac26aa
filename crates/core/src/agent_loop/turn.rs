//! Runs the tool calls of one turn of a model, in a safe order.
//!
//! Used by `agent_loop::anthropic` and `agent_loop::openai`. Tools that only read run side by side, all others
//! alone.

use futures_util::future::join_all;
use switchboard_wire::json::Raw;

use super::{Toolbox, search};
use crate::dispatch::{CallEvent, CallOrigin, Request};

/// One tool call of a model.
#[derive(Debug, Clone)]
pub(super) struct ModelToolCall {
    pub(super) name: String,
    /// The arguments, or why they cannot be used.
    pub(super) arguments: Result<Raw, String>,
}

/// The result of a tool call: content blocks of MCP, or an error text for the model.
#[derive(Debug, Clone)]
pub(super) struct ModelToolResult {
    pub(super) content: Vec<Raw>,
    pub(super) structured: Option<Raw>,
    pub(super) is_error: bool,
    /// Text that hooks add for the model.
    pub(super) context: Vec<String>,
}

// === impl Toolbox ===

impl Toolbox {
    /// Makes the calls: neighbours that only read side by side, all others one after another.
    pub(super) async fn run_calls(&self, wanted: &[ModelToolCall]) -> Vec<ModelToolResult> {
        let mut made = Vec::with_capacity(wanted.len());
        let mut rest = wanted;
        while !rest.is_empty() {
            let reading = rest.iter().take_while(|call| self.is_read_only(&call.name)).count();
            let (now, later) = rest.split_at(reading.max(1));
            made.extend(join_all(now.iter().map(|call| self.run_call(call))).await);
            rest = later;
        }
        made
    }

    fn is_read_only(&self, name: &str) -> bool {
        if search::is_engine_tool(name) {
            return true;
        }
        let snapshot = self.engine.snapshot_for(self.caller.principal());
        let read_only = snapshot.and_then(|snapshot| {
            Some(snapshot.catalog.tool(name)?.tool.annotations.is_read_only())
        });
        read_only.unwrap_or(false)
    }

    async fn run_call(&self, call: &ModelToolCall) -> ModelToolResult {
        let arguments = match &call.arguments {
            Ok(arguments) => arguments,
            Err(reason) => return ModelToolResult::error(reason),
        };
        if call.name == search::SEARCH_TOOL_NAME {
            return self.search(arguments);
        }
        let request = Request::tool(&call.name, arguments).from_origin(CallOrigin::Model);
        let mut running = self.engine.call(&self.caller, request);
        loop {
            match running.next().await {
                Ok(CallEvent::Done(outcome)) => {
                    let context = outcome.context.clone();
                    return ModelToolResult { context, ..ModelToolResult::result(&outcome.result) };
                }
                Ok(CallEvent::Question(question)) => (self.ask)(question),
                Ok(_) => {}
                Err(error) => return ModelToolResult::error(&error_chain(&error)),
            }
        }
    }
}

// === impl ModelToolResult ===

impl ModelToolResult {
    fn result(result: &Raw) -> Self {
        let member = |key| result.get(key).ok().flatten();
        Self {
            content: member("content").map(|list| list.elements().collect()).unwrap_or_default(),
            structured: member("structuredContent"),
            is_error: member("isError").is_some_and(|value| value.as_str() == "true"),
            context: Vec::new(),
        }
    }

    pub(super) fn text(text: &str) -> Self {
        let block = serde_json::json!({ "type": "text", "text": text });
        let content = vec![Raw::from(&block)];
        Self { content, structured: None, is_error: false, context: Vec::new() }
    }

    fn error(text: &str) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }
}

/// Renders an error and its causes, one on each line.
fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.contains(&said) {
            text.push_str("\ncaused by: ");
            text.push_str(&said);
        }
        next = cause.source();
    }
    text
}
