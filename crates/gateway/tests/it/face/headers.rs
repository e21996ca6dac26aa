//! Tests of modern requests: required metadata, and headers that agree with the body.

use switchboard_gateway::face::FaceOptions;

use super::{
    Served,
    raw::{post, send},
    soon,
};

const VERSION: &str = "2026-07-28";

fn request(method: &str, params: &str, version: &str) -> String {
    let comma = if params.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":"i","method":"{method}","params":{{{params}{comma}"_meta":{{"io.modelcontextprotocol/protocolVersion":"{version}","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    )
}

#[tokio::test]
async fn headers_must_say_what_the_body_says() {
    let served = Served::start(FaceOptions::local()).await;
    let echo = request("tools/call", r#""name":"echo","arguments":{}"#, VERSION);
    let routed = request("tools/call", r#""name":"routed","arguments":{"region":"here"}"#, VERSION);
    let unrouted = request("tools/call", r#""name":"routed","arguments":{}"#, VERSION);
    let read = request("resources/read", r#""uri":"test://known""#, VERSION);
    let list = request("tools/list", "", VERSION);
    let version = ("mcp-protocol-version", VERSION);
    let calls = ("mcp-method", "tools/call");
    let name = |name| ("mcp-name", name);
    for (body, headers, expected) in [
        (&list, vec![version, ("mcp-method", "tools/list")], None),
        (&list, vec![version, ("Mcp-Method", " tools/list ")], None),
        (&list, vec![version], Some(-32020)),
        (&list, vec![version, ("mcp-method", "tools/List")], Some(-32020)),
        (&list, vec![("mcp-method", "tools/list")], Some(-32020)),
        (
            &list,
            vec![("mcp-protocol-version", "2025-11-25"), ("mcp-method", "tools/list")],
            Some(-32020),
        ),
        (&echo, vec![version, calls, name("echo")], None),
        (&echo, vec![version, calls, name("  echo\t")], None),
        (&echo, vec![version, calls, name("=?base64?ZWNobw==?=")], None),
        (&echo, vec![version, calls, name("=?base64?***?=")], Some(-32020)),
        (&echo, vec![version, calls, name("Echo")], Some(-32020)),
        (&echo, vec![version, calls], Some(-32020)),
        (&read, vec![version, ("mcp-method", "resources/read"), name("test://known")], None),
        (
            &read,
            vec![version, ("mcp-method", "resources/read"), name("test://other")],
            Some(-32020),
        ),
        (&routed, vec![version, calls, name("routed"), ("MCP-Param-REGION", "here")], None),
        (
            &routed,
            vec![version, calls, name("routed"), ("mcp-param-region", "=?base64?aGVyZQ==?=")],
            None,
        ),
        (
            &routed,
            vec![version, calls, name("routed"), ("mcp-param-region", "there")],
            Some(-32020),
        ),
        (&routed, vec![version, calls, name("routed")], Some(-32020)),
        (&unrouted, vec![version, calls, name("routed")], None),
        (&unrouted, vec![version, calls, name("routed"), ("mcp-param-other", "x")], None),
        (&unrouted, vec![version, calls, name("routed"), ("mcp-param-region", "x")], Some(-32020)),
    ] {
        let reply = post(served.address, "/mcp", &headers, body).await;
        let status = if expected.is_some() { 400 } else { 200 };
        assert_eq!(
            (reply.status, reply.code()),
            (status, expected),
            "{headers:?} {body}: {reply:?}"
        );
        assert!(reply.body.contains(r#""id":"i""#), "{reply:?}");
        assert_eq!(reply.header("mcp-session-id"), None);
    }
}

#[tokio::test]
async fn what_a_modern_request_comes_to() {
    let served = Served::start(FaceOptions::local()).await;
    let bare = r#"{"jsonrpc":"2.0","id":"i","method":"tools/list","params":{}}"#.to_owned();
    let half = r#"{"jsonrpc":"2.0","id":"i","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#.to_owned();
    for (method, version, body, status, code) in [
        ("server/discover", VERSION, request("server/discover", "", VERSION), 200, None),
        ("tools/list", VERSION, bare, 400, Some(-32602)),
        ("tools/list", VERSION, half, 400, Some(-32602)),
        ("tools/list", "2099-01-01", request("tools/list", "", "2099-01-01"), 400, Some(-32022)),
        ("x/y", VERSION, request("x/y", "", VERSION), 404, Some(-32601)),
        ("initialize", VERSION, request("initialize", "", VERSION), 404, Some(-32601)),
        ("ping", VERSION, request("ping", "", VERSION), 404, Some(-32601)),
    ] {
        let headers = [("mcp-protocol-version", version), ("mcp-method", method)];
        let reply = post(served.address, "/mcp", &headers, &body).await;
        assert_eq!((reply.status, reply.code()), (status, code), "{body}: {reply:?}");
        assert_eq!(reply.json()["id"], "i");
        if code == Some(-32022) {
            assert_eq!(reply.json()["error"]["data"]["supported"][0], VERSION);
        }
    }
    let capability = request("tools/call", r#""name":"ask""#, VERSION);
    let headers =
        [("mcp-protocol-version", VERSION), ("mcp-method", "tools/call"), ("mcp-name", "ask")];
    let reply = post(served.address, "/mcp", &headers, &capability).await;
    assert_eq!((reply.status, reply.code()), (400, Some(-32021)));
    // One view serves all requests, and no session was opened.
    assert_eq!(served.openings().len(), 1);
    assert_eq!(served.openings()[0].session, "local /mcp");
}

#[tokio::test]
async fn what_the_modern_era_no_longer_has() {
    let served = Served::start(FaceOptions::local()).await;
    let version = ("mcp-protocol-version", VERSION);
    for (method, body, status) in [
        ("GET", "", 405),
        ("DELETE", "", 405),
        ("POST", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, 400),
        ("POST", r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]"#, 400),
        ("POST", r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#, 202),
    ] {
        let headers = [version, ("content-type", "application/json")];
        let reply = send(served.address, method, "/mcp", &headers, body).await;
        assert_eq!(reply.status, status, "{method} {body}: {reply:?}");
    }
}

#[tokio::test]
async fn a_notification_of_an_extension_reaches_the_view() {
    let served = Served::start(FaceOptions::local()).await;
    for method in ["notifications/cancelled", "notifications/things/moved"] {
        let note = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"depth":1}}}}"#);
        let headers = [("mcp-protocol-version", VERSION)];
        let reply = post(served.address, "/mcp", &headers, &note).await;
        assert_eq!(reply.status, 202, "{reply:?}");
    }
    let notified = served.stage.scene.notified.lock().unwrap();
    assert_eq!(*notified, ["notifications/things/moved"]);
}

#[tokio::test]
async fn tools_that_change_are_looked_at_again() {
    let served = Served::start(FaceOptions::local()).await;
    let routed = request("tools/call", r#""name":"routed","arguments":{"region":"here"}"#, VERSION);
    let headers = [
        ("mcp-protocol-version", VERSION),
        ("mcp-method", "tools/call"),
        ("mcp-name", "routed"),
        ("mcp-param-region", "here"),
    ];
    for _ in 0..2 {
        assert_eq!(post(served.address, "/mcp", &headers, &routed).await.status, 200);
        assert_eq!(served.stage.scene.listed(), 1, "what is known is not asked for");
    }
    let announce =
        request("tools/call", r#""name":"announce","arguments":{"what":"tools"}"#, VERSION);
    let announcing = [headers[0], headers[1], ("mcp-name", "announce")];
    soon(async {
        while served.stage.scene.listed() < 2 {
            assert_eq!(post(served.address, "/mcp", &announcing, &announce).await.status, 200);
        }
    })
    .await;
}

#[tokio::test]
async fn headers_are_those_of_the_tools_that_the_caller_sees() {
    let served = Served::start(FaceOptions::local()).await;
    let plain = request("tools/call", r#""name":"routed","arguments":{}"#, VERSION);
    let sampling =
        plain.replace(r#"clientCapabilities":{}"#, r#"clientCapabilities":{"sampling":{}}"#);
    let headers =
        [("mcp-protocol-version", VERSION), ("mcp-method", "tools/call"), ("mcp-name", "routed")];
    for body in [&sampling, &plain, &sampling] {
        assert_eq!(post(served.address, "/mcp", &headers, body).await.status, 200);
    }
    assert_eq!(served.stage.scene.listed_with(), [r#"{"sampling":{}}"#, "{}"]);
}

/// A client that has its trace context in headers only: its server finds the context in `_meta`.
#[tokio::test]
async fn trace_context_in_headers_becomes_metadata() {
    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let served = Served::start(FaceOptions::local()).await;
    let tracing = [("traceparent", PARENT), ("tracestate", "a=1"), ("baggage", "k=v")];
    let added = format!(r#""traceparent":"{PARENT}","tracestate":"a=1","baggage":"k=v""#);
    let session = super::raw::begin_session(served.address, "/mcp", &[]).await;
    let legacy = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"meta"}}"#;
    let headers = [&tracing[..], &[("mcp-session-id", &*session)]].concat();
    let reply = post(served.address, "/mcp", &headers, legacy).await;
    assert!(reply.body.contains(&added), "{reply:?}");
    let modern = request("tools/call", r#""name":"meta""#, VERSION);
    let own =
        [("mcp-protocol-version", VERSION), ("mcp-method", "tools/call"), ("mcp-name", "meta")];
    let reply = post(served.address, "/mcp", &[&tracing[..], &own].concat(), &modern).await;
    assert!(reply.body.contains(&added), "{reply:?}");
    let wrong = [("traceparent", "00-1-2-3"), ("tracestate", "a=1")];
    let reply = post(served.address, "/mcp", &[&wrong[..], &own].concat(), &modern).await;
    assert!(!reply.body.contains("trace"), "{reply:?}");
}
