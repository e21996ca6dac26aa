//! Tests of waiting for a session.

use std::time::Duration;

use switchboard_core::connection::ConnectionNotReady;
use switchboard_testkit::scripted::Part;

use super::bench::{Bench, pass, seconds, sign_in, tenths};

/// What a wait comes to, and how long it takes.
async fn wait(bench: &Bench) -> String {
    let began = tokio::time::Instant::now();
    let what = match bench.connection.ready().await {
        Ok(live) => format!("session {}", live.number()),
        Err(ConnectionNotReady::Stopped) => "stopped".into(),
        Err(ConnectionNotReady::Failed(_)) => "failed".into(),
        Err(ConnectionNotReady::NeedsAuth(_)) => "needs-auth".into(),
        Err(ConnectionNotReady::Timeout { .. }) => "timeout".into(),
        Err(ConnectionNotReady::Limit(_)) => "limit".into(),
        Err(ConnectionNotReady::NotSignedIn(_)) => "not signed in".into(),
    };
    format!("{what} after {}", tenths(began.elapsed()))
}

/// What a wait that begins after so many seconds comes to.
async fn check(parts: &[Part], at: f64, expected: &str) {
    let bench = Bench::new(parts.iter().cloned());
    pass(Duration::from_secs_f64(at)).await;
    assert_eq!(wait(&bench).await, expected, "{parts:?} at {at}");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_there_is_given_at_once() {
    check(&[Part::Serves], 1.0, "session 1 after 0").await;
    check(&[Part::Serves], 0.0, "session 1 after 0").await;
}

#[tokio::test(start_paused = true)]
async fn the_attempt_under_way_is_waited_for() {
    check(&[Part::Dies], 0.0, "failed after 0").await;
    check(&[Part::Hangs], 10.0, "failed after 20").await;
    check(&[Part::Hangs], 0.0, "timeout after 30").await;
}

/// Failed at 15, due at 31.
#[tokio::test(start_paused = true)]
async fn an_attempt_that_lies_ahead_is_made_now() {
    let four = [Part::Dies, Part::Dies, Part::Dies, Part::Dies, Part::Dies, Part::Serves];
    check(&four, 20.0, "session 6 after 0").await;
    check(&four, 15.2, "session 6 after 0.8").await;
    check(&[Part::Dies], 20.0, "failed after 0").await;
    // A session that is lost is made again at once, if it had lasted a second.
    check(&[Part::ServesFor(seconds(5)), Part::Serves], 5.1, "session 2 after 0").await;
}

/// Long after the quick attempts are used up, a call still starts a server that is down.
#[tokio::test(start_paused = true)]
async fn a_call_that_finds_a_server_down_starts_it() {
    let six = std::iter::repeat_n(Part::Dies, 6).chain([Part::Serves]).collect::<Vec<_>>();
    check(&six, 31.2, "session 7 after 0.8").await;
    check(&six, 40.0, "session 7 after 0").await;
    let bench = Bench::new([Part::Dies]);
    pass(seconds(100)).await;
    assert_eq!(wait(&bench).await, "failed after 0");
    assert_eq!(bench.attempts().last(), Some(&100.0));
    // Calls in a row make one attempt a second at most.
    pass(Duration::from_millis(100)).await;
    assert_eq!(wait(&bench).await, "failed after 0.9");
}

/// One client that calls a crashing tool does not close the server to the others.
#[tokio::test(start_paused = true)]
async fn a_server_that_crashes_often_is_there_for_every_call() {
    let bench = Bench::new([Part::ServesFor(seconds(1))]);
    for _ in 0..100 {
        assert!(wait(&bench).await.starts_with("session "));
        bench.until("failed").await;
    }
    assert_eq!(bench.connection.stats().restarts, 99);
}

/// What only a person can mend is not tried by itself, and not for every call.
#[tokio::test(start_paused = true)]
async fn what_cannot_work_is_tried_again_when_that_is_long_ago() {
    let parts = [Part::Refuses(-32603), Part::Serves];
    check(&parts, 1.0, "failed after 0").await;
    check(&parts, 29.9, "failed after 0").await;
    check(&parts, 30.1, "session 2 after 0").await;
}

/// A person or a client who looks has it tried at once, whatever the reason it is down for.
#[tokio::test(start_paused = true)]
async fn a_server_that_is_looked_at_is_tried_at_once() {
    let check = async |parts: &[Part], at: f64, ago: u64, expected: Option<f64>| {
        let bench = Bench::new(parts.iter().cloned());
        pass(Duration::from_secs_f64(at)).await;
        let before = bench.attempts().len();
        let is_tried = bench.connection.retry_if_failed(seconds(ago)).await;
        assert_eq!(is_tried, expected.is_some(), "{parts:?} at {at}");
        assert_eq!(bench.attempts().get(before).copied(), expected, "{parts:?} at {at}");
    };
    let dies = [Part::Dies];
    // Failed at 31, 61, 121 and due at 241.
    check(&dies, 200.0, 0, Some(200.0)).await;
    check(&dies, 200.0, 2, Some(200.0)).await;
    // An attempt was made just before: the next one keeps its distance, or there is none.
    check(&dies, 31.2, 0, Some(32.0)).await;
    check(&dies, 31.2, 2, None).await;
    check(&[Part::Refuses(-32603)], 5.0, 0, Some(5.0)).await;
    // Nothing to try.
    check(&[Part::Serves], 5.0, 0, None).await;
    check(&[Part::Hangs], 5.0, 0, None).await;
    check(&[Part::Fails(sign_in())], 5.0, 0, None).await;
}

#[tokio::test(start_paused = true)]
async fn it_is_remembered_that_somebody_has_to_sign_in() {
    let parts = [Part::Fails(sign_in()), Part::Serves];
    check(&parts, 1.0, "needs-auth after 0").await;
    check(&parts, 899.0, "needs-auth after 0").await;
    check(&parts, 901.0, "session 2 after 0").await;
    // Without anybody who asks, nothing is tried.
    let bench = Bench::new(parts.clone());
    pass(seconds(10_000)).await;
    assert_eq!(bench.attempts(), [0.0]);
    // Somebody who has signed in need not wait.
    let bench = Bench::new(parts);
    bench.until("needs-auth").await;
    bench.connection.reconnect();
    bench.until("connected").await;
    assert_eq!(wait(&bench).await, "session 2 after 0");
}

#[tokio::test(start_paused = true)]
async fn many_may_wait_for_one_attempt() {
    let bench = Bench::new([Part::Dies, Part::Dies, Part::Serves]);
    pass(Duration::from_millis(1500)).await;
    let waits: Vec<_> = (0..50).map(|_| wait(&bench)).collect();
    for waited in futures_util::future::join_all(waits).await {
        assert_eq!(waited, "session 3 after 0.5");
    }
    assert_eq!(bench.attempts().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_learns_that_it_was_stopped() {
    let bench = Bench::new([Part::Hangs]);
    let stopping = async {
        pass(seconds(3)).await;
        bench.connection.stop().await;
    };
    let (waited, ()) = tokio::join!(wait(&bench), stopping);
    assert_eq!(waited, "stopped after 3");
    assert_eq!(wait(&bench).await, "stopped after 0");
}
