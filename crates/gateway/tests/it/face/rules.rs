//! Tests of each HTTP refusal and rule, as a table.

use switchboard_gateway::face::FaceOptions;

use super::{
    Served,
    raw::{begin_session, call, post, send},
};

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
const NOTE: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

#[tokio::test]
async fn addresses_and_methods() {
    let served = Served::start(FaceOptions::local()).await;
    for (method, path, status) in [
        ("GET", "/health", 200),
        ("GET", "/healthz", 200),
        ("GET", "/readyz", 200),
        ("GET", "/metrics", 200),
        ("GET", "/", 404),
        ("POST", "/elsewhere", 404),
        ("PUT", "/mcp", 405),
        ("PATCH", "/mcp/one", 405),
        ("GET", "/mcp", 400),
        ("DELETE", "/mcp", 400),
        ("POST", "/sse", 405),
        ("GET", "/sse/none", 404),
        ("GET", "/sse/agent/none", 404),
        ("GET", "/messages", 405),
        ("POST", "/messages", 415),
        ("GET", "/ws", 426),
        ("POST", "/ws", 405),
    ] {
        let reply = send(served.address, method, path, &[], "").await;
        assert_eq!(reply.status, status, "{method} {path}: {reply:?}");
        if status >= 400 && path != "/healthz" {
            assert!(reply.json()["error"]["message"].is_string(), "{method} {path}: {reply:?}");
        }
    }
}

#[tokio::test]
async fn an_answer_of_any_size_is_whole_and_says_how_long_it_is() {
    let served = Served::start(FaceOptions::local()).await;
    let id = begin_session(served.address, "/mcp", &[]).await;
    let headers = [("mcp-session-id", id.as_str()), ("accept", "application/json")];
    for bytes in [0, 100, 65_000, 66_000, 1 << 20] {
        let asked = call(9, "big", &format!(r#"{{"bytes":{bytes}}}"#));
        let reply = post(served.address, "/mcp", &headers, &asked).await;
        let text = "x".repeat(bytes);
        let expected =
            format!(r#"{{"jsonrpc":"2.0","id":9,"result":{{"content":[],"text":"{text}"}}}}"#);
        assert!(reply.body == expected, "{bytes}: {}", &reply.body[..reply.body.len().min(200)]);
        let length = expected.len().to_string();
        assert_eq!(reply.header("content-length"), Some(length.as_str()), "{bytes}");
    }
}

#[tokio::test]
async fn messages_of_legacy_clients() {
    let served = Served::start(FaceOptions::local()).await;
    let id = begin_session(served.address, "/mcp", &[]).await;
    assert!(id.len() >= 32 && id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
    let known = ("mcp-session-id", id.as_str());
    let batch = format!("[{LIST},{NOTE}]");
    let hello = r#"[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}]"#;
    for (what, headers, body, status, code) in [
        ("a request", vec![known], LIST, 200, None),
        ("a notification", vec![known], NOTE, 202, None),
        ("an answer", vec![known], r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, 202, None),
        ("a batch", vec![known], &batch, 200, None),
        ("initialize in a batch", vec![known], hello, 400, Some(-32000)),
        ("no session", vec![], LIST, 400, Some(-32602)),
        ("an unknown session", vec![("mcp-session-id", "nope")], LIST, 404, Some(-32001)),
        ("a version", vec![known, ("mcp-protocol-version", "2025-11-25")], LIST, 200, None),
        ("another version", vec![known, ("mcp-protocol-version", "2025-03-26")], LIST, 200, None),
        (
            "no version",
            vec![known, ("mcp-protocol-version", "1999-01-01")],
            LIST,
            400,
            Some(-32022),
        ),
        ("another type", vec![known, ("content-type", "text/plain")], LIST, 415, Some(-32000)),
        ("no type", vec![known, ("content-type", "-")], LIST, 415, Some(-32000)),
        ("takes neither", vec![known, ("accept", "text/html")], LIST, 406, Some(-32000)),
        ("takes JSON", vec![known, ("accept", "application/json")], LIST, 200, None),
        ("not JSON", vec![known], "{", 400, Some(-32700)),
        ("not a message", vec![known], "{}", 400, Some(-32600)),
        ("no method", vec![known], r#"{"jsonrpc":"2.0","id":1}"#, 400, Some(-32600)),
        ("an empty batch", vec![known], "[]", 400, Some(-32600)),
        (
            "an unknown method",
            vec![known],
            r#"{"jsonrpc":"2.0","id":1,"method":"x/y"}"#,
            200,
            Some(-32601),
        ),
    ] {
        let reply = post(served.address, "/mcp", &headers, body).await;
        assert_eq!((reply.status, reply.code()), (status, code), "{what}: {reply:?}");
    }
    let other_part = post(served.address, "/mcp/one", &[known], LIST).await;
    assert_eq!(other_part.status, 404, "a session is of one endpoint");
}

#[tokio::test]
async fn answers_are_json_or_events_as_the_client_takes_them() {
    let served = Served::start(FaceOptions::local()).await;
    let id = begin_session(served.address, "/mcp", &[]).await;
    for (accept, tool, kind, says) in [
        ("application/json, text/event-stream", "echo", "application/json", "\"echo\":{\"to\":1}"),
        ("application/json, text/event-stream", "count", "text/event-stream", "progressToken"),
        ("application/json", "count", "application/json", "\"content\":[]"),
        ("text/event-stream", "echo", "text/event-stream", "\"echo\":{\"to\":1}"),
    ] {
        let headers = [("mcp-session-id", id.as_str()), ("accept", accept)];
        let reply = post(served.address, "/mcp", &headers, &call(1, tool, r#"{"to":1}"#)).await;
        assert_eq!(reply.header("content-type"), Some(kind), "{accept} {tool}: {reply:?}");
        assert!(reply.body.contains(says), "{accept} {tool}: {reply:?}");
        if kind == "text/event-stream" {
            assert!(
                reply.body.starts_with("id: ") && reply.body.contains("data:\n\n"),
                "{reply:?}"
            );
            assert_eq!(reply.header("x-accel-buffering"), Some("no"));
        }
    }
}

#[tokio::test]
async fn parts_are_opened_by_name() {
    let served = Served::start(FaceOptions::local()).await;
    for path in ["/mcp", "/mcp/one%20server", "/mcp/agent/two"] {
        begin_session(served.address, path, &[]).await;
    }
    let parts: Vec<_> =
        served.openings().into_iter().map(|opening| format!("{:?}", opening.part)).collect();
    assert_eq!(parts, ["Everything", "Server(\"one server\")", "Agent(\"two\")"]);
    let none = post(served.address, "/mcp/none", &[], r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#).await;
    assert_eq!((none.status, none.code()), (404, Some(-32000)));
    let agent = post(served.address, "/mcp/agent/none", &[], r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#).await;
    let told = agent.json()["error"]["message"].as_str().unwrap().to_owned();
    assert_eq!(
        (agent.status, told.contains("there is no agent `none` here")),
        (404, true),
        "{told}"
    );
}
