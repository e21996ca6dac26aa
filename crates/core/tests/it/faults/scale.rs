//! Tests of two hundred servers, a quarter of which are broken.

use std::sync::Arc;
use std::time::Duration;

use switchboard_core::engine::{ServerSnapshot, WorkspaceSnapshot};
use switchboard_testkit::scripted::{Part, Scripted};
use switchboard_wire::Error as WireError;
use tokio::time::Instant;

use super::world::{request, scripted};
use crate::engine::script::Bench;

/// Longer than all attempts of all servers take, by the test's own clock.
const LONG: Duration = Duration::from_secs(2 * 60 * 60);

/// Many servers, by name.
struct Crowd {
    bench: Bench,
    servers: Vec<(String, Arc<Scripted>)>,
    began: Instant,
}

// === impl Crowd ===

impl Crowd {
    /// Starts all servers at once; each plays one part for good.
    async fn start(parts: impl IntoIterator<Item = Part>) -> Self {
        let mut bench = Bench::new().await;
        let mut servers = Vec::new();
        for (number, part) in parts.into_iter().enumerate() {
            let name = format!("s{number}");
            let (server, reached) = scripted(&name, [part]);
            bench.workspace.in_process.push(reached);
            servers.push((name, server));
        }
        let began = Instant::now();
        bench.engine.apply(&bench.workspace, bench.desired(&serde_json::json!({})));
        Self { bench, servers, began }
    }

    /// When a snapshot is so.
    async fn when(&self, so: impl Fn(&WorkspaceSnapshot) -> bool) -> Duration {
        let mut changes = self.bench.engine.changes();
        let waiting = async {
            while !so(&self.snapshot()) {
                changes.changed().await.unwrap();
            }
        };
        tokio::time::timeout(LONG, waiting).await.expect("it never happens");
        self.began.elapsed()
    }

    fn snapshot(&self) -> Arc<WorkspaceSnapshot> {
        self.bench.engine.snapshot(&self.bench.workspace.id).unwrap()
    }

    async fn end(self) {
        self.bench.engine.shutdown().await;
        tokio::task::yield_now().await;
        let left: Vec<_> = self
            .servers
            .iter()
            .filter(|(_, server)| server.serving() > 0)
            .map(|(n, _)| n)
            .collect();
        assert!(left.is_empty(), "sessions are left: {left:?}");
    }
}

/// Three at a time, each for a second at most: that is how long those behind a hung server wait.
#[tokio::test(start_paused = true)]
async fn hung_servers_hold_up_those_behind_them_by_a_second_for_three() {
    for (hung, seconds) in [(0, 0), (2, 0), (3, 1), (5, 1), (6, 2), (30, 10), (50, 16)] {
        let parts = std::iter::repeat_n(Part::Hangs, hung).chain([Part::Serves]);
        let crowd = Crowd::start(parts).await;
        let last = format!("s{hung}");
        let took = crowd.when(|now| now.server(&last).unwrap().tools == 1).await;
        assert_eq!(took.as_secs(), seconds, "behind {hung}");
        crowd.end().await;
    }
}

/// Whoever calls a server does not queue for it.
#[tokio::test(start_paused = true)]
async fn a_server_that_a_call_waits_for_is_there_at_once() {
    let parts = std::iter::repeat_n(Part::Hangs, 100).chain([Part::Serves]);
    let crowd = Crowd::start(parts).await;
    let caller = crowd.bench.caller("s");
    let call = crowd.bench.engine.call(&caller, request("s100", "echo", &serde_json::json!({})));
    call.outcome().await.unwrap();
    assert_eq!(crowd.began.elapsed(), Duration::ZERO);
    drop(caller);
    crowd.end().await;
}

#[tokio::test(start_paused = true)]
async fn two_hundred_servers_of_which_fifty_are_broken() {
    let failing = || Part::Fails(WireError::Closed);
    let part = |number: usize| match number % 16 {
        0 => Part::Hangs,
        4 => Part::Dies,
        8 => Part::Refuses(-32603),
        12 => failing(),
        _ => Part::Serves,
    };
    let crowd = Crowd::start((0..200).map(part)).await;
    let is_broken = |number: usize| number.is_multiple_of(4);
    let caller = crowd.bench.caller("s");

    // The first tool is there long before the broken ones are known.
    let took = crowd.when(|now| !now.catalog.tools().is_empty()).await;
    assert_eq!(took, Duration::ZERO);
    let all = |now: &WorkspaceSnapshot| now.catalog.tools().len() == 150;
    let took = crowd.when(all).await;
    println!("150 good servers among 200 are there after {took:?}");
    // Thirteen hang, three hold a second together.
    assert!(took <= Duration::from_secs(5), "{took:?}");

    let last_error = |view: &ServerSnapshot| view.stats.as_ref()?.last_error.clone();
    let settled = |now: &WorkspaceSnapshot| {
        let is_known =
            |view: &ServerSnapshot| view.status.word() == "connected" || last_error(view).is_some();
        now.servers.iter().all(is_known)
    };
    let took = crowd.when(settled).await;
    println!("50 broken servers among 200 are known to be broken after {took:?}");
    let snapshot = crowd.snapshot();
    assert_eq!(snapshot.servers.len(), 200);
    for (number, (name, server)) in crowd.servers.iter().enumerate() {
        let view = snapshot.server(name).unwrap();
        if is_broken(number) {
            assert!(matches!(view.status.word(), "failed" | "pending"), "{name}");
            let error = last_error(view).unwrap();
            assert!(!error.to_string().is_empty(), "{name} failed without a reason");
        } else {
            assert_eq!(view.status.word(), "connected", "{name}");
            assert_eq!(server.attempts().len(), 1, "{name} was connected to again");
            let call = request(name, "echo", &serde_json::json!({}));
            crowd.bench.engine.call(&caller, call).outcome().await.unwrap();
        }
    }
    let reasons = |part: usize| {
        last_error(snapshot.server(&format!("s{part}")).unwrap()).unwrap().to_string()
    };
    assert!(reasons(0).starts_with("no answer to `"), "{}", reasons(0));
    assert!(reasons(8).starts_with("the server refused: "), "{}", reasons(8));
    drop(caller);
    crowd.end().await;
}

/// A resource that nobody has is looked for at all servers at once, not at one after the other.
#[tokio::test(start_paused = true)]
async fn what_nobody_has_is_not_waited_for_once_per_server() {
    let crowd = Crowd::start(std::iter::repeat_n(Part::Hangs, 20)).await;
    let caller = crowd.bench.caller("s");
    let call = crowd.bench.engine.call(&caller, switchboard_core::Request::read("a://b"));
    assert!(call.outcome().await.is_err());
    let took = crowd.began.elapsed();
    assert!(took <= Duration::from_secs(40), "{took:?}");
    drop(caller);
    crowd.end().await;
}
