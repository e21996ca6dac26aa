//! Tests of every feature in every pairing of client and server eras.

use serde_json::{Value, json};
use switchboard_config::PermissionMode;
use switchboard_gateway::bridge::BridgeOptions;
use switchboard_wire::client::{CallRequest, Client, ExchangeEvent, InboxEvent, ListKind};
use switchboard_wire::server::ChangeNotification;
use switchboard_wire::{Era, Error, Version};

use super::{ALL, Gateway, raw, soon};

const VERSIONS: [Version; 5] = Version::ALL;

/// Runs a call and answers its questions. Returns the events and the result.
pub(super) async fn run(
    client: &Client,
    call: CallRequest,
    answer: &str,
) -> (Vec<String>, Result<Value, Error>) {
    let mut exchange = client.call(call);
    let mut happened = Vec::new();
    loop {
        match exchange.next().await {
            Ok(ExchangeEvent::Done(result)) => {
                return (happened, Ok(result.decode().unwrap_or_default()));
            }
            Ok(ExchangeEvent::Progress(params)) => {
                let progress = params.get("progress").unwrap().unwrap();
                happened.push(format!("progress {progress}"));
            }
            Ok(ExchangeEvent::Log(params)) => {
                happened.push(format!("log {}", params.get("data").unwrap().unwrap()));
            }
            Ok(ExchangeEvent::NeedsInput(questions)) => {
                happened.extend(questions.iter().map(|question| question.method.clone()));
                exchange.answer(questions.iter().map(|q| q.answer(raw(answer))).collect());
            }
            Ok(_) => {}
            Err(error) => return (happened, Err(error)),
        }
    }
}

#[tokio::test]
async fn every_feature_in_every_version_before_either_era() {
    for era in [Era::Legacy, Era::Modern] {
        let gateway = Gateway::start(era, "{}").await;
        for version in VERSIONS {
            let cell = format!("{version} client, {era} server");
            let (client, _inbox) = gateway.client(version, ALL).await;
            soon(features(&client, &cell)).await;
            client.close().await;
        }
        gateway.engine.shutdown().await;
    }
}

async fn features(client: &Client, cell: &str) {
    let accept = r#"{"action":"accept","content":{"name":"Ada"}}"#;
    let none = raw("{}");
    let names = async |list: ListKind, key: &str| -> Vec<String> {
        let listing = client.list(list).await.unwrap_or_else(|error| panic!("{cell}: {error}"));
        let name =
            |item: &switchboard_wire::json::Raw| item.get(key).unwrap().unwrap().to_text().unwrap();
        listing.items.iter().map(name).collect()
    };
    let tools = names(ListKind::Tools, "name").await;
    assert!(tools.contains(&"one__echo".into()) && tools.contains(&"two__echo".into()), "{cell}");
    assert_eq!(names(ListKind::Prompts, "name").await, ["one__greet", "two__greet"], "{cell}");
    assert_eq!(names(ListKind::Resources, "uri").await, ["note://a", "note://a"], "{cell}");
    let templates = names(ListKind::Templates, "uriTemplate").await;
    assert_eq!(templates, ["note://t/{x}", "note://t/{x}"], "{cell}");

    // A result passes unchanged: numbers that no type here holds, and unknown members.
    let echo = client
        .call(CallRequest::call_tool("two__echo", &raw(r#"{"n":1.50}"#)))
        .result()
        .await
        .unwrap();
    assert!(echo.as_str().contains(r#""echo":{"n":1.50},"odd":[1e400]"#), "{cell}: {echo}");

    let (happened, result) =
        run(client, CallRequest::call_tool("one__count", &none).with_progress(), accept).await;
    assert!(result.is_ok(), "{cell}: {result:?}");
    assert_eq!(happened, ["progress 1", "progress 2", "progress 3"], "{cell}");

    let (happened, result) = run(client, CallRequest::call_tool("one__ask", &none), accept).await;
    assert_eq!(happened, ["elicitation/create"], "{cell}");
    assert_eq!(result.unwrap()["said"]["content"]["name"], "Ada", "{cell}");

    let message = r#"{"role":"assistant","content":{"type":"text","text":"hi"},"model":"m"}"#;
    let (happened, result) =
        run(client, CallRequest::call_tool("one__sample", &none), message).await;
    assert_eq!(happened, ["sampling/createMessage"], "{cell}");
    assert_eq!(result.unwrap()["said"]["model"], "m", "{cell}");

    let prompt = client
        .call(CallRequest::get_prompt("two__greet", &raw(r#"{"x":"1"}"#)))
        .result()
        .await
        .unwrap();
    let prompt: Value = prompt.decode().unwrap();
    assert_eq!(prompt["asked"]["name"], "greet", "{cell}");
    let read = client.call(CallRequest::read_resource("note://a")).result().await.unwrap();
    assert!(read.as_str().contains(r#""odd":1.50"#), "{cell}: {read}");
    let reference = json!({ "ref": { "type": "ref/prompt", "name": "one__greet" },
        "argument": { "name": "x", "value": "a" } });
    let params = raw(&reference.to_string());
    let completed =
        client.call(CallRequest::new("completion/complete", Some(params))).result().await;
    let completed: Value = completed.unwrap().decode().unwrap();
    assert_eq!(completed["completion"]["values"], json!(["greet"]), "{cell}");

    let refused =
        client.call(CallRequest::call_tool("one__fail", &none)).result().await.unwrap_err();
    assert_eq!(refused.code(), Some(-32099), "{cell}: {refused}");
    let unknown =
        client.call(CallRequest::call_tool("one__ecko", &none)).result().await.unwrap_err();
    assert!(unknown.to_string().contains("`one__echo`"), "{cell}: {unknown}");
    let missing =
        client.call(CallRequest::read_resource("note://none/at/all")).result().await.unwrap_err();
    let expected = if client.server_facts().era() == Era::Legacy { -32002 } else { -32602 };
    assert_eq!(missing.code(), Some(expected), "{cell}: {missing}");
}

#[tokio::test]
async fn logs_reach_whoever_wants_them() {
    for era in [Era::Legacy, Era::Modern] {
        let gateway = Gateway::start(era, "{}").await;
        for version in [Version::LATEST_LEGACY, Version::LATEST] {
            let (client, mut inbox) = gateway.client(version, "{}").await;
            client.set_log_level("info").await.unwrap();
            let call = CallRequest::call_tool("one__log", &raw("{}"));
            let (mut happened, result) = soon(run(&client, call, "{}")).await;
            assert!(result.is_ok());
            if version.era() == Era::Legacy {
                // For a legacy client, no member ties a log message to a call.
                let log = async {
                    loop {
                        if let InboxEvent::Log(params) = inbox.next().await.unwrap() {
                            return params;
                        }
                    }
                };
                let params = soon(log).await;
                happened.push(format!("log {}", params.get("data").unwrap().unwrap()));
            }
            assert_eq!(happened, [r#"log "mind the gap""#], "{version} client, {era} server");
            client.close().await;
        }
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn what_a_client_drops_is_cancelled_at_the_server() {
    for era in [Era::Legacy, Era::Modern] {
        for version in [Version::LATEST_LEGACY, Version::LATEST] {
            let gateway = Gateway::start(era, "{}").await;
            let (client, _inbox) = gateway.client(version, "{}").await;
            let mut exchange = client.call(CallRequest::call_tool("one__hang", &raw("{}")));
            let mut hanging = gateway.server.hanging.subscribe();
            tokio::select! {
                event = exchange.next() => panic!("{event:?}"),
                _ = soon(hanging.wait_for(|count| *count == 1)) => {}
            }
            drop(exchange);
            let mut dropped = gateway.server.dropped.subscribe();
            soon(dropped.wait_for(|count| *count == 1)).await.unwrap();
            client.close().await;
            gateway.engine.shutdown().await;
        }
    }
}

/// A client without URL elicitation gets the URL in the tool result, for its model to pass on.
#[tokio::test]
async fn a_client_without_pages_gets_the_address() {
    for era in [Era::Legacy, Era::Modern] {
        let gateway = Gateway::start(era, "{}").await;
        for version in VERSIONS {
            for capabilities in ["{}", r#"{"elicitation":{"form":{}}}"#, r#"{"sampling":{}}"#] {
                let cell = format!("{version} client with {capabilities}, {era} server");
                let (client, _inbox) = gateway.client(version, capabilities).await;
                let pay = CallRequest::call_tool("one__pay", &raw("{}"));
                let (happened, result) = soon(run(&client, pay, "{}")).await;
                assert_eq!(happened, [""; 0], "{cell}: it was asked");
                let result = result.unwrap_or_else(|error| panic!("{cell}: {error}"));
                assert_eq!(result["isError"], true, "{cell}: {result}");
                let text = result["content"][0]["text"].as_str().unwrap();
                assert!(text.contains("Pay. https://pay.test/"), "{cell}: {text}");
                client.close().await;
            }
        }
        gateway.engine.shutdown().await;
    }
}

/// A subscription opens the client's session with the engine, in the permission mode of its view.
#[tokio::test]
async fn a_client_that_subscribes_first_may_call_afterwards() {
    for era in [Era::Legacy, Era::Modern] {
        for version in [Version::LATEST_LEGACY, Version::LATEST] {
            let gateway = Gateway::start(era, "{}").await;
            let (client, _inbox) = gateway.client(version, "{}").await;
            client.subscribe("note://a").await.unwrap();
            let call = client.call(CallRequest::call_tool("one__echo", &raw(r#"{"n":1}"#)));
            let result = soon(call.result()).await;
            assert!(result.is_ok(), "{version} client, {era} server: {result:?}");
            client.close().await;
            gateway.engine.shutdown().await;
        }
    }
}

/// The mode of the view counts first, then that of the settings, then the client's own prompt.
#[tokio::test]
async fn the_mode_of_the_settings_counts() {
    let settings = r#"{"permissions":{"defaultMode":"dontAsk"}}"#;
    let bypass =
        BridgeOptions { mode: Some(PermissionMode::BypassPermissions), ..BridgeOptions::default() };
    for (settings, options, is_permitted) in [
        ("{}", BridgeOptions::default(), true),
        (settings, BridgeOptions::default(), false),
        (settings, bypass, true),
    ] {
        for version in [Version::LATEST_LEGACY, Version::LATEST] {
            let gateway = Gateway::with(Era::Legacy, settings, options.clone()).await;
            let (client, _inbox) = gateway.client(version, "{}").await;
            let call = client.call(CallRequest::call_tool("one__echo", &raw(r#"{"n":1}"#)));
            let result = soon(call.result()).await;
            assert_eq!(result.is_ok(), is_permitted, "{settings}, {version}: {result:?}");
            client.close().await;
            gateway.engine.shutdown().await;
        }
    }
}

#[tokio::test]
async fn changes_are_told() {
    for era in [Era::Legacy, Era::Modern] {
        for version in [Version::LATEST_LEGACY, Version::LATEST] {
            let gateway = Gateway::start(era, "{}").await;
            let (client, mut inbox) = gateway.client(version, "{}").await;
            client.list(ListKind::Tools).await.unwrap();
            client.subscribe("note://a").await.unwrap();
            let telling = async {
                // A modern client listens some time after its subscription.
                loop {
                    gateway.server.changes.announce(ChangeNotification::List(ListKind::Tools));
                    gateway
                        .server
                        .changes
                        .announce(ChangeNotification::Resource("note://a".into()));
                    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                }
            };
            let hearing = async {
                let (mut list, mut resource) = (false, false);
                while !(list && resource) {
                    match inbox.next().await.unwrap() {
                        InboxEvent::ListChanged(ListKind::Tools) => list = true,
                        InboxEvent::ResourceUpdated { uri, .. } => resource = uri == "note://a",
                        _ => {}
                    }
                }
            };
            tokio::select! { () = soon(hearing) => {}, () = telling => {} }
            client.close().await;
            gateway.engine.shutdown().await;
        }
    }
}
