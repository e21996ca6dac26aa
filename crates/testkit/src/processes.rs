//! Running processes, identified by id and start time, since process ids are reused.
//!
//! Used by tests that check for leftover processes.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// One process, for all time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Its process id.
    pub pid: u32,
    began: u64,
}

/// The current facts about a process.
struct Now {
    state: char,
    parent: u32,
    began: u64,
}

// === impl Identity ===

impl Identity {
    /// The process that has this id now.
    pub fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, began: now(pid)?.began })
    }

    /// Whether the process runs. A zombie does not.
    pub fn is_alive(self) -> bool {
        self.now().is_some_and(|now| !matches!(now.state, 'Z' | 'X'))
    }

    /// Whether the system still knows the process, even as a zombie.
    pub fn is_known(self) -> bool {
        self.now().is_some()
    }

    /// The parent, while the process is known.
    pub fn parent(self) -> Option<Self> {
        Self::of(self.now()?.parent)
    }

    fn now(self) -> Option<Now> {
        now(self.pid).filter(|now| now.began == self.began)
    }
}

/// The children of a process, including zombies.
pub fn children(of: u32) -> Vec<Identity> {
    everyone().filter(|(_, now)| now.parent == of).map(|(id, _)| id).collect()
}

/// All running processes with the working directory `folder`: descendants inherit it unless they
/// change it.
pub fn working_in(folder: &Path) -> Vec<Identity> {
    let there = |pid| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder);
    everyone().map(|(id, _)| id).filter(|id| there(id.pid) && id.is_alive()).collect()
}

/// Polls until `so` is true. Returns the time it took, or `None` if `deadline` passed.
pub fn wait_until(deadline: Duration, so: impl Fn() -> bool) -> Option<Duration> {
    let start = Instant::now();
    loop {
        if so() {
            return Some(start.elapsed());
        }
        if start.elapsed() > deadline {
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn everyone() -> impl Iterator<Item = (Identity, Now)> {
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    pids.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let now = now(pid)?;
        Some((Identity { pid, began: now.began }, now))
    })
}

fn now(pid: u32) -> Option<Now> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    let began = fields.nth(17)?.parse().ok()?;
    Some(Now { state, parent, began })
}
