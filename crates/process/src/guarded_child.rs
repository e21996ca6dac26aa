//! A child under a guard, on our side: the task that talks to the guard and waits for it. If the guard is
//! killed before its work is done, the task does that work instead.
//!
//! Used by `launch` on Linux. The guard's side is `guard::main_loop`.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::process::Child;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};

use super::guard::protocol::{GuardReport, GuardRequest};
use super::guard::{descriptor_passing, invocation};
use super::launch::ChildPipes;
use super::lifecycle::ProcessReporter;
use super::{ProcessCommand, SpawnError, descriptors, orphans};

/// How long a guard may take to report the child's start. Only a program that is no guard takes longer.
const START_TIMEOUT: Duration = Duration::from_secs(10);

struct GuardMonitor {
    guard: Child,
    channel: GuardChannel,
    watch: ProcessReporter,
    /// How long a guard may take to clean up after its channel is closed.
    patience: Duration,
}

/// How a guard ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GuardEnd {
    /// After its work: no process is left.
    Done,
    /// Before its work was done, or in an unknown way.
    Early,
}

/// Our end of the channel to a guard.
struct GuardChannel {
    stream: UnixStream,
    partial: [u8; GuardReport::SIZE],
    filled: usize,
}

/// Forks a guard and starts its task.
pub(super) fn launch(
    file: PathBuf,
    command: ProcessCommand,
    guard: &OwnedFd,
    ends: ChildPipes,
    watch: ProcessReporter,
) -> Result<oneshot::Receiver<Result<u32, SpawnError>>, SpawnError> {
    let failed = |doing| move |source| SpawnError::Guard { doing, source };
    let patience = command.stop.guard_stop_timeout();
    let request = GuardRequest::new(file, command);
    let frame = request.encode().map_err(failed("writing down the command"))?;
    orphans::become_subreaper().map_err(failed("preparing for its end"))?;
    let (guard, stream) = fork(guard, ends).map_err(failed("being started"))?;
    let channel = GuardChannel { stream, partial: [0; GuardReport::SIZE], filled: 0 };
    let (started, result) = oneshot::channel();
    let monitor = GuardMonitor { guard, channel, watch, patience };
    tokio::spawn(monitor.run(frame, request.file, started));
    Ok(result)
}

#[expect(clippy::disallowed_methods, reason = "this crate starts the programs")]
fn fork(guard: &OwnedFd, ends: ChildPipes) -> io::Result<(Child, UnixStream)> {
    let (ours, theirs) = StdUnixStream::pair()?;
    ours.set_nonblocking(true)?;
    let mut command = std::process::Command::new(format!("/proc/self/fd/{}", guard.as_raw_fd()));
    command
        .arg0(invocation::GUARD_ARG0)
        .arg(invocation::GUARD_MARKER_ARG)
        .env_clear()
        .process_group(0);
    command.envs(descriptors::guard_variable());
    // None of our code runs between `fork` and `exec`, so the standard library can use `posix_spawn`, which
    // does not copy this process; for a large process the copy would cost more than everything else. Such a
    // spawn sets three descriptors only: the channel takes the place of standard input, and the child's
    // standard input follows through the channel.
    descriptor_passing::send(&ours, &ends.attach_but_stdin(&mut command))?;
    command.stdin(OwnedFd::from(theirs));
    // Never `kill_on_drop`: a guard ends when its channel closes, after its work.
    let guard = tokio::process::Command::from(command).spawn()?;
    Ok((guard, UnixStream::from_std(ours)?))
}

// === impl GuardMonitor ===

impl GuardMonitor {
    async fn run(
        mut self,
        frame: Vec<u8>,
        file: PathBuf,
        started: oneshot::Sender<Result<u32, SpawnError>>,
    ) {
        match self.start(frame, file).await {
            Ok(pid) => {
                // If the receiver is gone, so is the handle, and its drop asks for the stop.
                let _ = started.send(Ok(pid.as_raw().cast_unsigned()));
                self.watch().await;
                self.finish(pid).await;
            }
            Err(error) => {
                self.abandon().await;
                let _ = started.send(Err(error));
            }
        }
    }

    async fn start(&mut self, frame: Vec<u8>, file: PathBuf) -> Result<Pid, SpawnError> {
        let failed = |source| SpawnError::Guard { doing: "starting the program", source };
        let answer = tokio::select! {
            answer = timeout(START_TIMEOUT, self.channel.ask(&frame)) => answer,
            () = self.watch.stop.cancelled() => return Err(failed(io::ErrorKind::Interrupted.into())),
        };
        match answer.map_err(io::Error::from).flatten() {
            Ok(GuardReport::Started(pid)) => Ok(Pid::from_raw(pid)),
            Ok(GuardReport::Failed(errno)) => {
                Err(SpawnError::Exec { path: file, source: io::Error::from_raw_os_error(errno) })
            }
            Ok(GuardReport::Exited(_)) => Err(failed(io::ErrorKind::InvalidData.into())),
            Err(source) => Err(failed(source)),
        }
    }

    /// Waits until the guard ends, which it does when no process is left, or until it has not ended in time
    /// after the request to stop. A server can stop its guard with a signal.
    async fn watch(&mut self) {
        let mut deadline = None;
        loop {
            tokio::select! {
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => return,
                () = self.watch.stop.cancelled(), if deadline.is_none() => {
                    deadline = Some(Instant::now() + self.patience);
                    // Closing our half is the request to stop; the other half still carries reports.
                    let _ = self.channel.stream.shutdown().await;
                }
                report = self.channel.report() => match report {
                    Ok(GuardReport::Exited(exit)) => self.watch.set_exited(exit),
                    Ok(_) => {}
                    Err(_) => return,
                },
                () = self.watch.stderr.pump() => {}
            }
        }
    }

    /// Waits for the guard, whose channel has closed, and drops everything before reporting the end.
    async fn finish(self, server: Pid) {
        let Self { mut guard, channel, watch, .. } = self;
        drop(channel);
        if end(&mut guard).await == GuardEnd::Early {
            // The kernel killed the child with its guard. Its group holds the processes that have not left
            // it.
            if watch.exit().is_none() {
                let _ = killpg(server, Signal::SIGKILL);
            }
            orphans::kill_all().await;
        }
        watch.set_gone();
    }

    /// Lets go of a guard that may have started the child: if so, it stops the child now.
    async fn abandon(&mut self) {
        let _ = self.channel.stream.shutdown().await;
        let _ = timeout(self.patience, self.guard.wait()).await;
        if end(&mut self.guard).await == GuardEnd::Early {
            orphans::kill_all().await;
        }
    }
}

/// Kills a guard unless it has ended, and waits for it.
async fn end(guard: &mut Child) -> GuardEnd {
    // Has no effect on a guard that has ended; its status stays known.
    let _ = guard.start_kill();
    match guard.wait().await {
        Ok(status) if status.success() => GuardEnd::Done,
        _ => GuardEnd::Early,
    }
}

// === impl GuardChannel ===

impl GuardChannel {
    async fn ask(&mut self, frame: &[u8]) -> io::Result<GuardReport> {
        self.stream.write_all(frame).await?;
        self.report().await
    }

    /// Reads the next report. Cancel-safe.
    async fn report(&mut self) -> io::Result<GuardReport> {
        while self.filled < GuardReport::SIZE {
            match self.stream.read(&mut self.partial[self.filled..]).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                length => self.filled += length,
            }
        }
        self.filled = 0;
        GuardReport::decode(self.partial).ok_or(io::ErrorKind::InvalidData.into())
    }
}
