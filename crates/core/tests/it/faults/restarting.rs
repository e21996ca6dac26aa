//! Tests of servers that restart all the time.

use std::sync::Arc;
use std::time::Duration;

use switchboard_config::PermissionMode;
use switchboard_core::engine::ServerStatus;
use switchboard_core::{Caller, Request, Session};
use switchboard_testkit::scripted::{Part, Said, Scripted};
use switchboard_wire::Era;
use switchboard_wire::json::Raw;

use super::world::{World, nothing, scripted};

/// One that ends every second has its pauses, which neither a call nor a person has to wait for.
#[tokio::test(start_paused = true)]
async fn a_server_that_restarts_all_the_time_is_there_for_whoever_asks() {
    let part = Part::ServesFor(Duration::from_secs(1));
    let (server, reached) = scripted("fickle", [part]);
    let world = World::on_stopped_clock(|bench| bench.workspace.in_process.push(reached)).await;
    let rests = |status: &ServerStatus, seconds| matches!(status, ServerStatus::Failed { retry_in: Some(left), .. } if left.as_secs() >= seconds);
    let view = world.until("fickle", |view| rests(&view.status, 15)).await;
    assert_eq!(view.stats.unwrap().connects, 5);
    world.call("fickle", "echo", nothing()).await.unwrap();
    assert_eq!(server.attempts().len(), 6);

    world.until("fickle", |view| rests(&view.status, 15)).await;
    assert!(world.bench.engine.reconnect_server(&world.bench.workspace.id, "fickle"));
    world.until("fickle", |view| view.status.word() == "connected" && view.tools == 1).await;
    assert_eq!(server.attempts().len(), 7);
    world.end().await;
    assert_eq!(server.serving(), 0, "a session is left");
}

/// A legacy server that several sessions share logs as much as the one wants that wants the most, while it is there.
#[tokio::test(start_paused = true)]
async fn the_log_level_of_a_shared_server_follows_the_sessions_that_are_there() {
    let (server, world) = chatty().await;
    let call = async |caller: &Caller, level| call_with_level(&world, caller, level).await;
    let callers = ["quiet", "loud", "other"].map(|name| session(&world, name, Era::Legacy));
    let [quiet, loud, other] = callers;
    call(&quiet, "error").await;
    call(&loud, "debug").await;
    call(&other, "warning").await;
    call(&quiet, "error").await;
    // The session that wanted the most changes its mind, and changes it back.
    call(&loud, "notice").await;
    call(&loud, "debug").await;
    // It leaves, and so does the next.
    drop(loud);
    server.asked_times("logging/setLevel", 5).await;
    drop(other);
    let told = levels_told(&server, 6).await;
    assert_eq!(told, ["error", "debug", "notice", "debug", "warning", "error"]);
    drop(quiet);
    world.end().await;
}

/// A modern client asks for a level with a call, and for that call only.
#[tokio::test(start_paused = true)]
async fn the_log_level_that_a_call_asked_for_ends_with_the_call() {
    let (server, world) = chatty().await;
    let (modern, legacy) =
        (session(&world, "modern", Era::Modern), session(&world, "legacy", Era::Legacy));
    // Nobody else wants a level: the server logs no more than usual.
    call_with_level(&world, &modern, "debug").await;
    assert_eq!(levels_told(&server, 2).await, ["debug", "info"]);
    // A session does, and what it asked for stands again after the call.
    call_with_level(&world, &legacy, "error").await;
    call_with_level(&world, &modern, "notice").await;
    assert_eq!(levels_told(&server, 5).await[2..], ["error", "notice", "error"]);
    // A call that wants less changes nothing.
    call_with_level(&world, &modern, "emergency").await;
    drop(legacy);
    call_with_level(&world, &modern, "debug").await;
    assert_eq!(levels_told(&server, 7).await[5..], ["debug", "info"]);
    world.end().await;
}

/// A legacy server that logs.
async fn chatty() -> (Arc<Scripted>, World) {
    let (server, reached) = scripted("chatty", [Part::Serves]);
    server.offer(r#"{"tools":{},"logging":{}}"#);
    server.answer("logging/setLevel", Said::Result("{}".into()));
    let world = World::on_stopped_clock(|bench| bench.workspace.in_process.push(reached)).await;
    world.until("chatty", |view| view.tools == 1).await;
    (server, world)
}

fn session(world: &World, name: &str, era: Era) -> Caller {
    let mode = Some(PermissionMode::BypassPermissions);
    world.bench.attach(Session { mode, era: Some(era), ..Session::new(name) })
}

async fn call_with_level(world: &World, caller: &Caller, level: &'static str) {
    let request = Request::tool("mcp__chatty__echo", &Raw::empty_object()).with_log_level(level);
    world.bench.engine.call(caller, request).outcome().await.unwrap();
}

/// The levels that a server was told, once they are so many.
async fn levels_told(server: &Scripted, times: usize) -> Vec<String> {
    let told = server.asked_times("logging/setLevel", times).await;
    let level =
        |params: &String| Raw::parse(params.clone()).unwrap().get("level").unwrap().unwrap();
    told.iter().map(|params| level(params).to_text().unwrap()).collect()
}
