//! The command to run, and its stop timeouts.
//!
//! Used by every crate that starts a program. It does not start or stop anything (`launch`, `handle`).

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use super::{SpawnError, resolve};

/// The command to run. Everything is explicit: the environment is exactly `env`, nothing is inherited.
#[derive(Clone, Debug, Default)]
pub struct ProcessCommand {
    /// A name, looked up in the absolute folders of the `PATH` of `env`, or a path if it holds a `/`,
    /// relative to `cwd`.
    pub program: OsString,
    /// Arguments after the program's name.
    pub args: Vec<OsString>,
    /// The whole environment. Of two variables with one name, the last one wins.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory; ours if `None`.
    pub cwd: Option<PathBuf>,
    /// The stop timeouts.
    pub stop: StopTimeouts,
}

/// How long each step of a stop lasts before the next: SIGINT (standard input should be closed by then),
/// SIGTERM, SIGKILL. A step ends early when no process is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopTimeouts {
    /// Time between SIGINT and SIGTERM.
    pub after_interrupt: Duration,
    /// Time between SIGTERM and SIGKILL.
    pub after_terminate: Duration,
}

// === impl ProcessCommand ===

impl ProcessCommand {
    /// A command with neither arguments nor environment.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self { program: program.into(), ..Self::default() }
    }

    /// The file that this command would execute, as an absolute path. Reads file systems, so it may block.
    pub fn resolve(&self) -> Result<PathBuf, SpawnError> {
        resolve::resolve(self)
    }

    /// The value of the variable `name` in the command's environment.
    pub(super) fn variable(&self, name: &str) -> Option<&OsStr> {
        let mut found = self.env.iter().rev().filter(|(key, _)| key == name);
        found.next().map(|(_, value)| value.as_os_str())
    }
}

// === impl StopTimeouts ===

impl StopTimeouts {
    /// How long killed processes may take to disappear.
    const KILL_TIMEOUT: Duration = Duration::from_secs(1);
    /// The part of `KILL_TIMEOUT` after which a guard has failed, because it would have finished by then.
    #[cfg(target_os = "linux")]
    const GUARD_KILL_TIMEOUT: Duration = Duration::from_millis(500);

    /// How long a caller waits for the end. Only a process that the kernel cannot kill at the moment lasts
    /// longer.
    pub(super) fn stop_timeout(&self) -> Duration {
        self.after_interrupt + self.after_terminate + Self::KILL_TIMEOUT
    }
}

#[cfg(target_os = "linux")]
impl StopTimeouts {
    /// How long to wait for a guard that was asked to stop everything.
    pub(super) fn guard_stop_timeout(&self) -> Duration {
        self.after_interrupt + self.after_terminate + Self::GUARD_KILL_TIMEOUT
    }
}

impl Default for StopTimeouts {
    fn default() -> Self {
        Self {
            after_interrupt: Duration::from_millis(100),
            after_terminate: Duration::from_millis(400),
        }
    }
}
