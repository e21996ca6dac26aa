//! The gateway's own tools: finding and calling tools that are not listed, and reading on in results that were too
//! long.
//!
//! Their names have no `__` in them, which every name of a server's tool has but for bare ones. A tool of ours whose name
//! a server has is shown as `switchboard_<name>`, with as many prefixes as it takes.
//!
//! Resources can be listed and read with tools too, for clients that show nothing else. Those tools are the engine's; they
//! are listed where all tools are, and found where tools are looked for.

use serde_json::{Value, json};
use switchboard_core::WorkspaceSnapshot;
use switchboard_core::catalog::{CatalogNames, ListedTool};
use switchboard_core::results::{
    ResultAddress, ResultQuery, ResultStore, ResultStoreError, SearchPattern, SpillMode,
};
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::{JsonEdit, JsonKind, Raw};
use switchboard_wire::meta::method;
use switchboard_wire::server::HandlerRequest;

use super::refusal;
use super::view::BridgeView;

/// Finds tools.
pub(super) const FIND_TOOLS: &str = "find_tools";
/// Calls one that was found.
pub(super) const CALL_TOOL: &str = "call_tool";
/// Reads on in a result.
pub(super) const READ_RESULT: &str = "read_result";

const GATEWAY_TOOLS: [&str; 3] = [FIND_TOOLS, CALL_TOOL, READ_RESULT];
/// Stands before the name of a tool of ours where a server has a tool of that name.
const GATEWAY_TOOL_PREFIX: &str = "switchboard_";

/// How many tools one search finds unless it asks for another number.
const DEFAULT_FOUND_TOOLS: usize = 10;
/// The most it may ask for.
const MAX_FOUND_TOOLS: usize = 50;
/// How much of a result is read at once unless less is asked for: well within what a model takes.
const DEFAULT_SLICE_BYTES: usize = 40_000;
/// And at least, however small the limit for results: reading on has to come to an end.
const MIN_SLICE_BYTES: usize = 200;
/// The bytes of the line that says where a result goes on.
const CONTINUATION_LINE_BYTES: usize = 80;
/// The lines that one search of a result finds.
const MAX_SEARCH_HITS: usize = 100;

/// What the gateway answers itself.
pub(super) enum GatewayRequest {
    Find,
    Read,
    /// A result, as a resource.
    Result(ResultAddress),
}

/// Why one of the gateway's own tools gave no result.
pub(super) enum GatewayToolError {
    /// Its arguments are wrong: the model reads how, and corrects them.
    Arguments(String),
    /// Anything else, which its client hears as an error of the protocol.
    Rpc(RpcError),
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
const MAX_LISTED_TOOLS_COST: usize = 10_000;

// === impl GatewayRequest ===

impl GatewayRequest {
    /// What is asked for under this name, if it is the gateway's. `call_tool` is not: it is the call of another.
    pub(super) fn of(
        asked: &HandlerRequest,
        name: Option<&str>,
        view: &BridgeView,
    ) -> Option<Self> {
        match &*asked.method {
            method::TOOLS_CALL => match view.gateway_tool(name?)? {
                FIND_TOOLS => Some(Self::Find),
                READ_RESULT => Some(Self::Read),
                _ => None,
            },
            method::RESOURCES_READ => ResultAddress::parse(name?).map(Self::Result),
            _ => None,
        }
    }
}

// === impl ToolSearch ===

impl ToolSearch {
    /// What it comes to, before this catalog.
    pub(super) fn decide(self, snapshot: &WorkspaceSnapshot) -> bool {
        match self {
            Self::Off => false,
            Self::On => true,
            Self::Auto => {
                snapshot.catalog.cost().iter().map(|(_, cost)| cost).sum::<usize>()
                    > MAX_LISTED_TOOLS_COST
            }
        }
    }
}

/// The name under which a tool of ours is shown beside the tools of servers.
pub(super) fn gateway_tool_name(tool: &str, servers: CatalogNames<'_>) -> String {
    let mut name = tool.to_owned();
    while servers.tool(&name).is_some() {
        name.insert_str(0, GATEWAY_TOOL_PREFIX);
    }
    name
}

/// Whether a tool could be one of ours by its name.
pub(super) fn could_be_gateway_tool(name: &str) -> bool {
    GATEWAY_TOOLS.contains(&name.trim_start_matches(GATEWAY_TOOL_PREFIX))
}

/// The definitions of those that are there.
pub(super) fn definitions(
    is_searched: bool,
    spill: SpillMode,
    servers: CatalogNames<'_>,
) -> Vec<Raw> {
    let [find_name, call_name, read_name] =
        GATEWAY_TOOLS.map(|tool| gateway_tool_name(tool, servers));
    let find = json!({
        "name": find_name,
        "description": format!(
            "Finds tools of the connected servers by what they do or by name. Returns each with its description and \
             the schema of its arguments. Call one with `{call_name}`."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "What the tool should do, or its name." },
                "limit": { "type": "integer", "minimum": 1, "maximum": MAX_FOUND_TOOLS },
            },
            "required": ["query"],
        },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    });
    let call = json!({
        "name": call_name,
        "description": format!("Calls a tool that `{find_name}` has found."),
        "inputSchema": {
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": format!("The name, as `{find_name}` gave it.") },
                "arguments": { "type": "object", "description": "What its schema asks for." },
            },
            "required": ["name"],
        },
    });
    let read = json!({
        "name": read_name,
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
    if spill == SpillMode::Uri {
        there.push(read);
    }
    there.iter().filter_map(|tool| Raw::from_value(tool).ok()).collect()
}

/// Whether it is the call of another tool that it holds.
pub(super) fn is_inner(asked: &HandlerRequest, name: Option<&str>, view: &BridgeView) -> bool {
    asked.method == method::TOOLS_CALL
        && name.and_then(|name| view.gateway_tool(name)) == Some(CALL_TOOL)
}

/// The inner call, of `call_tool`: from here on it is that tool's call, for rules and hooks too.
pub(super) fn inner_of(asked: &HandlerRequest) -> Result<HandlerRequest, GatewayToolError> {
    must_be_object(asked)?;
    let member = |path: &[&str]| asked.params.get_path(path).ok().flatten();
    let name = member(&["arguments", "name"]).filter(|name| name.to_text().is_some());
    let name = name.ok_or_else(|| argument_error("/name: expected the name of a tool"))?;
    let arguments = member(&["arguments", "arguments"]).unwrap_or_else(Raw::empty_object);
    if arguments.kind() != JsonKind::Object {
        return Err(argument_error("/arguments: expected an object"));
    }
    let edits = [
        JsonEdit::set(&["name"], name.as_str()),
        JsonEdit::set(&["arguments"], arguments.as_str()),
    ];
    let params = asked.params.with_edits(&edits).map_err(|error| invalid(&error.to_string()))?;
    Ok(HandlerRequest { params, ..asked.clone() })
}

// === impl BridgeView ===

impl BridgeView {
    /// The tool of ours that a client calls `name`.
    pub(super) fn gateway_tool(&self, name: &str) -> Option<&'static str> {
        let bare = name.trim_start_matches(GATEWAY_TOOL_PREFIX);
        let own = GATEWAY_TOOLS.into_iter().find(|own| *own == bare)?;
        let bridge = self.bridge();
        let catalog = bridge.engine.catalog_for(self.principal().ok()?)?;
        (gateway_tool_name(own, catalog.names(bridge.options.names)) == name).then_some(own)
    }

    /// Finds tools, under the names this client calls them by.
    pub(super) fn find(
        &self,
        asked: &HandlerRequest,
        snapshot: &WorkspaceSnapshot,
    ) -> Result<Raw, GatewayToolError> {
        must_be_object(asked)?;
        let query = argument(asked, "query").and_then(|query| query.to_text());
        let query = query.ok_or_else(|| argument_error("/query: expected text"))?;
        let limit = argument(asked, "limit").and_then(|limit| limit.decode().ok());
        let limit = limit.unwrap_or(DEFAULT_FOUND_TOOLS).clamp(1, MAX_FOUND_TOOLS);
        let named = snapshot.catalog.names(self.bridge().options.names);
        let found = snapshot.catalog.search(&query, usize::MAX);
        let tools: Vec<Value> = found
            .iter()
            .filter_map(|hit| match snapshot.catalog.tool(&hit.name) {
                Some(listed) if self.shows(listed.server()) => {
                    Some(describe_tool(listed, named.tool_name(&listed.name)?))
                }
                Some(_) => None,
                // One of our own whose name a server has: the name means the server's.
                None if named.tool(&hit.name).is_some() => None,
                // One of our own.
                None => {
                    Some(describe_tool(snapshot.catalog.tool_or_builtin(&hit.name)?, &hit.name))
                }
            })
            .take(limit)
            .collect();
        let text = serde_json::to_string(&tools).unwrap_or_default();
        Ok(text_result(&text))
    }

    /// Reads on in a result, or searches it, as a tool.
    pub(super) async fn read_on(&self, asked: &HandlerRequest) -> Result<Raw, GatewayToolError> {
        must_be_object(asked)?;
        let uri = argument(asked, "uri").and_then(|uri| uri.to_text()).unwrap_or_default();
        let mut address = ResultAddress::parse(&uri)
            .ok_or_else(|| argument_error("/uri: expected `switchboard://results/…`"))?;
        if let Some(text) = argument(asked, "search").and_then(|text| text.to_text()) {
            address.want = ResultQuery::Search(SearchPattern::Text(text));
        } else {
            let number = |key| argument(asked, key).and_then(|number| number.decode::<u64>().ok());
            if let (offset @ Some(_), length) | (offset, length @ Some(_)) =
                (number("offset"), number("length"))
            {
                let length = length.and_then(|length| usize::try_from(length).ok());
                let (offset, length) = (offset.unwrap_or(0), length.unwrap_or(DEFAULT_SLICE_BYTES));
                address.want = ResultQuery::Part { offset, length };
            }
        }
        Ok(text_result(&self.read_part(&address).await?))
    }

    /// The same as a resource.
    pub(super) async fn read_result(
        &self,
        uri: &str,
        address: &ResultAddress,
    ) -> Result<Raw, RpcError> {
        let text = self.read_part(address).await.map_err(GatewayToolError::into_rpc)?;
        let contents = json!([{ "uri": uri, "mimeType": "text/plain", "text": text }]);
        Ok(raw(&json!({ "contents": contents })))
    }

    async fn read_part(&self, address: &ResultAddress) -> Result<String, GatewayToolError> {
        let store = self.bridge().engine.results();
        let store = store.ok_or_else(|| argument_error("no results are kept"))?;
        let owner = &self.opening.principal;
        let most =
            self.bridge().options.results.limit().clamp(MIN_SLICE_BYTES, DEFAULT_SLICE_BYTES);
        self::read_stored_part(store, owner, address, most).await.map_err(|error| match error {
            ResultStoreError::Missing | ResultStoreError::Pattern { .. } => {
                argument_error(&error.to_string())
            }
            error => GatewayToolError::Rpc(RpcError::new(code::INTERNAL_ERROR, error.to_string())),
        })
    }
}

// === impl GatewayToolError ===

impl From<RpcError> for GatewayToolError {
    fn from(error: RpcError) -> Self {
        Self::Rpc(error)
    }
}

impl GatewayToolError {
    /// The same for a request that calls no tool.
    fn into_rpc(self) -> RpcError {
        match self {
            Self::Arguments(mistake) => invalid(&mistake),
            Self::Rpc(error) => error,
        }
    }

    /// What the client of the tool gets.
    pub(super) fn reply(self) -> Result<Raw, RpcError> {
        match self {
            Self::Arguments(mistake) => Ok(refusal::invalid_arguments(&[mistake])),
            Self::Rpc(error) => Err(error),
        }
    }

    /// What kind of failure the record of calls names.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Arguments(_) => "arguments",
            Self::Rpc(_) => "request",
        }
    }
}

/// A part of a result, or the lines that were searched for: at most `most` bytes.
async fn read_stored_part(
    store: &ResultStore,
    owner: &str,
    address: &ResultAddress,
    most: usize,
) -> Result<String, ResultStoreError> {
    let (offset, length) = match &address.want {
        ResultQuery::Search(pattern) => {
            let hits = store.search(owner, &address.id, pattern.clone(), MAX_SEARCH_HITS).await?;
            let line = |hit: &switchboard_core::results::LineHit| {
                format!("line {}, offset {}: {}", hit.line, hit.offset, hit.text)
            };
            let lines: Vec<String> = hits.iter().map(line).collect();
            return Ok(if lines.is_empty() {
                "nothing found".to_owned()
            } else {
                let mut found = lines.join("\n");
                found.truncate(found.floor_char_boundary(most));
                found
            });
        }
        ResultQuery::Whole => (0, DEFAULT_SLICE_BYTES),
        ResultQuery::Part { offset, length } => (*offset, *length),
    };
    // Where it goes on is said below it.
    let length = length.min(most.saturating_sub(CONTINUATION_LINE_BYTES)).max(1);
    let slice = store.read(owner, &address.id, offset, length).await?;
    Ok(match slice.next {
        Some(next) => format!("{}\n[goes on at offset {next} of {}]", slice.text, slice.total),
        None => slice.text,
    })
}

/// A tool as a model is told of it when it looks for one.
fn describe_tool(listed: &ListedTool, name: &str) -> Value {
    json!({
        "name": name,
        "description": listed.tool.description,
        "inputSchema": listed.tool.input_schema,
    })
}

fn argument(asked: &HandlerRequest, key: &str) -> Option<Raw> {
    asked.params.get_path(&["arguments", key]).ok().flatten()
}

fn argument_error(text: &str) -> GatewayToolError {
    GatewayToolError::Arguments(text.to_owned())
}

/// Refuses `arguments` that are no object; they may be absent.
pub(super) fn must_be_object(asked: &HandlerRequest) -> Result<(), RpcError> {
    let arguments = asked.params.get("arguments").ok().flatten();
    if arguments.is_none_or(|arguments| arguments.kind() == JsonKind::Object) {
        return Ok(());
    }
    Err(invalid("`arguments` is not an object"))
}

fn text_result(text: &str) -> Raw {
    raw(&json!({ "content": [{ "type": "text", "text": text }] }))
}

fn raw(value: &Value) -> Raw {
    Raw::from_value(value).unwrap_or_else(|_| Raw::empty_object())
}

fn invalid(reason: &str) -> RpcError {
    RpcError::new(code::INVALID_PARAMS, reason)
}
