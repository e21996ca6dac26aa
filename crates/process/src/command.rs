//! What to run, and how patiently to end it. Knows nothing of how either is done.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use super::{SpawnError, resolve};

/// What to run. Everything is explicit: the environment is exactly `env`, nothing is inherited.
#[derive(Clone, Debug, Default)]
pub struct ProcessCommand {
    /// A name, looked up in the absolute folders of the `PATH` of `env`, or a path if it holds a `/`, relative to `cwd`.
    pub program: OsString,
    /// Arguments after the program's name.
    pub args: Vec<OsString>,
    /// The whole environment. Where a name comes twice, the last one counts.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory; ours if there is none.
    pub cwd: Option<PathBuf>,
    /// How it is stopped.
    pub stop: StopTimeouts,
}

/// How long each step of a stop is given before the next: SIGINT (by when standard input should be
/// closed), SIGTERM, SIGKILL. A step ends early when nothing is left to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopTimeouts {
    /// Time between SIGINT and SIGTERM.
    pub after_interrupt: Duration,
    /// Time between SIGTERM and SIGKILL.
    pub after_terminate: Duration,
}

// === impl Command ===

impl ProcessCommand {
    /// A command with neither arguments nor environment.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self { program: program.into(), ..Self::default() }
    }

    /// The file this would execute, as an absolute path. Looks at file systems, so it may block.
    pub fn resolve(&self) -> Result<PathBuf, SpawnError> {
        resolve::resolve(self)
    }

    /// The value `name` has in the command's environment.
    pub(super) fn variable(&self, name: &str) -> Option<&OsStr> {
        let mut found = self.env.iter().rev().filter(|(key, _)| key == name);
        found.next().map(|(_, value)| value.as_os_str())
    }
}

// === impl StopTimeouts ===

impl StopTimeouts {
    /// The time killed processes are given to disappear.
    const KILL_TIMEOUT: Duration = Duration::from_secs(1);
    /// The part of it after which a guard has failed: it would have been done by then.
    const GUARD_KILL_TIMEOUT: Duration = Duration::from_millis(500);

    /// When a caller that waits for the end gives up waiting: only a process that the kernel cannot
    /// kill just now lasts longer.
    pub(super) fn stop_timeout(&self) -> Duration {
        self.after_interrupt + self.after_terminate + Self::KILL_TIMEOUT
    }
}

#[cfg(target_os = "linux")]
impl StopTimeouts {
    /// When a guard that was asked to stop everything is not waited for any longer.
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
