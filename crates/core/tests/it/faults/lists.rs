//! Tests of lists that are very long, endless, or contain unusable items.

use std::sync::Arc;
use std::time::Instant;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use switchboard_core::engine::InProcessServer;
use switchboard_core::{CallError, EngineProblemKind};
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::server::{
    ChangeBroadcaster, HandlerReply, HandlerRequest, RequestContext, ServerDescription,
    ServerHandler,
};

use super::world::{World, nothing, scripted};
use crate::engine::script::{Script, raw, text};

/// A tool of one of many. Few have a schema worth the name, or the test would be one of compiling schemas.
fn tool(number: usize) -> Value {
    let boiler = ["red", "blue"][number % 2];
    let mut schema = json!({ "type": "object" });
    if number % 100 == 99 {
        schema["properties"] = json!({ "by": { "type": "integer", "minimum": 0 } });
        schema["required"] = json!(["by"]);
    }
    json!({
        "name": format!("tool_{number}"),
        "description": format!("Turns valve number {number} of the {boiler} boiler"),
        "inputSchema": schema,
    })
}

/// Ten thousand tools are listed, found and called; the figures are for people.
#[tokio::test]
async fn ten_thousand_tools() {
    const COUNT: usize = 10_000;
    let began = Instant::now();
    let world = World::in_process(|bench| {
        let script = (0..COUNT).map(tool).fold(Script::new(&[]), Script::with_tool);
        bench.serve("vast", script);
    });
    let world = world.await;
    world.until("vast", |view| view.tools == COUNT).await;
    println!("10,000 tools: listed after {:?}", began.elapsed());

    let snapshot = world.snapshot();
    assert_eq!(snapshot.problems, []);
    assert_eq!(snapshot.catalog.tools().len(), COUNT + 1);
    let began = Instant::now();
    let hits = snapshot.catalog.search("turn valve 7341 of the blue boiler", 5);
    println!("10,000 tools: searched in {:?}", began.elapsed());
    assert_eq!(hits[0].name, "mcp__vast__tool_7341");

    let began = Instant::now();
    assert_eq!(world.said("vast", "tool_9999", &json!({ "by": 3 })).await, r#"{"by":3}"#);
    println!("10,000 tools: called in {:?}", began.elapsed());
    let error = world.call("vast", "tool_9999", &json!({ "by": -3 })).await.unwrap_err();
    assert!(matches!(error, CallError::Arguments { .. }), "{error:?}");
    let error = world.call("vast", "tool_10000", nothing()).await.unwrap_err();
    let CallError::NotFound { similar, .. } = &error else { panic!("{error:?}") };
    assert!(similar.contains(&"mcp__vast__tool_1000".to_owned()), "{similar:?}");

    // A state changed, no list did: the catalog is not made again.
    let before = world.snapshot();
    let began = Instant::now();
    drop(world.bench.caller("passing"));
    let after = world.snapshot();
    println!("10,000 tools: snapshot in {:?}", began.elapsed());
    assert!(!Arc::ptr_eq(&before, &after), "nothing changed");
    assert!(Arc::ptr_eq(&before.catalog, &after.catalog));
    world.end().await;
}

/// A tool whose schema cannot be used is listed and called, with a note; one without a name is left out alone. A schema
/// that goes round is fine.
#[tokio::test]
async fn a_schema_that_cannot_be_used_costs_no_tool() {
    let tool = |name: &str, schema: Value| json!({ "name": name, "inputSchema": schema });
    let tree = json!({
        "type": "object",
        "properties": { "left": { "$ref": "#" }, "right": { "$ref": "#" }, "value": { "type": "integer" } },
    });
    let wide: serde_json::Map<_, _> =
        (0..30_000).map(|number| (format!("p{number}"), json!({ "type": "string" }))).collect();
    let deep = (0..100).fold(
        json!({ "type": "object" }),
        |inner, _| json!({ "type": "object", "properties": { "a": inner } }),
    );
    let script = Script::new(&["plain"])
        .with_tool(tool("tree", tree))
        .with_tool(tool("wide", json!({ "type": "object", "properties": wide })))
        .with_tool(tool("deep", deep))
        .with_tool(tool("away", json!({ "type": "object", "$ref": "https://example.test/s" })))
        .with_tool(tool(
            "broken",
            json!({ "type": "object", "properties": { "a": { "type": "sausage" } } }),
        ))
        .with_tool(json!({ "name": 7, "inputSchema": {} }))
        .with_tool(tool("last", json!({ "type": "object" })));
    let world = World::in_process(|bench| drop(bench.serve("odd", script)));
    let world = world.await;
    world.until("odd", |view| view.tools == 7).await;
    let arguments = json!({ "left": { "left": { "value": 1 } }, "right": {} });
    assert_eq!(world.said("odd", "tree", &arguments).await, arguments.to_string());
    let wrong = json!({ "left": { "left": { "value": "one" } } });
    let error = world.call("odd", "tree", &wrong).await.unwrap_err();
    let CallError::Arguments { mistakes, .. } = &error else { panic!("{error:?}") };
    assert_eq!(mistakes[0].path, "/left/left/value");
    for tool in ["plain", "wide", "deep", "away", "broken", "last"] {
        assert_eq!(world.said("odd", tool, nothing()).await, "{}");
    }
    let snapshot = world.snapshot();
    let mut named = Vec::new();
    for problem in &snapshot.problems {
        let expected = match problem.item.as_deref() {
            Some("number 7") => EngineProblemKind::Quarantined,
            _ => EngineProblemKind::Imperfect,
        };
        assert_eq!(problem.kind, expected, "{problem:?}");
        assert_eq!(problem.server.as_deref(), Some("odd"), "{problem:?}");
        assert!(!problem.message.is_empty() && problem.message.len() < 500, "{problem:?}");
        named.push(problem.item.as_deref().unwrap_or("?"));
    }
    named.sort_unstable();
    assert_eq!(named, ["away", "broken", "deep", "number 7", "wide"]);
    world.end().await;
}

/// A server with one more page, always.
struct Endless {
    /// How much text each page has.
    ballast: usize,
}

impl ServerHandler for Endless {
    fn describe(&self) -> ServerDescription {
        ServerDescription {
            info: raw(&json!({ "name": "endless", "version": "1" })),
            capabilities: raw(&json!({ "tools": {} })),
            instructions: None,
        }
    }

    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        _: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        Box::pin(async move {
            match &*asked.method {
                "tools/list" => {
                    let cursor = asked.params.get("cursor").ok().flatten();
                    let cursor = cursor.and_then(|cursor| cursor.to_text()).unwrap_or_default();
                    let number: usize = cursor.parse().unwrap_or(0);
                    let mut tool = tool(number);
                    tool["ballast"] = "x".repeat(self.ballast).into();
                    let page = json!({ "tools": [tool], "nextCursor": (number + 1).to_string() });
                    Ok(HandlerReply::Complete(raw(&page)))
                }
                "tools/call" => text("called"),
                other => Err(RpcError::new(code::METHOD_NOT_FOUND, other)),
            }
        })
    }
}

/// A list that never ends is cut, by its pages or by its size, and says so; what was read of it works.
#[tokio::test]
async fn a_list_without_an_end_is_cut() {
    let check = async |ballast: usize, within: std::ops::RangeInclusive<usize>, why: &str| {
        let world = World::in_process(|bench| {
            let server = InProcessServer::new(
                "endless",
                Arc::new(Endless { ballast }),
                ChangeBroadcaster::default(),
            );
            bench.workspace.in_process.push(server);
        });
        let world = world.await;
        let began = Instant::now();
        let view = world.until("endless", |view| view.tools > 0).await;
        println!("a list without an end: {} tools after {:?}", view.tools, began.elapsed());
        assert!(within.contains(&view.tools), "{} tools", view.tools);
        let snapshot = world.snapshot();
        let [problem] = &snapshot.problems[..] else { panic!("{:?}", snapshot.problems) };
        assert_eq!(problem.kind, EngineProblemKind::ListCutShort);
        assert_eq!(problem.server.as_deref(), Some("endless"));
        assert!(problem.message.contains(why), "{problem:?}");
        let last = format!("tool_{}", view.tools - 1);
        assert_eq!(world.said("endless", &last, &json!({ "by": 1 })).await, "called");
        world.end().await;
    };
    check(0, 1000..=1000, "more than 1000 pages").await;
    check(1 << 20, 60..=64, "larger than").await;
}

/// A list that goes in circles is read once.
#[tokio::test]
async fn a_list_that_goes_in_circles_is_read_once() {
    use switchboard_testkit::scripted::{Part, Said};
    let (server, reached) = scripted("round", [Part::Serves]);
    let tool = json!({ "name": "echo", "inputSchema": { "type": "object" } });
    let page = json!({ "tools": [tool], "nextCursor": "again" });
    server.answer("tools/list", Said::Result(page.to_string()));
    let world = World::in_process(|bench| bench.workspace.in_process.push(reached)).await;
    world.until("round", |view| view.tools > 0).await;
    let kinds: Vec<_> = world.snapshot().problems.iter().map(|problem| problem.kind).collect();
    assert!(kinds.contains(&EngineProblemKind::ListCutShort), "{kinds:?}");
    assert!(world.call("round", "echo", nothing()).await.is_ok());
    assert_eq!(server.asked("tools/list"), 2);
    world.end().await;
}
