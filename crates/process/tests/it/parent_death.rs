//! Tests that no child outlives its parent, however the parent ends.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use switchboard_testkit::processes::{Identity, wait_until, working_in};
use switchboard_testkit::programs::program;

use super::member;

/// The longest time that a child may outlive its parent.
const A_MOMENT: Duration = Duration::from_secs(1);

fn hub(folder: &Path, end: &str) -> Child {
    Command::new(program("hub-under-test"))
        .args([program("guard"), program("stubborn"), end.into()])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The lines that the hub prints until it is ready.
fn said(hub: &mut Child) -> Vec<String> {
    let lines = BufReader::new(hub.stdout.as_mut().unwrap()).lines().map(Result::unwrap);
    lines.take_while(|line| line != "ready").collect()
}

/// Asserts that all processes in the folder are gone in time.
fn assert_empty(folder: &Path, since: Instant, context: &str) {
    let folder = folder.canonicalize().unwrap();
    let left = A_MOMENT.saturating_sub(since.elapsed());
    let empty = wait_until(left, || working_in(&folder).is_empty());
    assert!(empty.is_some(), "{context}: left {:?}", working_in(&folder));
}

#[test]
fn killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut hub = hub(folder.path(), "wait");
    let members: Vec<Identity> = said(&mut hub).iter().map(|line| member(line)).collect();
    assert_eq!(members.len(), 4);
    let begun = Instant::now();
    hub.kill().unwrap();
    hub.wait().unwrap();
    assert!(members.iter().all(|member| member.is_alive()), "the ladder was cut short");
    assert_empty(folder.path(), begun, "killed");
    println!("kill -9 to nobody left: {:?}", begun.elapsed());
    assert!(!members.iter().any(|member| member.is_alive()));
}

#[test]
fn ended_by_itself() {
    for end in ["return", "exit", "panic", "abort"] {
        let folder = tempfile::tempdir().unwrap();
        let mut hub = hub(folder.path(), end);
        assert_eq!(said(&mut hub).len(), 4);
        hub.wait().unwrap();
        assert_empty(folder.path(), Instant::now(), end);
    }
}

/// Kills hubs that only start trees, at moments spread over some starts.
#[test]
fn killed_while_spawning() {
    std::thread::scope(|scope| {
        for lane in 0..4 {
            scope.spawn(move || {
                for turn in 0..6 {
                    let folder = tempfile::tempdir().unwrap();
                    let mut hub = hub(folder.path(), "spawn");
                    said(&mut hub);
                    let moment = Duration::from_micros((turn * 4 + lane) * 830);
                    std::thread::sleep(moment);
                    let begun = Instant::now();
                    hub.kill().unwrap();
                    hub.wait().unwrap();
                    assert_empty(folder.path(), begun, &format!("killed after {moment:?}"));
                }
            });
        }
    });
}

#[test]
fn gave_up_on_spawning() {
    let folder = tempfile::tempdir().unwrap();
    let mut hub = hub(folder.path(), "cancel");
    said(&mut hub);
    let cwd = folder.path().canonicalize().unwrap();
    let alone = wait_until(A_MOMENT, || working_in(&cwd).len() == 1);
    hub.kill().unwrap();
    hub.wait().unwrap();
    assert!(alone.is_some(), "something it gave up on still runs");
}
