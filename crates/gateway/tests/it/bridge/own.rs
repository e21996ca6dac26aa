//! Tests of the gateway's own tools beside servers' tools: equal names, and tools for resources.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use switchboard_core::catalog::NameStyle;
use switchboard_core::engine::InProcessServer;
use switchboard_core::principal::LOCAL_PRINCIPAL;
use switchboard_core::results::ResultPolicy;
use switchboard_gateway::bridge::{BridgeOptions, ToolSearch};
use switchboard_gateway::view_provider::ViewSelection;
use switchboard_wire::client::{CallRequest, Client, ListKind};
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::Raw;
use switchboard_wire::link::pair::link_pair;
use switchboard_wire::server::{
    ChangeBroadcaster, HandlerReply, HandlerRequest, RequestContext, ServeOptions,
    ServerDescription, ServerHandler, serve,
};
use switchboard_wire::{Era, Version};
use tokio::sync::Semaphore;

use super::{Gateway, raw, soon};

/// A server with tools that have the names of the gateway's tools, and others for bare names. It lists them when it
/// gets a permit.
struct Namesake(Semaphore);

/// The longest name that the protocol allows.
const LONGEST: &str = concat!(
    "name_of_thirty_two_characters_1.name_of_thirty_two_characters_2.",
    "name_of_thirty_two_characters_3.name_of_thirty_two_characters_4."
);
const TOOLS: [&str; 7] = [
    "read_result",
    "switchboard_read_result",
    "find_tools",
    "call_tool",
    "ListMcpResources",
    "a.b",
    LONGEST,
];
/// The name of a tool with an invalid character, and its displayed bare name.
const REDUCED: [&str; 2] = ["x y", "x_y"];

impl Namesake {
    fn in_process(self: &Arc<Self>) -> InProcessServer {
        let server = Arc::clone(self);
        InProcessServer::from_link("one", move || {
            let (ours, theirs) = link_pair();
            let server = Arc::clone(&server);
            tokio::spawn(async move {
                // The session ends with its link.
                let _ =
                    serve(theirs, server, &ChangeBroadcaster::default(), ServeOptions::default())
                        .await;
            });
            Ok(ours)
        })
    }

    async fn gateway(self: &Arc<Self>, options: BridgeOptions) -> Gateway {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        Gateway::among(folder, vec![self.in_process()], "{}", options).await
    }
}

impl ServerHandler for Namesake {
    fn describe(&self) -> ServerDescription {
        ServerDescription {
            info: raw(r#"{"name":"namesake","version":"1"}"#),
            capabilities: raw(r#"{"tools":{},"resources":{}}"#),
            instructions: None,
        }
    }

    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        _: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        Box::pin(async move {
            let result = match &*asked.method {
                "tools/list" => {
                    let _may = self.0.acquire().await.unwrap();
                    let tool = |name| json!({ "name": name, "inputSchema": { "type": "object" } });
                    let tools: Vec<_> = TOOLS.into_iter().chain([REDUCED[0]]).map(tool).collect();
                    json!({ "tools": tools })
                }
                "resources/list" => json!({ "resources": [{ "uri": "r:1", "name": "r" }] }),
                "resources/templates/list" => json!({ "resourceTemplates": [] }),
                "tools/call" => {
                    let name = asked.params.get("name").unwrap().unwrap();
                    let long = "x".repeat(1000);
                    json!({ "content": [{ "type": "text", "text": format!("by {name} {long}") }] })
                }
                other => return Err(RpcError::new(code::METHOD_NOT_FOUND, other)),
            };
            Ok(HandlerReply::Complete(Raw::from_value(&result).unwrap()))
        })
    }
}

async fn names(client: &Client) -> Vec<String> {
    let tools = soon(client.list(ListKind::Tools)).await.unwrap();
    tools.items.iter().map(|tool| tool.get("name").unwrap().unwrap().to_text().unwrap()).collect()
}

async fn text(client: &Client, tool: &str, arguments: &Value) -> String {
    let call = client.call(CallRequest::call_tool(tool, &raw(&arguments.to_string())));
    let result = soon(call.result()).await.unwrap_or_else(|error| panic!("{tool}: {error}"));
    let result: Value = result.decode().unwrap();
    result["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

fn bare(tool_search: ToolSearch) -> BridgeOptions {
    BridgeOptions {
        names: NameStyle::Bare,
        tool_search,
        results: ResultPolicy { max_chars: 800, ..ResultPolicy::gateway() },
        ..BridgeOptions::default()
    }
}

#[tokio::test]
async fn a_servers_tool_keeps_its_bare_name_and_ours_is_renamed() {
    let server = Arc::new(Namesake(Semaphore::new(1)));
    let gateway = server.gateway(bare(ToolSearch::On)).await;
    let (client, _inbox) = gateway.client(Version::LATEST, "{}").await;
    let ours =
        ["switchboard_find_tools", "switchboard_call_tool", "switchboard_switchboard_read_result"];
    assert_eq!(names(&client).await, ours);
    let found = text(&client, ours[0], &json!({ "query": "a.b" })).await;
    assert!(found.contains(r#""name":"a.b""#), "{found}");
    let found = text(&client, ours[0], &json!({ "query": "ListMcpResources" })).await;
    assert_eq!(found.matches(r#""name":"ListMcpResources""#).count(), 1, "{found}");
    for name in REDUCED {
        let said = text(&client, name, &json!({})).await;
        assert!(said.contains("by \"x y\""), "{name}: {said}");
    }
    for tool in TOOLS {
        let by = format!("by \"{tool}\"");
        let said = text(&client, ours[1], &json!({ "name": tool })).await;
        assert!(said.contains(&by), "{tool} through `call_tool`: {said}");
        let said = text(&client, tool, &json!({})).await;
        assert!(said.contains(&by), "{tool}: {said}");
        let uri = said.split_whitespace().find(|word| word.starts_with("switchboard://")).unwrap();
        let part = text(&client, ours[2], &json!({ "uri": uri, "offset": 0, "length": 400 })).await;
        assert!(part.contains(&by), "{part}");
    }
    gateway.engine.shutdown().await;

    let gateway = server.gateway(bare(ToolSearch::Off)).await;
    let (client, _inbox) = gateway.client(Version::LATEST, "{}").await;
    let listed = names(&client).await;
    let builtin = ["ReadMcpResource", "switchboard_switchboard_read_result"];
    let expected = [&TOOLS[..], &REDUCED[1..], &builtin].concat();
    assert_eq!(listed, expected, "each name once");
    gateway.engine.shutdown().await;
}

/// A client whose server is still starting waits in its handshake, and may call a tool without listing.
#[tokio::test]
async fn the_handshake_waits_for_a_server_that_starts() {
    for (style, tool) in [
        (NameStyle::Bare, "a.b"),
        (NameStyle::Gateway, "one__a_b"),
        (NameStyle::Full, "mcp__one__a_b"),
        (NameStyle::Bare, "read_result"),
    ] {
        let server = Arc::new(Namesake(Semaphore::new(0)));
        let options = BridgeOptions { names: style, ..BridgeOptions::default() };
        let gateway = server.gateway(options).await;
        // The handshake waits for the server, and the first call after it finds the server's tool.
        let everything = ViewSelection::Everything;
        let mut connecting =
            Box::pin(gateway.client_of(Version::LATEST_LEGACY, "{}", LOCAL_PRINCIPAL, everything));
        let (client, _inbox) = tokio::select! {
            biased;
            _ = &mut connecting => panic!("{tool}: the handshake did not wait"),
            () = tokio::task::yield_now() => {
                server.0.add_permits(1);
                connecting.await
            }
        };
        assert!(text(&client, tool, &json!({})).await.starts_with("by "), "{tool}");
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn resources_are_listed_and_read_by_tools() {
    for search in [ToolSearch::Off, ToolSearch::On] {
        let options = BridgeOptions { tool_search: search, ..BridgeOptions::default() };
        let gateway = Gateway::with(Era::Legacy, "{}", options).await;
        for version in [Version::LATEST_LEGACY, Version::LATEST] {
            let (client, _inbox) = gateway.client(version, "{}").await;
            let listed = names(&client).await;
            for name in ["ListMcpResources", "ReadMcpResource"] {
                let is_listed = listed.iter().any(|listed| listed == name);
                assert_eq!(is_listed, search == ToolSearch::Off, "{name} in {listed:?}");
            }
            if search == ToolSearch::On {
                let found =
                    text(&client, "find_tools", &json!({ "query": "read a resource" })).await;
                assert!(found.contains("ReadMcpResource"), "{found}");
                let inner = json!({ "name": "ListMcpResources", "arguments": { "server": "two" } });
                assert!(text(&client, "call_tool", &inner).await.contains("note://a"));
            }
            let all = text(&client, "ListMcpResources", &json!({})).await;
            assert!(
                all.contains(r#""server":"one""#) && all.contains(r#""server":"two""#),
                "{all}"
            );
            let read = json!({ "uri": "note://a", "server": "two" });
            let call =
                client.call(CallRequest::call_tool("ReadMcpResource", &raw(&read.to_string())));
            let read: Value = soon(call.result()).await.unwrap().decode().unwrap();
            assert_eq!(read["content"][0]["resource"]["text"], "read", "{read}");

            let part = ViewSelection::Server("one".into());
            let (alone, _b) = gateway.client_of(version, "{}", "me", part).await;
            let seen = text(&alone, "ListMcpResources", &json!({})).await;
            assert!(seen.contains(r#""server":"one""#) && !seen.contains("two"), "{seen}");
            client.close().await;
        }
        gateway.engine.shutdown().await;
    }
}
