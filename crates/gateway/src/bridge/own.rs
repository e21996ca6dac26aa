//! The gateway's own tools: finding and calling tools that are not listed, and reading on in results that were too
//! long.
//!
//! Their names have no `__` in them, which every name of a server's tool has.

use serde_json::{Value, json};
use switchboard_core::Snapshot;
use switchboard_core::catalog::{Listed, Style};
use switchboard_core::results::{Address, Pattern, Spill, Store, StoreError, Want};
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::{Edit, Raw};
use switchboard_wire::meta::method;
use switchboard_wire::server::Asked;

use super::view::View;

/// Finds tools.
pub(super) const FIND: &str = "find_tools";
/// Calls one that was found.
pub(super) const CALL: &str = "call_tool";
/// Reads on in a result.
pub(super) const READ: &str = "read_result";

/// How many tools one search finds unless it asks for another number.
const FOUND: usize = 10;
/// The most it may ask for.
const MOST: usize = 50;
/// How much of a result is read at once unless less is asked for: well within what a model takes.
const SLICE: usize = 40_000;
/// The lines that one search of a result finds.
const HITS: usize = 100;

/// What the gateway answers itself.
pub(super) enum Own {
    Find,
    Read,
    /// A result, as a resource.
    Result(Address),
}

/// Whether tools are listed, or looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolSearch {
    /// All are listed.
    #[default]
    Off,
    /// Looked for where the list of all would cost more than 10,000 tokens.
    Auto,
    /// Looked for.
    On,
}

/// What the list of all tools may cost before `auto` has them looked for.
const COSTLY: usize = 10_000;

// === impl Own ===

impl Own {
    /// What is asked for under this name, if it is the gateway's. `call_tool` is not: it is the call of another.
    pub(super) fn of(asked: &Asked, name: Option<&str>) -> Option<Self> {
        match (&*asked.method, name?) {
            (method::TOOLS_CALL, FIND) => Some(Self::Find),
            (method::TOOLS_CALL, READ) => Some(Self::Read),
            (method::RESOURCES_READ, uri) => Address::parse(uri).map(Self::Result),
            _ => None,
        }
    }
}

// === impl ToolSearch ===

impl ToolSearch {
    /// What it comes to, before this catalog.
    pub(super) fn decide(self, snapshot: &Snapshot) -> bool {
        match self {
            Self::Off => false,
            Self::On => true,
            Self::Auto => {
                snapshot.catalog.cost().iter().map(|(_, cost)| cost).sum::<usize>() > COSTLY
            }
        }
    }
}

/// The definitions of those that are there.
pub(super) fn definitions(is_searched: bool, spill: Spill) -> Vec<Raw> {
    let find = json!({
        "name": FIND,
        "description": "Finds tools of the connected servers by what they do or by name. Returns each with its \
            description and the schema of its arguments. Call one with `call_tool`.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "What the tool should do, or its name." },
                "limit": { "type": "integer", "minimum": 1, "maximum": MOST },
            },
            "required": ["query"],
        },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    });
    let call = json!({
        "name": CALL,
        "description": "Calls a tool that `find_tools` has found.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "The name, as `find_tools` gave it." },
                "arguments": { "type": "object", "description": "What its schema asks for." },
            },
            "required": ["name"],
        },
    });
    let read = json!({
        "name": READ,
        "description": "Reads on in a result that was too long to be given whole, or searches it.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "uri": { "type": "string", "description": "`switchboard://results/…`, as the result said." },
                "offset": { "type": "integer", "minimum": 0, "description": "Where to begin, in bytes." },
                "length": { "type": "integer", "minimum": 1, "description": "How many bytes." },
                "search": { "type": "string", "description": "Give the lines that hold this instead." },
            },
            "required": ["uri"],
        },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    });
    let mut there = Vec::new();
    if is_searched {
        there.extend([find, call]);
    }
    if spill == Spill::Uri {
        there.push(read);
    }
    there.iter().filter_map(|tool| Raw::of(tool).ok()).collect()
}

/// Whether it is the call of another tool that it holds.
pub(super) fn is_inner(asked: &Asked, name: Option<&str>) -> bool {
    asked.method == method::TOOLS_CALL && name == Some(CALL)
}

/// The inner call, of `call_tool`: from here on it is that tool's call, for rules and hooks too.
pub(super) fn inner_of(asked: &Asked) -> Result<Asked, RpcError> {
    let member = |path: &[&str]| asked.params.get_path(path).ok().flatten();
    let name = member(&["arguments", "name"]).filter(|name| name.to_text().is_some());
    let name = name.ok_or_else(|| invalid("/name: expected the name of a tool"))?;
    let arguments = member(&["arguments", "arguments"]).unwrap_or_else(Raw::empty_object);
    let edits =
        [Edit::set(&["name"], name.as_str()), Edit::set(&["arguments"], arguments.as_str())];
    let params = asked.params.with(&edits).map_err(|error| invalid(&error.to_string()))?;
    Ok(Asked { params, ..asked.clone() })
}

// === impl View ===

impl View {
    /// Finds tools, under the names this client calls them by.
    pub(super) fn find(&self, asked: &Asked, snapshot: &Snapshot) -> Result<Raw, RpcError> {
        let query = argument(asked, "query").and_then(|query| query.to_text());
        let query = query.ok_or_else(|| invalid("/query: expected text"))?;
        let limit = argument(asked, "limit").and_then(|limit| limit.decode().ok());
        let limit = limit.unwrap_or(FOUND).clamp(1, MOST);
        let style = self.bridge().options.names;
        let found = snapshot.catalog.search(&query, usize::MAX);
        let tools: Vec<Value> = found
            .iter()
            .filter_map(|hit| snapshot.catalog.tool(&hit.name))
            .filter(|listed| self.shows(listed.server()))
            .take(limit)
            .map(|listed| described(listed, style))
            .collect();
        let text = serde_json::to_string(&tools).unwrap_or_default();
        Ok(told(&text))
    }

    /// Reads on in a result, or searches it, as a tool.
    pub(super) async fn read_on(&self, asked: &Asked) -> Result<Raw, RpcError> {
        let uri = argument(asked, "uri").and_then(|uri| uri.to_text()).unwrap_or_default();
        let mut address = Address::parse(&uri)
            .ok_or_else(|| invalid("/uri: expected `switchboard://results/…`"))?;
        if let Some(text) = argument(asked, "search").and_then(|text| text.to_text()) {
            address.want = Want::Search(Pattern::Text(text));
        } else {
            let number = |key| argument(asked, key).and_then(|number| number.decode::<u64>().ok());
            if let (offset @ Some(_), length) | (offset, length @ Some(_)) =
                (number("offset"), number("length"))
            {
                let length = length.and_then(|length| usize::try_from(length).ok());
                let (offset, length) = (offset.unwrap_or(0), length.unwrap_or(SLICE));
                address.want = Want::Part { offset, length };
            }
        }
        Ok(told(&self.part(&address).await?))
    }

    /// The same as a resource.
    pub(super) async fn read_result(&self, uri: &str, address: &Address) -> Result<Raw, RpcError> {
        let text = self.part(address).await?;
        let contents = json!([{ "uri": uri, "mimeType": "text/plain", "text": text }]);
        Ok(raw(&json!({ "contents": contents })))
    }

    async fn part(&self, address: &Address) -> Result<String, RpcError> {
        let store = self.bridge().engine.results().ok_or_else(|| invalid("no results are kept"))?;
        let owner = &self.opening.principal;
        self::part(store, owner, address).await.map_err(|error| match error {
            StoreError::Missing | StoreError::Pattern { .. } => invalid(&error.to_string()),
            error => RpcError::new(code::INTERNAL_ERROR, error.to_string()),
        })
    }
}

async fn part(store: &Store, owner: &str, address: &Address) -> Result<String, StoreError> {
    let (offset, length) = match &address.want {
        Want::Search(pattern) => {
            let hits = store.search(owner, &address.id, pattern.clone(), HITS).await?;
            let line = |hit: &switchboard_core::results::Hit| {
                format!("line {}, offset {}: {}", hit.line, hit.offset, hit.text)
            };
            let lines: Vec<String> = hits.iter().map(line).collect();
            return Ok(if lines.is_empty() {
                "nothing found".to_owned()
            } else {
                lines.join("\n")
            });
        }
        Want::Whole => (0, SLICE),
        Want::Part { offset, length } => (*offset, (*length).min(SLICE)),
    };
    let slice = store.read(owner, &address.id, offset, length).await?;
    Ok(match slice.next {
        Some(next) => format!("{}\n[goes on at offset {next} of {}]", slice.text, slice.total),
        None => slice.text,
    })
}

/// A tool as a model is told of it when it looks for one.
fn described(listed: &Listed, style: Style) -> Value {
    json!({
        "name": listed.label.name(style),
        "description": listed.tool.description,
        "inputSchema": listed.tool.input_schema,
    })
}

fn argument(asked: &Asked, key: &str) -> Option<Raw> {
    asked.params.get_path(&["arguments", key]).ok().flatten()
}

fn told(text: &str) -> Raw {
    raw(&json!({ "content": [{ "type": "text", "text": text }] }))
}

fn raw(value: &Value) -> Raw {
    Raw::of(value).unwrap_or_else(|_| Raw::empty_object())
}

fn invalid(reason: &str) -> RpcError {
    RpcError::new(code::INVALID_PARAMS, reason)
}
