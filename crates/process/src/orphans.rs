//! Processes that outlived their guard: adopted by this process, found by a mark, and killed.
//!
//! A server can kill its guard, which belongs to the same user. This process is the next in line to adopt what the guard
//! leaves behind, so nothing that a server started escapes while this process lives. Used by the task that watches a
//! guard, once the guard has ended other than by finishing its work.
//!
//! Children of this process that no guard started are never touched: only descendants of a guard bear the mark.

use std::fs;
use std::io;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit, rlim_t};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use parking_lot::Mutex;

use super::guard::{descendants, stop_tree};

/// The limit that serves as the mark. The kernel has not enforced it since Linux 2.4, every process inherits it, and
/// without privileges it can be lowered but never raised. So a process whose limit is below ours descends from a guard.
pub(super) const MARK_RESOURCE: Resource = Resource::RLIMIT_LOCKS;
/// How `/proc/<pid>/limits` calls it.
const MARK_LABEL: &str = "Max file locks";

/// How soon killed processes are looked for again, at first and at most.
const MIN_KILL_PAUSE: Duration = Duration::from_millis(2);
const MAX_KILL_PAUSE: Duration = Duration::from_secs(1);

/// One round at a time: between two, a process id that one of them has reaped may belong to a stranger.
static KILL_LOCK: Mutex<()> = Mutex::new(());

/// The limit that marks a process below this one.
pub(super) fn mark() -> nix::Result<rlim_t> {
    let (_, limit) = getrlimit(MARK_RESOURCE)?;
    Ok(limit.saturating_sub(1))
}

/// Has the kernel make this process the parent of what its guards leave behind.
pub(super) fn become_subreaper() -> io::Result<()> {
    Ok(prctl::set_child_subreaper(true)?)
}

/// Kills all that guards have left behind, and returns when it is gone. A process that runs as another user by now is
/// left alone.
pub(super) async fn kill_all() {
    let mut pause = MIN_KILL_PAUSE;
    while matches!(tokio::task::spawn_blocking(kill_once).await, Ok(true)) {
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MAX_KILL_PAUSE);
    }
}

/// Kills every orphan with all that it has started. Whether there was any that could be killed.
fn kill_once() -> bool {
    let _round = KILL_LOCK.lock();
    let mut found = false;
    for orphan in find() {
        let below = descendants::descendants(orphan);
        stop_tree::kill_groups(&below, orphan);
        for pid in &below {
            let _ = kill(*pid, Signal::SIGKILL);
        }
        found |= kill(orphan, Signal::SIGKILL) != Err(Errno::EPERM);
        // It is our child, and nobody else waits for it.
        let _ = waitpid(orphan, Some(WaitPidFlag::WNOHANG));
    }
    found
}

/// Children of this process that bear the mark.
fn find() -> Vec<Pid> {
    let Some(own) = limit_of(Pid::this()) else { return Vec::new() };
    let mut orphans = descendants::children(Pid::this());
    orphans.retain(|child| limit_of(*child).is_some_and(|limit| limit < own));
    orphans
}

fn limit_of(pid: Pid) -> Option<rlim_t> {
    parse_limit(&fs::read_to_string(format!("/proc/{pid}/limits")).ok()?)
}

/// The hard limit, which is the second number after the label.
fn parse_limit(limits: &str) -> Option<rlim_t> {
    let values = limits.lines().find_map(|line| line.strip_prefix(MARK_LABEL))?;
    match values.split_ascii_whitespace().nth(1)? {
        "unlimited" => Some(rlim_t::MAX),
        number => number.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use nix::sys::resource::getrlimit;
    use nix::unistd::Pid;

    use super::{MARK_RESOURCE, limit_of, parse_limit};

    #[test]
    fn the_hard_limit_is_read() {
        let check = |line: &str, expected| assert_eq!(parse_limit(line), expected, "{line}");
        check(
            "Limit Soft Hard Units\nMax file locks   unlimited   unlimited   locks\n",
            Some(u64::MAX),
        );
        check("Max file locks            7                    8                    locks", Some(8));
        check("Max file size             7                    8                    bytes", None);
        assert_eq!(limit_of(Pid::this()), Some(getrlimit(MARK_RESOURCE).unwrap().1));
    }
}
