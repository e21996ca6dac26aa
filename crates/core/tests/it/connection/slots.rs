//! Tests of start slots: how many servers may start at once, and for how long one may hold a slot.

use std::sync::Arc;

use switchboard_core::connection::{
    Connection, ConnectionContext, ConnectionState, ConnectionTiming,
};
use switchboard_testkit::scripted::{Part, Scripted};
use tokio::time::Instant;

use super::bench::{Bench, Heard, pass, seconds, shared, spec, tenths, timing};

fn started(id: &str, part: Part, shared: &Arc<ConnectionContext>) -> Bench {
    let server = Scripted::new([part]);
    Bench::of(spec(id, &server), server, shared.clone())
}

/// When each of some servers was first tried, started in this order.
async fn check(parts: &[Part], expected: &[f64]) {
    let shared = shared(timing());
    let benches: Vec<_> = parts
        .iter()
        .enumerate()
        .map(|(index, part)| started(&index.to_string(), part.clone(), &shared))
        .collect();
    pass(seconds(20)).await;
    let first: Vec<_> = benches.iter().map(|bench| bench.attempts()[0]).collect();
    assert_eq!(first, expected, "{parts:?}");
}

#[tokio::test(start_paused = true)]
async fn three_at_once_and_none_for_longer_than_a_second() {
    use Part::{Dies, Hangs, Serves};
    check(&[Serves, Serves, Serves, Serves, Serves], &[0.0; 5]).await;
    check(&[Hangs, Hangs, Hangs, Serves, Serves], &[0.0, 0.0, 0.0, 1.0, 1.0]).await;
    check(&[Hangs, Hangs, Serves, Serves, Serves], &[0.0; 5]).await;
    check(&[Hangs, Hangs, Dies, Dies, Dies], &[0.0; 5]).await;
    check(&[Hangs, Hangs, Hangs, Hangs, Hangs, Hangs, Hangs], &[0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0])
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_waited_for_does_not_queue() {
    let shared = shared(timing());
    let hung: Vec<_> = (0..12).map(|i| started(&i.to_string(), Part::Hangs, &shared)).collect();
    let wanted = started("wanted", Part::Serves, &shared);
    wanted.connection.ready().await.unwrap();
    assert_eq!(wanted.attempts(), [0.0]);
    drop(hung);
}

/// A turn that nobody needs any more goes to the next.
#[tokio::test(start_paused = true)]
async fn a_server_that_is_stopped_gives_its_turn_back() {
    let timing = ConnectionTiming { local_slots: 1, slot_kept: seconds(1000), ..timing() };
    let shared = shared(timing);
    let first = started("first", Part::Hangs, &shared);
    let second = started("second", Part::Hangs, &shared);
    let third = started("third", Part::Serves, &shared);
    pass(seconds(1)).await;
    second.connection.stop().await;
    first.connection.stop().await;
    third.until("connected").await;
    assert_eq!(third.attempts(), [1.0]);
    assert!(second.attempts().is_empty());
}

#[tokio::test(start_paused = true)]
async fn fifty_broken_servers_do_not_hold_up_the_others() {
    let shared = shared(timing());
    let began = Instant::now();
    let mut connections = Vec::new();
    for index in 0..200 {
        let part = match index % 8 {
            0 => Part::Hangs,
            4 => Part::Dies,
            _ => Part::Serves,
        };
        let server = Scripted::new([part]);
        let spec = spec(&index.to_string(), &server);
        connections.push(Connection::start(spec, shared.clone(), Arc::new(Heard::new())));
    }
    for (index, connection) in connections.iter().enumerate().filter(|(index, _)| index % 4 != 0) {
        let mut state = connection.watch();
        let connected = state.wait_for(|state| matches!(state, ConnectionState::Connected(_)));
        tokio::time::timeout(seconds(30), connected)
            .await
            .unwrap_or_else(|_| panic!("{index}"))
            .unwrap();
    }
    // Twenty-five that hang keep three turns for a second each.
    assert!(tenths(began.elapsed()) <= 9.0, "{:?}", began.elapsed());
    for connection in &connections {
        connection.stop().await;
    }
}
