//! Running one command: JSON in, bytes out, a deadline, and nothing left behind.

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

/// As much of standard output as is read.
const MAX_STDOUT_BYTES: u64 = 1024 * 1024;
/// Where existing hooks look for the project they are in.
const PROJECT_DIR_VARIABLE: &str = "CLAUDE_PROJECT_DIR";

/// What commands run with.
#[derive(Debug, Clone)]
pub struct HookRunner {
    /// What keeps them from outliving us.
    pub guard: ProcessGuard,
    /// Their whole environment; `CLAUDE_PROJECT_DIR` is added where it is missing.
    pub environment: Vec<(OsString, OsString)>,
    /// The caller's project: what they are told of. Where they start is another thing.
    pub project: PathBuf,
}

/// A command that ended by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    /// How.
    pub exit: ProcessExit,
    /// All it wrote.
    pub stdout: Vec<u8>,
    /// The end of what it complained about, as it was written.
    pub stderr: String,
}

/// Why a command gave no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HookRunError {
    /// It could not be started.
    #[error("it could not be started: {0}")]
    Start(#[from] SpawnError),
    /// It took too long, and was stopped.
    #[error("it took longer than {} s and was stopped", .0.as_secs())]
    TooSlow(Duration),
    /// It wrote too much, and was stopped.
    #[error("it wrote more than {MAX_STDOUT_BYTES} bytes and was stopped")]
    TooMuch,
    /// Its pipes failed.
    #[error("its pipes failed: {0}")]
    Pipe(#[from] io::Error),
}

// === impl HookRunner ===

impl HookRunner {
    /// Runs `command` in a shell that starts in `start_folder`, with `input` and nothing else on its standard input.
    /// Past the deadline, or when it writes too much, it is stopped with everything it started, which takes a moment
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

/// Speaks and listens at once: a command may answer before it has read everything.
async fn talk(
    stdin: pipe::Sender,
    stdout: pipe::Receiver,
    process: &Process,
    input: &Raw,
) -> Result<(ProcessExit, Vec<u8>), HookRunError> {
    let ((), answer) = tokio::try_join!(tell(stdin, input), listen(stdout))?;
    Ok((process.wait_exit().await, answer))
}

/// A command need not listen.
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
