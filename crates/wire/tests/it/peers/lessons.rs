//! Regression tests from real peers and the conformance suite, with scripted servers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use switchboard_testkit::http::{Reply, Request, Scripted, Signal};
use switchboard_wire::client::{
    CallRequest, Client, ClientOptions, HttpTarget, InboxEvent, ServerInbox, ServerTarget,
};
use switchboard_wire::http::{EndpointOptions, HttpPool, HttpPoolOptions, ProxySettings};
use switchboard_wire::{Error, Version};

use super::{raw, text};

fn target(server: &Scripted) -> ServerTarget {
    let pool = HttpPool::new(&HttpPoolOptions {
        proxies: ProxySettings::Off,
        ..HttpPoolOptions::default()
    });
    ServerTarget::Http(HttpTarget {
        url: server.url("/mcp").parse().unwrap(),
        pool: pool.unwrap(),
        options: EndpointOptions::default(),
    })
}

async fn connect(server: &Scripted) -> Result<(Client, ServerInbox), Error> {
    Client::connect(target(server), ClientOptions::new("test", "1")).await
}

fn result(request: &Request, result: &str) -> Reply {
    let id = raw(request.text()).get("id").unwrap().unwrap();
    Reply::json(200, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
}

fn refused(request: &Request) -> Reply {
    let id = raw(request.text()).get("id").unwrap().unwrap();
    let error = r#"{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}"#;
    Reply::json(400, format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#))
}

/// A server that refuses its own version `times` times.
async fn undecided(times: usize) -> Scripted {
    let asked = AtomicUsize::new(0);
    Scripted::start(move |request| {
        let reply = if asked.fetch_add(1, Ordering::Relaxed) < times {
            refused(&request)
        } else {
            result(&request, r#"{"supportedVersions":["2026-07-28"],"capabilities":{}}"#)
        };
        async { reply }
    })
    .await
}

#[tokio::test]
async fn a_server_that_refuses_what_it_offers_is_asked_twice() {
    let server = undecided(1).await;
    let (client, _inbox) = connect(&server).await.unwrap();
    assert_eq!(client.server_facts().version, Version::V2026_07_28);
    let server = undecided(usize::MAX).await;
    let error = connect(&server).await.unwrap_err();
    assert!(matches!(error, Error::NoCommonVersion { .. }), "{error}");
    assert_eq!(server.requests().len(), 2);
}

/// A legacy server with the GET stream `stream`.
async fn legacy(stream: fn() -> Reply) -> Scripted {
    Scripted::start(move |request| {
        let method = match request.method.as_str() {
            "POST" => text(&raw(request.text()), "method"),
            other => other.to_owned(),
        };
        let reply = match method.as_str() {
            "GET" => stream(),
            "initialize" => {
                let facts = r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#;
                result(&request, facts)
            }
            "server/discover" => result(&request, "{}"),
            _ => Reply::empty(202),
        };
        async { reply }
    })
    .await
}

/// A server's messages are lost while no GET stream is open, including a question that a call waits
/// for.
#[tokio::test]
async fn the_servers_own_stream_is_open_once_connected() {
    let server = legacy(|| {
        Reply::events()
            .event(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#)
            .hang()
    })
    .await;
    let (_client, mut inbox) = connect(&server).await.unwrap();
    let requests = server.requests();
    assert!(requests.iter().any(|request| request.method == "GET"));
    let heard = inbox.next().await.unwrap();
    assert!(matches!(heard, InboxEvent::ListChanged(_)), "{heard:?}");
}

#[tokio::test]
async fn a_stream_that_does_not_open_holds_nobody_up() {
    let server = legacy(Reply::silence).await;
    let start = Instant::now();
    let (_client, _inbox) = connect(&server).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(10));
}

/// Without a GET stream, no answer can follow a 202.
#[tokio::test]
async fn an_answer_without_a_body_is_an_error_where_the_server_has_no_stream() {
    for no_stream in [|| Reply::empty(405), || Reply::empty(404)] {
        let server = legacy(no_stream).await;
        let (client, _inbox) = connect(&server).await.unwrap();
        let call = client.call(CallRequest::call_tool("x", &raw("{}"))).result();
        let ended = tokio::time::timeout(Duration::from_secs(20), call).await;
        let error = ended.expect("the call hangs").unwrap_err();
        assert!(matches!(error, Error::StreamLost { .. }), "{error}");
    }
}

/// The GET stream existed when the request was accepted, and never comes back.
#[tokio::test]
async fn an_answer_that_was_to_come_on_a_stream_that_is_gone_is_an_error() {
    for gone in [|| Reply::empty(405), || Reply::empty(500)] {
        let (lost, opened) = (Signal::default(), AtomicUsize::new(0));
        let cut = lost.clone();
        let server = Scripted::start(move |request| {
            let method = match request.method.as_str() {
                "POST" => text(&raw(request.text()), "method"),
                other => other.to_owned(),
            };
            let reply = match method.as_str() {
                "GET" if opened.fetch_add(1, Ordering::Relaxed) == 0 => {
                    Reply::events().event("").wait(&cut).close()
                }
                "GET" => gone(),
                "initialize" => {
                    let facts = r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#;
                    result(&request, facts)
                }
                "server/discover" => result(&request, "{}"),
                "tools/call" => {
                    cut.fire();
                    Reply::empty(202)
                }
                _ => Reply::empty(202),
            };
            async { reply }
        })
        .await;
        let mut options = ClientOptions::new("test", "1");
        options.reopen_after = Duration::from_millis(10);
        let (client, _inbox) = Client::connect(target(&server), options).await.unwrap();
        let call = client.call(CallRequest::call_tool("x", &raw("{}"))).result();
        let ended = tokio::time::timeout(Duration::from_secs(20), call).await;
        let error = ended.expect("the call hangs").unwrap_err();
        assert!(matches!(error, Error::StreamLost { .. }), "{error}");
    }
}
