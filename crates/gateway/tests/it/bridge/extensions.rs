//! Tests of extensions that the gateway does not know: declared, called and notified in all pairings of eras.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_config::PermissionMode;
use switchboard_core::audit::CallDecision;
use switchboard_core::permission::DecisionReason;
use switchboard_gateway::bridge::BridgeOptions;
use switchboard_gateway::view_provider::ViewSelection;
use switchboard_wire::client::{CallRequest, Client, InboxEvent, ListKind, ServerInbox};
use switchboard_wire::json::Raw;
use switchboard_wire::server::ChangeNotification;
use switchboard_wire::{Era, Version};

use super::extension_messages::next_record;
use super::matrix::run;
use super::thing_server::{CLIENT, ID, ThingServer, gateway, pairings, with_settings};
use super::{Gateway, desired_for_agent, raw, soon};

pub(super) async fn names(client: &Client) -> Vec<String> {
    let listed = soon(client.list(ListKind::Tools)).await.unwrap().items;
    listed.iter().map(|tool| tool.get("name").unwrap().unwrap().to_text().unwrap()).collect()
}

pub(super) async fn list_things(client: &Client, params: &str) -> Result<Value, String> {
    let call = CallRequest::new("things/list", Some(raw(params)));
    let listed = soon(client.call(call).result()).await;
    listed.map(|listed| listed.decode().unwrap()).map_err(|error| error.to_string())
}

/// The next notification of an extension, without what the client's own library adds.
async fn next_notification(inbox: &mut ServerInbox) -> String {
    loop {
        if let InboxEvent::Notification(notification) = inbox.next().await.unwrap() {
            let n = notification.params().unwrap().get("n").unwrap().unwrap();
            return format!("{} {n}", notification.method());
        }
    }
}

/// Has a server notify until the client hears it: a modern client may not listen yet.
pub(super) async fn announced(server: &ThingServer, inbox: &mut ServerInbox) -> String {
    let (method, params) = ("notifications/things/changed".to_owned(), raw(r#"{"n":2.50}"#));
    let mut heard = std::pin::pin!(next_notification(inbox));
    loop {
        server.changes.announce(ChangeNotification::Other(method.clone(), params.clone()));
        if let Ok(heard) = tokio::time::timeout(Duration::from_millis(50), &mut heard).await {
            return heard;
        }
    }
}

#[tokio::test]
async fn both_sides_learn_what_the_other_declares() {
    for (era, version) in pairings() {
        let cell = format!("{version} client, {era} server");
        let (server, plain) =
            (ThingServer::new(r#"{ "b":2.50 }"#), ThingServer::declaring(r#"{"tools":{}}"#));
        let gateway = gateway(&[("one", &server), ("two", &plain)], era).await;
        let (client, _inbox) = gateway.client(version, CLIENT).await;
        let declared = client.server_facts().capabilities.clone();
        let at = |path: &[&str]| declared.get_path(path).unwrap().map(|found| found.to_string());
        assert_eq!(at(&["extensions", ID]).as_deref(), Some(r#"{ "b":2.50 }"#), "{cell}");
        assert_eq!(at(&["experimental", "odd"]).as_deref(), Some(r#"{"n":1e2}"#), "{cell}");
        assert_eq!(at(&["tools", "later"]).as_deref(), Some(r#"{ "c":2.50 }"#), "{cell}");
        assert!(names(&client).await.contains(&"one__thing".to_owned()), "{cell}");
        let listing = CallRequest::new("things/list", Some(raw("{}")));
        let listed = soon(client.call(listing).result()).await.unwrap();
        assert!(listed.as_str().starts_with(r#"{"things":[1.50],"#), "{cell}: {listed}");
        assert!(
            listed.as_str().contains(r#""vendor.example/things":{ "depth":1.50 }"#),
            "{cell}: {listed}"
        );
        let listed: Value = listed.decode().unwrap();
        assert_eq!(listed["declared"]["experimental"]["odd"], json!({}), "{cell}");

        let (other, _inbox) =
            gateway.client_of(version, "{}", "me", ViewSelection::Everything).await;
        let shown = names(&other).await;
        assert!(!shown.contains(&"one__thing".to_owned()), "{cell}: {shown:?}");
        let (single, _inbox) =
            gateway.client_of(version, CLIENT, "me", ViewSelection::Server("two".into())).await;
        let declared = single.server_facts().capabilities.clone();
        assert_eq!(declared.get_path(&["extensions", ID]).unwrap(), None, "{cell}");
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn members_of_a_list_pass_where_one_server_is_seen() {
    for (era, version) in pairings() {
        let (one, two) = (ThingServer::new("{}"), ThingServer::new("{}"));
        for (servers, part, expected) in [
            (vec![("one", &one), ("two", &two)], ViewSelection::Server("one".into()), true),
            (vec![("one", &one), ("two", &two)], ViewSelection::Everything, false),
            (vec![("one", &one)], ViewSelection::Everything, true),
        ] {
            let cell = format!("{version} client, {era} server, {part:?} of {}", servers.len());
            let gateway = gateway(&servers, era).await;
            let (client, _inbox) = gateway.client_of(version, "{}", "me", part).await;
            let listing = CallRequest::new("tools/list", Some(raw("{}")));
            let listed = soon(client.call(listing).result()).await.unwrap();
            let at = |path: &[&str]| listed.get_path(path).unwrap().map(|found| found.to_string());
            let found = (at(&["vendor"]), at(&["_meta", "vendor.example/v"]));
            let sent = (Some(r#"{ "v":1.50 }"#.to_owned()), Some("2.50".to_owned()));
            assert_eq!(found, if expected { sent } else { (None, None) }, "{cell}: {listed}");
            gateway.engine.shutdown().await;
        }
    }
}

#[tokio::test]
async fn settings_that_differ_are_given_by_server() {
    for (era, version) in pairings() {
        let servers = [ThingServer::new("{}"), ThingServer::new(r#"{"b":1}"#)];
        let gateway = gateway(&[("one", &servers[0]), ("two", &servers[1])], era).await;
        let (client, _inbox) = gateway.client(version, CLIENT).await;
        let settings = client.server_facts().capabilities.get_path(&["extensions", ID]).unwrap();
        let expected = r#"{"switchboard/servers":{"one":{},"two":{"b":1}}}"#;
        assert_eq!(settings.unwrap().as_str(), expected);
        let refused = list_things(&client, "{}").await.unwrap_err();
        assert!(refused.contains("`one`, `two`"), "{refused}");
        for (name, expected) in [("one__plain", "one"), ("two__plain", "two")] {
            let listed = list_things(&client, &json!({ "name": name }).to_string()).await.unwrap();
            assert_eq!(listed["asked"]["name"], "plain", "{expected}");
        }
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn unknown_methods_are_judged_like_calls() {
    let check = async |settings: &str, mode: PermissionMode, expected: Option<&str>| {
        let server = ThingServer::new("{}");
        let options = BridgeOptions { mode: Some(mode), ..BridgeOptions::default() };
        let gateway = with_settings(&[("one", &server)], Era::Modern, settings, options).await;
        let (client, _inbox) = gateway.client(Version::LATEST, CLIENT).await;
        let outcome = list_things(&client, "{}").await;
        match (expected, outcome) {
            (None, Ok(_)) => {}
            (Some(reason), Err(error)) => {
                assert!(error.contains(reason), "{settings} {mode:?}: {error}");
            }
            (_, other) => panic!("{settings} {mode:?}: {other:?}"),
        }
        gateway.engine.shutdown().await;
    };
    let name = "mcp__one__method:things/list";
    check("{}", PermissionMode::Client, None).await;
    check("{}", PermissionMode::BypassPermissions, None).await;
    check("{}", PermissionMode::Plan, Some(name)).await;
    check("{}", PermissionMode::DontAsk, Some(name)).await;
}

#[tokio::test]
async fn rules_name_methods() {
    let rules = |kind: &str, rule: &str| json!({ "permissions": { kind: [rule] } }).to_string();
    for (settings, mode, is_allowed) in [
        (rules("deny", "mcp__one__method:things/*"), PermissionMode::Client, false),
        (rules("deny", "mcp__one"), PermissionMode::Client, false),
        (rules("deny", "mcp__one__plain"), PermissionMode::Client, true),
        (rules("allow", "mcp__one__method:things/list"), PermissionMode::DontAsk, true),
        (rules("allow", "mcp__one__method:things/list"), PermissionMode::Plan, false),
        (rules("allow", "mcp__one__method:other"), PermissionMode::DontAsk, false),
    ] {
        let options = BridgeOptions { mode: Some(mode), ..BridgeOptions::default() };
        let server = ThingServer::new("{}");
        let gateway = with_settings(&[("one", &server)], Era::Modern, &settings, options).await;
        let (client, _inbox) = gateway.client(Version::LATEST, CLIENT).await;
        let outcome = list_things(&client, "{}").await;
        assert_eq!(outcome.is_ok(), is_allowed, "{settings} {mode:?}: {outcome:?}");
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn the_tools_of_an_agent_decide_about_methods() {
    for (tools, is_allowed) in [
        ("tools: mcp__one__nothing", false),
        ("tools: mcp__two__*", false),
        ("tools: mcp__one__*", true),
        ("tools: mcp__one", true),
        ("tools: mcp__one__method:things/*", true),
        ("disallowedTools: mcp__one__method:things/list", false),
        ("disallowedTools: mcp__one__plain", true),
        ("description: A helper.", true),
    ] {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let agents = folder.path().join(".config/switchboard/agents");
        std::fs::create_dir_all(&agents).unwrap();
        std::fs::write(agents.join("helper.md"), format!("---\n{tools}\n---\n")).unwrap();
        let desired = desired_for_agent(&folder, "helper");
        let server = ThingServer::new("{}");
        let in_process = vec![server.in_process("one", Era::Modern)];
        let options = BridgeOptions::default();
        let gateway = Gateway::desiring(folder, in_process, desired, options).await;
        let (client, _inbox) = gateway.client(Version::LATEST, CLIENT).await;
        let mut calls = gateway.engine.calls();
        let outcome = list_things(&client, "{}").await;
        let record = next_record(&mut calls).await;
        assert_eq!(outcome.is_ok(), is_allowed, "{tools}: {outcome:?}");
        assert_eq!(server.requested.borrow().is_empty(), !is_allowed, "{tools}");
        let is_refused = matches!(
            &record.decision,
            Some(CallDecision::Denied(DecisionReason::Agent { agent })) if agent == "helper"
        );
        assert_eq!(is_refused, !is_allowed, "{tools}: {record:?}");
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn a_servers_request_reaches_a_client_that_declared_the_extension() {
    for (era, version) in pairings() {
        for (declared, method, expected) in [
            (CLIENT, "things/ask", true),
            (CLIENT, "vendor.example/ask", true),
            (CLIENT, "other.example/ask", false),
            (r#"{"things":{}}"#, "things/ask", true),
            (r#"{"elicitation":{},"things":{}}"#, "things.ask", true),
            (r#"{"elicitation":{"things":{}}}"#, "elicitation/things", true),
            (r#"{"elicitation":{}}"#, "things/ask", false),
            ("{}", "things/ask", false),
        ] {
            let cell = format!("{version} client, {era} server, {declared} {method}");
            let server = ThingServer::new("{}");
            let gateway = gateway(&[("one", &server)], era).await;
            let (client, _inbox) = gateway.client(version, declared).await;
            let arguments = raw(&json!({ "method": method }).to_string());
            let asking = CallRequest::call_tool("one__plain", &arguments);
            let (happened, result) = soon(run(&client, asking, r#"{"thing":1.50}"#)).await;
            if expected {
                assert_eq!(happened, [method], "{cell}: {result:?}");
                assert_eq!(result.unwrap()["said"], r#"{"thing":1.50}"#, "{cell}");
            } else {
                assert_eq!(happened, [""; 0], "{cell}: {result:?}");
            }
            gateway.engine.shutdown().await;
        }
    }
}

#[tokio::test]
async fn an_unknown_request_goes_to_the_server_of_its_extension_or_vendor() {
    for (era, version) in pairings() {
        let cell = format!("{version} client, {era} server");
        let widgets = r#"{"tools":{},"extensions":{"com.example/widgets":{}}}"#;
        let servers = [ThingServer::new("{}"), ThingServer::declaring(widgets)];
        let gateway = gateway(&[("one", &servers[0]), ("two", &servers[1])], era).await;
        let (client, _inbox) = gateway.client(version, CLIENT).await;
        let methods = ["com.example/refresh", "widgets.refresh", "com.example/widgets.refresh"];
        for method in methods {
            let request = CallRequest::new(method, Some(raw("{}")));
            let unknown = soon(client.call(request).result()).await.unwrap_err();
            assert_eq!(unknown.code(), Some(-32601), "{cell}: {unknown}");
        }
        assert_eq!(*servers[1].requested.borrow(), methods, "{cell}");
        let request = CallRequest::new("other.example/refresh", Some(raw("{}")));
        let unclear = soon(client.call(request).result()).await.unwrap_err().to_string();
        assert!(unclear.contains("`one`, `two`"), "{cell}: {unclear}");
        assert_eq!(*servers[0].requested.borrow(), [""; 0], "{cell}");
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn notifications_pass_both_ways() {
    for (era, version) in pairings() {
        let cell = format!("{version} client, {era} server");
        let server = ThingServer::new("{}");
        let gateway = gateway(&[("one", &server)], era).await;
        let (client, mut inbox) = gateway.client(version, CLIENT).await;
        names(&client).await;
        // A modern client may state what it is, as with requests.
        for (params, expected) in [
            (raw(r#"{"depth":1.50}"#), "notifications/things/moved 1.50"),
            (stating_client(), "notifications/things/moved 2.50"),
        ] {
            soon(client.notify("notifications/things/moved", Some(&params))).await.unwrap();
            let mut notified = server.notified.subscribe();
            soon(notified.wait_for(|notified| notified.iter().any(|note| note == expected)))
                .await
                .unwrap_or_else(|error| panic!("{cell}: {error}"));
        }
        assert_eq!(
            soon(announced(&server, &mut inbox)).await,
            "notifications/things/changed 2.50",
            "{cell}"
        );
        gateway.engine.shutdown().await;
    }
}

/// Parameters of a notification with the facts of a modern client.
fn stating_client() -> Raw {
    raw(&format!(
        r#"{{"depth":2.50,"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{CLIENT}}}}}"#
    ))
}

#[tokio::test]
async fn a_notification_states_its_client_where_several_share_a_view() {
    let server = ThingServer::new("{}");
    let gateway = gateway(&[("one", &server)], Era::Modern).await;
    let clients = gateway.clients_of_one_view(&[CLIENT, "{}"]).await;
    for (client, _) in &clients {
        names(client).await;
    }
    let (client, _) = &clients[0];
    for params in [raw(r#"{"depth":1.50}"#), stating_client()] {
        soon(client.notify("notifications/things/moved", Some(&params))).await.unwrap();
    }
    let mut notified = server.notified.subscribe();
    let notified = soon(notified.wait_for(|notified| !notified.is_empty())).await.unwrap();
    assert_eq!(*notified, ["notifications/things/moved 2.50"]);
    drop(notified);
    gateway.engine.shutdown().await;
}

#[tokio::test]
async fn a_subscription_that_is_not_passed_on_is_reported() {
    let server = ThingServer::new("{}");
    let gateway = gateway(&[("one", &server)], Era::Modern).await;
    let (client, _inbox) = gateway.client(Version::LATEST, "{}").await;
    let wanted = raw(r#"{"notifications":{"toolsListChanged":true,"thingsChanged":true}}"#);
    let listening = client.call(CallRequest::new("subscriptions/listen", Some(wanted))).result();
    let reported = async {
        let mut changes = gateway.engine.changes();
        loop {
            let snapshot = gateway.engine.snapshot(&"test".into()).unwrap();
            if let Some(client) = snapshot.extensions.clients.first() {
                return client.lost.clone();
            }
            changes.changed().await.unwrap();
        }
    };
    tokio::select! {
        ended = listening => panic!("{ended:?}"),
        lost = soon(reported) => {
            let names: Vec<&str> = lost.iter().map(|lost| &*lost.name).collect();
            assert_eq!(names, ["`thingsChanged` of `subscriptions/listen`"]);
        }
    }
    gateway.engine.shutdown().await;
}

#[tokio::test]
async fn bad_declarations_cost_themselves_only() {
    let many: Vec<String> = (0..10_000).map(|number| format!(r#""x/{number}":{{}}"#)).collect();
    let many = format!(r#"{{"tools":{{}},"extensions":{{{}}}}}"#, many.join(","));
    // As long as a name can be, and with what no terminal should get.
    let long =
        format!(r#"{{"tools":{{}},"extensions":{{"{}":{{}}}}}}"#, "x/\\u001b[2J".repeat(4000));
    let large =
        format!(r#"{{"tools":{{}},"experimental":{{"a":{{"x":"{}"}}}}}}"#, "y".repeat(1 << 16));
    for capabilities in [
        &long,
        &large,
        r#"{"tools":{},"extensions":{"a/b":{}},"extensions":{"c/d":{}}}"#,
        r#"{"tools":{},"extensions":{"__proto__":{},"constructor":{"prototype":{}},"":{}}}"#,
        r#"{"tools":{},"extensions":[1]}"#,
        r#"{"tools":{},"extensions":{"a/b":7}}"#,
        r#"{"tools":{},"experimental":"yes"}"#,
        &many,
    ] {
        let (bad, good) = (ThingServer::declaring(capabilities), ThingServer::new("{}"));
        for (era, version) in pairings() {
            let gateway = gateway(&[("bad", &bad), ("good", &good)], era).await;
            let (client, _inbox) = gateway.client(version, CLIENT).await;
            let shown = names(&client).await;
            assert!(shown.contains(&"bad__plain".into()) && shown.contains(&"good__thing".into()));
            assert!(list_things(&client, "{}").await.is_ok(), "{capabilities}");
            gateway.engine.shutdown().await;
        }
    }
    let server = ThingServer::new("{}");
    for (era, version) in pairings() {
        let gateway = gateway(&[("one", &server)], era).await;
        for capabilities in [
            r#"{"extensions":[1]}"#,
            r#"{"extensions":{"a/b":7}}"#,
            r#"{"extensions":{"__proto__":{},"":{}}}"#,
            &many,
            &long,
            &large,
        ] {
            let (client, _inbox) = gateway.client(version, capabilities).await;
            assert!(names(&client).await.contains(&"one__plain".into()), "{version}");
            client.close().await;
        }
        gateway.engine.shutdown().await;
    }
}
