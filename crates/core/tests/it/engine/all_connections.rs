//! Tests of a server with several connections: the snapshot shows the worst state, and a check covers each connection.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_config::PermissionMode;
use switchboard_core::engine::{
    ConnectionCount, InProcessServer, PrincipalLease, ServerSnapshot, ServerStatus, Session,
};
use switchboard_core::{Caller, Request};
use switchboard_testkit::scripted::{Part, Said, Scripted};
use switchboard_wire::Error;
use switchboard_wire::json::Raw;

use super::principals::principal_of;
use super::script::{Bench, raw};

fn server(parts: impl IntoIterator<Item = Part>) -> Arc<Scripted> {
    let server = Scripted::new(parts);
    let tools = json!({ "tools": [{ "name": "echo", "inputSchema": { "type": "object" } }] });
    server.answer("tools/list", Said::Result(tools.to_string()));
    server.answer("ping", Said::Result("{}".into()));
    server
}

/// The server that the next connection leads to.
type Behind = Arc<Mutex<Arc<Scripted>>>;

/// A workspace with one server.
async fn bench(first: &Arc<Scripted>) -> (Bench, Behind) {
    let mut bench = Bench::with(|options| options.state_dir = None).await;
    let behind: Behind = Arc::new(Mutex::new(Arc::clone(first)));
    let opening = Arc::clone(&behind);
    let open = move || opening.lock().unwrap().open();
    bench.workspace.in_process.push(InProcessServer::from_link("s", open));
    bench.engine.apply(&bench.workspace, bench.desired(&json!({})));
    bench.settled().await;
    (bench, behind)
}

fn attach(bench: &Bench, id: &str, principal: &str, capabilities: &Value) -> Caller {
    bench.attach(Session {
        capabilities: raw(capabilities),
        mode: Some(PermissionMode::BypassPermissions),
        principal: principal_of(principal),
        ..Session::new(id)
    })
}

async fn call(bench: &Bench, caller: &Caller) -> bool {
    let request = Request::tool("mcp__s__echo", &Raw::empty_object());
    bench.engine.call(caller, request).outcome().await.is_ok()
}

fn local(bench: &Bench) -> ServerSnapshot {
    bench.engine.snapshot(&bench.workspace.id).unwrap().server("s").unwrap().clone()
}

fn of(bench: &Bench, principal: &PrincipalLease) -> ServerSnapshot {
    bench.engine.snapshot_for(principal).unwrap().server("s").unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn one_connection_of_two_that_does_not_answer_is_shown() {
    let (plain, forms) = (server([Part::Serves]), server([Part::Serves]));
    let (bench, behind) = bench(&plain).await;
    let one = attach(&bench, "plain", "local", &json!({}));
    assert!(call(&bench, &one).await);
    *behind.lock().unwrap() = Arc::clone(&forms);
    let other = attach(&bench, "forms", "local", &json!({ "elicitation": {} }));
    assert!(call(&bench, &other).await);
    let shown = local(&bench);
    assert_eq!(shown.connections, ConnectionCount { total: 2, in_state: 2 });
    let stats = shown.stats.unwrap();
    assert_eq!((stats.connects, stats.latency.unwrap().calls), (2, 2), "both are counted");

    for method in ["ping", "tools/list", "tools/call"] {
        forms.answer(method, Said::Nothing);
    }
    // Its last answer is of a moment ago, on a clock that stands still.
    tokio::time::sleep(Duration::from_secs(60)).await;
    bench.engine.check_servers(&bench.workspace.id).await;
    let shown = local(&bench);
    assert!(matches!(shown.status, ServerStatus::Connected), "{:?}", shown.status);
    assert!(shown.silent_since.is_some(), "{:?}", shown.connections);
    assert_eq!(shown.affected_connections().as_deref(), Some("one of 2 connections"));
    assert!(shown.is_usable() && call(&bench, &one).await, "the other one goes on");

    forms.answer("ping", Said::Result("{}".into()));
    // The question that is open is given up first.
    tokio::time::sleep(Duration::from_secs(120)).await;
    bench.engine.check_servers(&bench.workspace.id).await;
    let shown = local(&bench);
    assert!(shown.silent_since.is_none() && shown.affected_connections().is_none());
    bench.engine.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn one_connection_of_two_that_cannot_start_is_shown_and_tried_again() {
    let plain = server([Part::Serves]);
    let forms = server([Part::Fails(Error::Closed)]);
    let (bench, behind) = bench(&plain).await;
    let one = attach(&bench, "plain", "local", &json!({}));
    assert!(call(&bench, &one).await);
    *behind.lock().unwrap() = Arc::clone(&forms);
    let other = attach(&bench, "forms", "local", &json!({ "elicitation": {} }));
    assert!(!call(&bench, &other).await);
    tokio::time::sleep(Duration::from_secs(300)).await;
    let before = forms.attempts().len();
    bench.engine.check_servers(&bench.workspace.id).await;
    assert_eq!(forms.attempts().len(), before + 1, "it is tried because a person looks");
    let shown = local(&bench);
    assert!(matches!(shown.status, ServerStatus::Failed { .. }), "{:?}", shown.status);
    assert_eq!(shown.affected_connections().as_deref(), Some("one of 2 connections"));
    assert!(shown.is_usable() && !shown.is_coming(), "the usual connection is up");
    assert_eq!(shown.tools, 1);
    bench.engine.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn each_principal_is_shown_its_own_connections() {
    let (plain, theirs_too) = (server([Part::Serves]), server([Part::Serves]));
    let (bench, behind) = bench(&plain).await;
    let ann = attach(&bench, "ann", "ann", &json!({}));
    assert!(call(&bench, &ann).await);
    *behind.lock().unwrap() = Arc::clone(&theirs_too);
    let forms = attach(&bench, "ann-forms", "ann", &json!({ "elicitation": {} }));
    assert!(call(&bench, &forms).await);
    for method in ["ping", "tools/list", "tools/call"] {
        theirs_too.answer(method, Said::Nothing);
    }
    // A call waits, so that the connection's task asks.
    let waiting = call(&bench, &forms);
    let silent = async {
        let mut changes = bench.engine.changes();
        while of(&bench, ann.principal()).silent_since.is_none() {
            changes.changed().await.unwrap();
        }
    };
    tokio::select! {
        answered = waiting => panic!("{answered}"),
        () = silent => {}
    }
    assert_eq!(of(&bench, ann.principal()).connections, ConnectionCount { total: 2, in_state: 1 });
    let local = local(&bench);
    assert_eq!((local.connections.total, local.silent_since), (1, None), "it is not the local one");
    bench.engine.shutdown().await;
}
