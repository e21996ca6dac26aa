//! Tests of programs that exit, start slowly, write to standard error, send too much, or do not
//! read.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use switchboard_testkit::processes::Identity;
use switchboard_wire::{
    Error, Version,
    client::{CallRequest, Client, VersionNegotiation},
    envelope::MalformedKind,
};

use super::puppet;
use crate::{
    http::soon,
    suite::{options, raw},
};

fn call(
    client: &Client,
    name: &str,
) -> impl Future<Output = Result<switchboard_wire::json::Raw, Error>> {
    client.call(CallRequest::call_tool(name, &raw("{}"))).result()
}

#[tokio::test]
async fn a_server_that_dies_of_the_probe_is_started_again_and_greeted_the_old_way() {
    let eras = std::sync::Arc::new(switchboard_wire::client::EraCache::default());
    let mut options = options(VersionNegotiation::Probe);
    options.eras = Some(eras.clone());
    for _ in 0..2 {
        let connected = Client::connect(puppet(["dies-on-probe"]), options.clone());
        let (client, _inbox) = soon(connected).await.unwrap();
        assert_eq!(client.server_facts().version, Version::V2025_11_25);
        soon(call(&client, "x")).await.unwrap();
        client.close().await;
    }
    // The second time the era was known, and the server did not have to exit.
    assert_eq!(eras.entries()[0].1.version, Version::V2025_11_25);
}

/// Other tests let forty seconds pass at once; here a real program is slow, in proportion.
#[tokio::test]
async fn a_cold_start_is_waited_for_by_one_process() {
    let mut options = options(VersionNegotiation::Probe);
    options.probe_patience = Duration::from_millis(50);
    let (client, _inbox) = soon(Client::connect(puppet(["cold", "700"]), options)).await.unwrap();
    assert_eq!(client.server_facts().version, Version::V2025_11_25);
    soon(call(&client, "x")).await.unwrap();
    client.close().await;
}

#[tokio::test]
async fn a_cold_start_longer_than_the_timeout_leaves_nothing() {
    let mut options = options(VersionNegotiation::Probe);
    options.connect_timeout = Duration::from_millis(300);
    let connected = soon(Client::connect(puppet(["cold", "60000"]), options)).await;
    let error = connected.err().unwrap();
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
}

#[tokio::test]
async fn an_oversized_line_fails_its_own_call_only() {
    let mut options = options(VersionNegotiation::Probe);
    options.limits.max_message = 100_000;
    let connected = Client::connect(puppet(["oversized", "3000000"]), options);
    let (client, _inbox) = soon(connected).await.unwrap();
    for _ in 0..3 {
        let (before, big, after) = soon(async {
            tokio::join!(call(&client, "a"), call(&client, "big"), call(&client, "b"))
        })
        .await;
        before.unwrap();
        after.unwrap();
        let Err(Error::Malformed(malformed)) = big else { panic!("{big:?}") };
        assert_eq!(malformed.kind, MalformedKind::TooLarge { limit: 100_000 });
        assert!(malformed.to_string().contains("larger than 100000 bytes"));
    }
    client.close().await;
}

#[tokio::test]
async fn sixty_four_megabytes_of_standard_error_harm_nobody() {
    let connected =
        Client::connect(puppet(["noisy", "67108864"]), options(VersionNegotiation::Probe));
    let (client, _inbox) =
        tokio::time::timeout(Duration::from_mins(1), connected).await.unwrap().unwrap();
    soon(call(&client, "x")).await.unwrap();
    assert!(client.process().unwrap().stderr_tail().len() <= 64 << 10);
    client.close().await;
}

/// The server's pipe fills up, then the client's queue; callers fail at their deadline, and closing
/// still works.
#[tokio::test]
async fn a_server_that_does_not_listen_holds_nobody_past_their_deadline() {
    let (client, _inbox) =
        soon(Client::connect(puppet(["deaf"]), options(VersionNegotiation::Probe))).await.unwrap();
    let process = Identity::of(client.process().unwrap().pid()).unwrap();
    let text = "x".repeat(10_000);
    let arguments = raw(&format!(r#"{{"text":"{text}"}}"#));
    let began = Instant::now();
    let calls = (0..400).map(|_| {
        let call = CallRequest::call_tool("x", &arguments).with_timeout(Duration::from_millis(500));
        client.call(call).result()
    });
    for result in soon(join_all(calls)).await {
        assert!(matches!(result, Err(Error::Timeout { .. })), "{result:?}");
    }
    assert!(began.elapsed() < Duration::from_secs(10));
    soon(client.close()).await;
    assert!(!process.is_alive());
}

/// A program that exits during a call fails the call, with the exit status.
#[tokio::test]
async fn a_server_that_dies_tells_why() {
    let (client, _inbox) =
        soon(Client::connect(puppet(["deaf"]), options(VersionNegotiation::Probe))).await.unwrap();
    let pid = i32::try_from(client.process().unwrap().pid()).unwrap();
    let mut exchange = client.call(CallRequest::call_tool("x", &raw("{}")));
    let polled = tokio::time::timeout(Duration::from_millis(50), exchange.next()).await;
    assert!(polled.is_err());
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL)
        .unwrap();
    let error = soon(exchange.next()).await.unwrap_err();
    assert!(matches!(error, Error::Exited { .. }), "{error:?}");
    client.close().await;
}
