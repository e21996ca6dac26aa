//! Who is alive, told apart by when they began: a process id alone may be somebody else by now.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// One process, ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Its process id.
    pub pid: u32,
    began: u64,
}

/// A process as it is now.
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

    /// Whether it still runs. The dead whom nobody has waited for do not.
    pub fn is_alive(self) -> bool {
        self.now().is_some_and(|now| !matches!(now.state, 'Z' | 'X'))
    }

    /// Whether there is any trace of it, be it only an exit status nobody has asked for.
    pub fn is_known(self) -> bool {
        self.now().is_some()
    }

    /// Its parent, while it is known.
    pub fn parent(self) -> Option<Self> {
        Self::of(self.now()?.parent)
    }

    fn now(self) -> Option<Now> {
        now(self.pid).filter(|now| now.began == self.began)
    }
}

/// The children of a process, the dead included.
pub fn children(of: u32) -> Vec<Identity> {
    everyone().filter(|(_, now)| now.parent == of).map(|(id, _)| id).collect()
}

/// Every process alive whose working directory is `folder`: a mark that all descendants carry unless
/// they change it, and that needs no word from them.
pub fn working_in(folder: &Path) -> Vec<Identity> {
    let there = |pid| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder);
    everyone().map(|(id, _)| id).filter(|id| there(id.pid) && id.is_alive()).collect()
}

/// Asks until it is so; the time it took, or nothing if `deadline` passed.
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
