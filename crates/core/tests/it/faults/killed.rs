//! Tests of servers that end during a call.

use serde_json::json;
use switchboard_core::CallError;
use switchboard_core::connection::{ConnectionError, ConnectionNotReady};
use switchboard_core::engine::ServerStatus;
use switchboard_process::ProcessExit;
use switchboard_testkit::processes::Identity;
use switchboard_testkit::programs::program;
use switchboard_wire::Error as WireError;

use super::world::{World, nothing, request};

/// A call fails with what its server left behind; the next one finds the server there again.
#[tokio::test]
async fn a_server_that_ends_in_a_call_says_how_and_comes_back() {
    let entries = json!({ "doomed": { "command": program("faulty") } });
    let world = World::of_processes(&entries).await;
    for round in 0..3 {
        assert_eq!(
            world.said("doomed", "echo", &json!({ "n": round })).await,
            format!("{{\"n\":{round}}}")
        );
        let error = world.call("doomed", "die", nothing()).await.unwrap_err();
        let CallError::Server { server, error, .. } = &error else { panic!("{error:?}") };
        let WireError::Exited { exit, stderr } = &**error else { panic!("{error:?}") };
        assert_eq!((server.as_str(), *exit), ("doomed", ProcessExit::Code(7)));
        assert!(stderr.ends_with("the roof is on fire\n"), "{stderr:?}");
        world.others_go_on().await;
    }
    assert_eq!(world.said("doomed", "echo", nothing()).await, "{}");
    let log = world.bench.engine.logs().unwrap();
    let lines = log.tail("doomed", &world.folder().to_string_lossy(), 100).await.unwrap();
    assert_eq!(lines.iter().filter(|line| line.ends_with("the roof is on fire")).count(), 3);
    world.end().await;
}

/// Every call that is under way fails, none is made again, and none waits.
#[tokio::test]
async fn a_server_that_is_killed_takes_all_its_calls_along() {
    let entries = json!({ "doomed": { "command": program("faulty") } });
    let world = World::of_processes(&entries).await;
    world.call("doomed", "echo", nothing()).await.unwrap();
    let view = world.until("doomed", |view| view.stats.as_ref().is_some_and(|s| s.pid.is_some()));
    let process = Identity::of(view.await.stats.unwrap().pid.unwrap()).unwrap();

    let engine = &world.bench.engine;
    let call = || engine.call(&world.caller, request("doomed", "hang", nothing())).outcome();
    let calls = futures_util::future::join_all((0..20).map(|_| call()));
    // Answered after the others have been sent.
    let after = world.call("doomed", "echo", nothing());
    let killed = async {
        after.await.unwrap();
        let pid = nix::unistd::Pid::from_raw(i32::try_from(process.pid).unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    };
    let (ended, ()) = tokio::join!(calls, killed);
    for error in ended.into_iter().map(Result::unwrap_err) {
        let CallError::Server { error, .. } = &error else { panic!("{error:?}") };
        let WireError::Exited { exit, .. } = &**error else { panic!("{error:?}") };
        assert_eq!(exit.to_string(), "killed by SIGKILL");
    }
    assert_eq!(world.said("doomed", "echo", nothing()).await, "{}");
    assert!(!process.is_alive());
    world.end().await;
}

/// One that never comes up is tried ever less often; every call of it says why, and so does the snapshot.
#[tokio::test]
async fn a_server_that_never_starts_is_shown_with_its_last_words() {
    let entries = json!({ "doomed": { "command": program("faulty"), "args": ["doomed"] } });
    let world = World::of_processes(&entries).await;
    let has_failed = |status: &ServerStatus| matches!(status, ServerStatus::Failed { .. });
    let view = world.until("doomed", |view| has_failed(&view.status)).await;
    let ServerStatus::Failed {
        error: ConnectionError::Wire(WireError::Exited { exit, stderr }),
        ..
    } = view.status
    else {
        panic!("{:?}", view.status)
    };
    assert_eq!(exit, ProcessExit::Code(3));
    assert_eq!(stderr.trim_end(), "there is no configuration here");
    let error = world.call("doomed", "echo", nothing()).await.unwrap_err();
    let CallError::NotConnected { error, .. } = &error else { panic!("{error:?}") };
    assert!(matches!(**error, ConnectionNotReady::Failed(_)), "{error:?}");
    world.end().await;
}
