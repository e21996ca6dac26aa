//! The clock of a call: how long each of its stages took.
//!
//! Used by `tool`, `upstream` and their neighbours, which say when a stage begins; the record of the call gets the times. It
//! does not know what happens in a stage.

use std::time::Instant;

use parking_lot::Mutex;

use crate::audit::{CallStage, StageTimes};

/// The clock of one call.
#[derive(Debug)]
pub(super) struct StageClock(Mutex<RunningStage>);

#[derive(Debug)]
struct RunningStage {
    stage: CallStage,
    since: Instant,
    spent: StageTimes,
}

// === impl StageClock ===

impl StageClock {
    /// A clock in the first stage.
    pub(super) fn start() -> Self {
        let spent = StageTimes::default();
        Self(Mutex::new(RunningStage { stage: CallStage::Find, since: Instant::now(), spent }))
    }

    /// Ends the running stage and begins another.
    pub(super) fn enter(&self, stage: CallStage) {
        let mut running = self.0.lock();
        let now = Instant::now();
        let (before, took) = (running.stage, now - running.since);
        running.spent.add(before, took);
        (running.stage, running.since) = (stage, now);
    }

    /// The times so far, the running stage included.
    pub(super) fn spent(&self) -> StageTimes {
        let running = self.0.lock();
        let mut spent = running.spent;
        spent.add(running.stage, running.since.elapsed());
        spent
    }
}
