//! Tests of arguments: passed unchanged, refused if no server could read them, and validated if the settings ask for
//! it.

use serde_json::{Value, json};
use switchboard_gateway::bridge::{BridgeOptions, ToolSearch};
use switchboard_gateway::face::FaceOptions;
use switchboard_wire::client::{CallRequest, Client, ListKind};
use switchboard_wire::{Era, Error, Version};

use super::matrix::run;
use super::{ALL, Gateway, raw, soon};
use crate::face::Served;

const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];
const ACCEPT: &str = r#"{"action":"accept","content":{"name":"Ada"}}"#;
/// `n` should be a number.
const WRONG: &str = r#"{"n":"x","more":[null]}"#;

async fn call(client: &Client, tool: &str, arguments: &str) -> Result<Value, Error> {
    let result = soon(client.call(CallRequest::call_tool(tool, &raw(arguments))).result()).await?;
    // The answer of `echo` contains a number that no double holds.
    Ok(raw(&result.as_str().replace("1e400", "1")).decode().unwrap())
}

/// Checks that a result tells a model which argument is wrong.
fn assert_correctable(result: &Value, place: &str, cell: &str) {
    assert_eq!(result["isError"], true, "{cell}: {result}");
    assert_eq!(result["content"][0]["type"], "text", "{cell}: {result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains(place) && text.contains("call the tool again"), "{cell}: {text}");
}

#[tokio::test]
async fn the_server_judges_arguments_in_every_version() {
    for era in ERAS {
        let gateway = Gateway::start(era, "{}").await;
        for version in Version::ALL {
            let cell = format!("{version} client, {era} server");
            let (client, _inbox) = gateway.client(version, ALL).await;
            let echo = call(&client, "one__echo", WRONG).await.unwrap();
            assert_eq!(echo["echo"], json!({ "n": "x", "more": [null] }), "{cell}");
            // A call that asks is resumed, parked or repeated, in every pairing.
            let asking = CallRequest::call_tool("one__ask", &raw(WRONG));
            let (_, result) = soon(run(&client, asking, ACCEPT)).await;
            assert_eq!(result.unwrap()["said"]["content"]["name"], "Ada", "{cell}");
            client.close().await;
        }
        for version in [Version::V2025_11_25, Version::V2026_07_28] {
            let cell = format!("task, {version} client, {era} server");
            let (client, _inbox) = gateway.client(version, ALL).await;
            soon(client.list(ListKind::Tools)).await.unwrap();
            let task = CallRequest::call_tool("one__task", &raw(r#"{"n":"x","ask":1}"#))
                .as_task(raw(r#"{"ttl":60000}"#));
            let (_, result) = soon(run(&client, task, ACCEPT)).await;
            assert_eq!(result.unwrap()["said"]["content"]["name"], "Ada", "{cell}");
            client.close().await;
        }
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn arguments_that_are_no_object_are_refused() {
    let search = BridgeOptions { tool_search: ToolSearch::On, ..BridgeOptions::default() };
    for era in ERAS {
        let gateway = Gateway::with(era, "{}", search.clone()).await;
        for version in Version::ALL {
            let (client, _inbox) = gateway.client(version, ALL).await;
            for tool in ["one__echo", "find_tools", "call_tool", "read_result", "ListMcpResources"]
            {
                for arguments in ["[]", r#""x""#, "5", "true", "null"] {
                    let refused = call(&client, tool, arguments).await;
                    let code = refused.as_ref().err().and_then(Error::code);
                    let cell = format!("{version} client, {era} server, {tool} {arguments}");
                    assert_eq!(code, Some(-32602), "{cell}: {refused:?}");
                }
            }
            let unknown = call(&client, "one__nothing", "{}").await.unwrap_err();
            assert_eq!(unknown.code(), Some(-32602), "{version}");
            client.close().await;
        }
        let (client, _inbox) = gateway.client(Version::V2025_11_25, ALL).await;
        let task = CallRequest::call_tool("one__task", &raw("[]")).as_task(raw(r#"{"ttl":60000}"#));
        let refused = soon(client.call(task).result()).await.unwrap_err();
        assert_eq!(refused.code(), Some(-32602), "a task of {era}: {refused}");
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn where_arguments_are_checked_a_model_reads_its_mistake() {
    let settings = r#"{"checkArguments":true}"#;
    let search = BridgeOptions { tool_search: ToolSearch::On, ..BridgeOptions::default() };
    for era in ERAS {
        let gateway = Gateway::with_user_settings(era, settings, BridgeOptions::default()).await;
        let searched = Gateway::with_user_settings(era, settings, search.clone()).await;
        for version in Version::ALL {
            let cell = format!("{version} client, {era} server");
            let (client, _inbox) = gateway.client(version, ALL).await;
            let result = call(&client, "one__echo", WRONG).await.unwrap();
            assert_correctable(&result, "/n: expected number", &cell);
            assert!(call(&client, "one__echo", r#"{"n":1}"#).await.is_ok(), "{cell}");
            let unknown = call(&client, "one__nothing", "{}").await.unwrap_err();
            assert_eq!(unknown.code(), Some(-32602), "{cell}");
            client.close().await;

            let (client, _inbox) = searched.client(version, ALL).await;
            let inner = format!(r#"{{"name":"one__echo","arguments":{WRONG}}}"#);
            let result = call(&client, "call_tool", &inner).await.unwrap();
            assert_correctable(&result, "/n: expected number", &cell);
            client.close().await;
        }
        for version in [Version::V2025_11_25, Version::V2026_07_28] {
            let cell = format!("task, {version} client, {era} server");
            let (client, _inbox) = gateway.client(version, ALL).await;
            soon(client.list(ListKind::Tools)).await.unwrap();
            let task =
                CallRequest::call_tool("one__task", &raw(WRONG)).as_task(raw(r#"{"ttl":60000}"#));
            let (_, result) = soon(run(&client, task, ACCEPT)).await;
            assert_correctable(&result.unwrap(), "/n: expected number", &cell);
            client.close().await;
        }
        gateway.engine.shutdown().await;
        searched.engine.shutdown().await;
    }
}

/// The gateway's own tools validate their arguments under all settings.
#[tokio::test]
async fn the_gateways_own_tools_tell_a_model_its_mistake() {
    let options = BridgeOptions { tool_search: ToolSearch::On, ..BridgeOptions::default() };
    let gateway = Gateway::with(Era::Modern, "{}", options).await;
    for version in Version::ALL {
        let (client, _inbox) = gateway.client(version, "{}").await;
        for (tool, arguments, place) in [
            ("find_tools", "{}", "/query"),
            ("call_tool", "{}", "/name"),
            ("call_tool", r#"{"name":"one__echo","arguments":[]}"#, "/arguments"),
            ("read_result", r#"{"uri":"file:///etc/passwd"}"#, "/uri"),
            ("read_result", r#"{"uri":"switchboard://results/none"}"#, "result"),
        ] {
            let result = call(&client, tool, arguments).await.unwrap();
            assert_correctable(&result, place, &format!("{version} client, {tool} {arguments}"));
        }
        client.close().await;
    }
    gateway.engine.shutdown().await;
}

/// `region` of `routed` is repeated in a header, which its server compares with the body.
#[tokio::test]
async fn a_header_carries_any_scalar_and_nothing_else() {
    let upstream = Served::start(FaceOptions::local()).await;
    let servers = json!({ "mcpServers": { "far": { "type": "http", "url": upstream.url("/mcp"), "era": "modern" } } });
    let gateway = Gateway::start(Era::Modern, &servers.to_string()).await;
    for version in Version::ALL {
        let (client, _inbox) = gateway.client(version, "{}").await;
        soon(client.list(ListKind::Tools)).await.unwrap();
        for region in [r#""here""#, "7", "-0.25", "1e400", "true", "null"] {
            let arguments = format!(r#"{{"region":{region}}}"#);
            let routed = CallRequest::call_tool("far__routed", &raw(&arguments));
            let result = soon(client.call(routed).result()).await;
            let result = result.unwrap_or_else(|error| panic!("{version} {region}: {error}"));
            assert!(result.as_str().contains(&arguments), "{version} {region}: {result}");
        }
        for region in [r#"{"a":1}"#, r#"["here"]"#] {
            let result = call(&client, "far__routed", &format!(r#"{{"region":{region}}}"#)).await;
            assert_correctable(&result.unwrap(), "/region", &format!("{version} {region}"));
        }
        client.close().await;
    }
    gateway.engine.shutdown().await;
    upstream.close().await;
}
