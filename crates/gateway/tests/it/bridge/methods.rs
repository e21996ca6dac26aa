//! Tests of methods that one side does not know.

use switchboard_gateway::bridge::BridgeOptions;
use switchboard_gateway::view_provider::ViewSelection;
use switchboard_wire::client::{CallRequest, Client};
use switchboard_wire::{Era, Error, Version};

use super::matrix::run;
use super::{ALL, Gateway, raw, soon};

/// The code and text of the refusal. The server's text is the method.
async fn refused(client: &Client, params: &str) -> (i64, String) {
    let call = CallRequest::new("odd/method", Some(raw(params)));
    match soon(client.call(call).result()).await.unwrap_err() {
        Error::Rpc(error) => (error.code, error.message),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn an_unknown_method_goes_to_the_server_that_it_names() {
    let by_server = (-32601, "odd/method".to_owned());
    for era in [Era::Legacy, Era::Modern] {
        for version in [Version::LATEST_LEGACY, Version::LATEST] {
            let gateway = Gateway::start(era, "{}").await;
            let (client, _a) = gateway.client(version, "{}").await;
            soon(client.list(switchboard_wire::client::ListKind::Tools)).await.unwrap();
            for params in ["{}", r#"{"name":"one__nothing"}"#, r#"{"uri":"none://"}"#] {
                let (code, text) = refused(&client, params).await;
                assert_eq!(code, -32601, "{text}");
                assert!(text.contains("`one`, `two`"), "no candidates: {text}");
            }
            for params in [
                r#"{"name":"two__echo"}"#,
                r#"{"name":"one__greet"}"#,
                r#"{"ref":{"name":"one__greet"}}"#,
                r#"{"name":"a label","tool":"two__echo"}"#,
                r#"{"toolName":"two__echo"}"#,
                r#"{"uri":"note://a"}"#,
                r#"{"ref":{"uri":"note://a"}}"#,
                r#"{"uris":["note://a","note://a"]}"#,
                r#"{"_meta":{"switchboard/server":"two"}}"#,
            ] {
                assert_eq!(refused(&client, params).await, by_server, "{params}");
            }
            let absent = refused(&client, r#"{"_meta":{"switchboard/server":"three"}}"#).await;
            assert_eq!(absent.0, -32602, "{}", absent.1);
            let part = ViewSelection::Server("two".into());
            let (client, _b) = gateway.client_of(version, "{}", "me", part).await;
            assert_eq!(refused(&client, "{}").await, by_server, "one server is shown");
            gateway.engine.shutdown().await;

            let options = BridgeOptions::default();
            let gateway = Gateway::before(&["one"], era, "{}", options).await;
            let (client, _c) = gateway.client(version, "{}").await;
            assert_eq!(refused(&client, "{}").await, by_server, "there is one server");
            gateway.engine.shutdown().await;
        }
    }
}

/// A server that asks with an unknown method gets the code that a client without a gateway would send.
#[tokio::test]
async fn a_servers_unknown_request_is_not_found() {
    let gateway = Gateway::start(Era::Legacy, "{}").await;
    for version in [Version::LATEST_LEGACY, Version::LATEST] {
        for capabilities in [ALL, "{}"] {
            let (client, _inbox) = gateway.client(version, capabilities).await;
            let call = CallRequest::call_tool("one__odd", &raw("{}"));
            let (happened, result) = soon(run(&client, call, "{}")).await;
            assert_eq!(happened, [""; 0], "the client was asked");
            assert_eq!(result.unwrap()["said"]["code"], -32601, "{version} {capabilities}");
            client.close().await;
        }
    }
    gateway.engine.shutdown().await;
}
