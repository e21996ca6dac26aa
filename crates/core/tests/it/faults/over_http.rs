//! Tests of HTTP servers that break off, forget their sessions, or do not answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use switchboard_core::CallError;
use switchboard_testkit::http::{Reply, Scripted};
use switchboard_wire::Error as WireError;

use super::world::{World, nothing};

/// What a request is about.
struct Asked {
    method: String,
    id: Value,
    session: usize,
    tool: String,
}

/// A legacy server; `call` answers calls. Sessions are numbered from 1.
async fn server(call: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Scripted {
    let begun = AtomicUsize::new(0);
    Scripted::start(move |request| {
        let body: Value = serde_json::from_str(request.text()).unwrap_or_default();
        let session = request.header("mcp-session-id").and_then(|id| id.parse().ok());
        let asked = Asked {
            method: body["method"].as_str().unwrap_or(&request.method).to_owned(),
            id: body["id"].clone(),
            session: session.unwrap_or(0),
            tool: body["params"]["name"].as_str().unwrap_or_default().to_owned(),
        };
        std::future::ready(match &*asked.method {
            "initialize" => {
                let number = begun.fetch_add(1, Ordering::SeqCst) + 1;
                let hello = json!({
                    "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                    "serverInfo": { "name": "web", "version": "1" },
                });
                asked.result(&hello).header("mcp-session-id", &number.to_string())
            }
            "tools/list" => {
                let tool =
                    |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
                let tools = ["echo", "fault"].map(tool);
                asked.result(&json!({ "tools": tools }))
            }
            "tools/call" => call(&asked),
            "GET" => Reply::empty(405),
            "DELETE" => Reply::empty(200),
            _ if asked.id.is_null() => Reply::empty(202),
            _ => asked.error(404, -32601),
        })
    })
    .await
}

// === impl Asked ===

impl Asked {
    fn result(&self, result: &Value) -> Reply {
        Reply::json(200, json!({ "jsonrpc": "2.0", "id": self.id, "result": result }).to_string())
    }

    fn said(&self, text: &str) -> Reply {
        self.result(&json!({ "content": [{ "type": "text", "text": text }] }))
    }

    fn error(&self, status: u16, code: i64) -> Reply {
        let error = json!({ "code": code, "message": "no" });
        Reply::json(status, json!({ "jsonrpc": "2.0", "id": self.id, "error": error }).to_string())
    }
}

fn entry(server: &Scripted) -> Value {
    json!({ "web": { "type": "http", "url": server.url("/mcp") } })
}

/// How often the server was asked this.
fn count(server: &Scripted, method: &str) -> usize {
    let asked = format!(r#""method":"{method}""#);
    server.requests().iter().filter(|request| request.text().contains(&asked)).count()
}

/// An answer that goes wrong, given the beginning of one.
type Fault = fn(&str) -> Reply;

/// What breaks off after its head, or in the middle of an answer, fails one call, which is not made again.
#[tokio::test]
async fn an_answer_that_breaks_off_fails_its_call() {
    let half = r#"{"jsonrpc":"2.0","id":"#;
    let faults: [(&str, Fault); 4] = [
        ("closed after the head", |_| {
            Reply::text(200, "application/json", "").header("content-length", "100").close()
        }),
        ("closed in the body", |half| {
            Reply::text(200, "application/json", half).header("content-length", "100").close()
        }),
        ("reset after the head", |_| {
            Reply::text(200, "application/json", "").header("content-length", "100").reset()
        }),
        ("a stream that ends", |_| Reply::events().event(r#"{"jsonrpc":"2.0","method":"x/y"}"#)),
    ];
    for (what, fault) in faults {
        let calls = Arc::new(AtomicUsize::new(0));
        let counting = calls.clone();
        let server = server(move |asked| {
            if asked.tool == "echo" {
                return asked.said("echo");
            }
            counting.fetch_add(1, Ordering::SeqCst);
            fault(half)
        });
        let server = server.await;
        let world = World::of_processes(&entry(&server)).await;
        let (broken, echo) = tokio::join!(
            world.call("web", "fault", nothing()),
            world.said("web", "echo", nothing())
        );
        assert_eq!(echo, "echo", "{what}");
        let error = broken.unwrap_err();
        let CallError::Server { error, .. } = &error else { panic!("{what}: {error:?}") };
        assert!(
            matches!(
                &**error,
                WireError::Http(_) | WireError::StreamLost { .. } | WireError::Malformed(_)
            ),
            "{what}: {error:?}"
        );
        assert_eq!(calls.load(Ordering::SeqCst), 1, "{what}: a call was made twice");
        assert_eq!(world.said("web", "echo", nothing()).await, "echo", "{what}");
        world.end().await;
    }
}

/// A session that is over is renewed once, and the call is made once more.
#[tokio::test]
async fn a_session_that_expired_is_renewed_once() {
    let server = server(|asked| match asked.session {
        1 if asked.tool == "fault" => asked.error(404, -32001),
        _ => asked.said("done"),
    });
    let server = server.await;
    let world = World::of_processes(&entry(&server)).await;
    assert_eq!(world.said("web", "echo", nothing()).await, "done");
    let before = count(&server, "tools/call");
    assert_eq!(world.said("web", "fault", nothing()).await, "done");
    assert_eq!(count(&server, "tools/call") - before, 2);
    assert_eq!(count(&server, "initialize"), 2);
    world.end().await;
}

/// One that expires again at once is not renewed for ever: the call fails, made twice and no more.
#[tokio::test]
async fn a_session_that_never_lasts_fails_its_call() {
    let server = server(|asked| match asked.tool.as_str() {
        "fault" => asked.error(404, -32001),
        _ => asked.said("done"),
    });
    let server = server.await;
    let world = World::of_processes(&entry(&server)).await;
    assert_eq!(world.said("web", "echo", nothing()).await, "done");
    let before = count(&server, "tools/call");
    let error = world.call("web", "fault", nothing()).await.unwrap_err();
    assert!(matches!(&error, CallError::Server { .. }), "{error:?}");
    assert_eq!(count(&server, "tools/call") - before, 2);
    assert_eq!(count(&server, "initialize"), 2);
    assert_eq!(world.said("web", "echo", nothing()).await, "done");
    world.end().await;
}

/// A server that is gone is noticed by the calls that miss it.
#[tokio::test]
async fn a_server_that_went_away_is_lost() {
    let server = server(|asked| asked.said("here")).await;
    let world = World::of_processes(&entry(&server)).await;
    assert_eq!(world.said("web", "echo", nothing()).await, "here");
    drop(server);
    // What was open may end in an orderly way first; then nobody is there.
    while world.snapshot().server("web").unwrap().status.word() == "connected" {
        let error = world.call("web", "echo", nothing()).await.unwrap_err();
        let lost = matches!(error, CallError::Server { .. } | CallError::NotConnected { .. });
        assert!(lost, "{error:?}");
    }
    world.end().await;
}
