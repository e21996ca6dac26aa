//! What happens when somebody else lays hands on a guard.

use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use switchboard_testkit::processes::Identity;
use switchboard_wire::process::Exit;

use super::{Tree, bounded, eventually, guard};

fn send(to: Identity, signal: Signal) {
    kill(Pid::from_raw(to.pid.cast_signed()), signal).unwrap();
}

#[test]
fn asked_to_end_it_stops_everybody_first() {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT] {
        bounded(async {
            let tree = Tree::start(&guard()).await;
            send(tree.guard, signal);
            assert_eq!(tree.process.exited().await, Exit::Signal(9));
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
        assert_eq!(tree.process.stop().await, Exit::Signal(9));
        assert!(tree.nobody_is_left());
    });
}

/// The kernel kills the child, we kill its group; a session of its own is beyond both.
#[test]
fn killed_it_takes_the_child_along() {
    bounded(async {
        let tree = Tree::start(&guard()).await;
        send(tree.guard, Signal::SIGKILL);
        assert_eq!(tree.process.exited().await, Exit::Unknown);
        assert_eq!(tree.process.stop().await, Exit::Unknown);
        let members = tree.members.clone();
        let down_to_one = move || members.iter().filter(|member| member.is_alive()).count() == 1;
        assert!(eventually(Duration::from_secs(1), down_to_one).await.is_some());
        for escaped in tree.members.iter().filter(|member| member.is_alive()) {
            send(*escaped, Signal::SIGKILL);
        }
    });
}
