//! The state of a process, shared between its task and its handles: the task writes it, the handles read it
//! and may ask for a stop.
//!
//! Used by `handle`, `direct_child` and `guarded_child`.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::stderr::{StderrReader, StderrTail};
use super::{ProcessExit, StopTimeouts};

/// The stage of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessStage {
    Running,
    /// The process has ended; some of its descendants may still run.
    Exited(ProcessExit),
    /// No process of the server is left, and no guard or task that watched it.
    Gone(ProcessExit),
}

/// The task's side.
pub(super) struct ProcessReporter {
    pub(super) stderr: StderrReader,
    pub(super) stop: CancellationToken,
    life: watch::Sender<ProcessStage>,
}

/// The handles' side. Dropping it asks for the stop.
pub(super) struct ProcessControl {
    pub(super) life: watch::Receiver<ProcessStage>,
    pub(super) tail: Arc<Mutex<StderrTail>>,
    pub(super) stop: CancellationToken,
    /// How long a caller waits for a stop at most.
    pub(super) patience: Duration,
}

/// Creates both sides.
pub(super) fn reporter_and_control(
    stderr: StderrReader,
    ladder: StopTimeouts,
) -> (ProcessReporter, ProcessControl) {
    let (written, read) = watch::channel(ProcessStage::Running);
    let stop = CancellationToken::new();
    let line = ProcessControl {
        life: read,
        tail: stderr.tail(),
        stop: stop.clone(),
        patience: ladder.stop_timeout(),
    };
    (ProcessReporter { stderr, stop, life: written }, line)
}

// === impl ProcessStage ===

impl ProcessStage {
    pub(super) fn exit(self) -> Option<ProcessExit> {
        match self {
            Self::Running => None,
            Self::Exited(exit) | Self::Gone(exit) => Some(exit),
        }
    }
}

// === impl ProcessReporter ===

impl ProcessReporter {
    pub(super) fn exit(&self) -> Option<ProcessExit> {
        self.life.borrow().exit()
    }

    /// Records the exit, after reading the rest of standard error, so that a caller that sees the exit can
    /// read all output.
    pub(super) fn set_exited(&mut self, exit: ProcessExit) {
        self.stderr.drain();
        self.life.send_replace(ProcessStage::Exited(exit));
    }

    /// Records that no process is left, after dropping everything else that this side holds.
    pub(super) fn set_gone(self) {
        let exit = self.exit().unwrap_or(ProcessExit::Unknown);
        let Self { mut stderr, life, .. } = self;
        stderr.drain();
        drop(stderr);
        life.send_replace(ProcessStage::Gone(exit));
    }
}

// === impl ProcessControl ===

impl Drop for ProcessControl {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
