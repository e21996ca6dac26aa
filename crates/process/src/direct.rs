//! A child without a guard: its process group is all that a stop can reach. A descendant that leaves
//! the group, and a death of ours that runs no code, are beyond this module.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::Child;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout_at};

use super::launch::ChildEnds;
use super::watch::Watch;
use super::{Command, Exit, SpawnError, StopLadder, child};

/// How long the killed may take to disappear. Short, since nothing is left to do: one whose new parent
/// is slow to wait for it counts as a member until then.
const AFTER_KILL: Duration = Duration::from_millis(100);

/// How often a group without its leader is looked at: nobody tells when its last member ends.
const LOOK: Duration = Duration::from_millis(10);

struct Monitor {
    child: Child,
    group: Pid,
    stop: StopLadder,
    watch: Watch,
}

/// Forks the child and sets its task to work.
pub(super) fn launch(
    file: PathBuf,
    command: Command,
    ends: ChildEnds,
    watch: Watch,
) -> Result<oneshot::Receiver<Result<u32, SpawnError>>, SpawnError> {
    let stop = command.stop;
    let child =
        fork(&file, command, ends).map_err(|source| SpawnError::Exec { path: file, source })?;
    // There is an id for as long as nobody has waited.
    let pid = child.id().unwrap_or_default();
    let (started, result) = oneshot::channel();
    let group = Pid::from_raw(pid.cast_signed());
    tokio::spawn(Monitor { child, group, stop, watch }.run());
    let _ = started.send(Ok(pid));
    Ok(result)
}

fn fork(file: &PathBuf, what: Command, ends: ChildEnds) -> std::io::Result<Child> {
    let mut command = std::process::Command::new(file);
    command.arg0(what.program).args(what.args).env_clear().envs(what.env);
    if let Some(cwd) = what.cwd {
        command.current_dir(cwd);
    }
    ends.attach(&mut command);
    child::standardize(&mut command);
    tokio::process::Command::from(command).kill_on_drop(true).spawn()
}

// === impl Monitor ===

impl Monitor {
    async fn run(mut self) {
        tokio::select! {
            () = self.watch.stop.clone().cancelled_owned() => {}
            () = self.leader_ended() => {}
        }
        self.descend().await;
        self.leader_ended().await;
        self.watch.gone();
    }

    /// Waits for the child while its standard error is read.
    async fn leader_ended(&mut self) {
        while self.watch.exit().is_none() {
            tokio::select! {
                status = self.child.wait() => {
                    self.watch.exited(status.map_or(Exit::Unknown, Exit::from));
                }
                () = self.watch.stderr.pump() => {}
            }
        }
    }

    async fn descend(&mut self) {
        let StopLadder { after_interrupt, after_terminate } = self.stop;
        let rungs = [
            (Signal::SIGINT, after_interrupt),
            (Signal::SIGTERM, after_terminate),
            (Signal::SIGKILL, AFTER_KILL),
        ];
        for (signal, patience) in rungs {
            // Also tells whether anybody is left, the dead not yet waited for included.
            if killpg(self.group, signal).is_err() {
                return;
            }
            let _ = timeout_at(Instant::now() + patience, self.group_ended()).await;
        }
    }

    async fn group_ended(&mut self) {
        self.leader_ended().await;
        while killpg(self.group, None).is_ok() {
            tokio::select! {
                () = sleep(LOOK) => {}
                () = self.watch.stderr.pump() => {}
            }
        }
    }
}
