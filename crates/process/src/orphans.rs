//! Orphans: processes that outlived their guard, adopted by this process, recognized by a mark, and killed.
//!
//! Used by `guarded_child` when a guard ended before its work was done. A server can kill its guard, which
//! runs as its own user. This process then adopts the guard's children, so no process of a server escapes
//! while this process lives.
//!
//! It does not touch children of this process that no guard started: only descendants of a guard bear the
//! mark.

use std::fs;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit, rlim_t};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

use super::guard::{descendants, stop_tree};

/// The resource limit that serves as the mark. The kernel has not enforced it since Linux 2.4, every process
/// inherits it, and without privileges it can be lowered but never raised. So a process with a lower limit
/// than ours descends from a guard.
pub(super) const MARK_RESOURCE: Resource = Resource::RLIMIT_LOCKS;
/// The limit's name in `/proc/<pid>/limits`.
const MARK_LABEL: &str = "Max file locks";

/// The pauses between rounds of SIGKILL, the first and the longest.
const MIN_KILL_PAUSE: Duration = Duration::from_millis(2);
const MAX_KILL_PAUSE: Duration = Duration::from_secs(1);

/// Serializes the rounds: an id that one round has reaped may belong to another process in the next.
static KILL_LOCK: Mutex<()> = Mutex::new(());

/// The limit that marks descendants of a guard.
pub(super) fn mark() -> nix::Result<rlim_t> {
    let (_, limit) = getrlimit(MARK_RESOURCE)?;
    Ok(limit.saturating_sub(1))
}

/// Makes this process the parent of orphans of its guards.
pub(super) fn become_subreaper() -> io::Result<()> {
    Ok(prctl::set_child_subreaper(true)?)
}

/// Kills all orphans, and returns when they are gone. A process that runs as another user by now is left
/// alone.
pub(super) async fn kill_all() {
    let mut pause = MIN_KILL_PAUSE;
    while matches!(tokio::task::spawn_blocking(kill_once).await, Ok(true)) {
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MAX_KILL_PAUSE);
    }
}

/// Kills every orphan with its descendants. Returns whether any could be killed.
fn kill_once() -> bool {
    let _round = KILL_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let mut found = false;
    for orphan in find() {
        let below = descendants::descendants(orphan);
        stop_tree::kill_groups(&below, orphan);
        for pid in &below {
            let _ = kill(*pid, Signal::SIGKILL);
        }
        found |= kill(orphan, Signal::SIGKILL) != Err(Errno::EPERM);
        // The orphan is our child, and no other code waits for it.
        let _ = waitpid(orphan, Some(WaitPidFlag::WNOHANG));
    }
    found
}

/// The children of this process that bear the mark.
fn find() -> Vec<Pid> {
    let Some(own) = limit_of(Pid::this()) else { return Vec::new() };
    let mut orphans = descendants::children(Pid::this());
    orphans.retain(|child| limit_of(*child).is_some_and(|limit| limit < own));
    orphans
}

fn limit_of(pid: Pid) -> Option<rlim_t> {
    parse_limit(&fs::read_to_string(format!("/proc/{pid}/limits")).ok()?)
}

/// Reads the hard limit, the second number after the label.
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
