//! A child under a guard, seen from our side: one task that speaks with the guard and waits for it. Where the guard ends
//! before its work is done, killed by the child or by others, the task does that work instead.

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

/// How long a guard may take to say that the child runs. Only a program that is none takes longer.
const START_TIMEOUT: Duration = Duration::from_secs(10);

struct GuardMonitor {
    guard: Child,
    channel: GuardChannel,
    watch: ProcessReporter,
    /// How long a guard that is let go may take to clean up.
    patience: Duration,
}

/// How a guard has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GuardEnd {
    /// After its work: nothing is left.
    Done,
    /// Before that, as far as is known.
    Early,
}

/// Our end of the line to a guard.
struct GuardChannel {
    stream: UnixStream,
    partial: [u8; GuardReport::SIZE],
    filled: usize,
}

/// Forks a guard and sets its task to work.
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
    // No code of ours runs between `fork` and `exec`, so there need not be a copy of this process: of one with much
    // memory it would cost more than everything else. The three descriptors that a spawn can set are then all there
    // are; what stands where standard input should be, the fourth follows through.
    descriptor_passing::send(&ours, &ends.attach_but_stdin(&mut command))?;
    command.stdin(OwnedFd::from(theirs));
    // Never `kill_on_drop`: a guard ends with its channel, after its work.
    let guard = tokio::process::Command::from(command).spawn()?;
    Ok((guard, UnixStream::from_std(ours)?))
}

// === impl Monitor ===

impl GuardMonitor {
    async fn run(
        mut self,
        frame: Vec<u8>,
        file: PathBuf,
        started: oneshot::Sender<Result<u32, SpawnError>>,
    ) {
        match self.start(frame, file).await {
            Ok(pid) => {
                // If nobody listens any more the line is gone too, and asks for the stop.
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

    /// Until the guard ends, which it does once nobody is left; or has not ended in time after it was asked to stop
    /// everything. A server can stop its guard with a signal.
    async fn watch(&mut self) {
        let mut deadline = None;
        loop {
            tokio::select! {
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => return,
                () = self.watch.stop.cancelled(), if deadline.is_none() => {
                    deadline = Some(Instant::now() + self.patience);
                    // The end of the channel is the request; the other half still brings reports.
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

    /// Waits for the guard, whose channel has ended, and lets go of everything before telling so.
    async fn finish(self, server: Pid) {
        let Self { mut guard, channel, watch, .. } = self;
        drop(channel);
        if end(&mut guard).await == GuardEnd::Early {
            // The kernel killed the child with its guard. Its group still holds whoever has not left it.
            if watch.exit().is_none() {
                let _ = killpg(server, Signal::SIGKILL);
            }
            orphans::kill_all().await;
        }
        watch.set_gone();
    }

    /// Lets go of a guard that may or may not have started something: if so it stops that now.
    async fn abandon(&mut self) {
        let _ = self.channel.stream.shutdown().await;
        let _ = timeout(self.patience, self.guard.wait()).await;
        if end(&mut self.guard).await == GuardEnd::Early {
            orphans::kill_all().await;
        }
    }
}

/// Kills a guard, unless it has ended, and waits for it.
async fn end(guard: &mut Child) -> GuardEnd {
    // Its status stays known however often it is asked for.
    let _ = guard.start_kill();
    match guard.wait().await {
        Ok(status) if status.success() => GuardEnd::Done,
        _ => GuardEnd::Early,
    }
}

// === impl Channel ===

impl GuardChannel {
    async fn ask(&mut self, frame: &[u8]) -> io::Result<GuardReport> {
        self.stream.write_all(frame).await?;
        self.report().await
    }

    /// The next report. May be dropped at any point without loss.
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
