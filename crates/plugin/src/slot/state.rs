//! Which version of a plugin serves, which served before it, and how they have fared.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::time::Instant;

use crate::{
    catalog_task::SlotContext,
    fault::PluginFault,
    files::{FileDigest, FileStamp, PrivateCopy},
    offer::PluginOffer,
    worker::PluginImage,
    worker_process::Worker,
};

/// Ends of a new version after which the one before it comes back.
const MAX_NEW_VERSION_ENDS: u32 = 3;
/// How long a version is new.
const NEW_VERSION_PERIOD: Duration = Duration::from_secs(60);

/// What serves, and what served.
#[derive(Default)]
pub(super) struct SlotState {
    pub(super) version: Option<PluginVersion>,
    pub(super) previous: Option<PluginVersion>,
    pub(super) old: VecDeque<Weak<Worker>>,
    /// Ends in a row of workers that had not answered anything.
    pub(super) failures: u32,
    /// Ends of this version.
    pub(super) strikes: u32,
    pub(super) since: Option<Instant>,
    /// What is wrong with the file as it is, where that is not what serves.
    pub(super) refused: Option<PluginFault>,
    /// The last end of a worker.
    pub(super) ended: Option<PluginFault>,
    /// The file as it was last looked at.
    pub(super) look: Option<FileStamp>,
    pub(super) seen: Option<FileDigest>,
    /// Resources that somebody wants to hear of.
    pub(super) wanted: BTreeSet<String>,
}

/// One version of a plugin.
#[derive(Clone)]
pub(crate) struct PluginVersion {
    pub(crate) load: PluginImage,
    /// What is loaded, kept as long as it may be loaded again.
    pub(super) _copy: Option<Arc<PrivateCopy>>,
    pub(crate) offer: Arc<PluginOffer>,
}

// === impl State ===

impl SlotState {
    /// Tells a worker that has just begun what is wanted of it, unless nothing is.
    pub(super) fn send_subscriptions(&self, worker: &Worker) {
        if !self.wanted.is_empty() {
            worker.send_subscriptions(&self.wanted);
        }
    }

    /// A worker has ended. How long to wait before the next.
    pub(super) fn note_worker_end(
        &mut self,
        fault: &PluginFault,
        proven: bool,
        host: &SlotContext,
    ) -> Duration {
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
        let is_new = self.since.is_some_and(|since| since.elapsed() < NEW_VERSION_PERIOD);
        if !is_new || self.strikes < MAX_NEW_VERSION_ENDS {
            return false;
        }
        let Some(previous) = self.previous.take() else { return false };
        self.version = Some(previous);
        self.refused = self.ended.take();
        (self.failures, self.strikes, self.since) = (0, 0, None);
        true
    }
}
