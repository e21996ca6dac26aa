//! The two ends between a process's task and its handles: one writes how far the process has come,
//! the others read it and may ask for a stop.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::stderr::{StderrReader, StderrTail};
use super::{ProcessExit, StopTimeouts};

/// How far a process has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessStage {
    Running,
    /// It has ended; some of its descendants may not have.
    Exited(ProcessExit),
    /// Nothing of it is left, and nothing of ours that watched it.
    Gone(ProcessExit),
}

/// The end of the task.
pub(super) struct ProcessReporter {
    pub(super) stderr: StderrReader,
    pub(super) stop: CancellationToken,
    life: watch::Sender<ProcessStage>,
}

/// The end of the handles. Its drop asks for the stop.
pub(super) struct ProcessControl {
    pub(super) life: watch::Receiver<ProcessStage>,
    pub(super) tail: Arc<Mutex<StderrTail>>,
    pub(super) stop: CancellationToken,
    /// How long a caller waits for a stop at most.
    pub(super) patience: Duration,
}

/// Both ends.
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

    /// The process has ended, and all it wrote to standard error is read before anybody hears.
    pub(super) fn set_exited(&mut self, exit: ProcessExit) {
        self.stderr.drain();
        self.life.send_replace(ProcessStage::Exited(exit));
    }

    /// The last word, spoken when this end holds nothing any more.
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
