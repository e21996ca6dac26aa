//! From a command to a running process and the task that watches it.
//!
//! Used by `spawn`. The task owns the process from the start; every other holder has only a control of the
//! task. So a caller that stops waiting, at any point, only has to drop its control.

use std::io;
use std::process::Stdio;

use tokio::net::unix::pipe;
use tokio::sync::oneshot;

use super::lifecycle::{self, ProcessControl};
use super::stderr::StderrReader;
use super::{
    Process, ProcessCommand, ProcessGuard, SpawnError, SpawnedProcess, StderrOptions, direct_child,
    resolve,
};

/// A process that has been forked and may not have started yet.
pub(super) struct LaunchedProcess {
    pub(super) stdin: pipe::Sender,
    pub(super) stdout: pipe::Receiver,
    pub(super) line: ProcessControl,
    /// Receives the process id when the program runs.
    pub(super) started: oneshot::Receiver<Result<u32, SpawnError>>,
}

/// The child's ends of its pipes.
pub(super) struct ChildPipes {
    stdin: io::PipeReader,
    stdout: io::PipeWriter,
    stderr: io::PipeWriter,
}

/// Forks. Blocks while file systems and `exec` are slow; must be called within a runtime.
pub(super) fn launch(
    command: ProcessCommand,
    guard: &ProcessGuard,
    stderr: StderrOptions,
) -> Result<LaunchedProcess, SpawnError> {
    let file = resolve::resolve(&command)?;
    let (theirs, stdin, stdout, errors) =
        pipes().map_err(|source| SpawnError::Io { doing: "opening pipes", source })?;
    let (watch, line) =
        lifecycle::reporter_and_control(StderrReader::new(errors, stderr), command.stop);
    let started = match guard {
        #[cfg(target_os = "linux")]
        ProcessGuard::Executable(guard) => {
            super::guarded_child::launch(file, command, guard, theirs, watch)?
        }
        _ => direct_child::launch(file, command, theirs, watch)?,
    };
    Ok(LaunchedProcess { stdin, stdout, line, started })
}

fn pipes() -> io::Result<(ChildPipes, pipe::Sender, pipe::Receiver, pipe::Receiver)> {
    let (stdin, our_stdin) = io::pipe()?;
    let (our_stdout, stdout) = io::pipe()?;
    let (our_stderr, stderr) = io::pipe()?;
    Ok((
        ChildPipes { stdin, stdout, stderr },
        pipe::Sender::from_owned_fd(our_stdin.into())?,
        pipe::Receiver::from_owned_fd(our_stdout.into())?,
        pipe::Receiver::from_owned_fd(our_stderr.into())?,
    ))
}

// === impl ChildPipes ===

impl ChildPipes {
    /// Attaches the pipes to a command, which must be dropped soon, because until then they stay open here
    /// too.
    pub(super) fn attach(self, command: &mut std::process::Command) {
        command
            .stdin(Stdio::from(self.stdin))
            .stdout(Stdio::from(self.stdout))
            .stderr(Stdio::from(self.stderr));
    }

    /// Attaches the pipes except standard input, and returns that.
    #[cfg(target_os = "linux")]
    pub(super) fn attach_but_stdin(self, command: &mut std::process::Command) -> io::PipeReader {
        command.stdout(Stdio::from(self.stdout)).stderr(Stdio::from(self.stderr));
        self.stdin
    }
}

// === impl LaunchedProcess ===

impl LaunchedProcess {
    /// Waits until the program runs.
    pub(super) async fn wait_started(self) -> Result<SpawnedProcess, SpawnError> {
        let Self { stdin, stdout, line, started } = self;
        let pid = started.await.map_err(|_| SpawnError::Io {
            doing: "waiting for a process to start",
            source: io::Error::other("the runtime is shutting down"),
        })??;
        Ok(SpawnedProcess { stdin, stdout, process: Process::new(pid, line) })
    }
}
