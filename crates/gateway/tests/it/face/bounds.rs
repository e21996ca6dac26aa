//! Tests of limits: bodies, calls, connections, and clients that do not read.

use std::time::Duration;

use serde_json::Value;
use switchboard_gateway::face::{FaceLimits, FaceOptions, FaceTimeouts};
use switchboard_wire::{envelope::MAX_BATCH_MESSAGES, server::MAX_BATCH_ANSWER_BYTES};
use tokio::{io::AsyncWriteExt, net::TcpStream};

use super::{
    Served,
    guarding::by_token,
    raw::{WebSocket, begin, begin_session, call, get, post, read_until, send},
    soon,
};

fn with(limits: FaceLimits) -> FaceOptions {
    FaceOptions { limits, ..FaceOptions::local() }
}

/// On one thread: a client that has sent a thousand requests gives another its turn after sixteen.
#[tokio::test]
async fn a_client_with_many_requests_does_not_keep_another_waiting() {
    let served = Served::start(FaceOptions::local()).await;
    let address = served.address;
    let (busy, other) =
        (begin_session(address, "/mcp", &[]).await, begin_session(address, "/mcp", &[]).await);
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\nmcp-session-id: {busy}\r\ncontent-type: application/json\r\n\
         accept: application/json\r\ncontent-length: {}\r\n\r\n{list}",
        list.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    let requests = request.repeat(1_000);
    let asking = async {
        let known = [("mcp-session-id", other.as_str()), ("accept", "application/json")];
        let reply = post(address, "/mcp", &known, list).await;
        (reply.status, served.stage.scene.listed())
    };
    let writing = async {
        // It gets no answer of its own read, so it is cut off with the test.
        let _ = stream.write_all(requests.as_bytes()).await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        biased;
        () = writing => {}
        (status, listed) = asking => {
            assert_eq!(status, 200);
            assert!(listed < 500, "{listed} requests were answered first");
        }
    }
}

#[tokio::test]
async fn a_body_holds_so_much() {
    let served = Served::start(with(FaceLimits { body: 1000, ..FaceLimits::default() })).await;
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
    let served = Served::start(with(FaceLimits { streams: 1, ..FaceLimits::default() })).await;
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
    let served = Served::start(with(FaceLimits { connections: 1, ..FaceLimits::default() })).await;
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

/// The connection of a client that does not read is closed; other clients are unaffected.
#[tokio::test]
async fn a_client_that_does_not_read_is_cut_off() {
    let times = FaceTimeouts { stalled: Duration::from_millis(200), ..FaceTimeouts::default() };
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
    let times = FaceTimeouts { head: Duration::from_millis(100), ..FaceTimeouts::default() };
    let served = Served::start(FaceOptions { times, ..FaceOptions::local() }).await;
    let mut stream = soon(tokio::net::TcpStream::connect(served.address)).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut stream, b"POST /mcp HTTP/1.1\r\nhost:").await.unwrap();
    let mut rest = Vec::new();
    soon(tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut rest)).await.unwrap();
    assert_eq!(get(served.address, "/healthz", &[]).await.status, 200);
}

#[tokio::test]
async fn a_stream_with_nothing_to_say_shows_that_it_lives() {
    let times = FaceTimeouts { keep_alive: Duration::from_millis(20), ..FaceTimeouts::default() };
    let served = Served::start(FaceOptions { times, ..FaceOptions::local() }).await;
    let id = begin_session(served.address, "/mcp", &[]).await;
    let mut stream = begin(served.address, "GET", "/mcp", &[("mcp-session-id", &id)], "").await;
    read_until(&mut stream, ":\n\n").await;
}

/// A call that is silent for long gets its stream, so that the client does not take it for dead.
#[tokio::test]
async fn a_long_call_opens_its_stream_without_an_answer() {
    let times = FaceTimeouts { first_word: Duration::from_millis(20), ..FaceTimeouts::default() };
    let served = Served::start(FaceOptions { times, ..FaceOptions::local() }).await;
    let id = begin_session(served.address, "/mcp", &[]).await;
    let usual = [("mcp-session-id", id.as_str()), ("content-type", "application/json")];
    let mut stream = begin(served.address, "POST", "/mcp", &usual, &call(1, "hang", "{}")).await;
    let text = read_until(&mut stream, "data:\n\n").await;
    assert!(text.contains("text/event-stream") && text.contains("retry: "), "{text}");
}

/// A batch of `count` calls of a tool.
fn batch(count: usize, tool: &str, arguments: &str) -> String {
    let calls: Vec<_> = (0..count)
        .map(|id| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
            )
        })
        .collect();
    format!("[{}]", calls.join(","))
}

/// The answers to a batch: the numbers of results, errors and bytes.
fn counted(answers: &str) -> (usize, usize, usize) {
    let all: Vec<Value> = serde_json::from_str(answers).unwrap();
    for (at, answer) in all.iter().enumerate() {
        assert_eq!(answer["id"], at, "in the order of the requests");
    }
    let errors = all.iter().filter(|answer| answer["error"]["message"].is_string()).count();
    (all.len() - errors, errors, answers.len())
}

/// Tested over every transport with batches.
#[tokio::test]
async fn a_batch_holds_so_many_messages() {
    let served = Served::start(FaceOptions::local()).await;
    let id = begin_session(served.address, "/mcp", &[]).await;
    let known = [("mcp-session-id", id.as_str())];
    let (most, more) = (MAX_BATCH_MESSAGES, batch(MAX_BATCH_MESSAGES + 1, "echo", "{}"));
    let reply = post(served.address, "/mcp", &known, &batch(most, "echo", "{}")).await;
    assert_eq!(counted(&reply.body).0, most, "{}", reply.body);
    let reply = post(served.address, "/mcp", &known, &more).await;
    assert_eq!((reply.status, reply.code()), (400, Some(-32600)), "{reply:?}");

    let (_stream, place) = super::sessions::begin_sse(&served, &[]).await;
    let reply = post(served.address, &place, &[], &more).await;
    assert_eq!((reply.status, reply.code()), (400, Some(-32600)), "{reply:?}");

    let mut socket = WebSocket::greeted(&served, &[]).await;
    socket.send(&batch(most, "echo", "{}")).await;
    assert_eq!(counted(&socket.next().await).0, most);
    socket.send(&more).await;
    let refused: Value = serde_json::from_str(&socket.next().await).unwrap();
    assert_eq!((&refused["error"]["code"], &refused["id"]), (&(-32600).into(), &Value::Null));
    socket.send(&call(1, "echo", "{}")).await;
    assert!(socket.next().await.contains("result"), "the connection goes on");
}

#[tokio::test]
async fn the_answers_to_a_batch_hold_so_much() {
    let served = Served::start(FaceOptions::local()).await;
    let id = begin_session(served.address, "/mcp", &[]).await;
    let known = [("mcp-session-id", id.as_str())];
    let large = batch(20, "big", r#"{"bytes":1000000}"#);
    let mut socket = WebSocket::greeted(&served, &[]).await;
    socket.send(&large).await;
    for answers in [post(served.address, "/mcp", &known, &large).await.body, socket.next().await] {
        let (results, errors, bytes) = counted(&answers);
        assert_eq!((results, errors), (16, 4));
        assert!(bytes <= MAX_BATCH_ANSWER_BYTES + 100_000, "{bytes}");
    }
}

#[tokio::test]
async fn a_batch_is_as_many_calls_as_it_holds() {
    let served = Served::start(with(FaceLimits { streams: 3, ..FaceLimits::default() })).await;
    let id = begin_session(served.address, "/mcp", &[]).await;
    let known = [("mcp-session-id", id.as_str())];
    for (count, status) in [(3, 200), (4, 503), (3, 200)] {
        let reply = post(served.address, "/mcp", &known, &batch(count, "echo", "{}")).await;
        assert_eq!(reply.status, status, "{count}: {reply:?}");
    }
    let mut socket = WebSocket::greeted(&served, &[]).await;
    socket.send(&batch(4, "echo", "{}")).await;
    assert!(socket.next().await.contains("too many requests at once"));
    socket.send(&batch(3, "echo", "{}")).await;
    assert_eq!(counted(&socket.next().await).0, 3);
}

/// The budget of a principal covers all its sessions, and other principals are unaffected.
#[tokio::test]
async fn requests_of_a_principal_hold_so_much() {
    let limits = FaceLimits { in_flight_bytes: 1500, ..FaceLimits::default() };
    let served = Served::start(FaceOptions { limits, ..by_token() }).await;
    let (ann, bob) =
        (("authorization", "Bearer token-of-ann"), ("authorization", "Bearer token-of-bob"));
    let one = begin_session(served.address, "/mcp", &[ann]).await;
    let other = begin_session(served.address, "/mcp", &[ann]).await;
    let bobs = begin_session(served.address, "/mcp", &[bob]).await;
    let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(800));
    let usual = [ann, ("mcp-session-id", one.as_str()), ("content-type", "application/json")];
    let hanging = begin(served.address, "POST", "/mcp", &usual, &call(1, "hang", &long)).await;
    post(
        served.address,
        "/mcp",
        &[bob, ("mcp-session-id", &bobs)],
        &call(1, "await_hanging", "{}"),
    )
    .await;
    let echo = call(2, "echo", &long);
    for (who, session, status) in [(ann, &other, 503), (ann, &one, 503), (bob, &bobs, 200)] {
        let reply = post(served.address, "/mcp", &[who, ("mcp-session-id", session)], &echo).await;
        assert_eq!(reply.status, status, "{who:?}: {reply:?}");
    }
    let mut socket = WebSocket::greeted(&served, &[ann]).await;
    socket.send(&call(3, "echo", &format!(r#"{{"text":"{}"}}"#, "x".repeat(300)))).await;
    assert!(socket.next().await.contains("result"));
    socket.send(&echo).await;
    assert!(socket.ended().await, "it is cut off before its message is whole");
    // A call that ends with its session releases its budget.
    let ended = [ann, ("mcp-session-id", one.as_str())];
    assert_eq!(send(served.address, "DELETE", "/mcp", &ended, "").await.status, 200);
    drop(hanging);
    soon(async {
        loop {
            let known = [ann, ("mcp-session-id", other.as_str())];
            if post(served.address, "/mcp", &known, &echo).await.status == 200 {
                return;
            }
        }
    })
    .await;
}

/// Sends one request on a kept connection and returns the head of its answer.
async fn ask(stream: &mut TcpStream, served: &Served, headers: &str, body: &str) -> String {
    let text = format!(
        "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n{body}",
        served.address,
        body.len()
    );
    stream.write_all(text.as_bytes()).await.unwrap();
    // Every refusal ends with these characters.
    read_until(stream, "}}").await
}

/// After a refusal the connection stays usable, or the refusal says that it closes.
#[tokio::test]
async fn a_refused_body_leaves_the_connection_good_or_said_to_end() {
    let limits = FaceLimits {
        rate: switchboard_gateway::face::RequestRate::PerSecond(1),
        body: 1000,
        ..FaceLimits::default()
    };
    let served = Served::start(FaceOptions { limits, ..by_token() }).await;
    let body = |size: usize| format!("{{\"x\":\"{}\"}}", "x".repeat(size));
    let mut stream = soon(TcpStream::connect(served.address)).await.unwrap();
    let token = |name: &str| format!("authorization: Bearer token-of-{name}\r\n");
    for (headers, size, status) in [
        (String::new(), 100, "401"),
        (String::new(), 200_000, "401"),
        (token("bob"), 200_000, "413"),
        (token("bob") + "origin: http://evil.example\r\n", 100, "403"),
        (token("ann"), 10, "400"),
        (token("ann"), 10, "400"),
        (token("ann"), 10, "429"),
        (token("ann"), 200_000, "429"),
        (token("eve"), 10, "400"),
    ] {
        let reply = ask(&mut stream, &served, &headers, &body(size)).await;
        assert!(reply.starts_with(&format!("HTTP/1.1 {status} ")), "{headers}{size}: {reply}");
        assert!(!reply.contains("connection: close"), "{headers}{size}: {reply}");
    }
    // A body that is too long to be drained closes the connection, and the response says so.
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {}\r\n{}content-length: 10000000\r\n\r\n",
        served.address,
        token("ann")
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let reply = read_until(&mut stream, "}}").await;
    assert!(reply.contains("connection: close"), "{reply}");
    let mut rest = Vec::new();
    soon(tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut rest)).await.unwrap();
}

/// An idle connection is kept longer than the timeout for a head that has begun.
#[tokio::test]
async fn a_later_head_is_waited_for_as_long_as_the_first() {
    let head = Duration::from_millis(200);
    let times = FaceTimeouts { head, ..FaceTimeouts::default() };
    let served = Served::start(FaceOptions { times, ..FaceOptions::local() }).await;
    let mut stream = soon(TcpStream::connect(served.address)).await.unwrap();
    let healthy = format!("GET /healthz HTTP/1.1\r\nhost: {}\r\n\r\n", served.address);
    for _ in 0..2 {
        stream.write_all(healthy.as_bytes()).await.unwrap();
        read_until(&mut stream, "ok\n").await;
        // A stream that is held open until another connection times out.
        let mut silent = soon(TcpStream::connect(served.address)).await.unwrap();
        let mut nothing = Vec::new();
        soon(tokio::io::AsyncReadExt::read_to_end(&mut silent, &mut nothing)).await.unwrap();
    }
    stream.write_all(b"GET /healthz HT").await.unwrap();
    let mut rest = Vec::new();
    soon(tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut rest)).await.unwrap();
    assert!(!rest.starts_with(b"HTTP/1.1 200"));
}
