//! Runs one command in a shell: JSON on standard input, bytes from standard output, a deadline, and no process left
//! behind.
//!
//! Used by hooks and by the classifier command (`permission::classifier`). It does not interpret the output
//! (`hooks::answer`).

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use switchboard_config::restricted_path;
use switchboard_process::{
    Process, ProcessCommand, ProcessExit, ProcessGuard, SpawnError, SpawnedProcess, StderrOptions,
    spawn,
};
use switchboard_wire::json::Raw;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::time::{Instant, timeout_at};

/// How many bytes of standard output are read.
const MAX_STDOUT_BYTES: u64 = 1024 * 1024;
/// The variable in which existing hooks look for the project.
const PROJECT_DIR_VARIABLE: &str = "CLAUDE_PROJECT_DIR";

/// Runs commands of hooks and of the classifier.
#[derive(Debug, Clone)]
pub struct HookRunner {
    /// Ends the commands' processes together with this process.
    pub guard: ProcessGuard,
    /// The whole environment of the commands; `CLAUDE_PROJECT_DIR` is added where it is missing.
    pub environment: Vec<(OsString, OsString)>,
    /// The caller's project, for `CLAUDE_PROJECT_DIR`. Commands start in a folder of their own.
    pub project: PathBuf,
}

/// The output of a command that exited within its deadline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    /// The exit status.
    pub exit: ProcessExit,
    /// All bytes of standard output.
    pub stdout: Vec<u8>,
    /// The last part of standard error, unchanged.
    pub stderr: String,
}

/// Why a command gave no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HookRunError {
    /// The command could not be started.
    #[error("it could not be started: {0}")]
    Start(#[from] SpawnError),
    /// The command took too long, and was stopped.
    #[error("it took longer than {} s and was stopped", .0.as_secs())]
    TooSlow(Duration),
    /// The command wrote too much, and was stopped.
    #[error("it wrote more than {MAX_STDOUT_BYTES} bytes and was stopped")]
    TooMuch,
    /// The pipes of the command failed.
    #[error("its pipes failed: {0}")]
    Pipe(#[from] io::Error),
}

// === impl HookRunner ===

impl HookRunner {
    /// Runs `command` in a shell that starts in `start_folder`, with only `input` on its standard input. A command
    /// that passes the deadline or writes too much is stopped with every process it started, which takes a moment
    /// more.
    pub async fn run(
        &self,
        command: &str,
        start_folder: &Path,
        input: &Raw,
        limit: Duration,
    ) -> Result<CommandOutput, HookRunError> {
        let deadline = Instant::now() + limit;
        let too_slow = |_| HookRunError::TooSlow(limit);
        let shell = self.shell(command, start_folder);
        let starting = spawn(shell, &self.guard, StderrOptions::default());
        let SpawnedProcess { stdin, stdout, process } =
            timeout_at(deadline, starting).await.map_err(too_slow)??;
        let talk = timeout_at(deadline, talk(stdin, stdout, &process, input)).await;
        match talk.map_err(too_slow).flatten() {
            Ok((exit, stdout)) => Ok(CommandOutput { exit, stdout, stderr: process.stderr_tail() }),
            Err(error) => {
                process.stop().await;
                Err(error)
            }
        }
    }

    fn shell(&self, command: &str, start_folder: &Path) -> ProcessCommand {
        let mut env = self.environment.clone();
        env.extend(restricted_path(&self.environment, start_folder, &self.project));
        if !env.iter().any(|(name, _)| name == OsStr::new(PROJECT_DIR_VARIABLE)) {
            env.push((PROJECT_DIR_VARIABLE.into(), self.project.clone().into()));
        }
        let args = vec!["-c".into(), command.into()];
        ProcessCommand {
            args,
            env,
            cwd: Some(start_folder.to_owned()),
            ..ProcessCommand::new("/bin/sh")
        }
    }
}

/// Writes and reads at once: a command may answer before it has read all of its input.
async fn talk(
    stdin: pipe::Sender,
    stdout: pipe::Receiver,
    process: &Process,
    input: &Raw,
) -> Result<(ProcessExit, Vec<u8>), HookRunError> {
    let ((), answer) = tokio::try_join!(tell(stdin, input), listen(stdout))?;
    Ok((process.wait_exit().await, answer))
}

/// Writes the input. A command need not read it, so a closed pipe is no error.
async fn tell(mut stdin: pipe::Sender, input: &Raw) -> Result<(), HookRunError> {
    match stdin.write_all(input.as_str().as_bytes()).await {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

async fn listen(stdout: pipe::Receiver) -> Result<Vec<u8>, HookRunError> {
    let mut answer = Vec::new();
    let length = stdout.take(MAX_STDOUT_BYTES + 1).read_to_end(&mut answer).await?;
    if length as u64 > MAX_STDOUT_BYTES { Err(HookRunError::TooMuch) } else { Ok(answer) }
}
