//! Tests of every transition of the connection state, and its timing.

use std::time::Duration;

use switchboard_core::connection::{ConnectionState, ConnectionTiming, RetryJitter};
use switchboard_process::SpawnError;
use switchboard_testkit::scripted::{Part, Said, Scripted};
use switchboard_wire::Error;

use super::bench::{Bench, pass, seconds, shared, sign_in, tenths, timing};

/// What is heard of the state while a server plays these parts for so many seconds.
async fn check(parts: impl IntoIterator<Item = Part>, time: u64, expected: &[&str]) {
    let bench = Bench::new(parts);
    pass(seconds(time)).await;
    let mut heard = bench.heard.take();
    heard.retain(|line| !line.contains("read"));
    assert_eq!(heard, expected);
}

fn not_found() -> Error {
    SpawnError::NotFound { program: "x".into(), searched: None }.into()
}

#[tokio::test(start_paused = true)]
async fn a_server_that_works_is_connected() {
    check([Part::Serves], 1000, &["0.0 pending", "0.0 connected"]).await;
}

#[tokio::test(start_paused = true)]
async fn one_that_dies_is_tried_five_times_quickly_and_then_for_good() {
    let expected = [
        "0.0 pending",
        "0.0 failed, again in 1",
        "1.0 pending",
        "1.0 failed, again in 2",
        "3.0 pending",
        "3.0 failed, again in 4",
        "7.0 pending",
        "7.0 failed, again in 8",
        "15.0 pending",
        "15.0 failed, again in 16",
        "31.0 pending",
        "31.0 failed, again in 30",
        "61.0 pending",
        "61.0 failed, again in 60",
        "121.0 pending",
        "121.0 failed, again in 120",
        "241.0 pending",
        "241.0 failed, again in 120",
    ];
    check([Part::Dies], 300, &expected).await;
}

/// A server that is down when it is first tried, and comes up after the quick attempts are used up.
#[tokio::test(start_paused = true)]
async fn one_that_comes_up_late_is_connected_within_two_minutes() {
    for failures in [6, 7, 8, 9, 25] {
        let parts = std::iter::repeat_n(Part::Dies, failures).chain([Part::Serves]);
        let bench = Bench::new(parts);
        bench.until("connected").await;
        let attempts = bench.attempts();
        assert_eq!(attempts.len(), failures + 1);
        let pauses = attempts.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(pauses.fold(0.0, f64::max) <= 120.0, "{attempts:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_hangs_is_given_thirty_seconds() {
    let expected = ["0.0 pending", "30.0 failed, again in 1", "31.0 pending", "31.0 connected"];
    check([Part::Hangs, Part::Serves], 100, &expected).await;
}

#[tokio::test(start_paused = true)]
async fn one_that_comes_back_is_connected() {
    let expected = [
        "0.0 pending",
        "0.0 failed, again in 1",
        "1.0 pending",
        "1.0 failed, again in 2",
        "3.0 pending",
        "3.0 connected",
    ];
    check([Part::Dies, Part::Dies, Part::Serves], 100, &expected).await;
}

/// What nobody but a person can mend is not tried again.
#[tokio::test(start_paused = true)]
async fn what_cannot_work_is_not_tried_again() {
    let expected = ["0.0 pending", "0.0 failed for good"];
    check([Part::Refuses(-32603)], 1000, &expected).await;
    check([Part::Fails(not_found())], 1000, &expected).await;
}

#[tokio::test(start_paused = true)]
async fn sign_in_is_waited_for() {
    check([Part::Fails(sign_in())], 10_000, &["0.0 pending", "0.0 needs-auth"]).await;
    let bench = Bench::new([Part::Fails(sign_in())]);
    let ConnectionState::NeedsAuth(needs) = bench.until("needs-auth").await else { panic!() };
    assert_eq!(
        (needs.reason.as_str(), &*needs.challenges),
        ("expired", &["Bearer".to_owned()][..])
    );
}

#[tokio::test(start_paused = true)]
async fn a_session_that_ends_is_lost_and_made_again() {
    let expected =
        ["0.0 pending", "0.0 connected", "5.0 lost, again in 1", "6.0 pending", "6.0 connected"];
    check([Part::ServesFor(seconds(5)), Part::Serves], 100, &expected).await;
}

/// What counts for a server that works is how often it was lost in the last minute, so a crash loop costs a few starts a
/// minute.
#[tokio::test(start_paused = true)]
async fn one_that_is_lost_all_the_time_is_restarted_a_few_times_a_minute() {
    let bench = Bench::new([Part::ServesFor(seconds(1))]);
    pass(seconds(3600)).await;
    let attempts = bench.attempts();
    assert_eq!(attempts[..6], [0.0, 2.0, 5.0, 10.0, 19.0, 36.0]);
    let within_a_minute =
        |from: f64| attempts.iter().filter(|at| (from..from + 60.0).contains(*at)).count();
    let most = attempts.iter().map(|at| within_a_minute(*at)).max();
    assert_eq!(most, Some(6));
    assert!(attempts.len() > 60, "it is restarted for good");
}

/// However short its sessions are, a server that comes back is there again within a second.
#[tokio::test(start_paused = true)]
async fn a_server_that_crashes_now_and_then_is_restarted_at_once() {
    let bench = Bench::new([Part::ServesFor(seconds(61))]);
    pass(seconds(600)).await;
    let pauses: Vec<f64> = bench.attempts().windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(pauses.len() >= 9 && pauses.iter().all(|pause| *pause == 62.0), "{pauses:?}");
}

/// Service gives the quick attempts back; a session in which the server never answered does not.
#[tokio::test(start_paused = true)]
async fn service_gives_the_attempts_back() {
    let check = async |answers: bool, expected: &[f64]| {
        let parts = [Part::Dies, Part::Dies, Part::ServesFor(seconds(29)), Part::Dies];
        let server = Scripted::new(parts);
        if !answers {
            server.answer("tools/list", Said::Nothing);
        }
        let bench = Bench::with(server, shared(timing()));
        pass(seconds(100)).await;
        assert_eq!(bench.attempts(), expected);
    };
    // Connected at 3, lost at 32.
    check(true, &[0.0, 1.0, 3.0, 33.0, 34.0, 36.0, 40.0, 48.0, 64.0, 94.0]).await;
    check(false, &[0.0, 1.0, 3.0, 36.0, 44.0, 60.0, 90.0]).await;
}

#[tokio::test(start_paused = true)]
async fn the_pauses_are_jittered_and_the_same_for_the_same_seed() {
    let times = async |seed| {
        let timing = ConnectionTiming {
            jitter: RetryJitter { percent: 20, seed },
            ..ConnectionTiming::default()
        };
        let bench = Bench::with(Scripted::new([Part::Dies]), shared(timing));
        pass(seconds(10_000)).await;
        let attempts = bench.server.attempts();
        let pauses = attempts.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>();
        pauses.into_iter().map(tenths).collect::<Vec<_>>()
    };
    let first = times(1).await;
    assert_eq!(first, times(1).await);
    assert_ne!(first, times(2).await);
    for (pause, usual) in first.iter().zip([1.0, 2.0, 4.0, 8.0, 16.0]) {
        assert!((usual * 0.8..=usual * 1.2).contains(pause), "{pause} is not about {usual}");
    }
}

#[tokio::test(start_paused = true)]
async fn numbers_can_be_changed() {
    let timing = ConnectionTiming { retries: 2, first_pause: Duration::from_secs(20), ..timing() };
    let bench = Bench::with(Scripted::new([Part::Dies]), shared(timing));
    pass(seconds(300)).await;
    assert_eq!(bench.attempts(), [0.0, 20.0, 50.0, 80.0, 140.0, 260.0]);
}

/// By hand everything begins anew, whatever the state.
#[tokio::test(start_paused = true)]
async fn reconnecting_begins_anew() {
    let check = async |parts: &[Part], after: u64, expected: &[&str]| {
        let bench = Bench::new(parts.iter().cloned().chain([Part::Serves]));
        pass(seconds(after)).await;
        bench.heard.take();
        bench.connection.reconnect();
        pass(seconds(1)).await;
        let mut heard = bench.heard.take();
        heard.retain(|line| !line.contains("read"));
        let words: Vec<_> = heard.iter().map(|line| line.split_once(' ').unwrap().1).collect();
        assert_eq!(words, expected, "{parts:?}");
        assert_eq!(bench.server.serving(), 1);
    };
    check(&[Part::Serves], 5, &["pending", "pending", "connected"]).await;
    check(&[Part::Hangs], 5, &["pending", "connected"]).await;
    check(&[Part::Fails(sign_in())], 5, &["pending", "connected"]).await;
    check(&[Part::Fails(not_found())], 5, &["pending", "connected"]).await;
    check(&[Part::Dies, Part::Dies], 2, &["pending", "connected"]).await;
}

#[tokio::test(start_paused = true)]
async fn reconnecting_gives_the_attempts_back_and_forgets_the_lists() {
    let parts = [Part::Serves, Part::Dies];
    let bench = Bench::new(parts);
    bench.until_known().await;
    bench.connection.reconnect();
    bench.until("failed").await;
    assert!(bench.connection.lists().tools.listing.is_none());
    pass(seconds(50)).await;
    assert_eq!(bench.attempts(), [0.0, 0.0, 1.0, 3.0, 7.0, 15.0, 31.0]);
    bench.connection.reconnect();
    pass(seconds(50)).await;
    assert_eq!(bench.attempts()[7..], [50.0, 51.0, 53.0, 57.0, 65.0, 81.0]);
}

/// The caller's environment may ask for another deadline.
#[tokio::test(start_paused = true)]
async fn the_connect_timeout_is_the_callers() {
    let check = async |value: &str, expected: f64| {
        let server = Scripted::new([Part::Hangs]);
        let mut spec = super::bench::spec("slow", &server);
        spec.environment = [("MCP_TIMEOUT".into(), value.into())].into();
        let bench = Bench::of(spec, server, shared(timing()));
        bench.until("failed").await;
        assert_eq!(tenths(bench.began.elapsed()), expected, "{value}");
    };
    check("5000", 5.0).await;
    check("0", 30.0).await;
    check("soon", 30.0).await;
}
