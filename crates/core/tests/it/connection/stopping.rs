//! Tests of stopping a connection in every state: quick, and without leftovers.

use switchboard_core::connection::ConnectionState;
use switchboard_testkit::scripted::Part;
use tokio::time::Instant;

use super::bench::{Bench, pass, seconds, sign_in, tenths};

/// Tasks that run in this test's own runtime.
fn tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

/// Lets what has ended be forgotten by the runtime, which tells nobody.
async fn settle(tasks_left: usize) {
    for _ in 0..1000 {
        if tasks() <= tasks_left {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("{} tasks are left, not {tasks_left}", tasks());
}

async fn check(parts: &[Part], at: u64, state: &str) {
    let before = tasks();
    let bench = Bench::new(parts.iter().cloned());
    pass(seconds(at)).await;
    assert_eq!(bench.connection.state().word(), state);
    let began = Instant::now();
    bench.connection.stop().await;
    assert_eq!(tenths(began.elapsed()), 0.0, "stopping while {state}");
    assert!(matches!(bench.connection.state(), ConnectionState::Stopped));
    let attempts = bench.server.attempts().len();
    settle(before).await;
    assert_eq!(bench.server.serving(), 0, "{state}");
    // It stays so.
    bench.connection.reconnect();
    bench.connection.stop().await;
    pass(seconds(1000)).await;
    assert_eq!(bench.server.attempts().len(), attempts);
}

#[tokio::test(start_paused = true)]
async fn it_can_be_stopped_in_every_state() {
    check(&[Part::Serves], 5, "connected").await;
    check(&[Part::Hangs], 0, "pending").await;
    check(&[Part::Hangs], 5, "pending").await;
    check(&[Part::Dies], 5, "failed").await;
    check(&[Part::Dies], 500, "failed").await;
    check(&[Part::Fails(sign_in())], 5, "needs-auth").await;
}

#[tokio::test(start_paused = true)]
async fn calls_under_way_fail() {
    let bench = Bench::new([Part::Serves]);
    bench.server.answer("tools/call", switchboard_testkit::scripted::Said::Nothing);
    let live = bench.connection.ready().await.unwrap();
    let arguments = switchboard_wire::json::Raw::empty_object();
    let call =
        live.client.call(switchboard_wire::client::CallRequest::call_tool("echo", &arguments));
    let (answer, ()) = tokio::join!(call.result(), async {
        pass(seconds(1)).await;
        bench.connection.stop().await;
    });
    assert!(matches!(answer, Err(switchboard_wire::Error::Closed)), "{answer:?}");
}

#[tokio::test(start_paused = true)]
async fn a_handle_that_is_dropped_leaves_nothing() {
    for parts in [[Part::Serves], [Part::Hangs], [Part::Dies]] {
        let before = tasks();
        let bench = Bench::new(parts);
        pass(seconds(5)).await;
        let server = bench.server.clone();
        drop(bench);
        settle(before).await;
        assert_eq!(server.serving(), 0);
    }
}
