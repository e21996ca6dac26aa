//! A child without a guard: a stop reaches its process group only.
//!
//! Used by `launch` for `ProcessGuard::None`. It does not reach a descendant that leaves the group, and does
//! nothing if this process is killed; `guarded_child` does both.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::Child;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout_at};

use super::launch::ChildPipes;
use super::lifecycle::ProcessReporter;
use super::{ProcessCommand, ProcessExit, SpawnError, StopTimeouts, child};

/// How long killed processes may take to disappear. Short, since nothing is left to do: a zombie whose new
/// parent is slow to wait for it counts as a member until then.
const KILL_TIMEOUT: Duration = Duration::from_millis(100);

/// How often a group without its leader is checked: no event tells when its last member ends.
const GROUP_POLL_INTERVAL: Duration = Duration::from_millis(10);

struct DirectChildMonitor {
    child: Child,
    group: Pid,
    stop: StopTimeouts,
    watch: ProcessReporter,
}

/// Forks the child and starts its task.
pub(super) fn launch(
    file: PathBuf,
    command: ProcessCommand,
    ends: ChildPipes,
    watch: ProcessReporter,
) -> Result<oneshot::Receiver<Result<u32, SpawnError>>, SpawnError> {
    let stop = command.stop;
    let child =
        fork(&file, command, ends).map_err(|source| SpawnError::Exec { path: file, source })?;
    // The id is known until the child has been waited for.
    let pid = child.id().unwrap_or_default();
    let (started, result) = oneshot::channel();
    let group = Pid::from_raw(pid.cast_signed());
    tokio::spawn(DirectChildMonitor { child, group, stop, watch }.run());
    let _ = started.send(Ok(pid));
    Ok(result)
}

#[expect(clippy::disallowed_methods, reason = "this crate starts the programs")]
fn fork(file: &PathBuf, what: ProcessCommand, ends: ChildPipes) -> std::io::Result<Child> {
    let mut command = std::process::Command::new(file);
    command.arg0(what.program).args(what.args).env_clear().envs(what.env);
    if let Some(cwd) = what.cwd {
        command.current_dir(cwd);
    }
    ends.attach(&mut command);
    child::standardize(&mut command);
    tokio::process::Command::from(command).kill_on_drop(true).spawn()
}

// === impl DirectChildMonitor ===

impl DirectChildMonitor {
    async fn run(mut self) {
        tokio::select! {
            () = self.watch.stop.clone().cancelled_owned() => {}
            () = self.wait_leader() => {}
        }
        self.stop_group().await;
        self.wait_leader().await;
        self.watch.set_gone();
    }

    /// Waits for the child while reading its standard error.
    async fn wait_leader(&mut self) {
        while self.watch.exit().is_none() {
            tokio::select! {
                status = self.child.wait() => {
                    self.watch.set_exited(status.map_or(ProcessExit::Unknown, ProcessExit::from));
                }
                () = self.watch.stderr.pump() => {}
            }
        }
    }

    async fn stop_group(&mut self) {
        let StopTimeouts { after_interrupt, after_terminate } = self.stop;
        let rungs = [
            (Signal::SIGINT, after_interrupt),
            (Signal::SIGTERM, after_terminate),
            (Signal::SIGKILL, KILL_TIMEOUT),
        ];
        for (signal, patience) in rungs {
            // An error means that no member is left, zombies included.
            if killpg(self.group, signal).is_err() {
                return;
            }
            let _ = timeout_at(Instant::now() + patience, self.wait_group()).await;
        }
    }

    async fn wait_group(&mut self) {
        self.wait_leader().await;
        while killpg(self.group, None).is_ok() {
            tokio::select! {
                () = sleep(GROUP_POLL_INTERVAL) => {}
                () = self.watch.stderr.pump() => {}
            }
        }
    }
}
