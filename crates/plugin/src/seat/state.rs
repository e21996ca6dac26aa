//! Which version of a plugin serves, which served before it, and how they have fared.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::time::Instant;

use crate::{
    fault::Fault,
    files::{Copy, Hash, Look},
    keeper::Host,
    offer::Offer,
    running::Worker,
    worker::Load,
};

/// Ends of a new version after which the one before it comes back.
const STRIKES: u32 = 3;
/// How long a version is new.
const NEW: Duration = Duration::from_secs(60);

/// What serves, and what served.
#[derive(Default)]
pub(super) struct State {
    pub(super) version: Option<Version>,
    pub(super) previous: Option<Version>,
    pub(super) old: VecDeque<Weak<Worker>>,
    /// Ends in a row of workers that had not answered anything.
    pub(super) failures: u32,
    /// Ends of this version.
    pub(super) strikes: u32,
    pub(super) since: Option<Instant>,
    /// What is wrong with the file as it is, where that is not what serves.
    pub(super) refused: Option<Fault>,
    /// The last end of a worker.
    pub(super) ended: Option<Fault>,
    /// The file as it was last looked at.
    pub(super) look: Option<Look>,
    pub(super) seen: Option<Hash>,
    /// Resources that somebody wants to hear of.
    pub(super) wanted: BTreeSet<String>,
}

/// One version of a plugin.
#[derive(Clone)]
pub(crate) struct Version {
    pub(crate) load: Load,
    /// What is loaded, kept as long as it may be loaded again.
    pub(super) _copy: Option<Arc<Copy>>,
    pub(crate) offer: Arc<Offer>,
}

// === impl State ===

impl State {
    /// Tells a worker that has just begun what is wanted of it, unless nothing is.
    pub(super) fn introduce(&self, worker: &Worker) {
        if !self.wanted.is_empty() {
            worker.brief(&self.wanted);
        }
    }

    /// A worker has ended. How long to wait before the next.
    pub(super) fn fell(&mut self, fault: &Fault, proven: bool, host: &Host) -> Duration {
        self.ended = Some(fault.clone());
        self.strikes += 1;
        self.failures = if proven { 1 } else { self.failures + 1 };
        let times = host.options.times;
        match self.failures.checked_sub(2) {
            None => Duration::ZERO,
            Some(more) => times.rest.saturating_mul(1 << more.min(16)).min(times.longest_rest),
        }
    }

    /// Brings the version before this one back, if this one is new and has ended too often.
    pub(super) fn roll_back(&mut self) -> bool {
        let is_new = self.since.is_some_and(|since| since.elapsed() < NEW);
        if !is_new || self.strikes < STRIKES {
            return false;
        }
        let Some(previous) = self.previous.take() else { return false };
        self.version = Some(previous);
        self.refused = self.ended.take();
        (self.failures, self.strikes, self.since) = (0, 0, None);
        true
    }
}
