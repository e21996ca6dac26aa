//! Servers that come and go.

use std::time::Duration;

use switchboard_core::CallError;
use switchboard_core::engine::Status;
use switchboard_testkit::scripted::Part;

use super::world::{World, nothing, scripted};

/// One that ends every second is given up after its attempts; a person can bring it back.
#[tokio::test(start_paused = true)]
async fn a_server_that_restarts_all_the_time_is_given_up_until_somebody_asks() {
    let part = Part::ServesFor(Duration::from_secs(1));
    let parts = vec![part; 6].into_iter().chain([Part::Serves]);
    let (server, reached) = scripted("fickle", parts);
    let world = World::on_stopped_clock(|bench| bench.workspace.in_process.push(reached)).await;
    let given_up = |status: &Status| matches!(status, Status::Failed { retry_in: None, .. });
    let view = world.until("fickle", |view| given_up(&view.status)).await;
    assert_eq!(server.attempts().len(), 6, "one attempt, and five more");
    assert_eq!(view.stats.unwrap().connects, 6);
    // Its tools are still known, so whoever calls one hears what is wrong with their server.
    let error = world.call("fickle", "echo", nothing()).await.unwrap_err();
    assert!(matches!(&error, CallError::NotConnected { .. }), "{error:?}");

    assert!(world.bench.engine.reconnect(&world.bench.workspace.id, "fickle"));
    world.until("fickle", |view| view.status.word() == "connected" && view.tools == 1).await;
    world.call("fickle", "echo", nothing()).await.unwrap();
    assert_eq!(server.attempts().len(), 7);
    world.end().await;
    assert_eq!(server.serving(), 0, "a session is left");
}

/// A session that lasts gives all attempts back, so such a server is never given up.
#[tokio::test(start_paused = true)]
async fn a_server_that_restarts_now_and_then_is_never_given_up() {
    let (_, reached) = scripted("fickle", [Part::ServesFor(Duration::from_secs(40))]);
    let world = World::on_stopped_clock(|bench| bench.workspace.in_process.push(reached)).await;
    let many = |connects: u64| connects >= 7;
    let view =
        world.until("fickle", |view| view.stats.as_ref().is_some_and(|it| many(it.connects)));
    assert_eq!(view.await.status.word(), "connected");
    world.end().await;
}
