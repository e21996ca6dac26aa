//! Tests of very large results.

use serde_json::json;
use switchboard_core::CallError;
use switchboard_testkit::programs::program;
use switchboard_wire::Error as WireError;
use switchboard_wire::envelope::MalformedKind;

use super::world::{World, nothing};

/// The longest message that is taken.
const LIMIT: usize = 16 << 20;

/// A message past the limit fails its call, with a reason; the session goes on, and so does every other call.
#[tokio::test]
async fn a_result_past_the_limit_fails_its_own_call() {
    let entries = json!({ "vast": { "command": program("faulty") } });
    let world = World::of_processes(&entries).await;
    world.call("vast", "echo", nothing()).await.unwrap();
    let arguments = json!({ "bytes": 200 << 20 });
    let (large, echo) =
        tokio::join!(world.call("vast", "big", &arguments), world.said("vast", "echo", nothing()));
    assert_eq!(echo, "{}");
    let error = large.unwrap_err();
    let CallError::Server { server, error, .. } = &error else { panic!("{error:?}") };
    assert_eq!(server, "vast");
    let WireError::Malformed(malformed) = &**error else { panic!("{error:?}") };
    assert!(matches!(malformed.kind, MalformedKind::TooLarge { limit: LIMIT }), "{malformed:?}");
    let shown = "the server's message could not be read: the message is larger than 16777216 bytes";
    assert_eq!(error.to_string(), shown);
    assert_eq!(world.said("vast", "echo", nothing()).await, "{}");
    let stats = world.snapshot().server("vast").unwrap().stats.clone().unwrap();
    assert_eq!(stats.connects, 1, "the session was given up: {:?}", stats.last_error);
    world.end().await;
}

/// What is within the limit but too much for a reader is kept whole on disk, many at once too.
#[tokio::test]
async fn large_results_are_kept_whole() {
    const BYTES: usize = 15 << 20;
    let entries = json!({ "vast": { "command": program("faulty") } });
    let world = World::of_processes(&entries).await;
    let arguments = json!({ "bytes": BYTES });
    let calls = (0..4).map(|_| world.call("vast", "big", &arguments));
    for outcome in futures_util::future::join_all(calls).await {
        let kept = outcome.unwrap().limited.unwrap();
        assert!(kept.problem.is_none() && !kept.truncated, "{:?}", kept.problem);
        let spilled = kept.spilled.unwrap();
        assert_eq!(std::fs::metadata(&spilled.path).unwrap().len(), BYTES as u64);
        assert!(kept.result.as_str().len() < 10_000);
    }
    world.end().await;
}
