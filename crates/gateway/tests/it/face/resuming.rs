//! Tests of resumed streams, and of calls that outlive their connections.

use switchboard_gateway::face::FaceOptions;

use super::{
    Served,
    raw::{begin, begin_session, call, get, post, read_until},
};

/// The id of the last event in a text.
fn last_event(text: &str) -> String {
    let mut ids = text.lines().filter_map(|line| line.strip_prefix("id: "));
    ids.next_back().unwrap_or_else(|| panic!("no id in {text}")).to_owned()
}

#[tokio::test]
async fn a_call_is_answered_on_the_stream_that_takes_its_up_again() {
    let served = Served::start(FaceOptions::local()).await;
    let id = begin_session(served.address, "/mcp", &[]).await;
    let known = ("mcp-session-id", id.as_str());
    let usual = [
        known,
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    let mut stream = begin(served.address, "POST", "/mcp", &usual, &call(5, "ask", "{}")).await;
    let text = read_until(&mut stream, "elicitation/create").await;
    let asked = text.split("\"id\":").nth(1).unwrap().split(',').next().unwrap().to_owned();
    drop(stream);
    let answer = format!(r#"{{"jsonrpc":"2.0","id":{asked},"result":{{"action":"accept"}}}}"#);
    assert_eq!(post(served.address, "/mcp", &[known], &answer).await.status, 202);
    let resumed =
        get(served.address, "/mcp", &[known, ("last-event-id", &last_event(&text))]).await;
    assert!(resumed.body.contains(r#""said":{"who":{"action":"accept"}}"#), "{resumed:?}");
    assert!(!resumed.body.contains("elicitation/create"), "only what came after: {resumed:?}");
    // Resumed from the beginning, any number of times.
    let first = last_event(&text).split('-').next().unwrap().to_owned() + "-0";
    let whole = get(served.address, "/mcp", &[known, ("last-event-id", &first)]).await;
    assert!(
        whole.body.contains("elicitation/create") && whole.body.contains("\"said\""),
        "{whole:?}"
    );
}

#[tokio::test]
async fn events_that_are_not_kept_are_refused() {
    let served = Served::start(FaceOptions::local()).await;
    let id = begin_session(served.address, "/mcp", &[]).await;
    for last in ["9-9", "0-0", "nonsense", ""] {
        let headers = [("mcp-session-id", id.as_str()), ("last-event-id", last)];
        assert_eq!(get(served.address, "/mcp", &headers).await.status, 400, "{last:?}");
    }
}

/// In the legacy era a lost connection cancels no call; a cancellation does.
#[tokio::test]
async fn a_legacy_call_outlives_its_connection() {
    let served = Served::start(FaceOptions::local()).await;
    let id = begin_session(served.address, "/mcp", &[]).await;
    let known = [("mcp-session-id", id.as_str())];
    let usual = [known[0], ("content-type", "application/json")];
    let stream = begin(served.address, "POST", "/mcp", &usual, &call(5, "hang", "{}")).await;
    post(served.address, "/mcp", &known, &call(6, "await_hanging", "{}")).await;
    drop(stream);
    served.until("connections", 1).await;
    let cancelled =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#;
    assert_eq!(post(served.address, "/mcp", &known, cancelled).await.status, 202);
    let dropped = post(served.address, "/mcp", &known, &call(7, "await_dropped", "{}")).await;
    assert_eq!(dropped.status, 200);
}

/// In the modern era the closed connection cancels the call.
#[tokio::test]
async fn a_modern_call_ends_with_its_connection() {
    let served = Served::start(FaceOptions::local()).await;
    let id = begin_session(served.address, "/mcp", &[]).await;
    let known = [("mcp-session-id", id.as_str())];
    let hang = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let headers = [
        ("content-type", "application/json"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "hang"),
    ];
    let stream = begin(served.address, "POST", "/mcp", &headers, hang).await;
    post(served.address, "/mcp", &known, &call(6, "await_hanging", "{}")).await;
    drop(stream);
    let dropped = post(served.address, "/mcp", &known, &call(7, "await_dropped", "{}")).await;
    assert_eq!(dropped.status, 200);
}
