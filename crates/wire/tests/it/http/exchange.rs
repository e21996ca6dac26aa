//! Tests of plain HTTP exchanges: the request sent, the response received, and no response at all.

use std::time::Duration;

use http::HeaderMap;
use switchboard_testkit::http::{Reply, Scripted};
use switchboard_wire::http::{ConnectFailure, EndpointOptions, HttpError, ResponseBody};

use super::{endpoint, endpoint_with, header, json, pool_options, post, soon};

#[tokio::test]
async fn a_post_carries_its_headers_and_body() {
    let server = Scripted::start(|_| async { Reply::json(200, r#"{"a":1}"#) }).await;
    let options =
        EndpointOptions { headers: header("x-static", "always"), ..EndpointOptions::default() };
    let endpoint = endpoint_with(&server.url("/mcp?key=1"), options);
    let body = "{\"jsonrpc\":\"2.0\"}".into();
    let answer = soon(endpoint.post(body, header("mcp-session-id", "s"))).await;
    assert_eq!(json(answer.unwrap()), r#"{"a":1}"#);

    let request = &server.requests()[0];
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/mcp?key=1"));
    assert_eq!(request.text(), "{\"jsonrpc\":\"2.0\"}");
    let expected = [
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
        ("x-static", "always"),
        ("mcp-session-id", "s"),
        ("user-agent", concat!("switchboard/", env!("CARGO_PKG_VERSION"))),
    ];
    for (name, value) in expected {
        assert_eq!(request.header(name), Some(value), "{name}");
    }
    assert_eq!(request.header("accept-encoding"), None);
}

#[tokio::test]
async fn a_get_asks_for_events_after_the_last_one() {
    let server = Scripted::start(|_| async { Reply::events() }).await;
    let endpoint = endpoint(&server.url("/mcp"));
    soon(endpoint.get_events(HeaderMap::new(), Some("e-7"))).await.unwrap();
    soon(endpoint.get_events(HeaderMap::new(), None)).await.unwrap();
    let requests = server.requests();
    assert_eq!(requests[0].method, "GET");
    assert_eq!(requests[0].header("accept"), Some("text/event-stream"));
    assert_eq!(requests[0].header("last-event-id"), Some("e-7"));
    assert_eq!(requests[1].header("last-event-id"), None);
}

#[tokio::test]
async fn a_delete_reports_its_status() {
    let server = Scripted::start(|_| async { Reply::text(405, "text/plain", "no") }).await;
    let status = soon(endpoint(&server.url("/")).delete(header("mcp-session-id", "s"))).await;
    assert_eq!(status.unwrap().as_u16(), 405);
    assert_eq!(server.requests()[0].method, "DELETE");
}

#[tokio::test]
async fn user_and_password_of_the_url_become_a_header() {
    let server = Scripted::start(|_| async { Reply::empty(202) }).await;
    let url = server.url("/").replace("http://", "http://us%40er:p+w@");
    let endpoint = endpoint(&url);
    post(&endpoint, "{}").await.unwrap();
    // The user and password are `us@er:p+w`.
    let expected = Some("Basic dXNAZXI6cCt3");
    assert_eq!(server.requests()[0].header("authorization"), expected);
    assert!(!format!("{endpoint:?} {}", endpoint.url()).contains("p+w"));
}

/// The content type decides, at any status.
#[tokio::test]
async fn bodies_are_sorted_by_content_type() {
    let cases = [
        (Reply::json(200, "{}"), "json"),
        (Reply::json(404, "{}"), "json"),
        (Reply::text(200, "Application/JSON; charset=utf-8", "{}"), "json"),
        (Reply::text(400, "application/problem+json", "{}"), "json"),
        (Reply::json(200, ""), "empty"),
        (Reply::empty(202), "empty"),
        (Reply::empty(500), "empty"),
        (Reply::text(200, "text/event-stream;charset=utf-8", ""), "events"),
        (Reply::text(200, "text/html", "<html>"), "other text/html <html>"),
        (Reply::raw("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx"), "other  x"),
    ];
    for (reply, expected) in cases {
        let shown = format!("{reply:?}");
        let server = Scripted::start(move |_| std::future::ready(reply.clone())).await;
        let answer = post(&endpoint(&server.url("/")), "{}").await.unwrap();
        let kind = match answer.body {
            ResponseBody::Empty => "empty".to_owned(),
            ResponseBody::Json(_) => "json".to_owned(),
            ResponseBody::Events(_) => "events".to_owned(),
            ResponseBody::Other { content_type, text } => {
                format!("other {content_type} {}", str::from_utf8(&text).unwrap())
            }
        };
        assert_eq!(kind, expected, "{shown}");
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_runs_into_the_first_byte_deadline() {
    let server = Scripted::start(|_| async { Reply::silence() }).await;
    let options =
        EndpointOptions { first_byte: Duration::from_millis(50), ..EndpointOptions::default() };
    let endpoint = endpoint_with(&server.url("/mcp?token=s3cret"), options);
    let error = post(&endpoint, "{}").await.unwrap_err();
    assert!(matches!(error, HttpError::FirstByte { .. }), "{error:?}");
    let shown = format!("POST {}: no answer began within 50ms", server.url("/mcp"));
    assert_eq!(error.to_string(), shown);
    soon(server.hung_up(1)).await;
}

#[tokio::test]
async fn nobody_there_is_a_refused_connection() {
    let server = Scripted::start(|_| async { Reply::empty(200) }).await;
    let url = server.url("/");
    drop(server);
    let error = loop {
        // The listener closes when its task is dropped, a moment after the handle.
        match post(&endpoint(&url), "{}").await {
            Err(
                HttpError::Connect { kind: ConnectFailure::Broken, .. } | HttpError::Closed { .. },
            ) => {}
            Err(error) => break error,
            Ok(_) => tokio::task::yield_now().await,
        }
    };
    assert_connect(&error, ConnectFailure::Refused);
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_told_apart() {
    let error = post(&endpoint("http://nowhere.invalid/"), "{}").await.unwrap_err();
    assert_connect(&error, ConnectFailure::Dns);
}

/// A listener with a full queue answers no handshake. TLS makes that easy to stage on loopback: a
/// peer accepts TCP and then stays silent.
#[tokio::test]
async fn a_peer_that_never_finishes_the_handshake_is_a_connect_timeout() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut options = pool_options();
    options.connect_timeout = Duration::from_millis(50);
    let pool = switchboard_wire::http::HttpPool::new(&options).unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let endpoint = switchboard_wire::http::HttpEndpoint::new(
        pool,
        url.parse().unwrap(),
        EndpointOptions::default(),
    );
    let error = post(&endpoint, "{}").await.unwrap_err();
    assert_connect(&error, ConnectFailure::Timeout);
}

#[tokio::test]
async fn a_peer_that_speaks_no_http_breaks_the_protocol() {
    let server = Scripted::start(|_| async { Reply::raw("220 smtp ready\r\n") }).await;
    let error = post(&endpoint(&server.url("/")), "{}").await.unwrap_err();
    assert!(matches!(error, HttpError::Protocol { .. }), "{error:?}");
}

pub(super) fn assert_connect(error: &HttpError, expected: ConnectFailure) {
    match error {
        HttpError::Connect { kind, .. } if *kind == expected => {}
        other => panic!("expected {expected:?}, got {other:?}"),
    }
}
