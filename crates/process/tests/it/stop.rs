//! Tests of stopping: the order of signals, early ends, and no process left.

use std::time::{Duration, Instant};

use switchboard_process::{
    ProcessCommand, ProcessExit, ProcessGuard, SpawnedProcess, StopTimeouts,
};
use switchboard_testkit::processes::working_in;
use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::{Tree, both, bounded, command, eventually, guard, start, stubborn};

/// The contract says 600 ms in all; the rest is for a busy machine.
const STOPPED: Duration = Duration::from_millis(1500);

async fn first_line(spawned: &mut SpawnedProcess) -> String {
    let mut line = String::new();
    BufReader::new(&mut spawned.stdout).read_line(&mut line).await.unwrap();
    line
}

#[test]
fn a_stubborn_tree_is_gone() {
    bounded(async {
        let tree = Tree::start(&guard()).await;
        let begun = Instant::now();
        assert_eq!(tree.process.stop().await, ProcessExit::Signal(9));
        let took = begun.elapsed();
        assert!(took < STOPPED, "took {took:?}");
        assert!(took >= Duration::from_millis(500), "the ladder was cut short: {took:?}");
        // No zombie is left either.
        assert!(!tree.members.iter().any(|member| member.is_known()));
        assert!(!tree.guard.is_known());
    });
}

#[test]
fn many_may_stop_and_again() {
    bounded(async {
        let tree = Tree::start(&guard()).await;
        let other = tree.process.clone();
        let (one, two, end) = tokio::join!(tree.process.stop(), other.stop(), other.wait_exit());
        assert_eq!(
            (one, two, end),
            (ProcessExit::Signal(9), ProcessExit::Signal(9), ProcessExit::Signal(9))
        );
        assert!(tree.nobody_is_left());
        let begun = Instant::now();
        assert_eq!(other.stop().await, ProcessExit::Signal(9));
        assert!(begun.elapsed() < Duration::from_millis(50));
    });
}

#[test]
fn a_stop_that_nobody_waits_for_goes_on() {
    bounded(async {
        let tree = Tree::start(&guard()).await;
        let _ = tokio::time::timeout(Duration::from_millis(1), tree.process.stop()).await;
        assert!(eventually(STOPPED, move || tree.nobody_is_left()).await.is_some());
    });
}

#[test]
fn dropping_the_last_handle_stops() {
    bounded(async {
        let Tree { process, members, stdin: _stdin, .. } = Tree::start(&guard()).await;
        let other = process.clone();
        drop(process);
        assert!(members.iter().all(|member| member.is_alive()));
        drop(other);
        let gone = move || !members.iter().any(|member| member.is_alive());
        assert!(eventually(STOPPED, gone).await.is_some());
    });
}

#[test]
fn the_ladder_has_an_order() {
    bounded(async {
        for guard in both() {
            let folder = tempfile::tempdir().unwrap();
            let log = folder.path().join("log");
            let mut child = start(stubborn(["record", log.to_str().unwrap()]), &guard).await;
            assert_eq!(first_line(&mut child).await, "ready\n");
            let SpawnedProcess { stdin, process, .. } = child;
            drop(stdin);
            assert_eq!(process.stop().await, ProcessExit::Signal(9));
            let log = std::fs::read_to_string(log).unwrap();
            let mut lines: Vec<&str> = log.lines().collect();
            // The end of standard input and SIGINT come together.
            lines[..2].sort_unstable();
            assert_eq!(lines, ["EOF", "SIGINT", "SIGTERM"]);
        }
    });
}

#[test]
fn a_polite_child_is_given_its_time() {
    bounded(async {
        for guard in both() {
            let folder = tempfile::tempdir().unwrap();
            let work = folder.path().join("work");
            let mut child =
                start(stubborn(["polite", work.to_str().unwrap(), "200"]), &guard).await;
            assert_eq!(first_line(&mut child).await, "ready\n");
            let SpawnedProcess { stdin, process, .. } = child;
            drop(stdin);
            let begun = Instant::now();
            assert_eq!(process.stop().await, ProcessExit::Code(0));
            assert!(begun.elapsed() < Duration::from_millis(480), "took {:?}", begun.elapsed());
            assert_eq!(std::fs::read_to_string(work).unwrap(), "finished");
        }
    });
}

#[test]
fn the_ladder_may_be_shorter() {
    bounded(async {
        for guard in both() {
            let stop =
                StopTimeouts { after_interrupt: Duration::ZERO, after_terminate: Duration::ZERO };
            let mut child = start(ProcessCommand { stop, ..stubborn(["leaf", "x"]) }, &guard).await;
            first_line(&mut child).await;
            let begun = Instant::now();
            assert_eq!(child.process.stop().await, ProcessExit::Signal(9));
            assert!(begun.elapsed() < Duration::from_millis(400), "took {:?}", begun.elapsed());
        }
    });
}

#[test]
fn a_process_that_keeps_forking_does_not_escape() {
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let relay = ProcessCommand { cwd: Some(folder.clone()), ..stubborn(["relay"]) };
        let SpawnedProcess { stdout, process, .. } = start(relay, &guard()).await;
        let mut lines = BufReader::new(stdout).lines();
        while lines.next_line().await.unwrap().expect("the relay ended") != "running" {}
        process.stop().await;
        assert_eq!(working_in(&folder), []);
    });
}

#[test]
fn without_a_guard_the_group_is_stopped() {
    bounded(async {
        let Tree { process, members, .. } = Tree::start(&ProcessGuard::none()).await;
        let begun = Instant::now();
        assert_eq!(process.stop().await, ProcessExit::Signal(9));
        assert!(begun.elapsed() < STOPPED);
        // Only a guard reaches the process in a session of its own.
        let escaped: Vec<_> = members.iter().filter(|member| member.is_alive()).collect();
        assert_eq!(escaped.len(), 1);
        let pid = nix::unistd::Pid::from_raw(escaped[0].pid.cast_signed());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    });
}

#[test]
fn without_a_guard_a_dropped_handle_stops_the_child() {
    bounded(async {
        let SpawnedProcess { process, stdin: _stdin, .. } =
            start(command("sleep", ["100"]), &ProcessGuard::none()).await;
        let child = switchboard_testkit::processes::Identity::of(process.pid()).unwrap();
        drop(process);
        assert!(eventually(STOPPED, move || !child.is_known()).await.is_some());
    });
}
