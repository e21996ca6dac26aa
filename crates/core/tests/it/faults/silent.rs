//! Tests of servers that do not answer.

use std::time::Duration;

use serde_json::json;
use switchboard_core::{CallError, CallEvent};
use switchboard_testkit::programs::program;
use switchboard_testkit::scripted::{Part, Said};
use switchboard_wire::Error as WireError;

use super::world::{World, alone, bounded, nothing, request, scripted};
use crate::engine::script::said;

/// A call has its deadline, its server hears that nobody waits any more, and other calls do not notice.
#[tokio::test]
async fn a_call_that_hangs_ends_at_its_deadline_and_is_cancelled() {
    let entries = json!({ "mute": { "command": program("faulty") } });
    let world = World::of_processes(&entries).await;
    assert_eq!(world.said("mute", "cancelled", nothing()).await, "0");
    let deadline = Duration::from_millis(200);
    let hanging = request("mute", "hang", nothing()).with_timeout(deadline);
    let hanging = bounded(world.bench.engine.call(&world.caller, hanging).outcome());
    let meanwhile = async {
        for number in 0..50 {
            let arguments = json!({ "number": number });
            assert_eq!(world.said("mute", "echo", &arguments).await, arguments.to_string());
        }
    };
    let (ended, ()) = tokio::join!(hanging, meanwhile);
    let error = ended.unwrap_err();
    let CallError::Server { error, .. } = &error else { panic!("{error:?}") };
    assert!(
        matches!(&**error, WireError::Timeout { after, .. } if *after == deadline),
        "{error:?}"
    );
    // It was written before the next call is.
    assert_eq!(world.said("mute", "cancelled", nothing()).await, "1");
    let connects = world.snapshot().server("mute").unwrap().stats.as_ref().unwrap().connects;
    assert_eq!(connects, 1, "a call that takes too long is no reason to begin anew");
    world.end().await;
}

/// A call that its caller drops is cancelled as well.
#[tokio::test]
async fn a_call_that_nobody_waits_for_is_cancelled() {
    let entries = json!({ "mute": { "command": program("faulty") } });
    let world = World::of_processes(&entries).await;
    world.call("mute", "echo", nothing()).await.unwrap();
    let mut hanging = world.bench.engine.call(&world.caller, request("mute", "hang", nothing()));
    let answered = world.call("mute", "echo", nothing());
    tokio::select! {
        event = hanging.next() => panic!("{event:?}"),
        answered = answered => drop(answered.unwrap()),
    }
    drop(hanging);
    while world.said("mute", "cancelled", nothing()).await != "1" {}
    world.end().await;
}

/// At the limit a call is refused with *retry*; those of other servers are not.
#[tokio::test(start_paused = true)]
async fn calls_that_hang_fill_only_their_own_server() {
    let (server, reached) = scripted("mute", [Part::Serves]);
    let world = World::on_stopped_clock(|bench| bench.workspace.in_process.push(reached)).await;
    world.call("mute", "echo", nothing()).await.unwrap();
    server.answer("tools/call", Said::Nothing);
    {
        let call = || world.bench.engine.call(&world.caller, request("mute", "echo", nothing()));
        let calls = (0..256).map(|_| Box::pin(call().outcome()));
        let mut hanging = futures_util::future::select_all(calls);
        tokio::select! {
            biased;
            (ended, ..) = &mut hanging => panic!("{ended:?}"),
            () = world.others_go_on() => {}
        }
        let error = world.call("mute", "echo", nothing()).await.unwrap_err();
        assert!(matches!(error, CallError::Busy { .. }), "{error:?}");
        assert_eq!(error.remedy(), switchboard_wire::Remedy::Retry);
        world.others_go_on().await;
    }
    server.answer("tools/call", Said::Result(r#"{"content":[]}"#.to_owned()));
    world.call("mute", "echo", nothing()).await.unwrap();
    world.end().await;
}

/// A million notes about one call reach nobody else, and hold up nothing.
#[test]
fn a_flood_of_progress_ends_with_its_call() {
    alone("faults::silent::a_flood_of_progress_ends_with_its_call", flood_of_progress());
}

async fn flood_of_progress() {
    const COUNT: usize = 1_000_000;
    let entries = json!({ "loud": { "command": program("faulty") } });
    let world = World::of_processes(&entries).await;
    world.call("loud", "echo", nothing()).await.unwrap();
    let before = resident();
    let flood = request("loud", "progress", &json!({ "count": COUNT })).with_progress();
    let mut running = world.bench.engine.call(&world.caller, flood);
    let (mut heard, mut last, mut most) = (0_usize, -1.0, 0);
    let outcome = loop {
        match bounded(running.next()).await.unwrap() {
            CallEvent::Progress(params) => {
                let progress: f64 = params.get("progress").unwrap().unwrap().decode().unwrap();
                assert!(progress > last, "{progress} after {last}");
                (heard, last) = (heard + 1, progress);
                if heard % 10_000 == 0 {
                    most = most.max(resident());
                }
            }
            CallEvent::Done(outcome) => break outcome,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(said(&outcome.result), "flooded");
    assert!(heard > 0 && heard <= COUNT);
    // A fifth of what was sent: it was not all kept somewhere.
    assert!(most.saturating_sub(before) < 64 << 20, "memory grew from {before} to {most}");

    // And where nobody listens.
    let ignored = world.call("loud", "progress", &json!({ "count": COUNT / 10 })).await.unwrap();
    assert_eq!(said(&ignored.result), "flooded");
    world.end().await;
}

/// Hundreds of megabytes on standard error: calls go on, the log stays within its bounds.
#[test]
fn a_flood_of_standard_error_is_bounded() {
    alone("faults::silent::a_flood_of_standard_error_is_bounded", flood_of_standard_error());
}

async fn flood_of_standard_error() {
    const BYTES: usize = 300 << 20;
    let entries = json!({ "loud": { "command": program("faulty") } });
    let world = World::of_processes(&entries).await;
    let before = resident();
    world.call("loud", "noise", &json!({ "bytes": BYTES })).await.unwrap();
    let (mut calls, mut most) = (0, before);
    while world.said("loud", "quiet", nothing()).await == "no" {
        calls += 1;
        most = most.max(resident());
    }
    assert!(calls > 0, "no call was answered while it flooded");
    assert!(most - before < 96 << 20, "memory grew from {before} to {most}");
    let logs = world.bench.engine.logs().unwrap();
    logs.settle().await;
    let folder = world.folder().join("state/logs");
    let kept: u64 = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    // The contract's ceiling, and the line at which it is noticed.
    assert!(kept <= (64 << 20) + (1 << 20), "{kept} bytes of logs");
    assert!(kept > 1 << 20, "hardly anything was kept: {kept} bytes");
    world.end().await;
}

/// Bytes of memory this process has now.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}
