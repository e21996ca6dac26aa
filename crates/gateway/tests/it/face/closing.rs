//! Tests of shutdown: new requests are refused, and running ones have some time to end.

use std::time::Duration;

use switchboard_gateway::face::{FaceOptions, FaceTimeouts};
use switchboard_wire::{
    Version,
    client::{CallRequest, VersionNegotiation},
};
use tokio::io::AsyncReadExt;

use super::{
    Served,
    raw::{begin, begin_session, call, post, read_until},
    soon,
    suite::{Transport, connect, raw},
};

#[tokio::test]
async fn answers_under_way_are_waited_for() {
    let served = Served::start(FaceOptions::local()).await;
    let id = begin_session(served.address, "/mcp", &[]).await;
    let usual = [("mcp-session-id", id.as_str()), ("content-type", "application/json")];
    let tick = call(1, "tick", r#"{"every":100,"times":3}"#);
    let mut stream = begin(served.address, "POST", "/mcp", &usual, &tick).await;
    read_until(&mut stream, "\"progress\":0").await;
    let mut listening = begin(served.address, "GET", "/mcp", &usual[..1], "").await;
    read_until(&mut listening, "\r\n\r\n").await;
    let address = served.address;
    served.shutdown.cancel();
    // A stream that only waits for changes ends at once.
    soon(listening.read_to_end(&mut Vec::new())).await.unwrap();
    read_until(&mut stream, r#""result":{"content":[]}"#).await;
    served.close().await;
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn and_cut_off_when_they_take_too_long() {
    let times = FaceTimeouts { drain: Duration::from_millis(100), ..FaceTimeouts::default() };
    let served = Served::start(FaceOptions { times, ..FaceOptions::local() }).await;
    let id = begin_session(served.address, "/mcp", &[]).await;
    let known = [("mcp-session-id", id.as_str()), ("content-type", "application/json")];
    let mut stream = begin(served.address, "POST", "/mcp", &known, &call(1, "hang", "{}")).await;
    post(served.address, "/mcp", &known[..1], &call(2, "await_hanging", "{}")).await;
    served.close().await;
    let mut rest = Vec::new();
    let _ = soon(stream.read_to_end(&mut rest)).await;
    assert!(rest.is_empty(), "{rest:?}");
}

/// A connected client does not delay the end, over any transport.
#[tokio::test]
async fn clients_that_stay_are_told_goodbye() {
    for (transport, version) in [
        (Transport::Http, Version::LATEST),
        (Transport::Http, Version::LATEST_LEGACY),
        (Transport::Sse, Version::LATEST_LEGACY),
        (Transport::WebSocket, Version::LATEST),
    ] {
        let bench = connect(transport, VersionNegotiation::Only(version)).await;
        bench.tool("echo", "{}").await;
        bench.served.close().await;
        let after = bench.client.call(CallRequest::call_tool("echo", &raw("{}"))).result();
        assert!(soon(after).await.is_err(), "{transport:?} {version}");
    }
}
