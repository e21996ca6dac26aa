//! The guard's `main`: starts one child, watches it and its orphans, and stops them all in the end.
//!
//! Used by `run_if_guard`. It has one thread and no runtime. The thread matters: the child's parent-death
//! signal is tied to the thread that forked it.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, dup2_stderr, dup2_stdin, dup2_stdout};

use super::protocol::{GuardReport, GuardRequest};
use super::{descriptor_passing, stop_tree};
use crate::{ProcessExit, child, descriptors, orphans};

/// A running guard.
pub(super) struct GuardProcess {
    channel: UnixStream,
    signals: SignalFd,
    server: Child,
    server_exited: bool,
}

/// Whether any process is left below the guard.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DescendantsLeft {
    Somebody,
    Nobody,
}

/// Runs a guard to its end. Its channel is standard input.
pub(super) fn run_guard() -> io::Result<()> {
    // Our parent may ignore some signals; a guard that ignores SIGCHLD could not wait for its children.
    child::default_signals()?;
    child::close_strays_on_exec()?;
    descriptors::restore_in_guard()?;
    let mut channel = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let stdin = descriptor_passing::receive(&channel)?;
    prctl::set_child_subreaper(true)?;
    // Otherwise the process would be named by the number of the descriptor that it was executed through.
    prctl::set_name(c"sb-guard")?;
    let signals = take_signals()?;
    let request = GuardRequest::read(&mut channel)?;
    let null = File::options().read(true).write(true).open("/dev/null")?;
    let server = match start(&request, stdin) {
        Ok(server) => server,
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(Errno::EINVAL as i32);
            return channel.write_all(&GuardReport::Failed(errno).encode());
        }
    };
    let mut warden = GuardProcess { channel, signals, server, server_exited: false };
    warden.report(GuardReport::Started(warden.server().as_raw()));
    // Our copies of the child's pipes would keep each side from seeing that the other has closed its end.
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    let stop = request.stop;
    drop((null, request));

    warden.watch();
    stop_tree::stop_descendants(&mut warden, stop);
    Ok(())
}

/// Blocks all signals and reads those that end a guard, so that only SIGKILL ends it before its work is done.
fn take_signals() -> io::Result<SignalFd> {
    SigSet::all().thread_block()?;
    let heard: SigSet =
        [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT]
            .into_iter()
            .collect();
    Ok(SignalFd::with_flags(&heard, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?)
}

#[expect(clippy::disallowed_methods, reason = "this crate starts the programs")]
fn start(request: &GuardRequest, stdin: OwnedFd) -> io::Result<Child> {
    let mut command = Command::new(&request.file);
    command.arg0(&request.arg0).args(&request.args);
    command.env_clear().envs(request.env.iter().map(|(name, value)| (name, value)));
    if let Some(cwd) = &request.cwd {
        command.current_dir(cwd);
    }
    command.stdin(Stdio::from(stdin));
    child::standardize(&mut command);
    child::die_with_parent(&mut command);
    child::set_limit(&mut command, orphans::MARK_RESOURCE, orphans::mark()?);
    command.spawn()
}

// === impl GuardProcess ===

impl GuardProcess {
    /// The id of the child, and of its process group.
    pub(super) fn server(&self) -> Pid {
        Pid::from_raw(self.server.id().cast_signed())
    }

    /// Waits until the channel closes, a signal asks the guard to end, or the child has ended.
    fn watch(&mut self) {
        while !self.server_exited {
            let mut waiting = [
                PollFd::new(self.channel.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
            ];
            let woken = poll(&mut waiting, PollTimeout::NONE);
            // The hub sends nothing after the request, so a readable channel is a closed one.
            let ended = waiting[0].any().unwrap_or(true);
            match woken {
                Ok(_) if ended => return,
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return,
            }
            if self.take_end_signal() {
                return;
            }
            self.reap();
        }
    }

    /// Waits until a child may have ended, at most `patience`.
    pub(super) fn pause(&mut self, patience: Duration) {
        let mut waiting = [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        // Rounded up: a wait of less than a millisecond would otherwise be a busy loop.
        let patience = patience.saturating_add(Duration::from_micros(999));
        let _ = poll(&mut waiting, PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX));
        self.take_end_signal();
    }

    /// Reads the pending signals. Returns whether a signal asks the guard to end.
    fn take_end_signal(&mut self) -> bool {
        let mut told = false;
        while let Ok(Some(signal)) = self.signals.read_signal() {
            told |= signal.ssi_signo != Signal::SIGCHLD as u32;
        }
        told
    }

    /// Reaps all ended children, own and adopted.
    pub(super) fn reap(&mut self) -> DescendantsLeft {
        match self.server.try_wait() {
            Ok(None) => {}
            Ok(Some(status)) => self.report_exit(status.into()),
            Err(_) => self.report_exit(ProcessExit::Unknown),
        }
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => return DescendantsLeft::Somebody,
                Err(Errno::ECHILD) => return DescendantsLeft::Nobody,
                // The child may end between the two waits.
                Ok(WaitStatus::Exited(pid, code)) if pid == self.server() => {
                    self.report_exit(ProcessExit::Code(code));
                }
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == self.server() => {
                    self.report_exit(ProcessExit::Signal(signal as i32));
                }
                // An adopted process; or one killed by a signal without a name, which is an error here.
                Ok(_) | Err(_) => {}
            }
        }
    }

    /// Reports the child's exit once: an orphan may get its process id later.
    fn report_exit(&mut self, exit: ProcessExit) {
        if !self.server_exited {
            self.server_exited = true;
            self.report(GuardReport::Exited(exit));
        }
    }

    /// Sends a report. A hub that is gone closes the channel, so the error needs no handling.
    fn report(&mut self, report: GuardReport) {
        let _ = self.channel.write_all(&report.encode());
    }
}
