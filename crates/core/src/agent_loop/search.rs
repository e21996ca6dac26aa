//! The search tool of an agent loop, for models that are not shown every tool
//! ([`ToolOffer::Search`](super::ToolOffer)).
//!
//! Used by `agent_loop::turn`, which runs it like any other tool. Ranking is in `catalog::search`.

use std::sync::PoisonError;

use serde_json::{Value, json};
use switchboard_wire::json::Raw;

use super::turn::ModelToolResult;
use super::{ToolDefinition, Toolbox};
use crate::dispatch::{LIST_RESOURCES_TOOL, READ_RESOURCE_TOOL};

/// The name of the search tool.
pub const SEARCH_TOOL_NAME: &str = "SearchMcpTools";

/// How many tools one search finds.
const MAX_TOOLS_FOUND: usize = 10;

pub(super) fn definition() -> ToolDefinition {
    let schema = json!({
        "type": "object",
        "properties": {
            "query": { "type": "string", "description": "What the tool should do, or its name." }
        },
        "required": ["query"],
        "additionalProperties": false
    });
    ToolDefinition {
        name: SEARCH_TOOL_NAME.to_owned(),
        description: "Finds tools of the connected MCP servers that are not listed here. Tools that were found can be \
            called from the next turn on."
            .to_owned(),
        input_schema: Raw::from_value(&schema).unwrap_or_else(|_| Raw::empty_object()),
    }
}

/// Whether a tool is one of the engine's own. Those only read.
pub(super) fn is_engine_tool(name: &str) -> bool {
    matches!(name, SEARCH_TOOL_NAME | LIST_RESOURCES_TOOL | READ_RESOURCE_TOOL)
}

// === impl Toolbox ===

impl Toolbox {
    /// Searches tools by the query in `arguments`. The model is shown the tools found from now on.
    pub(super) fn search(&self, arguments: &Raw) -> ModelToolResult {
        let query = arguments.get("query").ok().flatten().and_then(|query| query.to_text());
        let snapshot = self.engine.snapshot_for(self.caller.principal());
        let (Some(query), Some(snapshot)) = (query, snapshot) else {
            return ModelToolResult {
                is_error: true,
                ..ModelToolResult::text("/query: expected text")
            };
        };
        let hits = snapshot.catalog.search(&query, MAX_TOOLS_FOUND);
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let tools: Vec<Value> = hits
            .into_iter()
            .filter_map(|hit| snapshot.catalog.tool(&hit.name))
            .map(|listed| {
                found.insert(listed.name.clone());
                json!({ "name": listed.name, "description": listed.tool.description })
            })
            .collect();
        ModelToolResult::text(&serde_json::to_string(&tools).unwrap_or_default())
    }
}
