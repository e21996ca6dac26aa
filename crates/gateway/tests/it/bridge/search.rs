//! Tests of tool search, and of `read_result`.

use serde_json::{Value, json};
use switchboard_core::engine::EngineEventKind;
use switchboard_core::results::ResultPolicy;
use switchboard_gateway::bridge::{BridgeOptions, ToolSearch};
use switchboard_gateway::view_provider::ViewSelection;
use switchboard_wire::client::{CallRequest, Client, ListKind};
use switchboard_wire::{Era, Version};

use super::{Gateway, raw, soon};

async fn names(client: &Client) -> Vec<String> {
    let tools = client.list(ListKind::Tools).await.unwrap();
    let name =
        |tool: &switchboard_wire::json::Raw| tool.get("name").unwrap().unwrap().to_text().unwrap();
    tools.items.iter().map(name).collect()
}

async fn call(client: &Client, tool: &str, arguments: &Value) -> Result<Value, i64> {
    let call = client.call(CallRequest::call_tool(tool, &raw(&arguments.to_string())));
    let result = soon(call.result()).await.map_err(|error| error.code().unwrap_or_default())?;
    Ok(result.decode().unwrap_or_default())
}

#[tokio::test]
async fn with_search_on_a_tool_is_found_and_then_called() {
    let settings = r#"{"permissions":{"deny":["mcp__one__count"]}}"#;
    let options = BridgeOptions { tool_search: ToolSearch::On, ..BridgeOptions::default() };
    let gateway = Gateway::with(Era::Legacy, settings, options).await;
    for version in [Version::LATEST_LEGACY, Version::LATEST] {
        let (client, _inbox) = gateway.client(version, "{}").await;
        assert_eq!(names(&client).await, ["find_tools", "call_tool", "read_result"]);
        let found = call(&client, "find_tools", &json!({ "query": "echo" })).await.unwrap();
        let found: Value =
            serde_json::from_str(found["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(found[0]["name"], "one__echo");
        assert_eq!(found[0]["inputSchema"]["properties"]["n"]["type"], "number");
        let inner = json!({ "name": "one__echo", "arguments": { "n": 7 } });
        let echoed =
            client.call(CallRequest::call_tool("call_tool", &raw(&inner.to_string()))).result();
        let echoed = soon(echoed).await.unwrap();
        assert!(echoed.as_str().contains(r#""echo":{"n":7}"#), "{echoed}");
        // Rules apply to the inner tool.
        let denied = json!({ "name": "one__count" });
        assert_eq!(call(&client, "call_tool", &denied).await.unwrap_err(), -32603);
        client.close().await;
    }
    gateway.engine.shutdown().await;
}

#[tokio::test]
async fn a_short_list_is_listed_when_the_cost_decides() {
    let options = BridgeOptions { tool_search: ToolSearch::Auto, ..BridgeOptions::default() };
    let gateway = Gateway::with(Era::Modern, "{}", options).await;
    let (client, _inbox) = gateway.client(Version::LATEST, "{}").await;
    assert!(names(&client).await.contains(&"one__echo".to_owned()));
    gateway.engine.shutdown().await;
}

#[tokio::test]
async fn a_long_result_is_read_on_in_by_its_own_principal() {
    let results = ResultPolicy { max_chars: 100, ..ResultPolicy::gateway() };
    let options = BridgeOptions { results, ..BridgeOptions::default() };
    let gateway = Gateway::with(Era::Modern, "{}", options).await;
    let (client, _inbox) = gateway.client(Version::LATEST, "{}").await;
    let long = call(&client, "one__long", &json!({})).await.unwrap();
    let note = long["content"][0]["text"].as_str().unwrap();
    let start = note.find("switchboard://results/").unwrap();
    let uri: String = note[start..]
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || ":/_-".contains(*c))
        .collect();
    assert!(!note.contains(std::env::temp_dir().to_str().unwrap()), "a path was told: {note}");

    let part = json!({ "uri": uri, "offset": 0, "length": 10 });
    let part = call(&client, "read_result", &part).await.unwrap();
    let text = part["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("line 1 of "), "{text}");
    let found = json!({ "uri": uri, "search": "line 77 " });
    let found = call(&client, "read_result", &found).await.unwrap();
    assert!(found["content"][0]["text"].as_str().unwrap().starts_with("line 77,"), "{found}");
    let read =
        soon(client.call(CallRequest::read_resource(&format!("{uri}?offset=0&length=4"))).result())
            .await;
    assert!(read.unwrap().as_str().contains("line"));

    let everything = ViewSelection::Everything;
    let (stranger, _b) = gateway.client_of(Version::LATEST, "{}", "you", everything).await;
    let mut events = gateway.engine.calls();
    let refused = call(&stranger, "read_result", &json!({ "uri": uri })).await.unwrap();
    assert_eq!(refused["isError"], true, "{refused}");
    call(&client, "read_result", &json!({ "uri": uri })).await.unwrap();
    let mut told = Vec::new();
    while let Ok(event) = events.try_recv() {
        if let EngineEventKind::Called(called) = event.what {
            told.push((
                called.caller.principal.name().to_owned(),
                called.name.clone(),
                called.end.word(),
            ));
        }
    }
    let line = |who: &str, word| (who.to_owned(), "read_result".to_owned(), word);
    assert_eq!(told, [line("you", "failed"), line("me", "ok")], "who read is on record");
    gateway.engine.shutdown().await;
}
