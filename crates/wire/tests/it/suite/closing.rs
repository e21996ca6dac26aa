//! Tests that a closed connection leaves no task, socket, process or session.

use std::time::Duration;

use switchboard_process::{ProcessCommand, ProcessGuard, StderrOptions};
use switchboard_testkit::{
    processes::{Identity, wait_until, working_in},
    programs::program,
};
use switchboard_wire::{
    Error,
    client::{CallRequest, Client, ServerTarget, StdioTarget, VersionNegotiation},
};

use super::{Bench, Served, Transport, connect, options, over_all_five, raw};

over_all_five!(calls_under_way_fail_and_later_ones_too);

async fn calls_under_way_fail_and_later_ones_too(bench: Bench) {
    let mut exchange = bench.client.call(CallRequest::call_tool("hang", &raw("{}")));
    tokio::select! {
        happened = exchange.next() => panic!("{happened:?}"),
        _ = bench.tool("await_hanging", "{}") => {}
    }
    bench.client.close().await;
    let under_way = exchange.next().await;
    assert!(matches!(under_way, Err(Error::Closed)), "{under_way:?}");
    let later = bench.client.call(CallRequest::call_tool("echo", &raw("{}"))).result().await;
    assert!(matches!(later, Err(Error::Closed)), "{later:?}");
    let listed = bench.client.list(switchboard_wire::client::ListKind::Tools).await;
    assert!(matches!(listed, Err(Error::Closed)), "{listed:?}");
}

/// The number of tasks in this test's runtime.
fn tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

/// Waits until `so` is true; the end of a task is not announced.
async fn settled(so: impl Fn() -> bool) {
    let waiting = async {
        while !so() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("it never settles");
}

async fn close_leaves_nothing(transport: Transport) {
    for greeting in transport.greetings() {
        let before = tasks();
        let bench = connect(transport, options(greeting)).await.unwrap();
        bench.client.subscribe("a:b").await.unwrap();
        bench.tool("echo", "{}").await;
        let process = bench.client.process().map(|process| Identity::of(process.pid()).unwrap());
        bench.client.close().await;
        assert!(!process.is_some_and(Identity::is_alive), "{greeting:?}");
        if let Served::Http(face) = &bench.served {
            assert_eq!(face.sessions().0, 0, "{greeting:?}");
        }
        drop(bench);
        settled(|| tasks() <= before).await;
    }
}

/// A client that is dropped without closing leaves nothing, either.
async fn dropping_leaves_nothing(transport: Transport) {
    for greeting in transport.greetings() {
        let before = tasks();
        let bench = connect(transport, options(greeting)).await.unwrap();
        bench.tool("echo", "{}").await;
        let process = bench.client.process().map(|process| Identity::of(process.pid()).unwrap());
        drop(bench);
        settled(|| tasks() <= before && !process.is_some_and(Identity::is_alive)).await;
    }
}

macro_rules! leaves_nothing {
    ($($name:ident $transport:ident),* $(,)?) => {
        mod nothing {
            use super::super::Transport;
            $(
                #[tokio::test]
                async fn $name() {
                    super::close_leaves_nothing(Transport::$transport).await;
                    super::dropping_leaves_nothing(Transport::$transport).await;
                }
            )*
        }
    };
}

leaves_nothing!(
    in_process InProcess,
    stdio Stdio,
    web_socket WebSocket,
    sse Sse,
    http Http,
);

/// A failed handshake leaves nothing, either.
#[tokio::test]
async fn a_connection_that_fails_leaves_nothing() {
    let before = tasks();
    let peer = crate::session::answering(|_| None);
    let connected = peer.connect(options(VersionNegotiation::Probe)).await;
    assert!(matches!(connected, Err(Error::Rpc(_))), "{:?}", connected.err());
    settled(|| tasks() <= before).await;
}

/// An abandoned attempt leaves nothing, either: after its deadline, its caller, or a drop.
#[tokio::test]
async fn a_connection_given_up_leaves_nothing() {
    let before = tasks();
    let silent = || {
        let (near, far) = switchboard_wire::link::pair::link_pair();
        (ServerTarget::InProcess(near), far)
    };
    let mut hasty = options(VersionNegotiation::Probe);
    hasty.connect_timeout = Duration::from_millis(50);

    let (target, _far) = silent();
    let late = Client::connect(target, hasty.clone()).await.map(drop);
    assert!(matches!(late, Err(Error::Timeout { .. })), "{late:?}");
    assert_eq!(tasks(), before, "after its deadline");

    let (target, _far) = silent();
    let abandoned = tokio::time::sleep(Duration::from_millis(50));
    let patient = options(VersionNegotiation::Probe);
    let given_up = Client::connect_cancellable(target, patient.clone(), abandoned).await.map(drop);
    assert!(matches!(given_up, Err(Error::Closed)), "{given_up:?}");
    assert_eq!(tasks(), before, "after its caller gave it up");

    let (target, _far) = silent();
    let dropped = Client::connect(target, patient);
    assert!(tokio::time::timeout(Duration::from_millis(50), dropped).await.is_err());
    settled(|| tasks() <= before).await;
}

/// A process that never answers has exited when the attempt to connect has ended.
#[tokio::test]
async fn a_process_given_up_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = ProcessCommand::new(program("stubborn"));
    command.args = vec!["tree".into()];
    command.cwd = Some(folder.path().to_owned());
    let guard = ProcessGuard::at(program("guard")).unwrap();
    let target =
        ServerTarget::Stdio(StdioTarget { command, guard, stderr: StderrOptions::default() });
    let there = folder.path().to_owned();
    let all_run = tokio::task::spawn_blocking(move || {
        wait_until(Duration::from_secs(20), || working_in(&there).len() == 4)
    });
    let abandoned = async { assert!(all_run.await.unwrap().is_some(), "the tree does not grow") };
    let given_up =
        Client::connect_cancellable(target, options(VersionNegotiation::Probe), abandoned).await;
    assert!(matches!(given_up.map(drop), Err(Error::Closed)));
    assert_eq!(working_in(folder.path()), []);
}
