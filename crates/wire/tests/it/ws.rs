//! Tests of the WebSocket client against scripted servers on loopback.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytestring::ByteString;
use futures_util::{SinkExt as _, StreamExt as _};
use switchboard_testkit::fault::{Fault, FaultProxy, Plan};
use switchboard_testkit::http::{Authority, ClientCertificate, Reply, Scripted, Signal};
use switchboard_testkit::ws::{CloseFrame, Message, ScriptedWs, Setup, Socket};
use switchboard_wire::http::{ConnectFailure, HttpError, HttpPool, StaticHeaders};
use switchboard_wire::ws::{WsError, WsOptions, WsReader, WsWriter, connect_websocket};
use tokio::sync::mpsc;

use crate::http::{header, pool, soon, tls};

async fn open(url: &str, options: WsOptions) -> (WsWriter, WsReader) {
    open_with(&pool(), url, options).await.unwrap()
}

async fn open_with(
    pool: &HttpPool,
    url: &str,
    options: WsOptions,
) -> Result<(WsWriter, WsReader), WsError> {
    soon(connect_websocket(pool, &url.parse().unwrap(), options)).await
}

async fn refused(url: &str) -> WsError {
    open_with(&pool(), url, WsOptions::default()).await.unwrap_err()
}

async fn text(reader: &mut WsReader) -> String {
    soon(reader.next()).await.unwrap().unwrap().to_string()
}

async fn error(reader: &mut WsReader) -> WsError {
    soon(reader.next()).await.unwrap().unwrap_err()
}

async fn echo(mut socket: Socket) {
    while let Some(Ok(message)) = socket.next().await {
        if message.is_text() && socket.send(message).await.is_err() {
            return;
        }
    }
}

/// An event at the server.
#[derive(Debug, PartialEq)]
enum Seen {
    Message(Message),
    End,
}

/// Sends `first` and then reports all received messages, and the end.
async fn watched(first: Vec<Message>) -> (ScriptedWs, mpsc::UnboundedReceiver<Seen>) {
    let (seen, report) = mpsc::unbounded_channel();
    let server = ScriptedWs::start(move |socket| watch(socket, first.clone(), seen.clone())).await;
    (server, report)
}

async fn watch(mut socket: Socket, first: Vec<Message>, seen: mpsc::UnboundedSender<Seen>) {
    for message in first {
        socket.send(message).await.unwrap();
    }
    while let Some(Ok(message)) = socket.next().await {
        let _ = seen.send(Seen::Message(message));
    }
    let _ = seen.send(Seen::End);
}

fn close_frame(code: u16, reason: &'static str) -> CloseFrame {
    CloseFrame { code: code.into(), reason: reason.into() }
}

#[tokio::test]
async fn messages_go_both_ways_in_order() {
    let server = ScriptedWs::start(echo).await;
    let (writer, mut reader) = open(&server.url("/ws"), WsOptions::default()).await;
    assert_eq!(reader.subprotocol(), Some("mcp"));
    let large = "x".repeat(1 << 20);
    for round in 0..100 {
        writer.send(format!("{round}").into()).await.unwrap();
    }
    writer.send(large.as_str().into()).await.unwrap();
    for round in 0..100 {
        assert_eq!(text(&mut reader).await, round.to_string());
    }
    assert_eq!(text(&mut reader).await, large);
}

#[tokio::test]
async fn the_upgrade_carries_headers_and_credentials() {
    let server = ScriptedWs::start(echo).await;
    let options = WsOptions {
        headers: header("x-static", "always"),
        credentials: Arc::new(StaticHeaders::new(header("authorization", "Bearer s3cret"))),
        ..WsOptions::default()
    };
    assert!(!format!("{options:?}").contains("always"));
    let _open = open(&server.url("/ws"), options).await;
    let upgrade = &server.upgrades()[0];
    let sent = |name: &str| upgrade.get(name).and_then(|value| value.to_str().ok());
    assert_eq!(sent("x-static"), Some("always"));
    assert_eq!(sent("authorization"), Some("Bearer s3cret"));
    assert_eq!(sent("sec-websocket-protocol"), Some("mcp"));
}

#[tokio::test]
async fn another_subprotocol_or_none_is_accepted() {
    for subprotocol in [None, Some("other")] {
        let setup = Setup { subprotocol, tls: None };
        let server = ScriptedWs::start_with(setup, echo).await;
        let (writer, mut reader) = open(&server.url("/"), WsOptions::default()).await;
        assert_eq!(reader.subprotocol(), subprotocol);
        writer.send("x".into()).await.unwrap();
        assert_eq!(text(&mut reader).await, "x");
    }
}

#[tokio::test]
async fn a_ping_is_answered() {
    let ping = Message::Ping("are you there".into());
    let (server, mut report) = watched(vec![ping]).await;
    let (_writer, mut reader) = open(&server.url("/"), WsOptions::default()).await;
    tokio::select! {
        received = reader.next() => panic!("{received:?}"),
        seen = soon(report.recv()) => {
            assert_eq!(seen, Some(Seen::Message(Message::Pong("are you there".into()))));
        }
    }
}

#[tokio::test]
async fn a_quiet_peer_that_answers_pings_is_alive() {
    let (server, mut report) = watched(Vec::new()).await;
    let options = WsOptions {
        ping_interval: Duration::from_millis(10),
        pong_timeout: Duration::from_secs(10),
        ..WsOptions::default()
    };
    let (_writer, mut reader) = open(&server.url("/"), options).await;
    let three_pings = async {
        for _ in 0..3 {
            assert!(matches!(report.recv().await, Some(Seen::Message(Message::Ping(_)))));
        }
    };
    tokio::select! {
        received = reader.next() => panic!("{received:?}"),
        () = soon(three_pings) => {}
    }
}

#[tokio::test]
async fn a_dead_peer_is_noticed() {
    let never = Signal::default();
    let server = ScriptedWs::start(move |socket| {
        let never = never.clone();
        async move {
            never.wait().await;
            drop(socket);
        }
    })
    .await;
    let options = WsOptions {
        ping_interval: Duration::from_millis(20),
        pong_timeout: Duration::from_millis(50),
        ..WsOptions::default()
    };
    let (writer, mut reader) = open(&server.url("/"), options).await;
    let error = error(&mut reader).await;
    assert!(matches!(error, WsError::DeadPeer { .. }), "{error:?}");
    assert!(soon(reader.next()).await.is_none());
    drop(reader);
    soon(writer.close()).await;
    assert!(matches!(writer.send("x".into()).await, Err(WsError::Gone)));
}

#[tokio::test]
async fn close_codes_come_through() {
    let cases = [
        (Some(close_frame(1000, "bye")), 1000, "bye"),
        (Some(close_frame(1001, "")), 1001, ""),
        (Some(close_frame(4321, "custom")), 4321, "custom"),
        (None, 1005, ""),
    ];
    for (frame, expected_code, expected_reason) in cases {
        let (server, mut report) = watched(vec![Message::Close(frame)]).await;
        let (_writer, mut reader) = open(&server.url("/"), WsOptions::default()).await;
        match error(&mut reader).await {
            WsError::Closed { code, reason } => {
                assert_eq!((code, reason.as_str()), (expected_code, expected_reason));
            }
            other => panic!("{other:?}"),
        }
        assert!(soon(reader.next()).await.is_none());
        // The reply to the close frame, then the end.
        assert!(matches!(soon(report.recv()).await, Some(Seen::Message(Message::Close(_)))));
        assert_eq!(soon(report.recv()).await, Some(Seen::End));
    }
}

#[tokio::test]
async fn a_connection_that_just_ends_is_lost() {
    let server = ScriptedWs::start(|socket| async move { drop(socket) }).await;
    let (_writer, mut reader) = open(&server.url("/"), WsOptions::default()).await;
    let error = error(&mut reader).await;
    assert!(matches!(error, WsError::Lost { .. }), "{error:?}");
}

#[tokio::test]
async fn closing_sends_what_is_queued_and_code_1000() {
    let (server, mut report) = watched(Vec::new()).await;
    let (writer, mut reader) = open(&server.url("/"), WsOptions::default()).await;
    writer.send("last words".into()).await.unwrap();
    let (end, ()) = soon(async { tokio::join!(reader.next(), writer.close()) }).await;
    assert!(end.is_none(), "{end:?}");
    assert_eq!(soon(report.recv()).await, Some(Seen::Message(Message::text("last words"))));
    let close = Message::Close(Some(close_frame(1000, "")));
    assert_eq!(soon(report.recv()).await, Some(Seen::Message(close)));
    assert!(matches!(writer.send("more".into()).await, Err(WsError::Gone)));
}

#[tokio::test]
async fn a_message_over_the_limit_ends_the_connection_with_1009() {
    let (server, mut report) = watched(vec![Message::text("x".repeat(101))]).await;
    let options = WsOptions { max_message: 100, ..WsOptions::default() };
    let (_writer, mut reader) = open(&server.url("/"), options).await;
    let error = error(&mut reader).await;
    assert!(matches!(error, WsError::TooLarge { limit: 100 }), "{error:?}");
    assert!(soon(reader.next()).await.is_none());
    assert_closed_with(soon(report.recv()).await, 1009);
}

#[tokio::test]
async fn a_binary_message_is_refused_with_1003() {
    let (server, mut report) = watched(vec![Message::binary("{}")]).await;
    let (_writer, mut reader) = open(&server.url("/"), WsOptions::default()).await;
    let error = error(&mut reader).await;
    assert!(matches!(error, WsError::Binary), "{error:?}");
    assert_closed_with(soon(report.recv()).await, 1003);
}

fn assert_closed_with(seen: Option<Seen>, expected: u16) {
    match seen {
        Some(Seen::Message(Message::Close(Some(frame)))) => {
            assert_eq!(u16::from(frame.code), expected);
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn corrupted_frames_are_an_error() {
    let server = ScriptedWs::start(echo).await;
    for down in [Fault::CutAfter(200), Fault::ResetAfter(200), Fault::CorruptAt(190)] {
        let plan = Plan { down, up: Fault::None };
        let proxy = FaultProxy::start(server.addr(), plan).await;
        let url = format!("ws://{}/", proxy.addr());
        let (writer, mut reader) = open(&url, WsOptions::default()).await;
        let outcome = async {
            loop {
                let _ = writer.send(ByteString::from_static("0123456789")).await;
                if let Err(error) = reader.next().await? {
                    return Some(error);
                }
            }
        };
        assert!(soon(outcome).await.is_some(), "{down:?}");
    }
}

#[tokio::test]
async fn refusals_of_the_upgrade_are_told_apart() {
    let replying = |reply: Reply| Scripted::start(move |_| std::future::ready(reply.clone()));
    let ws = |server: &Scripted| server.url("/").replace("http", "ws");
    for status in [401, 403] {
        let server = replying(Reply::text(status, "text/plain", "no")).await;
        match refused(&ws(&server)).await {
            WsError::Http(HttpError::Refused { status: got, .. }) => assert_eq!(got, status),
            other => panic!("{other:?}"),
        }
    }
    let server = replying(Reply::text(404, "text/plain", "no such thing")).await;
    match refused(&ws(&server)).await {
        WsError::NotUpgraded { status, text, .. } => {
            assert_eq!((status.as_u16(), &text[..]), (404, &b"no such thing"[..]));
        }
        other => panic!("{other:?}"),
    }
    let server = replying(Reply::redirect(307, "/other")).await;
    let error = refused(&ws(&server)).await;
    assert!(matches!(error, WsError::Http(HttpError::Redirect { .. })), "{error:?}");
    let head = "HTTP/1.1 101 OK\r\nupgrade: websocket\r\nconnection: upgrade\r\n";
    let server =
        replying(Reply::raw(format!("{head}sec-websocket-accept: x\r\n\r\n")).hang()).await;
    let error = refused(&ws(&server)).await;
    assert!(matches!(error, WsError::Handshake { .. }), "{error:?}");
    let error = refused("http://127.0.0.1:1/").await;
    assert!(matches!(error, WsError::Scheme { .. }), "{error:?}");
}

#[tokio::test]
async fn wss_with_a_custom_authority_and_a_client_certificate() {
    let authority = Authority::new();
    let config = authority.server(ClientCertificate::Required, &["h2", "http/1.1"]);
    let setup = Setup { subprotocol: Some("mcp"), tls: Some(config) };
    let server = ScriptedWs::start_with(setup, echo).await;
    let known = tls::pool(tls::appearing(&authority));
    let (writer, mut reader) =
        open_with(&known, &server.url("/"), WsOptions::default()).await.unwrap();
    writer.send("x".into()).await.unwrap();
    assert_eq!(text(&mut reader).await, "x");
    for stranger in [tls::trusting(&authority), tls::appearing(&Authority::new())] {
        let error = open_with(&tls::pool(stranger), &server.url("/"), WsOptions::default()).await;
        match error.unwrap_err() {
            WsError::Http(HttpError::Connect { kind: ConnectFailure::Tls, .. }) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// Two messages and one answer: with Nagle's algorithm the second message would wait for the
/// delayed acknowledgement of the first, 40 ms each time. One builder makes HTTP and WebSocket
/// connections; an HTTP/1.1 request leaves in one write, so only here the difference shows.
#[tokio::test]
async fn small_messages_are_not_held_back() {
    let server = ScriptedWs::start(|mut socket: Socket| async move {
        while let Some(Ok(message)) = socket.next().await {
            if message == Message::text("second") && socket.send(message).await.is_err() {
                return;
            }
        }
    })
    .await;
    let (writer, mut reader) = open(&server.url("/"), WsOptions::default()).await;
    let start = Instant::now();
    for _ in 0..50 {
        writer.send("first".into()).await.unwrap();
        tokio::task::yield_now().await;
        writer.send("second".into()).await.unwrap();
        assert_eq!(text(&mut reader).await, "second");
    }
    assert!(start.elapsed() < Duration::from_millis(1500), "{:?}", start.elapsed());
}

/// A peer that does not read delays neither `close` nor, for long, the task.
#[tokio::test]
async fn closing_does_not_wait_for_a_peer_that_does_not_read() {
    let server = ScriptedWs::start(|socket| async move {
        std::future::pending::<()>().await;
        drop(socket);
    })
    .await;
    let (writer, _reader) = open(&server.url("/"), WsOptions::default()).await;
    let large = ByteString::from("x".repeat(1 << 20));
    let fill = async { while writer.send(large.clone()).await.is_ok() {} };
    // The queue is full when no byte moves any more.
    tokio::time::pause();
    let outcome = tokio::time::timeout(Duration::from_secs(1), fill).await;
    assert!(outcome.is_err());
    soon(writer.close()).await;
    assert!(matches!(writer.send(large).await, Err(WsError::Gone)));
}

/// The task ends with its connection, however the connection ends.
#[tokio::test]
async fn no_task_stays_behind() {
    let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let server = ScriptedWs::start(echo).await;
    let pool = pool();
    let before = alive();
    for way in 0..4 {
        let url = server.url("/");
        let (writer, mut reader) = open_with(&pool, &url, WsOptions::default()).await.unwrap();
        writer.send("x".into()).await.unwrap();
        assert_eq!(text(&mut reader).await, "x");
        match way {
            0 => drop((writer, reader)),
            1 => drop((reader, writer)),
            2 => {
                drop(reader);
                soon(writer.close()).await;
            }
            _ => {
                drop(writer);
                assert!(soon(reader.next()).await.is_none());
            }
        }
        // The tasks of the client, the scripted server and the HTTP client must all end.
        soon(async {
            while alive() > before {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}
