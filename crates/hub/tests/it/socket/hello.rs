//! Tests of the hello: limits, deadline, refusals, status.

use std::time::Duration;

use serde_json::Value;
use switchboard_hub::socket::ListenOptions;

use super::{
    Room,
    room::{HELLO, INITIALIZE, options},
};

/// Sends `bytes` to a hub and expects a refusal of one kind, and the end.
async fn refused(options: ListenOptions, bytes: &[u8], kind: &str) {
    let room = Room::new();
    let hub = room.listen(options).await;
    let mut line = room.call().await;
    line.try_say(bytes).await;
    let answer: Value = serde_json::from_str(&line.hear().await).unwrap();
    assert_eq!(answer["error"]["kind"], kind, "{answer}");
    assert!(!answer["error"]["message"].as_str().unwrap().is_empty());
    assert_eq!(line.hear().await, "");
    // The hub serves the next one as if nothing had been.
    assert!(room.call().await.ask(HELLO).await.contains(r#""ok":true"#));
    hub.stop.cancel();
    hub.ended().await;
}

#[tokio::test]
async fn what_is_no_hello_is_refused_and_harms_nobody() {
    refused(options(), b"GET / HTTP/1.1\r\n\r\n", "malformed").await;
    refused(options(), b"{\"switchboard\":1}\n", "malformed").await;
    refused(options(), b"\xff\xfe\n", "malformed").await;
    refused(options(), b"{\"switchboard\":7,\"any\":\"thing\"}\n", "protocol").await;
    let nobody = br#"{"switchboard":1,"version":"0.1.0","view":{"agent":"nobody"}}"#;
    refused(options(), &[nobody, b"\n".as_slice()].concat(), "view").await;
}

#[tokio::test]
async fn a_hello_has_a_limit() {
    refused(options(), &vec![b'x'; 5 << 20], "malformed").await;
    let fits = "x".repeat(3 << 20);
    let hello = format!(r#"{{"switchboard":1,"version":"1","env":{{"LARGE":"{fits}"}}}}"#);
    let room = Room::new();
    let _hub = room.listen(options()).await;
    assert!(room.call().await.ask(&hello).await.contains(r#""ok":true"#));
}

#[tokio::test]
async fn a_hello_has_a_deadline() {
    let hurried = || ListenOptions { hello_time: Duration::from_millis(200), ..options() };
    refused(hurried(), b"", "slow").await;
    refused(hurried(), b"{\"switchboard\":1,", "slow").await;
}

#[tokio::test]
async fn messages_may_follow_the_hello_at_once() {
    let room = Room::new();
    let _hub = room.listen(options()).await;
    let mut line = room.call().await;
    let welcome: Value =
        serde_json::from_str(&line.ask(&format!("{HELLO}\n{INITIALIZE}")).await).unwrap();
    assert_eq!(welcome["version"], "0.1.0");
    assert_eq!(welcome["hub"], std::process::id());
    assert!(line.hear().await.contains("protocolVersion"));
}

#[tokio::test]
async fn a_hub_says_how_it_is() {
    let room = Room::new();
    let _hub = room.listen(options()).await;
    let status = async || -> Value {
        let want = r#"{"switchboard":1,"version":"0.1.0","want":"status"}"#;
        serde_json::from_str(&room.call().await.ask(want).await).unwrap()
    };
    let one = status().await;
    assert_eq!((&one["clients"], &one["calls"]), (&0.into(), &0.into()));
    assert_eq!(one["pid"], std::process::id());
    assert!(one["since"].as_u64().unwrap() > 1_700_000_000);

    let mut client = room.greet().await;
    client.say(&super::room::tool(1, "hang", "{}")).await;
    client.ask(&super::room::tool(2, "await_hanging", "{}")).await;
    let other = status().await;
    assert_eq!((&other["clients"], &other["calls"]), (&1.into(), &1.into()));
    let there = &other["attached"][0];
    assert_eq!((&there["name"], &there["version"]), (&"t".into(), &"1".into()));
    assert_eq!((&there["calls"], &there["session"]), (&1.into(), &"socket-1".into()));
    assert!(there["since"].as_u64().unwrap() >= other["since"].as_u64().unwrap());
    // One that is gone is not told of.
    drop(client);
    switchboard_testkit::deadline::soon(async { while status().await["clients"] != 0 {} }).await;
    assert_eq!(status().await["attached"], Value::Array(Vec::new()));
}
