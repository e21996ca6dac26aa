//! The gateway's own tools: finding and calling tools that are not listed, and reading on in results that were too
//! long.
//!
//! Their names have no `__` in them, which every name of a server's tool has but for bare ones. A tool of ours whose name
//! a server has is shown as `switchboard_<name>`.
//!
//! Resources can be listed and read with tools too, for clients that show nothing else. Those tools are the engine's; they
//! are listed where all tools are, and found where tools are looked for.

use serde_json::{Value, json};
use switchboard_core::Snapshot;
use switchboard_core::catalog::{Listed, Named};
use switchboard_core::results::{Address, Pattern, Spill, Store, StoreError, Want};
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::{Edit, JsonKind, Raw};
use switchboard_wire::meta::method;
use switchboard_wire::server::Asked;

use super::refusal;
use super::view::View;

/// Finds tools.
pub(super) const FIND: &str = "find_tools";
/// Calls one that was found.
pub(super) const CALL: &str = "call_tool";
/// Reads on in a result.
pub(super) const READ: &str = "read_result";

const OWN: [&str; 3] = [FIND, CALL, READ];
/// Stands before the name of a tool of ours where a server has a tool of that name.
const PREFIX: &str = "switchboard_";

/// How many tools one search finds unless it asks for another number.
const FOUND: usize = 10;
/// The most it may ask for.
const MOST: usize = 50;
/// How much of a result is read at once unless less is asked for: well within what a model takes.
const SLICE: usize = 40_000;
/// And at least, however small the limit for results: reading on has to come to an end.
const MIN_SLICE: usize = 200;
/// The bytes of the line that says where a result goes on.
const GOES_ON: usize = 80;
/// The lines that one search of a result finds.
const HITS: usize = 100;

/// What the gateway answers itself.
pub(super) enum Own {
    Find,
    Read,
    /// A result, as a resource.
    Result(Address),
}

/// Why one of the gateway's own tools gave no result.
pub(super) enum OwnToolError {
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
const COSTLY: usize = 10_000;

// === impl Own ===

impl Own {
    /// What is asked for under this name, if it is the gateway's. `call_tool` is not: it is the call of another.
    pub(super) fn of(asked: &Asked, name: Option<&str>, view: &View) -> Option<Self> {
        match &*asked.method {
            method::TOOLS_CALL => match view.own_tool(name?)? {
                FIND => Some(Self::Find),
                READ => Some(Self::Read),
                _ => None,
            },
            method::RESOURCES_READ => Address::parse(name?).map(Self::Result),
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

/// The name under which a tool of ours is shown beside the tools of servers.
pub(super) fn own_name(tool: &str, servers: Named<'_>) -> String {
    let prefix = if servers.tool(tool).is_some() { PREFIX } else { "" };
    [prefix, tool].concat()
}

/// Whether a tool could be one of ours by its name.
pub(super) fn could_be_own(name: &str) -> bool {
    OWN.contains(&name.strip_prefix(PREFIX).unwrap_or(name))
}

/// The definitions of those that are there.
pub(super) fn definitions(is_searched: bool, spill: Spill, servers: Named<'_>) -> Vec<Raw> {
    let [find_name, call_name, read_name] = OWN.map(|tool| own_name(tool, servers));
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
                "limit": { "type": "integer", "minimum": 1, "maximum": MOST },
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
    if spill == Spill::Uri {
        there.push(read);
    }
    there.iter().filter_map(|tool| Raw::of(tool).ok()).collect()
}

/// Whether it is the call of another tool that it holds.
pub(super) fn is_inner(asked: &Asked, name: Option<&str>, view: &View) -> bool {
    asked.method == method::TOOLS_CALL && name.and_then(|name| view.own_tool(name)) == Some(CALL)
}

/// The inner call, of `call_tool`: from here on it is that tool's call, for rules and hooks too.
pub(super) fn inner_of(asked: &Asked) -> Result<Asked, OwnToolError> {
    must_be_object(asked)?;
    let member = |path: &[&str]| asked.params.get_path(path).ok().flatten();
    let name = member(&["arguments", "name"]).filter(|name| name.to_text().is_some());
    let name = name.ok_or_else(|| mistake("/name: expected the name of a tool"))?;
    let arguments = member(&["arguments", "arguments"]).unwrap_or_else(Raw::empty_object);
    if arguments.kind() != JsonKind::Object {
        return Err(mistake("/arguments: expected an object"));
    }
    let edits =
        [Edit::set(&["name"], name.as_str()), Edit::set(&["arguments"], arguments.as_str())];
    let params = asked.params.with(&edits).map_err(|error| invalid(&error.to_string()))?;
    Ok(Asked { params, ..asked.clone() })
}

// === impl View ===

impl View {
    /// The tool of ours that a client calls `name`.
    pub(super) fn own_tool(&self, name: &str) -> Option<&'static str> {
        let bare = name.strip_prefix(PREFIX).unwrap_or(name);
        let own = OWN.into_iter().find(|own| *own == bare)?;
        let bridge = self.bridge();
        let catalog = bridge.engine.catalog_for(self.principal().ok()?)?;
        (own_name(own, catalog.named(bridge.options.names)) == name).then_some(own)
    }

    /// Finds tools, under the names this client calls them by.
    pub(super) fn find(&self, asked: &Asked, snapshot: &Snapshot) -> Result<Raw, OwnToolError> {
        must_be_object(asked)?;
        let query = argument(asked, "query").and_then(|query| query.to_text());
        let query = query.ok_or_else(|| mistake("/query: expected text"))?;
        let limit = argument(asked, "limit").and_then(|limit| limit.decode().ok());
        let limit = limit.unwrap_or(FOUND).clamp(1, MOST);
        let named = snapshot.catalog.named(self.bridge().options.names);
        let found = snapshot.catalog.search(&query, usize::MAX);
        let tools: Vec<Value> = found
            .iter()
            .filter_map(|hit| match snapshot.catalog.tool(&hit.name) {
                Some(listed) if self.shows(listed.server()) => {
                    Some(described(listed, named.tool_name(&listed.name)?))
                }
                Some(_) => None,
                // One of our own.
                None => Some(described(snapshot.catalog.found(&hit.name)?, &hit.name)),
            })
            .take(limit)
            .collect();
        let text = serde_json::to_string(&tools).unwrap_or_default();
        Ok(told(&text))
    }

    /// Reads on in a result, or searches it, as a tool.
    pub(super) async fn read_on(&self, asked: &Asked) -> Result<Raw, OwnToolError> {
        must_be_object(asked)?;
        let uri = argument(asked, "uri").and_then(|uri| uri.to_text()).unwrap_or_default();
        let mut address = Address::parse(&uri)
            .ok_or_else(|| mistake("/uri: expected `switchboard://results/…`"))?;
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
        let text = self.part(address).await.map_err(OwnToolError::into_rpc)?;
        let contents = json!([{ "uri": uri, "mimeType": "text/plain", "text": text }]);
        Ok(raw(&json!({ "contents": contents })))
    }

    async fn part(&self, address: &Address) -> Result<String, OwnToolError> {
        let store = self.bridge().engine.results();
        let store = store.ok_or_else(|| mistake("no results are kept"))?;
        let owner = &self.opening.principal;
        let most = self.bridge().options.results.limit().clamp(MIN_SLICE, SLICE);
        self::part(store, owner, address, most).await.map_err(|error| match error {
            StoreError::Missing | StoreError::Pattern { .. } => mistake(&error.to_string()),
            error => OwnToolError::Rpc(RpcError::new(code::INTERNAL_ERROR, error.to_string())),
        })
    }
}

// === impl OwnToolError ===

impl From<RpcError> for OwnToolError {
    fn from(error: RpcError) -> Self {
        Self::Rpc(error)
    }
}

impl OwnToolError {
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
async fn part(
    store: &Store,
    owner: &str,
    address: &Address,
    most: usize,
) -> Result<String, StoreError> {
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
                let mut found = lines.join("\n");
                found.truncate(found.floor_char_boundary(most));
                found
            });
        }
        Want::Whole => (0, SLICE),
        Want::Part { offset, length } => (*offset, *length),
    };
    // Where it goes on is said below it.
    let length = length.min(most.saturating_sub(GOES_ON)).max(1);
    let slice = store.read(owner, &address.id, offset, length).await?;
    Ok(match slice.next {
        Some(next) => format!("{}\n[goes on at offset {next} of {}]", slice.text, slice.total),
        None => slice.text,
    })
}

/// A tool as a model is told of it when it looks for one.
fn described(listed: &Listed, name: &str) -> Value {
    json!({
        "name": name,
        "description": listed.tool.description,
        "inputSchema": listed.tool.input_schema,
    })
}

fn argument(asked: &Asked, key: &str) -> Option<Raw> {
    asked.params.get_path(&["arguments", key]).ok().flatten()
}

fn mistake(text: &str) -> OwnToolError {
    OwnToolError::Arguments(text.to_owned())
}

/// Refuses `arguments` that are no object; they may be absent.
pub(super) fn must_be_object(asked: &Asked) -> Result<(), RpcError> {
    let arguments = asked.params.get("arguments").ok().flatten();
    if arguments.is_none_or(|arguments| arguments.kind() == JsonKind::Object) {
        return Ok(());
    }
    Err(invalid("`arguments` is not an object"))
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
