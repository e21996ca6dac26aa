//! The engine's built-in tools: list and read the resources of all servers, for models that have no other way to
//! them.
//!
//! Used by `dispatch::tool`; the gateway, agent loops and searches list them. Reading goes through
//! `dispatch::prompts_and_resources`.

use std::sync::{Arc, LazyLock};

use serde_json::json;
use switchboard_config::Scope;
use switchboard_wire::json::Raw;
use switchboard_wire::meta::method;

use super::call_recorder::CallRecorder;
use super::find::is_meant;
use super::tool::{member, must_be_object};
use super::{CallError, CallOrigin, CallOutcome, Request, Stage};
use crate::catalog::{ConfiguredServer, ListedTool, NameCollisions, NameStyle, Tool};
use crate::permission::DecisionReason;
use crate::schema::ArgumentMistake;

/// The tool that lists the resources of all servers, or of one.
pub const LIST_RESOURCES_TOOL: &str = "ListMcpResources";
/// The tool that reads a resource.
pub const READ_RESOURCE_TOOL: &str = "ReadMcpResource";

/// Returns the definitions of the built-in tools, in the form of `tools/list`.
pub fn tool_definitions() -> [Raw; 2] {
    let list = json!({
        "name": LIST_RESOURCES_TOOL,
        "description": "Lists the resources of the connected MCP servers, each with the server it belongs to. \
            Give `server` to list those of one server only.",
        "inputSchema": {
            "type": "object",
            "properties": { "server": { "type": "string", "description": "The name of a server." } },
            "additionalProperties": false
        },
        "annotations": { "readOnlyHint": true, "openWorldHint": false }
    });
    let read = json!({
        "name": READ_RESOURCE_TOOL,
        "description": "Reads a resource of an MCP server by its URI. Give `server` where more than one may have it.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "server": { "type": "string", "description": "The name of the server." },
                "uri": { "type": "string", "description": "The URI of the resource." }
            },
            "required": ["uri"],
            "additionalProperties": false
        },
        "annotations": { "readOnlyHint": true }
    });
    [list, read].map(Raw::from)
}

/// Returns the built-in tools as items of a catalog: deferred, and of no server.
pub(crate) fn tools() -> &'static [Arc<ListedTool>] {
    static TOOLS: LazyLock<Vec<Arc<ListedTool>>> = LazyLock::new(|| {
        let ours = ConfiguredServer { name: "switchboard", scope: Scope::User };
        let server = NameCollisions::default().server(ours);
        let listed = |definition: &Raw| {
            let tool = Tool::parse(definition, &|_| Ok(())).ok()?;
            let label = server.labels([&*tool.name]).pop()?;
            Some(Arc::new(ListedTool::built_in(label, Arc::new(tool))))
        };
        tool_definitions().iter().filter_map(listed).collect()
    });
    &TOOLS
}

/// Calls a built-in tool, for a client that sees `only` one server or all. Returns `None` if `name` is not a
/// built-in tool.
pub(super) async fn call(
    stage: &Stage,
    name: &str,
    params: &Raw,
    only: Option<&str>,
    record: &mut CallRecorder,
) -> Option<Result<CallOutcome, CallError>> {
    if is_shadowed(stage, name) {
        return None;
    }
    let called = match name {
        LIST_RESOURCES_TOOL => Box::pin(list(stage, params, only)).await,
        READ_RESOURCE_TOOL => Box::pin(read(stage, params, only, record)).await,
        _ => return None,
    };
    Some(called.or_else(|error| mistake_outcome(stage, error, only)))
}

/// The outcome for a wrong server or URI: a result with the valid servers, since a model can correct the mistake. A
/// client that sees `only` one server is told of no other.
fn mistake_outcome(
    stage: &Stage,
    error: CallError,
    only: Option<&str>,
) -> Result<CallOutcome, CallError> {
    let snapshot = stage.snapshot();
    let servers = snapshot.servers_with_resources().filter(|name| is_meant(only, name));
    let servers: Vec<_> = servers.map(|name| format!("`{name}`")).collect();
    let text = match &error {
        CallError::UnmentionedResource { .. } => format!("{error}: give `server`"),
        CallError::NotFound { .. } | CallError::NotStarted { .. } if servers.is_empty() => {
            format!("{error}; no server has resources")
        }
        CallError::NotFound { .. } | CallError::NotStarted { .. } => {
            let servers = servers.join(", ");
            format!("{error}; the servers with resources are {servers}: give `server`")
        }
        _ => return Err(error),
    };
    let content = json!([{ "type": "text", "text": text }]);
    Ok(outcome(&json!({ "content": content, "isError": true }), None))
}

/// Whether a server has a tool of this name in the session's style. The server's tool wins, since resources can be
/// read in other ways.
fn is_shadowed(stage: &Stage, name: &str) -> bool {
    let style = stage.caller.session().names;
    style == NameStyle::Bare && stage.snapshot().catalog.names(style).tool(name).is_some()
}

async fn list(stage: &Stage, params: &Raw, only: Option<&str>) -> Result<CallOutcome, CallError> {
    let server =
        seen_server(argument(LIST_RESOURCES_TOOL, params, "server", ArgumentNeed::No)?, only)?;
    if let Some(server) = &server {
        stage.applied_server(server)?;
    }
    // This call may be the first request of a client.
    stage.await_first_lists(server.as_deref()).await;
    let snapshot = stage.snapshot();
    let wanted = |owner: &str| server.as_deref().is_none_or(|server| server == owner);
    let resources: Vec<_> = snapshot
        .catalog
        .resources()
        .iter()
        .filter(|listed| wanted(listed.server.as_str()))
        .map(|listed| {
            let resource = &listed.resource;
            json!({
                "server": listed.server.as_str(),
                "uri": resource.uri,
                "name": resource.name,
                "description": resource.description,
                "mimeType": resource.mime_type,
            })
        })
        .collect();
    let text = serde_json::Value::Array(resources).to_string();
    Ok(outcome(&json!({ "content": [{ "type": "text", "text": text }] }), None))
}

/// Reads like any other read of a resource; the result takes the form of a tool's.
async fn read(
    stage: &Stage,
    params: &Raw,
    only: Option<&str>,
    record: &mut CallRecorder,
) -> Result<CallOutcome, CallError> {
    let server =
        seen_server(argument(READ_RESOURCE_TOOL, params, "server", ArgumentNeed::No)?, only)?;
    let uri = argument(READ_RESOURCE_TOOL, params, "uri", ArgumentNeed::Yes)?.unwrap_or_default();
    let read = Raw::object([("uri", Raw::string(&uri))]);
    let mut request =
        Request::forward(method::RESOURCES_READ, Some(read)).from_origin(CallOrigin::Model);
    let is_named = server.is_some();
    request.server = server;
    let read =
        super::prompts_and_resources::read_resource(stage, request, record).await?.outcome()?;
    let contents = member(&read.result, "contents")?.unwrap_or_else(Raw::null);
    let mut content: Vec<_> = contents
        .elements()
        .map(|resource| Raw::object([("type", Raw::string("resource")), ("resource", resource)]))
        .collect();
    let note = read.server.as_deref().filter(|_| !is_named);
    let note = note.and_then(|server| other_owners_note(stage, &uri, server));
    content.extend(note.map(|text| Raw::from(json!({ "type": "text", "text": text }))));
    Ok(raw_outcome(Raw::object([("content", Raw::array(content))]), read.server))
}

/// A note on which server was read, where others list an equal URI.
fn other_owners_note(stage: &Stage, uri: &str, server: &str) -> Option<String> {
    let snapshot = stage.snapshot();
    let listed = snapshot.catalog.resources().iter().filter(|listed| listed.resource.uri == uri);
    let others = listed.map(|listed| listed.server.as_str()).filter(|owner| *owner != server);
    let others: Vec<_> = others.map(|owner| format!("`{owner}`")).collect();
    if others.is_empty() {
        return None;
    }
    let others = others.join(", ");
    Some(format!("Read from `{server}`. {others} has this URI too: give `server` to read that."))
}

/// The requested server, if the client sees it. A client that sees only one server means that one.
fn seen_server(asked: Option<String>, only: Option<&str>) -> Result<Option<String>, CallError> {
    match (asked, only) {
        (Some(name), Some(only)) if name != only => {
            Err(CallError::NotFound { name, similar: Vec::new() })
        }
        (asked, only) => Ok(asked.or_else(|| only.map(str::to_owned))),
    }
}

/// Whether an argument is required.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ArgumentNeed {
    Yes,
    No,
}

fn argument(
    tool: &str,
    params: &Raw,
    key: &str,
    needed: ArgumentNeed,
) -> Result<Option<String>, CallError> {
    let arguments = member(params, "arguments")?.unwrap_or_else(Raw::empty_object);
    must_be_object(&arguments)?;
    let wrong = |what: &str| CallError::Arguments {
        name: tool.to_owned(),
        mistakes: vec![ArgumentMistake { path: format!("/{key}"), message: what.to_owned() }],
    };
    match member(&arguments, key)? {
        None if needed == ArgumentNeed::Yes => Err(wrong("expected text, found nothing")),
        None => Ok(None),
        Some(value) => match value.to_text() {
            Some(text) => Ok(Some(text)),
            None => Err(wrong("expected text")),
        },
    }
}

pub(super) fn outcome(result: &serde_json::Value, server: Option<String>) -> CallOutcome {
    raw_outcome(Raw::from(result), server)
}

fn raw_outcome(result: Raw, server: Option<String>) -> CallOutcome {
    CallOutcome {
        result,
        server,
        decision: Some(DecisionReason::BuiltIn),
        context: Vec::new(),
        limited: None,
    }
}
