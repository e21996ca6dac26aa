//! Tests of guards that are killed or stopped by others.

use std::ffi::OsString;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use switchboard_process::{ProcessCommand, ProcessExit, SpawnedProcess, StderrOptions, spawn};
use switchboard_testkit::processes::{Identity, working_in};

use super::{Tree, bounded, eventually, guard, sh};

fn send(to: Identity, signal: Signal) {
    kill(Pid::from_raw(to.pid.cast_signed()), signal).unwrap();
}

#[test]
fn asked_to_end_it_stops_everybody_first() {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT] {
        bounded(async {
            let tree = Tree::start(&guard()).await;
            send(tree.guard, signal);
            assert_eq!(tree.process.wait_exit().await, ProcessExit::Signal(9));
            let gone = move || tree.nobody_is_left();
            assert!(eventually(Duration::from_secs(1), gone).await.is_some());
        });
    }
}

#[test]
fn other_signals_do_not_touch_it() {
    bounded(async {
        let tree = Tree::start(&guard()).await;
        for signal in [Signal::SIGUSR1, Signal::SIGALRM, Signal::SIGPIPE, Signal::SIGTSTP] {
            send(tree.guard, signal);
        }
        assert!(tree.members.iter().all(|member| member.is_alive()));
        assert_eq!(tree.process.stop().await, ProcessExit::Signal(9));
        assert!(tree.nobody_is_left());
    });
}

/// The kernel kills the child; this process adopts and kills all other descendants, in whatever session.
#[test]
fn killed_it_leaves_nobody() {
    bounded(async {
        let tree = Tree::start(&guard()).await;
        send(tree.guard, Signal::SIGKILL);
        assert_eq!(tree.process.wait_exit().await, ProcessExit::Unknown);
        assert_eq!(tree.process.stop().await, ProcessExit::Unknown);
        assert!(tree.nobody_is_left());
    });
}

/// A stopped guard cannot stop its child either, so this process does.
#[test]
fn frozen_it_is_replaced() {
    bounded(async {
        let tree = Tree::start(&guard()).await;
        send(tree.guard, Signal::SIGSTOP);
        tree.process.stop().await;
        assert!(tree.nobody_is_left());
    });
}

/// A server that tries to outlive us: it leaves its group, kills its guard, and continues.
#[test]
fn killed_by_its_server_it_leaves_nobody() {
    // Each script leaves at least one process behind that works in the test's folder.
    let scripts = [
        // Leaves its group and session.
        "guard=$PPID; setsid sh -c \"kill -9 $guard; exec sleep 600\" & wait",
        // A grandchild of the server, with children of its own.
        "guard=$PPID; setsid sh -c \"(setsid sh -c 'kill -9 $guard; sleep 600 & sleep 600 & wait' &)\" & wait",
        // Changes its process and session all the time.
        "export next='sleep 0.02; setsid sh -c \"$next\" &'; guard=$PPID; \
         setsid sh -c \"$next\" & setsid sh -c \"kill -9 $guard\" & wait",
        // Kills the guard while it is asked to stop.
        "guard=$PPID; setsid sh -c \"trap 'kill -9 $guard' INT TERM; while :; do sleep 0.1; done\" & read end",
    ];
    for script in scripts {
        bounded(async move {
            let folder = tempfile::tempdir().unwrap();
            let cwd = folder.path().canonicalize().unwrap();
            let command = ProcessCommand { cwd: Some(cwd.clone()), env: path(), ..sh(script) };
            let started = spawn(command, &guard(), StderrOptions::default()).await;
            let Ok(SpawnedProcess { stdin, process, .. }) = started else {
                // The script killed its guard before the guard could report the start.
                assert_eq!(working_in(&cwd), [], "{script}");
                return;
            };
            let guard = Identity::of(process.pid()).and_then(Identity::parent);
            if !script.ends_with("read end") {
                let killed = move || guard.is_none_or(|guard| !guard.is_alive());
                assert!(eventually(Duration::from_secs(10), killed).await.is_some(), "{script}");
            }
            drop(stdin);
            process.stop().await;
            assert_eq!(working_in(&cwd), [], "{script}");
        });
    }
}

/// Processes that this one started without a guard are not killed, adopted or not.
#[test]
fn strangers_are_left_alone() {
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path().canonicalize().unwrap();
        let daemon = std::process::Command::new("sh")
            .args(["-c", "setsid sleep 600 >/dev/null 2>&1 & echo $!"])
            .current_dir(&cwd)
            .output()
            .unwrap();
        let daemon = String::from_utf8(daemon.stdout).unwrap();
        let daemon = Identity::of(daemon.trim().parse().unwrap()).unwrap();
        let tree = Tree::start(&guard()).await;
        send(tree.guard, Signal::SIGKILL);
        tree.process.stop().await;
        assert!(tree.nobody_is_left());
        assert!(daemon.is_alive());
        send(daemon, Signal::SIGKILL);
    });
}

fn path() -> Vec<(OsString, OsString)> {
    vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default())]
}
