//! The gateway's own tools: find and call unlisted tools, and read the rest of results that were too long.
//!
//! Used by `view` and `lists`. Their names contain no `__`, unlike the prefixed names of servers' tools. If a server
//! has a tool of that name, the gateway's tool is shown as `switchboard_<name>`, with as many prefixes as needed. The
//! tools that list and read resources, for clients that show tools only, belong to the engine; they are listed with
//! all tools, and found by a search.

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

/// The tool that finds tools.
pub(super) const FIND_TOOLS: &str = "find_tools";
/// The tool that calls a found tool.
pub(super) const CALL_TOOL: &str = "call_tool";
/// The tool that reads more of a result.
pub(super) const READ_RESULT: &str = "read_result";

const GATEWAY_TOOLS: [&str; 3] = [FIND_TOOLS, CALL_TOOL, READ_RESULT];
/// The prefix for a gateway tool if a server has a tool of its name.
const GATEWAY_TOOL_PREFIX: &str = "switchboard_";

/// The default number of tools in a search result.
const DEFAULT_FOUND_TOOLS: usize = 10;
/// The most tools in a search result.
const MAX_FOUND_TOOLS: usize = 50;
/// The default number of bytes in a slice of a result, well within the context of a model.
const DEFAULT_SLICE_BYTES: usize = 40_000;
/// The least number of bytes in a slice, even if the limit for results is smaller: reading must make progress.
const MIN_SLICE_BYTES: usize = 200;
/// The size in bytes of the line that says where a result continues.
const CONTINUATION_LINE_BYTES: usize = 80;
/// The most lines in the result of a text search.
const MAX_SEARCH_HITS: usize = 100;

/// A request that the gateway answers itself.
pub(super) enum GatewayRequest {
    Find,
    Read,
    /// A stored result, as a resource.
    Result(ResultAddress),
}

/// Why one of the gateway's own tools failed.
pub(super) enum GatewayToolError {
    /// The arguments are wrong: the text tells the model how to correct them.
    Arguments(String),
    /// Any other failure, which the client gets as a protocol error.
    Rpc(RpcError),
}

/// Whether clients list all tools or search for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolSearch {
    /// All tools are listed.
    #[default]
    Off,
    /// Search if the list of all tools would cost more than 10,000 tokens.
    Auto,
    /// Search always.
    On,
}

/// The cost in tokens of the tool list above which `auto` uses search.
const MAX_LISTED_TOOLS_COST: usize = 10_000;

// === impl GatewayRequest ===

impl GatewayRequest {
    /// The gateway request with this name, if it is one. `call_tool` is not: it becomes the call of another tool.
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
    /// Decides whether this catalog is searched.
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

/// The name under which a gateway tool is shown beside the tools of servers.
pub(super) fn gateway_tool_name(tool: &str, servers: CatalogNames<'_>) -> String {
    let mut name = tool.to_owned();
    while servers.tool(&name).is_some() {
        name.insert_str(0, GATEWAY_TOOL_PREFIX);
    }
    name
}

/// Whether a name could be that of a gateway tool.
pub(super) fn could_be_gateway_tool(name: &str) -> bool {
    GATEWAY_TOOLS.contains(&name.trim_start_matches(GATEWAY_TOOL_PREFIX))
}

/// The definitions of the available gateway tools.
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
    there.into_iter().map(Raw::from).collect()
}

/// Whether the request is `call_tool`, which contains the call of another tool.
pub(super) fn is_inner(asked: &HandlerRequest, name: Option<&str>, view: &BridgeView) -> bool {
    asked.method == method::TOOLS_CALL
        && name.and_then(|name| view.gateway_tool(name)) == Some(CALL_TOOL)
}

/// The inner request of `call_tool`: from here on it is that tool's call, for rules and hooks too.
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
    /// The gateway tool that a client calls `name`.
    pub(super) fn gateway_tool(&self, name: &str) -> Option<&'static str> {
        let bare = name.trim_start_matches(GATEWAY_TOOL_PREFIX);
        let own = GATEWAY_TOOLS.into_iter().find(|own| *own == bare)?;
        let bridge = self.bridge();
        let catalog = bridge.engine.catalog_for(self.principal().ok()?)?;
        (gateway_tool_name(own, catalog.names(bridge.options.names)) == name).then_some(own)
    }

    /// Finds tools and returns them under the client's names.
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
                // A gateway tool with the name of a server's tool: the name means the server's tool.
                None if named.tool(&hit.name).is_some() => None,
                // A gateway tool.
                None => {
                    Some(describe_tool(snapshot.catalog.tool_or_builtin(&hit.name)?, &hit.name))
                }
            })
            .take(limit)
            .collect();
        let text = Value::Array(tools).to_string();
        Ok(text_result(&text))
    }

    /// Reads a slice of a result, or searches the result, for the tool `read_result`.
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

    /// Reads a result as a resource.
    pub(super) async fn read_result(
        &self,
        uri: &str,
        address: &ResultAddress,
    ) -> Result<Raw, RpcError> {
        let text = self.read_part(address).await.map_err(GatewayToolError::into_rpc)?;
        let contents = json!([{ "uri": uri, "mimeType": "text/plain", "text": text }]);
        Ok(Raw::from(json!({ "contents": contents })))
    }

    async fn read_part(&self, address: &ResultAddress) -> Result<String, GatewayToolError> {
        let store = self.bridge().engine.results();
        let store = store.ok_or_else(|| argument_error("no results are kept"))?;
        let owner = self.opening.principal.id();
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
    /// Converts the failure for a request that calls no tool.
    fn into_rpc(self) -> RpcError {
        match self {
            Self::Arguments(mistake) => invalid(&mistake),
            Self::Rpc(error) => error,
        }
    }

    /// Converts the failure to the reply for the tool's client.
    pub(super) fn reply(self) -> Result<Raw, RpcError> {
        match self {
            Self::Arguments(mistake) => Ok(refusal::invalid_arguments(&[mistake])),
            Self::Rpc(error) => Err(error),
        }
    }

    /// The kind of failure for the log of calls.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Arguments(_) => "arguments",
            Self::Rpc(_) => "request",
        }
    }
}

/// Reads a slice of a result, or the lines that match a search: at most `most` bytes.
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
    // The continuation line follows the slice, so its size is subtracted.
    let length = length.min(most.saturating_sub(CONTINUATION_LINE_BYTES)).max(1);
    let slice = store.read(owner, &address.id, offset, length).await?;
    Ok(match slice.next {
        Some(next) => format!("{}\n[goes on at offset {next} of {}]", slice.text, slice.total),
        None => slice.text,
    })
}

/// The description of a tool in a search result.
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

/// Refuses `arguments` that are present and no object.
pub(super) fn must_be_object(asked: &HandlerRequest) -> Result<(), RpcError> {
    let arguments = asked.params.get("arguments").ok().flatten();
    if arguments.is_none_or(|arguments| arguments.kind() == JsonKind::Object) {
        return Ok(());
    }
    Err(invalid("`arguments` is not an object"))
}

fn text_result(text: &str) -> Raw {
    Raw::from(json!({ "content": [{ "type": "text", "text": text }] }))
}

fn invalid(reason: &str) -> RpcError {
    RpcError::new(code::INVALID_PARAMS, reason)
}
