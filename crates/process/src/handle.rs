//! [`Process`]: the handle on a process. It reads the state that the process's task writes, and asks that
//! task to stop.
//!
//! Used by every crate that starts a program. It does not own the process: the task in `guarded_child` or
//! `direct_child` does.

use std::fmt;
use std::sync::Arc;

use super::ProcessExit;
use super::lifecycle::{ProcessControl, ProcessStage};
use super::process_tree::{self, ProcessInfo};

/// A started process with all its descendants. Dropping the last clone starts to stop it, without waiting for
/// the end.
#[derive(Clone)]
pub struct Process {
    pid: u32,
    line: Arc<ProcessControl>,
}

// === impl Process ===

impl Process {
    pub(super) fn new(pid: u32, line: ProcessControl) -> Self {
        Self { pid, line: Arc::new(line) }
    }

    /// The process id of the program itself, not of its guard.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The program and its living descendants, parents before children. Reads files, so it must not run on a
    /// thread of the runtime. Empty without `/proc`.
    pub fn process_tree(&self) -> Vec<ProcessInfo> {
        process_tree::list_process_tree(self.pid)
    }

    /// Waits until the program has ended; its descendants are then being stopped. By then
    /// [`Process::stderr_tail`] holds all output of the program.
    pub async fn wait_exit(&self) -> ProcessExit {
        self.wait_stage(|life| life.exit().is_some()).await
    }

    /// How the program ended, if it has.
    pub fn try_exit(&self) -> Option<ProcessExit> {
        self.line.life.borrow().exit()
    }

    /// The last 64 KiB of standard error as text; bytes that are not UTF-8 are replaced.
    pub fn stderr_tail(&self) -> String {
        self.line.tail.lock().text()
    }

    /// Stops the program and all its descendants, and waits until they are gone. May be called concurrently
    /// and repeatedly. Returns even if the kernel cannot kill a process at the moment: its guard then keeps
    /// trying.
    pub async fn stop(&self) -> ProcessExit {
        self.line.stop.cancel();
        let gone = self.wait_stage(|life| matches!(life, ProcessStage::Gone(_)));
        tokio::time::timeout(self.line.patience, gone).await.unwrap_or_else(|_| {
            tracing::warn!(pid = self.pid, "a stopped process has descendants that will not die");
            self.try_exit().unwrap_or(ProcessExit::Unknown)
        })
    }

    async fn wait_stage(&self, stage: impl Fn(&ProcessStage) -> bool) -> ProcessExit {
        let mut life = self.line.life.clone();
        // The task that writes is lost only together with its runtime.
        let reached = life.wait_for(stage).await.ok().and_then(|life| life.exit());
        reached.or(self.try_exit()).unwrap_or(ProcessExit::Unknown)
    }
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let life = *self.line.life.borrow();
        f.debug_struct("Process").field("pid", &self.pid).field("life", &life).finish()
    }
}
