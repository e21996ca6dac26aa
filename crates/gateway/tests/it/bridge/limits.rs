//! Tests of result limits: results cut to a client's limit, and results that pass unchanged.

use serde_json::{Value, json};
use switchboard_core::results::ResultPolicy;
use switchboard_gateway::bridge::BridgeOptions;
use switchboard_wire::client::{CallRequest, Client};
use switchboard_wire::{Era, Version};

use super::server::PIXEL;
use super::{Gateway, raw, soon};

fn limited_to(results: ResultPolicy) -> BridgeOptions {
    BridgeOptions { results, ..BridgeOptions::default() }
}

/// The first content block of a tool's result.
async fn first_block(client: &Client, tool: &str, arguments: &Value) -> Value {
    let call = client.call(CallRequest::call_tool(tool, &raw(&arguments.to_string())));
    let result: Value = soon(call.result()).await.unwrap().decode().unwrap();
    result["content"][0].clone()
}

#[tokio::test]
async fn the_limits_of_images_count_for_clients_whose_results_are_limited() {
    let small = r#"{"limits":{"imageBytes":20}}"#;
    for (settings, results, passes) in [
        ("{}", ResultPolicy::gateway(), true),
        (small, ResultPolicy::gateway(), false),
        (small, ResultPolicy::gateway().with_tokens(50_000), false),
        (small, ResultPolicy::unlimited(), true),
    ] {
        let options = limited_to(results);
        let gateway = Gateway::with_user_settings(Era::Modern, settings, options).await;
        for version in [Version::LATEST_LEGACY, Version::LATEST] {
            let (client, _inbox) = gateway.client(version, "{}").await;
            let block = first_block(&client, "one__picture", &json!({})).await;
            assert_eq!(block["data"] == PIXEL, passes, "{settings}, {results:?}: {block}");
            let is_said = block["text"].as_str().is_some_and(|text| text.contains("left out"));
            assert_eq!(is_said, !passes, "{settings}, {results:?}: {block}");
            client.close().await;
        }
        gateway.engine.shutdown().await;
    }
}

/// The limit also holds below the length of a preview, and for `read_result`.
#[tokio::test]
async fn a_small_limit_limits() {
    for tokens in [30, 100, 300] {
        let options = limited_to(ResultPolicy::gateway().with_tokens(tokens));
        let gateway = Gateway::with(Era::Legacy, "{}", options).await;
        let (client, _inbox) = gateway.client(Version::LATEST, "{}").await;
        let block = first_block(&client, "one__long", &json!({})).await;
        let note = block["text"].as_str().unwrap();
        assert!(note.chars().count() <= 4 * tokens, "{tokens} tokens: {note}");
        let start = note.find("switchboard://results/").unwrap();
        let uri: String = note[start..]
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || ":/_-".contains(*c))
            .collect();
        for arguments in [json!({ "uri": uri }), json!({ "uri": uri, "search": "line" })] {
            let block = first_block(&client, "read_result", &arguments).await;
            let text = block["text"].as_str().unwrap();
            assert!(text.starts_with("line 1"), "{tokens} tokens: {text}");
            assert!(text.chars().count() <= (4 * tokens).max(200), "{tokens} tokens: {text}");
        }
        client.close().await;
        gateway.engine.shutdown().await;
    }
}

/// A modern server's results name the server in `_meta`. A legacy client gets neither that member nor an empty
/// `_meta`.
#[tokio::test]
async fn a_legacy_client_gets_no_empty_meta() {
    let gateway = Gateway::start(Era::Modern, "{}").await;
    for version in Version::ALL.into_iter().filter(|version| version.era() == Era::Legacy) {
        let (client, _inbox) = gateway.client(version, "{}").await;
        let echo = client.call(CallRequest::call_tool("one__echo", &raw("{}"))).result();
        let read = client.call(CallRequest::read_resource("note://a")).result();
        for result in [soon(echo).await.unwrap(), soon(read).await.unwrap()] {
            let meta = result.get("_meta").unwrap();
            // For a resource of two servers, our `_meta` says which one was read.
            assert!(meta.is_none_or(|meta| meta.as_str() != "{}"), "{version}: {result}");
        }
        client.close().await;
    }
    gateway.engine.shutdown().await;
}
