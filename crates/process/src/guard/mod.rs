//! The guard: our own binary again, as the parent of one child and of all its orphans.
//!
//! Used by `spawn` and, through [`run_if_guard`], by every `main` that starts programs. A parent-death signal
//! reaches only a direct child, and a `kill -9` runs no cleanup. So the guard is a process of its own between
//! us and the child: a child subreaper with one thread and one channel to us. When the channel closes, by a
//! stop, an exit or a kill, the guard stops every process beneath it, sessions and daemons included, and ends
//! when none is left.
//!
//! A server can kill its guard, or stop it with a signal. Then this process does the guard's work, because it
//! adopts the orphans (`orphans`).
//!
//! It does not cover the case that hub and guard are killed together, processes that run as another user by
//! then, and work handed to a daemon that is not a descendant.

#[cfg(target_os = "linux")]
pub(super) mod descendants;
#[cfg(target_os = "linux")]
pub(super) mod descriptor_passing;
#[cfg(target_os = "linux")]
mod main_loop;
#[cfg(target_os = "linux")]
pub(super) mod protocol;
#[cfg(target_os = "linux")]
pub(super) mod stop_tree;

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

/// How child processes are guarded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ProcessGuard {
    /// By a program that calls [`run_if_guard`] first in its `main`, held open so that an upgrade of the file
    /// cannot mix versions.
    ///
    /// The first process that is started under a guard makes this process a child subreaper: it adopts
    /// orphans of all its descendants, and kills those that a guard has left behind.
    Executable(Arc<OwnedFd>),
    /// Not at all: a stop reaches the child's process group only, and if this process is killed, the child
    /// only sees its standard input close.
    None,
}

// === impl ProcessGuard ===

impl ProcessGuard {
    /// The running program, which must call [`run_if_guard`] first in its `main`. Outside Linux, where guards
    /// do not exist, this is [`ProcessGuard::None`].
    pub fn this_program() -> io::Result<Self> {
        Self::at("/proc/self/exe")
    }

    /// The program at `path`, which must call [`run_if_guard`] first in its `main`. Outside Linux, where
    /// guards do not exist, this is [`ProcessGuard::None`].
    pub fn at(path: impl AsRef<Path>) -> io::Result<Self> {
        open(path.as_ref())
    }

    /// No guard.
    pub fn none() -> Self {
        Self::None
    }
}

#[cfg(target_os = "linux")]
fn open(path: &Path) -> io::Result<ProcessGuard> {
    use std::os::unix::fs::OpenOptionsExt as _;

    // A reference to the file is enough: it need not be readable to be executed.
    let flags = nix::fcntl::OFlag::O_PATH.bits();
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    Ok(ProcessGuard::Executable(Arc::new(file.into())))
}

#[cfg(not(target_os = "linux"))]
fn open(_: &Path) -> io::Result<ProcessGuard> {
    Ok(ProcessGuard::None)
}

/// Runs as a guard and never returns, if this process was started as one; otherwise returns. Must be called
/// first in `main`.
pub fn run_if_guard() {
    #[cfg(target_os = "linux")]
    if invocation::is_guard(std::env::args_os()) {
        std::process::exit(i32::from(main_loop::run_guard().is_err()));
    }
}

/// The command line that makes a program a guard.
#[cfg(target_os = "linux")]
pub(super) mod invocation {
    use std::ffi::OsString;

    /// The name in process lists.
    pub(crate) const GUARD_ARG0: &str = "switchboard-guard";
    /// Contains the version of the protocol, so that a guard of another version refuses.
    pub(crate) const GUARD_MARKER_ARG: &str = "--switchboard-guard-2";

    /// Whether these arguments make this process a guard.
    pub(super) fn is_guard(args: impl Iterator<Item = OsString>) -> bool {
        args.eq([GUARD_ARG0, GUARD_MARKER_ARG])
    }

    #[cfg(test)]
    mod tests {
        #[test]
        fn only_the_exact_command_line_is_a_guard() {
            let check = |line: &str, expected| {
                assert_eq!(super::is_guard(line.split(' ').map(Into::into)), expected, "{line}");
            };
            check("switchboard-guard --switchboard-guard-2", true);
            check("switchboard --switchboard-guard-2", false);
            check("switchboard-guard --switchboard-guard-1", false);
            check("switchboard-guard", false);
            check("switchboard-guard --switchboard-guard-2 7", false);
        }
    }
}
