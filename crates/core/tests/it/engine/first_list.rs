//! Tests of how long first lists, and lookups of unknown resources, wait for silent servers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use switchboard_core::Request;
use switchboard_core::engine::{InProcessServer, ListsArrival};
use switchboard_testkit::scripted::{Part, Said, Scripted};
use tokio::time::Instant;

use super::script::{Bench, Script, raw};

const PATIENCE: Duration = Duration::from_secs(10);

/// A workspace with a server whose `tools/list` is never answered.
async fn bench() -> (Bench, Arc<Scripted>) {
    let mut bench = Bench::with(|options| options.state_dir = None).await;
    let server = Scripted::new([Part::Serves]);
    server.answer("tools/list", Said::Nothing);
    server.answer("ping", Said::Result("{}".into()));
    let opening = Arc::clone(&server);
    let hung = InProcessServer::from_link("hung", move || opening.open());
    bench.workspace.in_process.push(hung);
    bench.serve("good", Script::new(&["echo"]).with_resource("memo://one"));
    server.asked_times("tools/list", 1).await;
    (bench, server)
}

#[tokio::test(start_paused = true)]
async fn a_list_that_was_waited_for_in_vain_is_not_waited_for_again_until_it_connects_again() {
    let (bench, server) = bench().await;
    let caller = bench.caller("one");
    let wait = async || {
        let began = Instant::now();
        bench.engine.await_first_lists(caller.principal(), PATIENCE).await;
        began.elapsed()
    };
    assert!(wait().await >= PATIENCE, "the first one waits");
    assert_eq!(wait().await, Duration::ZERO, "the others do not");
    let snapshot = bench.engine.snapshot(&bench.workspace.id).unwrap();
    assert_eq!(snapshot.server("hung").unwrap().lists, ListsArrival::Overdue);
    assert_eq!(snapshot.server("good").unwrap().lists, ListsArrival::There);

    server.answer("tools/list", Said::Result(r#"{"tools":[]}"#.into()));
    bench.engine.reconnect_server(&bench.workspace.id, "hung");
    server.asked_times("tools/list", 2).await;
    wait().await;
    let snapshot = bench.engine.snapshot(&bench.workspace.id).unwrap();
    assert_eq!(snapshot.server("hung").unwrap().lists, ListsArrival::There);
    bench.engine.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_unknown_resource_is_looked_for_no_longer_than_a_first_list_waits() {
    let (bench, _server) = bench().await;
    let caller = bench.caller("one");
    let params = raw(&json!({ "uri": "memo://unknown" }));
    let began = Instant::now();
    // It goes to the only server with resources in the end.
    let read = Request::forward("resources/read", Some(params));
    bench.engine.call(&caller, read).outcome().await.unwrap();
    assert!(began.elapsed() <= Duration::from_secs(5), "{:?}", began.elapsed());
    bench.engine.shutdown().await;
}
