//! The state of a slot: the current and previous version, failures, and the file as last scanned.
//!
//! Used by `slot`. It does not start workers (`launch`).

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

/// Worker ends of a new version after which the previous version comes back.
const MAX_NEW_VERSION_ENDS: u32 = 3;
/// How long a version counts as new.
const NEW_VERSION_PERIOD: Duration = Duration::from_secs(60);

/// The versions of a slot, and their failures.
#[derive(Default)]
pub(super) struct SlotState {
    pub(super) version: Option<PluginVersion>,
    pub(super) previous: Option<PluginVersion>,
    pub(super) old: VecDeque<Weak<Worker>>,
    /// Consecutive ends of workers that had not answered any call.
    pub(super) failures: u32,
    /// Worker ends of this version.
    pub(super) strikes: u32,
    pub(super) since: Option<Instant>,
    /// The fault of the present file, if it is not the one that serves.
    pub(super) refused: Option<PluginFault>,
    /// The fault of the last worker that ended.
    pub(super) ended: Option<PluginFault>,
    /// The file's stamp at the last scan.
    pub(super) look: Option<FileStamp>,
    pub(super) seen: Option<FileDigest>,
    /// The resources that clients are subscribed to.
    pub(super) wanted: BTreeSet<String>,
}

/// One version of a plugin.
#[derive(Clone)]
pub(crate) struct PluginVersion {
    pub(crate) load: PluginImage,
    /// The loaded file, kept as long as it may be loaded again.
    pub(super) _copy: Option<Arc<PrivateCopy>>,
    pub(crate) offer: Arc<PluginOffer>,
}

// === impl SlotState ===

impl SlotState {
    /// Sends the subscriptions to a new worker, if there are any.
    pub(super) fn send_subscriptions(&self, worker: &Worker) {
        if !self.wanted.is_empty() {
            worker.send_subscriptions(&self.wanted);
        }
    }

    /// Records the end of a worker. Returns the delay before the next start.
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

    /// Restores the previous version if this one is new and its workers have ended too often.
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
