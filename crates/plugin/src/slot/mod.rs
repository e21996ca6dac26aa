//! The slot of one plugin: the version that serves, its workers, and their restarts.
//!
//! Used by `plugins`, `server`, `catalog_task` and `subscriptions`. A worker is started when a call needs one
//! and none runs. A worker that ended is restarted by the next call: at once if it had answered any call,
//! after a growing delay if not. A new version replaces the old one as a whole; running calls keep their
//! worker, so an old worker ends with its last call.

mod state;

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use switchboard_wire::json::Raw;
use tokio::{sync::watch, time::Instant};

use crate::{
    call::WorkerCall,
    catalog_task::{CatalogTaskMessage, SlotContext},
    fault::PluginFault,
    files::{FileDigest, FileStamp, PrivateCopy},
    offer::PluginOffer,
    options::PluginRunOptions,
    worker::PluginImage,
    worker_process::Worker,
};
use state::{PluginVersion, SlotState};

/// Old versions that may still have calls.
const MAX_OLD_VERSIONS: usize = 4;
/// How long a plugin that is not thread-safe may continue a cancelled call.
const CANCELLED_CALL_GRACE: Duration = Duration::from_secs(5);
/// The longest restart delay that a call waits for; for a longer one it fails.
const SHORT_REST: Duration = Duration::from_secs(2);

/// The slot of one plugin.
pub(crate) struct PluginSlot {
    pub(crate) index: usize,
    /// The plugin's file, unless it is built in.
    pub(crate) file: Option<PathBuf>,
    terms: PluginRunOptions,
    state: Mutex<SlotState>,
    worker_states: Vec<watch::Sender<WorkerState>>,
    turn: AtomicUsize,
}

/// The state of one worker.
#[derive(Clone)]
enum WorkerState {
    /// Not started yet.
    Idle,
    Starting,
    Up(Arc<Worker>),
    Down {
        fault: PluginFault,
        until: Instant,
    },
}

/// The next step for a call that needs a worker.
enum WorkerChoice {
    Worker(Arc<Worker>),
    /// Another call is starting the worker.
    Wait,
    /// This call has to start the worker.
    Start(PluginVersion),
    Rest(Duration, PluginFault),
    Nothing(PluginFault),
}

// === impl PluginSlot ===

impl PluginSlot {
    pub(crate) fn new(index: usize, file: Option<PathBuf>, terms: PluginRunOptions) -> Self {
        Self {
            index,
            file,
            terms,
            state: Mutex::default(),
            worker_states: (0..terms.pool.max(1))
                .map(|_| watch::Sender::new(WorkerState::Idle))
                .collect(),
            turn: AtomicUsize::new(0),
        }
    }

    /// The slot of a built-in plugin, whose offer is known without a worker.
    pub(crate) fn builtin(
        index: usize,
        name: &str,
        offer: PluginOffer,
        terms: PluginRunOptions,
    ) -> Self {
        let slot = Self::new(index, None, terms);
        let load = PluginImage::Builtin(name.to_owned());
        slot.state().version = Some(PluginVersion { load, _copy: None, offer: Arc::new(offer) });
        slot
    }

    /// The plugin's offer, if it was ever loaded.
    pub(crate) fn offer(&self) -> Option<Arc<PluginOffer>> {
        self.state().version.as_ref().map(|version| version.offer.clone())
    }

    /// The present faults: of the file in its present state, and of the last worker.
    pub(crate) fn faults(&self) -> Vec<PluginFault> {
        let mut faults: Vec<PluginFault> = {
            let state = self.state();
            state.refused.iter().chain(&state.ended).cloned().collect()
        };
        for worker_state in &self.worker_states {
            match &*worker_state.borrow() {
                WorkerState::Up(worker) => faults.extend(worker.fault().cloned()),
                WorkerState::Down { fault, .. } => faults.push(fault.clone()),
                WorkerState::Idle | WorkerState::Starting => {}
            }
        }
        faults.retain(PluginFault::is_of_plugin);
        faults.dedup();
        faults
    }

    /// Starts a call on a worker of the current version.
    pub(crate) async fn call(
        self: &Arc<Self>,
        method: &str,
        params: &Raw,
        host: &Arc<SlotContext>,
    ) -> Result<WorkerCall, PluginFault> {
        loop {
            let worker = self.worker(host).await?;
            if let Some(call) = worker.call(method, params, self.terms.call).await? {
                return Ok(call);
            }
        }
    }

    /// Returns a worker, and starts one if necessary.
    async fn worker(self: &Arc<Self>, host: &Arc<SlotContext>) -> Result<Arc<Worker>, PluginFault> {
        if let Some(worker) = self.free_worker() {
            return Ok(worker);
        }
        let worker_index = self.turn.fetch_add(1, Ordering::Relaxed) % self.worker_states.len();
        let mut life = self.worker_states[worker_index].subscribe();
        loop {
            life.borrow_and_update();
            match self.choose_worker(worker_index, host) {
                WorkerChoice::Worker(worker) => return Ok(worker),
                WorkerChoice::Nothing(fault) => return Err(fault),
                WorkerChoice::Rest(left, before) if left > SHORT_REST => {
                    return Err(PluginFault::Resting { left, before: Box::new(before) });
                }
                WorkerChoice::Rest(left, _) => tokio::time::sleep(left).await,
                WorkerChoice::Start(version) => {
                    // A task of its own: if this caller gives up, the others still wait for the worker.
                    tokio::spawn(self.clone().start(worker_index, version, host.clone()));
                }
                WorkerChoice::Wait => {
                    if life.changed().await.is_err() {
                        return Err(PluginFault::Removed);
                    }
                }
            }
        }
    }

    /// A worker that can start a call at once. Nearly every call takes this path.
    fn free_worker(&self) -> Option<Arc<Worker>> {
        self.worker_states.iter().find_map(|worker_state| match &*worker_state.borrow() {
            WorkerState::Up(worker) if worker.is_free() => Some(worker.clone()),
            _ => None,
        })
    }

    fn choose_worker(&self, worker_index: usize, host: &SlotContext) -> WorkerChoice {
        let mut state = self.state();
        let Some(version) = state.version.clone() else {
            return WorkerChoice::Nothing(state.refused.clone().unwrap_or(PluginFault::Removed));
        };
        let life = self.worker_states[worker_index].borrow().clone();
        match life {
            WorkerState::Up(worker) => match worker.fault().cloned() {
                None => WorkerChoice::Worker(worker),
                Some(fault) if !fault.is_of_plugin() => self.begin_start(worker_index, version),
                Some(fault) => {
                    let rest = state.note_worker_end(&fault, worker.is_proven(), host);
                    let until = Instant::now() + rest;
                    self.worker_states[worker_index]
                        .send_replace(WorkerState::Down { fault: fault.clone(), until });
                    self.roll_back(&mut state, host, fault, rest)
                }
            },
            WorkerState::Starting => WorkerChoice::Wait,
            WorkerState::Idle => self.begin_start(worker_index, version),
            WorkerState::Down { fault, until } => {
                match until.checked_duration_since(Instant::now()) {
                    Some(left) if !left.is_zero() => WorkerChoice::Rest(left, fault),
                    _ => self.begin_start(worker_index, version),
                }
            }
        }
    }

    fn begin_start(&self, worker_index: usize, version: PluginVersion) -> WorkerChoice {
        self.worker_states[worker_index].send_replace(WorkerState::Starting);
        WorkerChoice::Start(version)
    }

    fn roll_back(
        &self,
        state: &mut SlotState,
        host: &SlotContext,
        fault: PluginFault,
        rest: Duration,
    ) -> WorkerChoice {
        if state.roll_back() {
            for worker_state in &self.worker_states {
                worker_state.send_replace(WorkerState::Idle);
            }
            host.notify_task(CatalogTaskMessage::Rebuild);
            return WorkerChoice::Rest(Duration::ZERO, fault);
        }
        WorkerChoice::Rest(rest, fault)
    }

    async fn start(
        self: Arc<Self>,
        worker_index: usize,
        version: PluginVersion,
        host: Arc<SlotContext>,
    ) {
        let started = host.start(&version.load, self.terms.limits, self.index).await;
        let mut state = self.state();
        // If another version was swapped in meanwhile, the worker of the old one is dropped.
        let is_current = state.version.as_ref().is_some_and(|now| now.load == version.load);
        let life = match started {
            _ if !is_current => return,
            Ok((worker, _)) => {
                state.send_subscriptions(&worker);
                WorkerState::Up(worker)
            }
            Err(fault) => {
                let until = Instant::now() + state.note_worker_end(&fault, false, &host);
                if state.roll_back() {
                    host.notify_task(CatalogTaskMessage::Rebuild);
                }
                WorkerState::Down { fault, until }
            }
        };
        // Sent under the state's lock, because `change_subscriptions` notifies only workers that are up.
        self.worker_states[worker_index].send_replace(life);
    }

    /// Loads a changed file, and swaps it in if its plugin is ready.
    pub(crate) async fn load(
        &self,
        copy: PrivateCopy,
        host: &SlotContext,
    ) -> Result<(), PluginFault> {
        let load = PluginImage::File(copy.path.clone());
        self.state().seen = Some(copy.hash);
        let loaded = match host.start(&load, self.terms.limits, self.index).await {
            Ok((worker, ready)) => PluginOffer::read(&ready).map(|offer| (worker, offer)),
            Err(fault) => Err(fault),
        };
        let (worker, offer) = match loaded {
            Ok(loaded) => loaded,
            Err(fault) => {
                self.state().refused = Some(fault.clone());
                return Err(fault);
            }
        };
        self.swap_version(
            PluginVersion { load, _copy: Some(Arc::new(copy)), offer: Arc::new(offer) },
            worker,
        );
        Ok(())
    }

    /// Swaps in a new version. Running calls keep their worker.
    fn swap_version(&self, version: PluginVersion, worker: Arc<Worker>) {
        let mut state = self.state();
        state.previous = state.version.replace(version);
        (state.failures, state.strikes) = (0, 0);
        (state.refused, state.ended) = (None, None);
        state.since = Some(Instant::now());
        state.send_subscriptions(&worker);
        let mut lives =
            std::iter::once(WorkerState::Up(worker)).chain(std::iter::repeat(WorkerState::Idle));
        for worker_state in &self.worker_states {
            let life = lives.next().unwrap_or(WorkerState::Idle);
            if let WorkerState::Up(old) = worker_state.send_replace(life) {
                old.retire();
                state.old.push_back(Arc::downgrade(&old));
            }
        }
        state.old.retain(|old| old.strong_count() > 0);
        while state.old.len() > MAX_OLD_VERSIONS * self.worker_states.len() {
            let oldest = state.old.pop_front().and_then(|old| old.upgrade());
            if let Some(oldest) = oldest {
                oldest.end(PluginFault::Superseded);
            }
        }
    }

    /// Sets the plugin's new offer.
    pub(crate) fn set_offer(&self, offer: PluginOffer) {
        if let Some(version) = &mut self.state().version {
            version.offer = Arc::new(offer);
        }
    }

    /// Gives the worker no new calls; its running calls continue.
    pub(crate) fn retire(&self, worker: &Arc<Worker>, fault: PluginFault) {
        if worker.serial {
            // A serial worker cannot answer other calls, so it ends.
            worker.end(fault);
            return;
        }
        let mut state = self.state();
        for worker_state in &self.worker_states {
            let is_it =
                matches!(&*worker_state.borrow(), WorkerState::Up(up) if Arc::ptr_eq(up, worker));
            if is_it {
                state.ended = Some(fault.clone());
                state.old.push_back(Arc::downgrade(worker));
                worker_state.send_replace(WorkerState::Idle);
                worker.retire();
            }
        }
    }

    /// Retires workers with cancelled calls that do not end. A thread-safe worker may take as long as the
    /// timeout of a call; a serial one blocks all other callers, so it gets `CANCELLED_CALL_GRACE`.
    pub(crate) fn sweep(&self) {
        let patience = self.terms.call;
        let grace = patience.min(CANCELLED_CALL_GRACE);
        let workers: Vec<Arc<Worker>> = self.workers().collect();
        for worker in workers {
            if worker.serial && worker.is_stuck(grace) {
                self.retire(&worker, PluginFault::Cancelled);
            } else if worker.is_stuck(patience) {
                self.retire(&worker, PluginFault::Hung(patience));
            }
        }
    }

    /// Changes the subscribed resources, and notifies the workers if `change` returns true.
    pub(crate) fn change_subscriptions(&self, change: impl FnOnce(&mut BTreeSet<String>) -> bool) {
        let mut state = self.state();
        if change(&mut state.wanted) {
            self.workers().for_each(|worker| worker.send_subscriptions(&state.wanted));
        }
    }

    /// Starts a worker if resources are subscribed, since only a running worker sends updates, and sends it
    /// the subscriptions.
    pub(crate) fn ensure_subscribed_worker(self: &Arc<Self>, host: &Arc<SlotContext>) {
        if self.state().wanted.is_empty() {
            return;
        }
        loop {
            match self.choose_worker(0, host) {
                WorkerChoice::Start(version) => {
                    tokio::spawn(self.clone().start(0, version, host.clone()));
                    return;
                }
                WorkerChoice::Rest(left, _) if left.is_zero() => {}
                _ => break,
            }
        }
        let state = self.state();
        let owed = self.workers().filter(|worker| !worker.knows_subscriptions());
        owed.for_each(|worker| worker.send_subscriptions(&state.wanted));
    }

    /// The timeout of a call, counted from its last notification.
    pub(crate) fn call_timeout(&self) -> Duration {
        self.terms.call
    }

    /// The running workers.
    pub(crate) fn workers(&self) -> impl Iterator<Item = Arc<Worker>> + '_ {
        self.worker_states.iter().filter_map(|worker_state| match &*worker_state.borrow() {
            WorkerState::Up(worker) => Some(worker.clone()),
            _ => None,
        })
    }

    /// Whether the file's stamp has changed since the last scan.
    pub(crate) fn looks_changed(&self, look: Option<FileStamp>) -> bool {
        let mut state = self.state();
        // An unreadable file is tried again, because a mode or a link target changes without changing the
        // stamp.
        let is_unread = matches!(state.refused, Some(PluginFault::File(_)));
        let changed = state.look != look || is_unread;
        state.look = look;
        changed
    }

    /// Whether the file's digest differs from the last one.
    pub(crate) fn has_new_content(&self, hash: &FileDigest) -> bool {
        self.state().seen.as_ref() != Some(hash)
    }

    /// Records that the file cannot be read. The current version continues.
    pub(crate) fn set_refused(&self, fault: PluginFault) {
        self.state().refused = Some(fault);
    }

    /// Removes the plugin, because its file is gone.
    pub(crate) fn remove(&self) {
        let mut state = self.state();
        *state = SlotState { look: state.look, ..SlotState::default() };
        drop(state);
        for worker_state in &self.worker_states {
            worker_state.send_replace(WorkerState::Idle);
        }
    }

    /// Ends every worker.
    pub(crate) fn end_workers(&self) {
        let old: Vec<_> = self.state().old.iter().filter_map(Weak::upgrade).collect();
        for worker in self.workers().chain(old) {
            worker.end(PluginFault::Removed);
        }
        for worker_state in &self.worker_states {
            worker_state.send_replace(WorkerState::Idle);
        }
    }

    fn state(&self) -> MutexGuard<'_, SlotState> {
        self.state.lock()
    }
}
