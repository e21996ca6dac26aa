//! Code that runs between `fork` and `exec`, and taking ownership of descriptors received by number.
//!
//! Used by `direct_child` and `guard`. All `unsafe` of the crate is here. Code between `fork` and `exec` may
//! only make system calls that are safe in a signal handler: no allocation, no lock, no thread.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::sys::signal::{SigHandler, SigSet, Signal, signal};
use nix::unistd::setsid;

use super::descriptors;

/// Makes `command` start in a session and process group of its own, without a controlling terminal, with
/// every signal at its default and none blocked, whatever this process or its parent ignores or blocks, and
/// with the descriptor limit that this process was started with.
///
/// In our session the child could read the user's keystrokes in our terminal, and write some of its own.
pub(super) fn standardize(command: &mut Command) {
    let hook = || {
        setsid()?;
        default_signals()?;
        descriptors::restore_original()
    };
    #[allow(unsafe_code, reason = "the standard library has no safe way to do any of it")]
    // SAFETY: the hook makes only the system calls setsid, sigaction, sigprocmask and setrlimit.
    unsafe {
        command.pre_exec(hook);
    }
}

/// Resets every signal of this process to its default, and blocks none.
pub(super) fn default_signals() -> io::Result<()> {
    for each in Signal::iterator() {
        #[allow(unsafe_code, reason = "`signal` is unsafe for the sake of handlers")]
        // SAFETY: the default disposition is no handler. SIGKILL and SIGSTOP refuse, as they should.
        let _ = unsafe { signal(each, SigHandler::SigDfl) };
    }
    Ok(SigSet::empty().thread_set_mask()?)
}

#[cfg(target_os = "linux")]
pub(super) use linux::{close_strays_on_exec, die_with_parent, set_limit, take_ownership};

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::io;
    use std::os::fd::{BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    use nix::errno::Errno;
    use nix::fcntl::{FcntlArg, FdFlag, fcntl};
    use nix::sys::prctl::set_pdeathsig;
    use nix::sys::resource::{Resource, rlim_t, setrlimit};
    use nix::sys::signal::Signal;
    use nix::unistd::{getpid, getppid};

    /// Makes the kernel kill the child when the thread that spawns it ends.
    pub(crate) fn die_with_parent(command: &mut Command) {
        let parent = getpid();
        let hook = move || {
            set_pdeathsig(Signal::SIGKILL)?;
            // The parent may have died before `prctl`, whose signal then never comes.
            if getppid() == parent { Ok(()) } else { Err(Errno::ESRCH.into()) }
        };
        #[allow(unsafe_code, reason = "the request must be made by the child itself")]
        // SAFETY: the hook makes only the system calls prctl and getppid.
        unsafe {
            command.pre_exec(hook);
        }
    }

    /// Sets a resource limit of the child and its descendants.
    pub(crate) fn set_limit(command: &mut Command, which: Resource, limit: rlim_t) {
        let hook = move || Ok(setrlimit(which, limit, limit)?);
        #[allow(unsafe_code, reason = "the standard library has no safe way to set a limit")]
        // SAFETY: the hook makes only the system call prlimit64.
        unsafe {
            command.pre_exec(hook);
        }
    }

    /// Takes ownership of a descriptor that the kernel has just made for this process.
    pub(crate) fn take_ownership(number: RawFd) -> OwnedFd {
        #[allow(unsafe_code, reason = "what comes through a socket comes as a number")]
        // SAFETY: the descriptor came with the message that was just received, so it has no other owner.
        unsafe {
            OwnedFd::from_raw_fd(number)
        }
    }

    /// Makes every descriptor above standard error close on exec. Only for the start of `main`.
    pub(crate) fn close_strays_on_exec() -> io::Result<()> {
        let open: Vec<RawFd> = fs::read_dir("/proc/self/fd")?
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter(|number| *number > 2)
            .collect();
        for number in open {
            #[allow(unsafe_code, reason = "descriptors found by number have no owner here")]
            // SAFETY: borrowed for one call that reports a closed descriptor as an error.
            let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
            // The descriptor of this directory listing is closed by now.
            let _ = fcntl(descriptor, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC));
        }
        Ok(())
    }
}
