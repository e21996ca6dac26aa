//! Tests of calls on a connection: limits, and which failures end a session.

use std::{io, sync::Arc, time::Duration};

use http::Method;
use switchboard_core::connection::{
    ConnectionBusy, ConnectionSpec, ConnectionStats, ConnectionTiming,
};
use switchboard_testkit::scripted::{Part, Scripted};
use switchboard_wire::{
    Error,
    envelope::RpcError,
    http::{ConnectFailure, DisconnectKind, HttpError, RequestSummary, ResponseProgress},
};

use super::bench::{Bench, pass, seconds, shared, sign_in, spec, timing};

fn doing() -> RequestSummary {
    RequestSummary::new(Method::POST, &"https://example.test/mcp".parse().unwrap())
}

fn connect(kind: ConnectFailure) -> Error {
    HttpError::Connect { doing: doing(), kind, source: "no".into() }.into()
}

fn broken(kind: io::ErrorKind) -> Error {
    Error::Io { doing: "writing", source: Arc::new(kind.into()) }
}

fn reset() -> Error {
    let (how, received) = (DisconnectKind::Reset, ResponseProgress::Nothing);
    HttpError::Closed { doing: doing(), how, received, source: None }.into()
}

fn stream_lost() -> Error {
    Error::StreamLost { method: "tools/call".into() }
}

fn refused() -> Error {
    Error::Rpc(RpcError::new(-32000, "no"))
}

/// How many failures of a kind in a row end a session; none if more than ten do not.
#[tokio::test(start_paused = true)]
async fn failures_end_a_session_by_their_kind() {
    let check = async |error: Error, expected: Option<usize>| {
        let bench = Bench::new([Part::Serves]);
        let live = bench.connection.ready().await.unwrap();
        let mut told = None;
        for count in 1..=10 {
            bench.connection.record_failure(&live, &error);
            pass(Duration::from_millis(1)).await;
            if bench.connection.state().word() != "connected" {
                told = Some(count);
                break;
            }
        }
        assert_eq!(told, expected, "{error:?}");
    };
    let (after, received) = (seconds(60), 7);
    check(connect(ConnectFailure::Refused), Some(1)).await;
    check(connect(ConnectFailure::Unreachable), Some(1)).await;
    check(connect(ConnectFailure::Timeout), Some(3)).await;
    check(connect(ConnectFailure::Broken), Some(3)).await;
    check(HttpError::FirstByte { doing: doing(), after }.into(), Some(3)).await;
    check(HttpError::Stalled { doing: doing(), received, after }.into(), Some(3)).await;
    check(reset(), Some(3)).await;
    check(stream_lost(), Some(3)).await;
    check(broken(io::ErrorKind::ConnectionReset), Some(3)).await;
    check(broken(io::ErrorKind::TimedOut), Some(3)).await;
    check(broken(io::ErrorKind::BrokenPipe), Some(3)).await;
    check(broken(io::ErrorKind::ConnectionRefused), Some(1)).await;
    check(broken(io::ErrorKind::HostUnreachable), Some(1)).await;
    check(refused(), None).await;
    check(Error::Busy, None).await;
    check(Error::Timeout { method: "tools/call".into(), after }, None).await;
    check(sign_in(), Some(1)).await;
}

/// An answer, be it a refusal, shows that the connection works.
#[tokio::test(start_paused = true)]
async fn an_answer_in_between_makes_them_count_anew() {
    let bench = Bench::new([Part::Serves]);
    let live = bench.connection.ready().await.unwrap();
    for round in 0..5 {
        bench.connection.record_failure(&live, &reset());
        bench.connection.record_failure(&live, &stream_lost());
        match round % 2 {
            0 => bench.connection.record_success(&live, Duration::from_millis(5)),
            _ => bench.connection.record_failure(&live, &refused()),
        }
    }
    pass(seconds(1)).await;
    assert_eq!(bench.connection.state().word(), "connected");
    // Of mixed kinds three are three.
    bench.connection.record_failure(&live, &reset());
    bench.connection.record_failure(&live, &stream_lost());
    bench.connection.record_failure(&live, &connect(ConnectFailure::Timeout));
    bench.until("failed").await;
}

/// What happens to calls of an earlier session says nothing of this one.
#[tokio::test(start_paused = true)]
async fn an_earlier_session_does_not_count() {
    let bench = Bench::new([Part::ServesFor(seconds(5)), Part::Serves]);
    let old = bench.connection.ready().await.unwrap();
    pass(seconds(10)).await;
    let new = bench.connection.ready().await.unwrap();
    assert_ne!(old.number(), new.number());
    for _ in 0..5 {
        bench.connection.record_failure(&old, &connect(ConnectFailure::Refused));
    }
    bench.connection.record_failure(&new, &reset());
    bench.connection.record_failure(&new, &reset());
    bench.connection.record_success(&old, Duration::ZERO);
    pass(seconds(1)).await;
    assert_eq!(bench.connection.state().word(), "connected");
    bench.connection.record_failure(&new, &reset());
    bench.until("failed").await;
}

/// Nor does what was said of it in its last moment.
#[tokio::test(start_paused = true)]
async fn a_session_that_ends_anyway_takes_its_failures_with_it() {
    let bench = Bench::new([Part::Serves]);
    let live = bench.connection.ready().await.unwrap();
    bench.connection.reconnect();
    bench.connection.record_failure(&live, &connect(ConnectFailure::Refused));
    pass(seconds(100)).await;
    let ConnectionStats { connects, last_error, .. } = bench.connection.stats();
    assert_eq!((connects, last_error.is_none()), (2, true));
}

/// A session that was given up is ended, and made again.
#[tokio::test(start_paused = true)]
async fn a_session_given_up_is_made_again() {
    let bench = Bench::new([Part::Serves]);
    let live = bench.connection.ready().await.unwrap();
    bench.heard.take();
    bench.connection.record_failure(&live, &connect(ConnectFailure::Refused));
    drop(live);
    pass(seconds(2)).await;
    let mut heard = bench.heard.take();
    heard.retain(|line| !line.contains("read"));
    assert_eq!(heard, ["0.0 lost, again in 1", "1.0 pending", "1.0 connected"]);
    assert_eq!(bench.server.serving(), 1);
    // One that asks for a sign-in waits for that.
    let live = bench.connection.ready().await.unwrap();
    bench.connection.record_failure(&live, &sign_in());
    bench.until("needs-auth").await;
}

#[tokio::test(start_paused = true)]
async fn so_many_calls_and_no_more() {
    let timing = ConnectionTiming { calls_in_flight: 3, ..timing() };
    let bench = Bench::with(Scripted::new([Part::Serves]), shared(timing));
    let connection = &bench.connection;
    let first = connection.admit("a".into(), "local".into()).unwrap();
    let _second = connection.admit("b".into(), "local".into()).unwrap();
    let third = connection.admit("a".into(), "local".into()).unwrap();
    assert_eq!(
        connection.admit("c".into(), "local".into()).unwrap_err(),
        ConnectionBusy { limit: 3 }
    );
    assert_eq!(connection.sessions_in_flight(), [("a".into(), 2), ("b".into(), 1)]);
    drop(first);
    let _fourth = connection.admit("c".into(), "local".into()).unwrap();
    drop(third);
    assert_eq!(connection.sessions_in_flight(), [("b".into(), 1), ("c".into(), 1)]);
    assert_eq!(connection.stats().calls_in_flight, 2);
}

#[tokio::test(start_paused = true)]
async fn the_limit_is_256_unless_said_otherwise() {
    let bench = Bench::new([Part::Serves]);
    let admitted: Vec<_> =
        (0..256).map(|_| bench.connection.admit("a".into(), "local".into()).unwrap()).collect();
    assert!(bench.connection.admit("a".into(), "local".into()).is_err());
    drop(admitted);
    assert!(bench.connection.sessions_in_flight().is_empty());
}

/// One principal with many calls under way does not take the places of others on a connection that they share.
#[tokio::test(start_paused = true)]
async fn the_calls_of_one_principal_leave_room_for_others_on_a_shared_connection() {
    let counts = |owner: Option<&str>, principals: [&str; 3]| {
        let timing = ConnectionTiming { calls_in_flight: 8, ..timing() };
        let server = Scripted::new([Part::Serves]);
        let spec = ConnectionSpec { principal: owner.map(Into::into), ..spec("one", &server) };
        let bench = Bench::of(spec, server, shared(timing));
        let admit = |principal: &str| bench.connection.admit("s".into(), principal.into());
        let all = principals
            .map(|principal| std::iter::from_fn(|| admit(principal).ok()).collect::<Vec<_>>());
        all.map(|admitted| admitted.len())
    };
    assert_eq!(counts(None, ["user:ada", "user:bob", "user:eve"]), [4, 2, 1]);
    // The person who runs the engine may use every place, and so may the only principal of a connection.
    assert_eq!(counts(None, ["local", "user:ada", "user:bob"]), [8, 0, 0]);
    assert_eq!(counts(Some("user:ada"), ["user:ada", "user:ada", "user:ada"]), [8, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn what_happened_is_counted() {
    let bench = Bench::new([Part::Dies, Part::ServesFor(seconds(5)), Part::Serves]);
    pass(seconds(100)).await;
    let live = bench.connection.ready().await.unwrap();
    bench.connection.record_success(&live, Duration::from_millis(30));
    let ConnectionStats { connects, restarts, last_error, latency, pid, .. } =
        bench.connection.stats();
    assert_eq!((connects, restarts, pid), (2, 1, None));
    assert!(last_error.is_some());
    assert_eq!(latency.unwrap().p50, Duration::from_millis(30));
}
