//! Too much of anything: bodies, calls, connections, and what a client does not read.

use std::time::Duration;

use switchboard_gateway::face::{FaceOptions, Limits, Times};

use super::{
    Served,
    raw::{begin, begin_session, call, get, post, read_until},
    soon,
};

fn with(limits: Limits) -> FaceOptions {
    FaceOptions { limits, ..FaceOptions::local() }
}

#[tokio::test]
async fn a_body_holds_so_much() {
    let served = Served::start(with(Limits { body: 1000, ..Limits::default() })).await;
    let id = begin_session(served.address, "/mcp", &[]).await;
    let known = [("mcp-session-id", id.as_str())];
    let padded = |size: usize| {
        let text = call(1, "echo", "{}");
        format!("{text}{}", " ".repeat(size - text.len()))
    };
    for (size, status) in [(1000, 200), (1001, 413), (100_000, 413)] {
        assert_eq!(
            post(served.address, "/mcp", &known, &padded(size)).await.status,
            status,
            "{size}"
        );
    }
}

#[tokio::test]
async fn so_many_calls_are_under_way_in_a_session() {
    let served = Served::start(with(Limits { streams: 1, ..Limits::default() })).await;
    let id = begin_session(served.address, "/mcp", &[]).await;
    let other = begin_session(served.address, "/mcp", &[]).await;
    let usual = [("mcp-session-id", id.as_str()), ("content-type", "application/json")];
    let _hanging = begin(served.address, "POST", "/mcp", &usual, &call(1, "hang", "{}")).await;
    let others = [("mcp-session-id", other.as_str())];
    post(served.address, "/mcp", &others, &call(1, "await_hanging", "{}")).await;
    let busy = post(served.address, "/mcp", &usual[..1], &call(2, "echo", "{}")).await;
    assert_eq!((busy.status, busy.header("retry-after")), (503, Some("1")), "{busy:?}");
    assert_eq!(post(served.address, "/mcp", &others, &call(2, "echo", "{}")).await.status, 200);
}

#[tokio::test]
async fn so_many_connections_are_open() {
    let served = Served::start(with(Limits { connections: 1, ..Limits::default() })).await;
    let mut held = begin(served.address, "GET", "/sse", &[], "").await;
    read_until(&mut held, "sessionId").await;
    let mut refused = soon(tokio::net::TcpStream::connect(served.address)).await.unwrap();
    read_until(&mut refused, "too many connections are open").await;
    drop(held);
    soon(async {
        loop {
            let mut stream = begin(served.address, "GET", "/healthz", &[], "").await;
            let text = read_until(&mut stream, "\r\n\r\n").await;
            if text.starts_with("HTTP/1.1 200") {
                return;
            }
        }
    })
    .await;
}

/// Its connection is cut; nobody else waits for it.
#[tokio::test]
async fn a_client_that_does_not_read_is_cut_off() {
    let times = Times { stalled: Duration::from_millis(200), ..Times::default() };
    let served = Served::start(FaceOptions { times, ..FaceOptions::local() }).await;
    let id = begin_session(served.address, "/mcp", &[]).await;
    let usual = [("mcp-session-id", id.as_str()), ("content-type", "application/json")];
    // More than the buffers of a socket hold.
    let big = call(1, "big", r#"{"bytes":16000000}"#);
    let _deaf = begin(served.address, "POST", "/mcp", &usual, &big).await;
    served.until("connections", 2).await;
    served.until("connections", 1).await;
    let echo = post(served.address, "/mcp", &usual[..1], &call(2, "echo", "{}")).await;
    assert_eq!(echo.status, 200);
}

#[tokio::test]
async fn a_head_that_does_not_come_is_waited_for_so_long() {
    let times = Times { head: Duration::from_millis(100), ..Times::default() };
    let served = Served::start(FaceOptions { times, ..FaceOptions::local() }).await;
    let mut stream = soon(tokio::net::TcpStream::connect(served.address)).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut stream, b"POST /mcp HTTP/1.1\r\nhost:").await.unwrap();
    let mut rest = Vec::new();
    soon(tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut rest)).await.unwrap();
    assert_eq!(get(served.address, "/healthz", &[]).await.status, 200);
}

#[tokio::test]
async fn a_stream_with_nothing_to_say_shows_that_it_lives() {
    let times = Times { keep_alive: Duration::from_millis(20), ..Times::default() };
    let served = Served::start(FaceOptions { times, ..FaceOptions::local() }).await;
    let id = begin_session(served.address, "/mcp", &[]).await;
    let mut stream = begin(served.address, "GET", "/mcp", &[("mcp-session-id", &id)], "").await;
    read_until(&mut stream, ":\n\n").await;
}

/// A call that is long silent is given its stream, so that nobody takes it for dead.
#[tokio::test]
async fn a_long_call_opens_its_stream_without_an_answer() {
    let times = Times { first_word: Duration::from_millis(20), ..Times::default() };
    let served = Served::start(FaceOptions { times, ..FaceOptions::local() }).await;
    let id = begin_session(served.address, "/mcp", &[]).await;
    let usual = [("mcp-session-id", id.as_str()), ("content-type", "application/json")];
    let mut stream = begin(served.address, "POST", "/mcp", &usual, &call(1, "hang", "{}")).await;
    let text = read_until(&mut stream, "data:\n\n").await;
    assert!(text.contains("text/event-stream") && text.contains("retry: "), "{text}");
}
