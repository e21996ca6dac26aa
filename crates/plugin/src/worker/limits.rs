//! The limits that a worker sets on itself before it loads a plugin: channel, signals, memory and
//! descriptors.
//!
//! Used by `worker`. Files and system calls are restricted in `worker::sandbox`.

use std::{
    fs::File,
    io,
    os::fd::{AsFd as _, OwnedFd},
};

use nix::{
    sys::{
        resource::{Resource, setrlimit},
        signal::{SigSet, Signal},
    },
    unistd::{dup2_stdin, dup2_stdout},
};

use super::WorkerLimits;

/// Moves the host's channel off standard input and output, where a plugin that prints would write between
/// messages. The plugin's prints then go to standard error.
pub(super) fn take_over_channel() -> io::Result<(OwnedFd, OwnedFd)> {
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    dup2_stdin(File::open("/dev/null")?)?;
    dup2_stdout(io::stderr())?;
    Ok((input, output))
}

/// Ignores the signals that mean the end of the channel too, so that the plugin is shut down and not cut off.
/// A worker that does not end is killed by its guard.
pub(super) fn ignore_end_signals() -> nix::Result<()> {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGINT);
    signals.add(Signal::SIGTERM);
    signals.thread_block()
}

/// Sets the resource limits.
pub(super) fn apply(limits: WorkerLimits) -> nix::Result<()> {
    // Only written memory counts: some runtimes reserve a lot of address space, which costs nothing.
    setrlimit(Resource::RLIMIT_DATA, limits.memory, limits.memory)?;
    setrlimit(Resource::RLIMIT_NOFILE, limits.files, limits.files)?;
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_no_new_privs()?;
    Ok(())
}
