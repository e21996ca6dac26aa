//! Tests of unlisted resources, and of resources that two servers have.

use serde_json::{Value, json};
use switchboard_gateway::bridge::BridgeOptions;
use switchboard_gateway::view_provider::ViewSelection;
use switchboard_wire::client::{CallRequest, Client, InboxEvent, ListKind};
use switchboard_wire::server::ChangeNotification;
use switchboard_wire::{Era, Error, Version};

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
