//! Tests of unlisted resources, and of resources that two servers have.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_core::engine::{EngineEvent, EngineEventKind};
use switchboard_core::principal::LOCAL_PRINCIPAL;
use switchboard_gateway::bridge::BridgeOptions;
use switchboard_gateway::view_provider::ViewSelection;
use switchboard_wire::client::{CallRequest, Client, InboxEvent, ListKind};
use switchboard_wire::link::LinkFrame;
use switchboard_wire::link::pair::LinkEnd;
use switchboard_wire::server::ChangeNotification;
use switchboard_wire::{Era, Error, Version};

use super::changes::Growing;
use super::{Gateway, raw, soon};

const VERSIONS: [Version; 2] = [Version::LATEST_LEGACY, Version::LATEST];

async fn read(client: &Client, params: &Value) -> Result<Value, Error> {
    let call = CallRequest::new("resources/read", Some(raw(&params.to_string())));
    soon(client.call(call).result()).await.map(|result| result.decode().unwrap())
}

#[tokio::test]
async fn an_unmentioned_resource_is_read_from_the_only_server_with_resources() {
    for era in [Era::Legacy, Era::Modern] {
        for version in VERSIONS {
            let gateway = Gateway::before(&["one"], era, "{}", BridgeOptions::default()).await;
            let (client, mut inbox) = gateway.client(version, "{}").await;
            // Before any list.
            let result = read(&client, &json!({ "uri": "secret://x" })).await.unwrap();
            assert_eq!(result["contents"][0]["text"], "read", "{result}");
            assert_eq!(result["_meta"].get("switchboard/server"), None, "{result}");
            soon(client.subscribe("secret://x")).await.unwrap();
            let telling = async {
                // A modern client listens some time after its subscription.
                loop {
                    gateway
                        .server
                        .changes
                        .announce(ChangeNotification::Resource("secret://x".into()));
                    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                }
            };
            let hearing = async {
                while !matches!(
                    inbox.next().await.unwrap(),
                    InboxEvent::ResourceUpdated { uri, .. } if uri == "secret://x"
                ) {}
            };
            tokio::select! { () = soon(hearing) => {}, () = telling => {} }
            gateway.engine.shutdown().await;
        }
    }
}

#[tokio::test]
async fn a_subscription_is_refused_as_a_read_is_and_reaches_the_server_that_it_names() {
    for era in [Era::Legacy, Era::Modern] {
        let gateway = Gateway::start(era, "{}").await;
        let (client, _inbox) = gateway.client(Version::LATEST_LEGACY, "{}").await;
        let ask = async |method: &'static str, params: Value| {
            let call = CallRequest::new(method, Some(raw(&params.to_string())));
            soon(client.call(call).result()).await
        };
        let Error::Rpc(refused) =
            ask("resources/subscribe", json!({ "uri": "secret://x" })).await.unwrap_err()
        else {
            panic!("another error")
        };
        let data: Value = refused.data.unwrap().decode().unwrap();
        assert_eq!(refused.code, -32002);
        assert_eq!(data, json!({ "uri": "secret://x", "servers": ["one", "two"] }));
        let wrong = json!({ "uri": "note://a", "_meta": { "switchboard/server": "three" } });
        assert_eq!(ask("resources/subscribe", wrong).await.unwrap_err().code(), Some(-32602));

        let named =
            |server| json!({ "uri": "secret://x", "_meta": { "switchboard/server": server } });
        let mut calls = gateway.engine.calls();
        for method in ["resources/subscribe", "resources/unsubscribe"] {
            for server in ["two", "one"] {
                ask(method, named(server)).await.unwrap();
                let called = soon(calls.recv()).await.unwrap();
                assert_eq!((called.server.as_str(), method_of(&called)), (server, method));
            }
        }
        // Without a name an unsubscription goes where the subscription went.
        ask("resources/subscribe", named("two")).await.unwrap();
        ask("resources/unsubscribe", json!({ "uri": "secret://x" })).await.unwrap();
        for method in ["resources/subscribe", "resources/unsubscribe"] {
            let called = soon(calls.recv()).await.unwrap();
            assert_eq!((called.server.as_str(), method_of(&called)), ("two", method));
        }
        gateway.engine.shutdown().await;
    }
}

fn method_of(called: &EngineEvent) -> &str {
    match &called.what {
        EngineEventKind::Called(record) => &record.method,
        other => panic!("{other:?}"),
    }
}

/// Says something on a link.
async fn say(link: &LinkEnd, message: Value) {
    link.0.send(message.to_string().into()).await.unwrap();
}

/// What comes next on a link.
async fn next(link: &mut LinkEnd) -> Value {
    match soon(link.1.next()).await.unwrap().unwrap() {
        LinkFrame::Text(text) => serde_json::from_str(&text).unwrap(),
        LinkFrame::Broken(malformed) => panic!("{malformed}"),
    }
}

fn listen(id: u64, server: Option<&str>, notifications: &Value) -> Value {
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    if let Some(server) = server {
        meta["switchboard/server"] = json!(server);
    }
    let params = json!({ "notifications": notifications, "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params })
}

#[tokio::test]
async fn one_resource_that_cannot_be_subscribed_to_does_not_refuse_the_others() {
    for era in [Era::Legacy, Era::Modern] {
        let gateway = Gateway::start(era, "{}").await;
        let mut link = gateway.link("me", ViewSelection::Everything).await;
        let both = json!({ "resourceSubscriptions": ["secret://x", "note://a"] });
        say(&link, listen(1, None, &both)).await;
        let granted = next(&mut link).await;
        assert_eq!(granted["method"], "notifications/subscriptions/acknowledged", "{granted}");
        let uris = &granted["params"]["notifications"]["resourceSubscriptions"];
        assert_eq!(*uris, json!(["note://a"]), "{era}");

        let none = json!({ "resourceSubscriptions": ["secret://x"] });
        say(&link, listen(2, None, &none)).await;
        let refused = next(&mut link).await;
        assert_eq!(refused["error"]["code"], -32602, "{era}: {refused}");
        let data = json!({ "uri": "secret://x", "servers": ["one", "two"] });
        assert_eq!(refused["error"]["data"], data, "{era}");

        let mut calls = gateway.engine.calls();
        say(&link, listen(3, Some("two"), &both)).await;
        let granted = next(&mut link).await;
        let uris = &granted["params"]["notifications"]["resourceSubscriptions"];
        assert_eq!(*uris, both["resourceSubscriptions"], "{era}: {granted}");
        for _ in 0..2 {
            assert_eq!(soon(calls.recv()).await.unwrap().server, "two");
        }
        gateway.engine.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_server_of_the_configuration_is_read_however_late_it_is() {
    let [first, second] = [Arc::new(Growing::default()), Arc::new(Growing::default())];
    first.held.send_replace(true);
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let servers =
        vec![first.in_process("a-first", Era::Modern), second.in_process("b-second", Era::Modern)];
    let gateway = Gateway::among(folder, servers, "{}", BridgeOptions::default()).await;
    // The handshake waits already.
    let reading = async {
        let everything = ViewSelection::Everything;
        let (client, _inbox) =
            gateway.client_of(Version::LATEST_LEGACY, "{}", LOCAL_PRINCIPAL, everything).await;
        read(&client, &json!({ "uri": "r:0" })).await
    };
    let coming = async {
        // The clock of the test: nothing else is left to do by then.
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        first.held.send_replace(false);
    };
    let (result, ()) = tokio::join!(reading, coming);
    assert_eq!(result.unwrap()["_meta"]["switchboard/server"], "a-first");
    gateway.engine.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_delays_the_resources_of_another_once() {
    let [first, second] = [Arc::new(Growing::default()), Arc::new(Growing::default())];
    first.held.send_replace(true);
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let servers =
        vec![first.in_process("a-first", Era::Modern), second.in_process("b-second", Era::Modern)];
    let gateway = Gateway::among(folder, servers, "{}", BridgeOptions::default()).await;
    // The handshake waits, and no request after it.
    let second_long = std::time::Duration::from_secs(1);
    let began = tokio::time::Instant::now();
    let everything = ViewSelection::Everything;
    let (client, _inbox) =
        gateway.client_of(Version::LATEST_LEGACY, "{}", LOCAL_PRINCIPAL, everything).await;
    assert!(began.elapsed() >= second_long);
    for _ in 0..2 {
        let began = tokio::time::Instant::now();
        let result = read(&client, &json!({ "uri": "r:0" })).await.unwrap();
        assert!(began.elapsed() < second_long);
        // The first one may still have it: so the client sees whose it is.
        assert_eq!(result["_meta"]["switchboard/server"], "b-second");
    }
    gateway.engine.shutdown().await;
}

#[tokio::test]
async fn what_was_read_names_its_server_where_several_have_resources() {
    let gateway = Gateway::start(Era::Modern, "{}").await;
    let (client, _inbox) = gateway.client(Version::LATEST, "{}").await;
    let named = json!({ "uri": "secret://x", "_meta": { "switchboard/server": "two" } });
    let result = read(&client, &named).await.unwrap();
    assert_eq!(result["_meta"]["switchboard/server"], "two", "{result}");
    assert_eq!(result["_meta"].get("switchboard/otherServers"), None, "{result}");
    gateway.engine.shutdown().await;
}

#[tokio::test]
async fn of_two_clients_that_hear_of_a_resource_one_may_go() {
    // Modern clients of one principal over HTTP share a session.
    for era in [Era::Legacy, Era::Modern] {
        let gateway = Gateway::before(&["one"], era, "{}", BridgeOptions::default()).await;
        let mut calls = gateway.engine.calls();
        let mut until_called = async |method: &str| {
            let called = async { while method_of(&calls.recv().await.unwrap()) != method {} };
            soon(called).await;
        };
        let mut clients = gateway.clients_of_one_view(&["{}", "{}"]).await;
        for (client, _) in &clients {
            soon(client.subscribe("note://a")).await.unwrap();
            until_called("resources/subscribe").await;
        }
        let (gone, _) = clients.remove(0);
        // Its link ends with it.
        drop(gone);
        until_called("resources/unsubscribe").await;
        let (_client, inbox) = &mut clients[0];
        let telling = async {
            // A modern client listens a moment after it has asked to.
            loop {
                gateway.server.changes.announce(ChangeNotification::Resource("note://a".into()));
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        let hearing = async {
            while !matches!(inbox.next().await.unwrap(), InboxEvent::ResourceUpdated { .. }) {}
        };
        tokio::select! { () = soon(hearing) => {}, () = telling => {} }
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn with_several_servers_the_candidates_are_told() {
    for version in VERSIONS {
        let gateway = Gateway::start(Era::Modern, "{}").await;
        let (client, _inbox) = gateway.client(version, "{}").await;
        let error = read(&client, &json!({ "uri": "secret://x" })).await.unwrap_err();
        let Error::Rpc(error) = error else { panic!("{error}") };
        assert!(error.message.contains("`one`, `two`"), "{}", error.message);
        let data: Value = error.data.unwrap().decode().unwrap();
        assert_eq!(data, json!({ "uri": "secret://x", "servers": ["one", "two"] }));
        for server in ["one", "two"] {
            let named = json!({ "uri": "secret://x", "_meta": { "switchboard/server": server } });
            read(&client, &named).await.unwrap();
            let part = ViewSelection::Server(server.into());
            let (alone, _b) = gateway.client_of(version, "{}", "me", part).await;
            read(&alone, &json!({ "uri": "secret://x" })).await.unwrap();
        }
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn a_uri_of_two_servers_says_which_is_read_and_either_is_reached() {
    for version in VERSIONS {
        let gateway = Gateway::start(Era::Modern, "{}").await;
        let (client, _inbox) = gateway.client(version, "{}").await;
        let listed = soon(client.list(ListKind::Resources)).await.unwrap().items;
        let tags: Vec<Value> = listed
            .iter()
            .map(|item| item.decode::<Value>().unwrap()["_meta"]["switchboard/server"].clone())
            .collect();
        assert_eq!(tags, ["one", "two"]);
        for (meta, server, other) in [
            (json!({}), "one", "two"),
            (json!({ "switchboard/server": "one" }), "one", "two"),
            (json!({ "switchboard/server": "two" }), "two", "one"),
        ] {
            let mut calls = gateway.engine.calls();
            let result = read(&client, &json!({ "uri": "note://a", "_meta": meta })).await.unwrap();
            assert_eq!(result["_meta"]["switchboard/server"], server, "{result}");
            assert_eq!(result["_meta"]["switchboard/otherServers"], json!([other]), "{result}");
            let called = soon(calls.recv()).await.unwrap();
            assert_eq!(called.server, server);
        }
        let wrong = json!({ "uri": "note://a", "_meta": { "switchboard/server": "three" } });
        assert_eq!(read(&client, &wrong).await.unwrap_err().code(), Some(-32602));

        let part = ViewSelection::Server("two".into());
        let (alone, _b) = gateway.client_of(version, "{}", "me", part).await;
        let result = read(&alone, &json!({ "uri": "note://a" })).await.unwrap();
        assert_eq!(result["_meta"].get("switchboard/server"), None, "it sees one server: {result}");
        gateway.engine.shutdown().await;
    }
}
