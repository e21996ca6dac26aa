//! What a worker gives up before it loads anything.

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

/// Takes the two ends of the host's channel off standard input and output, where a plugin that prints would write
/// between messages. What it prints then goes to standard error.
pub(super) fn take_over_channel() -> io::Result<(OwnedFd, OwnedFd)> {
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    dup2_stdin(File::open("/dev/null")?)?;
    dup2_stdout(io::stderr())?;
    Ok((input, output))
}

/// Leaves signals alone that say what the end of the channel says: a plugin is to be shut down, not cut off. What does
/// not end by itself is killed.
pub(super) fn ignore_end_signals() -> nix::Result<()> {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGINT);
    signals.add(Signal::SIGTERM);
    signals.thread_block()
}

/// Gives up what may be given up.
pub(super) fn apply(limits: WorkerLimits) -> nix::Result<()> {
    // Memory that is reserved and never written to costs nothing, and some runtimes reserve a lot of it.
    setrlimit(Resource::RLIMIT_DATA, limits.memory, limits.memory)?;
    setrlimit(Resource::RLIMIT_NOFILE, limits.files, limits.files)?;
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_no_new_privs()?;
    Ok(())
}
