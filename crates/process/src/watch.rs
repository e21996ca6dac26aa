//! The two ends between a process's task and its handles: one writes how far the process has come,
//! the others read it and may ask for a stop.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::stderr::{Stderr, Tail};
use super::{Exit, StopLadder};

/// How far a process has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Running,
    /// It has ended; some of its descendants may not have.
    Exited(Exit),
    /// Nothing of it is left, and nothing of ours that watched it.
    Gone(Exit),
}

/// The end of the task.
pub(super) struct Watch {
    pub(super) stderr: Stderr,
    pub(super) stop: CancellationToken,
    life: watch::Sender<Life>,
}

/// The end of the handles. Its drop asks for the stop.
pub(super) struct Line {
    pub(super) life: watch::Receiver<Life>,
    pub(super) tail: Arc<Mutex<Tail>>,
    pub(super) stop: CancellationToken,
    /// How long a caller waits for a stop at most.
    pub(super) patience: Duration,
}

/// Both ends.
pub(super) fn pair(stderr: Stderr, ladder: StopLadder) -> (Watch, Line) {
    let (written, read) = watch::channel(Life::Running);
    let stop = CancellationToken::new();
    let line =
        Line { life: read, tail: stderr.tail(), stop: stop.clone(), patience: ladder.patience() };
    (Watch { stderr, stop, life: written }, line)
}

// === impl Life ===

impl Life {
    pub(super) fn exit(self) -> Option<Exit> {
        match self {
            Self::Running => None,
            Self::Exited(exit) | Self::Gone(exit) => Some(exit),
        }
    }
}

// === impl Watch ===

impl Watch {
    pub(super) fn exit(&self) -> Option<Exit> {
        self.life.borrow().exit()
    }

    /// The process has ended, and all it wrote to standard error is read before anybody hears.
    pub(super) fn exited(&mut self, exit: Exit) {
        self.stderr.drain();
        self.life.send_replace(Life::Exited(exit));
    }

    /// The last word, spoken when this end holds nothing any more.
    pub(super) fn gone(self) {
        let exit = self.exit().unwrap_or(Exit::Unknown);
        let Self { mut stderr, life, .. } = self;
        stderr.drain();
        drop(stderr);
        life.send_replace(Life::Gone(exit));
    }
}

// === impl Line ===

impl Drop for Line {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
