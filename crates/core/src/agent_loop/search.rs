//! A tool to find tools with, for models that are not shown all of them.

use std::sync::PoisonError;

use serde_json::{Value, json};
use switchboard_wire::json::Raw;

use super::turn::Made;
use super::{Definition, Toolbox};
use crate::dispatch::{LIST_RESOURCES, READ_RESOURCE};

/// The tool's name.
pub const SEARCH: &str = "SearchMcpTools";

/// How many tools one search finds.
const FOUND: usize = 10;

pub(super) fn definition() -> Definition {
    let schema = json!({
        "type": "object",
        "properties": {
            "query": { "type": "string", "description": "What the tool should do, or its name." }
        },
        "required": ["query"],
        "additionalProperties": false
    });
    Definition {
        name: SEARCH.to_owned(),
        description: "Finds tools of the connected MCP servers that are not listed here. Tools that were found can be \
            called from the next turn on."
            .to_owned(),
        input_schema: Raw::of(&schema).unwrap_or_else(|_| Raw::empty_object()),
    }
}

/// Whether a tool is the engine's own; those only read.
pub(super) fn is_ours(name: &str) -> bool {
    matches!(name, SEARCH | LIST_RESOURCES | READ_RESOURCE)
}

// === impl Toolbox ===

impl Toolbox {
    /// Finds tools, and shows them from now on.
    pub(super) fn search(&self, arguments: &Raw) -> Made {
        let query = arguments.get("query").ok().flatten().and_then(|query| query.to_text());
        let snapshot = self.engine.snapshot_for(self.caller.principal());
        let (Some(query), Some(snapshot)) = (query, snapshot) else {
            return Made { is_error: true, ..Made::text("/query: expected text") };
        };
        let hits = snapshot.catalog.search(&query, FOUND);
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let tools: Vec<Value> = hits
            .into_iter()
            .filter_map(|hit| snapshot.catalog.tool(&hit.name))
            .map(|listed| {
                found.insert(listed.name.clone());
                json!({ "name": listed.name, "description": listed.tool.description })
            })
            .collect();
        Made::text(&serde_json::to_string(&tools).unwrap_or_default())
    }
}
