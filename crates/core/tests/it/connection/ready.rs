//! Waiting for a session.

use std::time::Duration;

use switchboard_core::connection::NotReady;
use switchboard_testkit::scripted::Part;

use super::bench::{Bench, pass, seconds, sign_in, tenths};

/// What a wait comes to, and how long it takes.
async fn wait(bench: &Bench) -> String {
    let began = tokio::time::Instant::now();
    let what = match bench.connection.ready().await {
        Ok(live) => format!("session {}", live.number()),
        Err(NotReady::Stopped) => "stopped".into(),
        Err(NotReady::Failed(_)) => "failed".into(),
        Err(NotReady::NeedsAuth(_)) => "needs-auth".into(),
        Err(NotReady::Timeout { .. }) => "timeout".into(),
        Err(NotReady::Limit(_)) => "limit".into(),
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

/// Given up at 31.
#[tokio::test(start_paused = true)]
async fn what_was_given_up_is_tried_again_when_that_is_long_ago() {
    let six = std::iter::repeat_n(Part::Dies, 6).chain([Part::Serves]).collect::<Vec<_>>();
    check(&six, 32.0, "failed after 0").await;
    check(&six, 60.9, "failed after 0").await;
    check(&six, 61.1, "session 7 after 0").await;
    let bench = Bench::new([Part::Dies]);
    pass(seconds(100)).await;
    assert_eq!(wait(&bench).await, "failed after 0");
    // That was one attempt, and the next is far off again.
    assert_eq!(bench.attempts().last(), Some(&100.0));
    pass(seconds(10)).await;
    assert_eq!(wait(&bench).await, "failed after 0");
    pass(seconds(1000)).await;
    assert_eq!(bench.attempts().last(), Some(&100.0));
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
