//! Tests of the messages of extensions: progress, cancellation, permission, hidden servers, and peers that misuse them.

use serde_json::{Value, json};
use switchboard_config::PermissionMode;
use switchboard_core::audit::{CallDecision, CallEnd, CallRecord};
use switchboard_core::connection::LostCapability;
use switchboard_core::engine::EngineEventKind;
use switchboard_gateway::bridge::BridgeOptions;
use switchboard_gateway::view_provider::ViewSelection;
use switchboard_wire::client::{CallRequest, Client, ExchangeEvent, ResultTypes};
use switchboard_wire::json::Raw;
use switchboard_wire::link::LinkFrame;
use switchboard_wire::server::ChangeNotification;
use switchboard_wire::{Era, Error, Version};
use tokio::sync::{broadcast, watch};

use super::extensions::{announced, list_things, names};
use super::matrix::run;
use super::thing_server::{CLIENT, ID, ThingServer, gateway, pairings, with_settings};
use super::{Gateway, raw, soon};

/// The next call that ends.
pub(super) async fn next_record(
    calls: &mut broadcast::Receiver<switchboard_core::engine::EngineEvent>,
) -> std::sync::Arc<CallRecord> {
    match soon(calls.recv()).await.unwrap().what {
        EngineEventKind::Called(record) => record,
        other => panic!("{other:?}"),
    }
}

/// What the report says of the losses of the first client, once there are so many.
async fn losses(gateway: &Gateway, count: usize) -> Vec<LostCapability> {
    let mut changes = gateway.engine.changes();
    loop {
        let snapshot = gateway.engine.snapshot(&"test".into()).unwrap();
        match snapshot.extensions.clients.first() {
            Some(first) if first.lost.len() == count => return first.lost.clone(),
            _ => soon(changes.changed()).await.unwrap(),
        }
    }
}

/// Waits until a server has got a notification or a request.
async fn until_got(seen: &watch::Sender<Vec<String>>, expected: &str) {
    let mut seen = seen.subscribe();
    soon(seen.wait_for(|seen| seen.iter().any(|one| one == expected))).await.unwrap();
}

#[tokio::test]
async fn an_unknown_request_has_progress_and_can_be_cancelled() {
    for (era, version) in pairings() {
        let cell = format!("{version} client, {era} server");
        let server = ThingServer::new("{}");
        let gateway = gateway(&[("one", &server)], era).await;
        let (client, _inbox) = gateway.client(version, CLIENT).await;
        let counting = CallRequest::new("things/count", None).with_progress();
        let (happened, result) = soon(run(&client, counting, "{}")).await;
        assert_eq!(happened, ["progress 1", "progress 2", "progress 3"], "{cell}: {result:?}");
        assert_eq!(result.unwrap()["counted"], 3, "{cell}");

        let mut waiting = client.call(CallRequest::new("things/wait", None));
        tokio::select! {
            event = waiting.next() => panic!("{cell}: {event:?}"),
            () = until_got(&server.requested, "things/wait") => {}
        }
        drop(waiting);
        let mut cancelled = server.cancelled.subscribe();
        soon(cancelled.wait_for(|cancelled| *cancelled == 1)).await.unwrap();
        gateway.engine.shutdown().await;
    }
}

/// A result of a type that only the extension defines. Legacy results have no types.
#[tokio::test]
async fn a_result_of_an_extensions_own_type_passes() {
    for (era, version) in pairings() {
        let cell = format!("{version} client, {era} server");
        let server = ThingServer::new("{}");
        let gateway = gateway(&[("one", &server)], era).await;
        let offer = async |client: &Client| {
            let asked = CallRequest::new("things/offer", Some(raw("{}")));
            soon(client.call(asked.with_result_types(ResultTypes::OfExtensions)).result()).await
        };
        let (client, _inbox) = gateway.client(version, CLIENT).await;
        let offered = offer(&client).await;
        let (plain, _inbox) = gateway.client(version, "{}").await;
        let unknown = offer(&plain).await;
        let refusal = "its type is \"things/offer\"";
        match (version.era(), era) {
            (_, Era::Legacy) => {
                assert!(offered.unwrap().as_str().contains(r#""offer":[1.50]"#), "{cell}");
                assert!(unknown.is_ok(), "{cell}");
            }
            (Era::Modern, Era::Modern) => {
                let offered = offered.unwrap();
                let expected = r#"{"resultType":"things/offer","offer":[1.50]"#;
                assert!(offered.as_str().starts_with(expected), "{cell}: {offered}");
                assert!(unknown.unwrap_err().to_string().contains(refusal), "{cell}");
            }
            (Era::Legacy, Era::Modern) => {
                for refused in [offered, unknown] {
                    assert!(refused.unwrap_err().to_string().contains(refusal), "{cell}");
                }
            }
        }
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn a_server_may_declare_an_extension_to_those_that_declare_it() {
    for (era, version) in pairings() {
        let cell = format!("{version} client, {era} server");
        let server = ThingServer::choosy();
        let gateway = gateway(&[("one", &server)], era).await;
        let declared = async |client: &Client| {
            names(client).await;
            let capabilities = client.server_facts().capabilities.clone();
            capabilities.get_path(&["extensions", ID]).unwrap().map(|found| found.to_string())
        };
        let (client, _inbox) = gateway.client(version, CLIENT).await;
        assert_eq!(declared(&client).await.as_deref(), Some(r#"{ "b":2.50 }"#), "{cell}");
        let (plain, _inbox) =
            gateway.client_of(version, "{}", "other", ViewSelection::Everything).await;
        assert_eq!(declared(&plain).await, None, "{cell}");
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn a_notification_of_a_server_reaches_clients_without_extensions() {
    for (era, version) in pairings() {
        for capabilities in [
            r#"{"tools":{"listChanged":true},"experimental":{"odd":{}}}"#,
            r#"{"tools":{"listChanged":true}}"#,
        ] {
            let cell = format!("{version} client, {era} server that declares {capabilities}");
            let server = ThingServer::declaring(capabilities);
            let gateway = gateway(&[("one", &server)], era).await;
            let (plain, mut inbox) = gateway.client(version, "{}").await;
            names(&plain).await;
            let heard = soon(announced(&server, &mut inbox)).await;
            assert_eq!(heard, "notifications/things/changed 2.50", "{cell}");
            gateway.engine.shutdown().await;
        }
    }
}

#[tokio::test]
async fn messages_of_extensions_are_recorded_with_the_decision() {
    let name = format!("mcp__one__method:{}", "things/list");
    for (settings, mode, is_allowed) in [
        (json!({}), PermissionMode::Client, true),
        (json!({}), PermissionMode::Plan, false),
        (json!({}), PermissionMode::DontAsk, false),
        (json!({ "permissions": { "deny": [name] } }), PermissionMode::Client, false),
        (json!({ "permissions": { "deny": ["mcp__one"] } }), PermissionMode::Client, false),
    ] {
        let about = format!("{settings} {mode:?}");
        let server = ThingServer::new("{}");
        let options = BridgeOptions { mode: Some(mode), ..BridgeOptions::default() };
        let servers = [("one", &server)];
        let gateway = with_settings(&servers, Era::Legacy, &settings.to_string(), options).await;
        let (client, _inbox) = gateway.client(Version::LATEST_LEGACY, CLIENT).await;
        names(&client).await;
        let mut calls = gateway.engine.calls();
        let outcome = list_things(&client, "{}").await;
        let request = next_record(&mut calls).await;
        soon(client.notify("things/list", Some(&raw(r#"{"depth":1}"#)))).await.unwrap();
        let notification = next_record(&mut calls).await;
        assert_eq!(outcome.is_ok(), is_allowed, "{about}: {outcome:?}");
        for record in [&request, &notification] {
            assert_eq!((&*record.server, &*record.method), ("one", "things/list"), "{about}");
            let was_allowed = matches!(record.decision, Some(CallDecision::Allowed(_)));
            assert_eq!(was_allowed, is_allowed, "{about}: {record:?}");
        }
        assert_eq!(server.requested.borrow().is_empty(), !is_allowed, "{about}");
        if is_allowed {
            until_got(&server.notified, "things/list 1").await;
        } else {
            assert!(matches!(request.decision, Some(CallDecision::Denied(_))), "{about}");
            assert!(matches!(request.end, CallEnd::Refused), "{:?}", request.end);
            assert!(server.notified.borrow().is_empty(), "{about}");
        }
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn hooks_see_a_method_as_a_tool() {
    let check = async |matcher: &str, command: &str, refusal: Option<&str>| {
        let hook = json!({ "type": "command", "command": command });
        let hooks = json!({ "PreToolUse": [{ "matcher": matcher, "hooks": [hook] }] });
        let settings = json!({ "hooks": hooks }).to_string();
        let server = ThingServer::new("{}");
        let options = BridgeOptions::default();
        let gateway = with_settings(&[("one", &server)], Era::Modern, &settings, options).await;
        let (client, _inbox) = gateway.client(Version::LATEST, CLIENT).await;
        match (list_things(&client, r#"{"n":1}"#).await, refusal) {
            (Ok(_), None) => {}
            (Err(error), Some(reason)) if error.contains(reason) => {}
            (outcome, _) => panic!("{matcher} {command}: {outcome:?}"),
        }
        assert_eq!(server.requested.borrow().is_empty(), refusal.is_some(), "{matcher}");
        gateway.engine.shutdown().await;
    };
    let method = "mcp__one__method:things/list";
    check(method, r#"grep -q '"n":1' && echo not today >&2 && exit 2"#, Some("not today")).await;
    check("mcp__one__method:other", "exit 2", None).await;
    let output = json!({ "hookEventName": "PreToolUse", "updatedInput": { "n": 2 } });
    let output = json!({ "hookSpecificOutput": output });
    let changes = format!("echo '{output}'");
    check(method, &changes, Some("a hook changes its parameters")).await;
}

#[tokio::test]
async fn a_server_that_rules_hide_has_no_extensions_here() {
    let settings = json!({ "permissions": { "deny": ["mcp__two"] } }).to_string();
    for (era, version) in pairings() {
        let cell = format!("{version} client, {era} server");
        let servers = [ThingServer::new(r#"{ "b":2.50 }"#), ThingServer::new(r#"{"n":1}"#)];
        let both = [("one", &servers[0]), ("two", &servers[1])];
        let gateway = with_settings(&both, era, &settings, BridgeOptions::default()).await;
        let part = ViewSelection::Everything;
        let (client, mut inbox) = gateway.client_of(version, CLIENT, "local", part).await;
        names(&client).await;
        let declared = client.server_facts().capabilities.get_path(&["extensions", ID]).unwrap();
        assert_eq!(declared.unwrap().as_str(), r#"{ "b":2.50 }"#, "{cell}");
        let listed = list_things(&client, "{}").await;
        assert!(listed.is_ok(), "{cell}: {listed:?}");
        assert!(servers[1].requested.borrow().is_empty(), "{cell}");
        let report = gateway.engine.snapshot(&"test".into()).unwrap().extensions.clone();
        let agreed: Vec<&str> = report.clients[0].negotiated.keys().map(String::as_str).collect();
        assert_eq!(agreed, ["one"], "{cell}");
        assert_eq!(report.clients[0].lost, [], "{cell}");
        // Nothing of the hidden server comes before the notification of the other one.
        let hidden = ("notifications/things/hidden".to_owned(), raw(r#"{"n":0}"#));
        servers[1].changes.announce(ChangeNotification::Other(hidden.0, hidden.1));
        let heard = soon(announced(&servers[0], &mut inbox)).await;
        assert_eq!(heard, "notifications/things/changed 2.50", "{cell}");
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn a_message_of_the_protocol_in_another_form_reaches_no_server() {
    for (era, version) in pairings() {
        let cell = format!("{version} client, {era} server");
        let server = ThingServer::new("{}");
        let gateway = gateway(&[("one", &server)], era).await;
        let (client, _inbox) = gateway.client(version, CLIENT).await;
        names(&client).await;
        let params = raw(r#"{"requestId":1,"name":"one__plain","arguments":{},"depth":1}"#);
        for method in [
            "notifications/cancelled",
            "notifications/initialized",
            "notifications/things/moved",
            "sampling/createMessage",
            "elicitation/create",
            "roots/list",
        ] {
            let request = CallRequest::new(method, Some(params.clone()));
            let refused = soon(client.call(request).result()).await.unwrap_err();
            assert_eq!(refused.code(), Some(-32601), "{cell}, {method}: {refused}");
        }
        for method in ["tools/call", "tools/list", "roots/list", "tasks/cancel"] {
            soon(client.notify(method, Some(&params))).await.unwrap();
        }
        soon(client.notify("notifications/things/moved", Some(&params))).await.unwrap();
        until_got(&server.notified, "notifications/things/moved 1").await;
        assert_eq!(*server.notified.borrow(), ["notifications/things/moved 1"], "{cell}");
        assert_eq!(*server.requested.borrow(), [""; 0], "{cell}");
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn a_notification_goes_to_the_server_that_it_names() {
    let method = "notifications/things/moved";
    for (era, version) in pairings() {
        let cell = format!("{version} client, {era} server");
        let servers = [ThingServer::new("{}"), ThingServer::new("{}")];
        let gateway = gateway(&[("one", &servers[0]), ("two", &servers[1])], era).await;
        let (client, _inbox) = gateway.client(version, CLIENT).await;
        names(&client).await;
        let elsewhere = json!({ "_meta": { "switchboard/server": "three" } });
        for (named, params) in [
            (method, json!({ "name": "two__plain", "depth": 1 })),
            (method, json!({ "uri": "ui://two.switchboard/x", "depth": 2 })),
            (method, json!({ "depth": 3, "_meta": { "switchboard/server": "two" } })),
            ("notifications/things/absent", elsewhere),
            ("notifications/things/nowhere", json!({ "uri": "ui://three.switchboard/x" })),
            ("notifications/things/unclear", json!({})),
        ] {
            soon(client.notify(named, Some(&Raw::from(params)))).await.unwrap();
        }
        let part = ViewSelection::Server("two".into());
        let (single, _inbox) = gateway.client_of(version, CLIENT, "me", part).await;
        names(&single).await;
        soon(single.notify(method, Some(&raw(r#"{"depth":7}"#)))).await.unwrap();
        until_got(&servers[1].notified, &format!("{method} 7")).await;
        // Those of the other client are forwarded in order.
        soon(client.notify(method, Some(&raw(r#"{"name":"one__plain","depth":8}"#))))
            .await
            .unwrap();
        until_got(&servers[0].notified, &format!("{method} 8")).await;
        assert_eq!(*servers[0].notified.borrow(), [format!("{method} 8")], "{cell}");
        let expected = [1, 2, 3, 7].map(|depth| format!("{method} {depth}"));
        for note in &expected {
            until_got(&servers[1].notified, note).await;
        }
        assert_eq!(servers[1].notified.borrow().len(), expected.len(), "{cell}");
        // No client waits for an answer, so the report says what was lost.
        let lost = losses(&gateway, 3).await;
        for (lost, (name, reason)) in lost.iter().zip([
            ("absent", "there is no server `three` here"),
            ("nowhere", "there is no server `three` here"),
            ("unclear", "any of the servers `one`, `two`"),
        ]) {
            assert_eq!(lost.name, format!("notification `notifications/things/{name}`"), "{cell}");
            assert!(lost.reason.contains(reason), "{cell}: {}", lost.reason);
        }
        gateway.engine.shutdown().await;
    }
}

/// Sends text to the gateway as a legacy client, and returns the answers to requests.
async fn exchange(gateway: &Gateway, messages: &[&str]) -> Vec<Value> {
    let (writer, mut reader) = gateway.link("me", ViewSelection::Everything).await;
    let greeting = format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{CLIENT},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    );
    let mut answers = Vec::new();
    for message in std::iter::once(&*greeting).chain(messages.iter().copied()) {
        writer.send(message.to_owned().into()).await.unwrap();
        if !message.contains(r#""id""#) {
            continue;
        }
        loop {
            let frame = soon(reader.next()).await.unwrap().unwrap();
            let LinkFrame::Text(text) = frame else { continue };
            let answer: Value = Raw::parse(text.to_string()).unwrap().decode().unwrap();
            // A notification that is no message of JSON-RPC is answered without an id.
            if answer.get("method").is_none() && !answer["id"].is_null() {
                answers.push(answer);
                break;
            }
        }
    }
    answers
}

#[tokio::test]
async fn parameters_that_are_no_object_cost_their_message_only() {
    for era in [Era::Legacy, Era::Modern] {
        let server = ThingServer::new("{}");
        let gateway = gateway(&[("one", &server)], era).await;
        let request = |id: u32, params: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"things/list"{params}}}"#)
        };
        let note = |params: &str| {
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/things/moved"{params}}}"#)
        };
        let messages = [
            request(1, r#","params":[1]"#),
            request(2, r#","params":"x""#),
            note(r#","params":[1]"#),
            note(r#","params":"x""#),
            note(r#","params":7"#),
            note(""),
            request(3, r#","params":null"#),
            request(4, ""),
            note(r#","params":{"depth":1}"#),
        ];
        let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
        let answers = exchange(&gateway, &messages).await;
        let codes: Vec<Value> =
            answers.iter().map(|answer| answer["error"]["code"].clone()).collect();
        let expected = [json!(null), json!(-32602), json!(-32602), json!(null), json!(null)];
        assert_eq!(codes, expected, "{answers:?}");
        until_got(&server.notified, "notifications/things/moved 1").await;
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn a_method_of_any_name_fails_alone() {
    let long = format!("things/{}", "x".repeat(1 << 20));
    for (era, version) in pairings() {
        let server = ThingServer::new("{}");
        let other = ThingServer::declaring(r#"{"tools":{},"extensions":{"__proto__":{}}}"#);
        let gateway = gateway(&[("one", &server), ("two", &other)], era).await;
        let (client, _inbox) = gateway.client(version, CLIENT).await;
        for method in ["", "/", "__proto__", "things/\u{1b}[2J\r\n", "Tools/Call", &long] {
            let call = CallRequest::new(method.to_owned(), Some(raw("{}")));
            let refused = soon(client.call(call).result()).await.unwrap_err();
            assert!(matches!(refused, Error::Rpc(_)), "{era} {version}: {refused}");
        }
        assert!(list_things(&client, "{}").await.is_ok(), "{era} {version}");
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn a_server_that_asks_a_client_that_has_left_goes_on_for_others() {
    for (era, version) in pairings() {
        let cell = format!("{version} client, {era} server");
        let server = ThingServer::new("{}");
        let gateway = gateway(&[("one", &server)], era).await;
        let asking = || CallRequest::call_tool("one__plain", &raw("{}"));
        let (gone, inbox) = gateway.client(version, CLIENT).await;
        let mut exchange = gone.call(asking());
        loop {
            match soon(exchange.next()).await.unwrap() {
                ExchangeEvent::NeedsInput(questions) => {
                    assert_eq!(questions[0].method, "things/ask", "{cell}");
                    break;
                }
                ExchangeEvent::Done(result) => panic!("{cell}: {result}"),
                _ => {}
            }
        }
        drop((exchange, inbox));
        gone.close().await;
        let (client, _inbox) = gateway.client(version, CLIENT).await;
        let (happened, result) = soon(run(&client, asking(), r#"{"thing":1}"#)).await;
        assert_eq!(happened, ["things/ask"], "{cell}: {result:?}");
        assert_eq!(result.unwrap()["said"], r#"{"thing":1}"#, "{cell}");
        gateway.engine.shutdown().await;
    }
}
