//! Stopping every process below the guard: SIGINT, SIGTERM, then SIGKILL until none is left.
//!
//! Used by `guard::main_loop`; [`kill_groups`] also by `orphans`.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgid};

use super::descendants::descendants;
use super::main_loop::{DescendantsLeft, GuardProcess};
use crate::StopTimeouts;

/// The pauses between rounds of SIGKILL, the first and the longest.
const MIN_KILL_PAUSE: Duration = Duration::from_millis(2);
const MAX_KILL_PAUSE: Duration = Duration::from_millis(250);

/// Stops all descendants. Returns when none is left.
pub(super) fn stop_descendants(warden: &mut GuardProcess, stop: StopTimeouts) {
    let rungs = [(Signal::SIGINT, stop.after_interrupt), (Signal::SIGTERM, stop.after_terminate)];
    for (signal, patience) in rungs {
        if signal_descendants(warden, signal, patience) == DescendantsLeft::Nobody {
            return;
        }
    }
    kill_all(warden);
}

/// Sends `signal` once to each descendant, including those that appear meanwhile.
fn signal_descendants(
    warden: &mut GuardProcess,
    signal: Signal,
    patience: Duration,
) -> DescendantsLeft {
    let deadline = Instant::now() + patience;
    let mut asked = HashSet::new();
    while warden.reap() == DescendantsLeft::Somebody {
        for pid in descendants(Pid::this()) {
            if asked.insert(pid) {
                let _ = kill(pid, signal);
            }
        }
        let remaining = deadline.saturating_duration_since(Instant::now());
        if remaining.is_zero() {
            return DescendantsLeft::Somebody;
        }
        warden.pause(remaining);
    }
    DescendantsLeft::Nobody
}

/// Kills until no descendant is left. Some may take long, stuck in the kernel or owned by another user by
/// now, so the pauses grow while nothing changes.
fn kill_all(warden: &mut GuardProcess) {
    let mut pause = MIN_KILL_PAUSE;
    let mut before = usize::MAX;
    while warden.reap() == DescendantsLeft::Somebody {
        let alive = descendants(Pid::this());
        pause =
            if alive.len() == before { (pause * 2).min(MAX_KILL_PAUSE) } else { MIN_KILL_PAUSE };
        before = alive.len();
        kill_groups(&alive, warden.server());
        for pid in alive {
            let _ = kill(pid, Signal::SIGKILL);
        }
        warden.pause(pause);
    }
}

/// Kills whole groups, because a process that forks faster than the walk escapes a kill of its id, but not of
/// its group. Only groups that certainly consist of descendants: the child's own, and those with a descendant
/// as leader.
pub(crate) fn kill_groups(alive: &[Pid], server: Pid) {
    let groups: HashSet<Pid> = alive.iter().filter_map(|pid| getpgid(Some(*pid)).ok()).collect();
    for group in groups {
        if group == server || alive.contains(&group) {
            let _ = killpg(group, Signal::SIGKILL);
        }
    }
}
