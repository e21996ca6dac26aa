//! The context that all plugin slots share, and the task that keeps the plugin catalog current.
//!
//! Used by `plugins`, which starts the task. It does not watch folders (`watch`) and does not run calls
//! (`slot`, `call`).

use std::{path::PathBuf, sync::Arc, time::Duration};

use futures_util::{StreamExt as _, stream};
use switchboard_wire::{
    json::Raw,
    meta::method,
    server::{ChangeBroadcaster, ChangeNotification},
};
use tokio::sync::mpsc;

use crate::{
    call::WorkerCallStep,
    catalog::PluginCatalog,
    fault::PluginFault,
    files::{self, FileStamp, PrivateCopies},
    messages::{WorkerReady, worker_method},
    offer::PluginOffer,
    options::PluginHostOptions,
    plugins::Inner,
    slot::PluginSlot,
    worker::{PluginImage, WorkerLimits, WorkerOrder},
    worker_process::{Worker, WorkerNotification},
};

/// How often expired calls and tasks are swept.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// Plugins that are loaded at once.
const MAX_LOADS_AT_ONCE: usize = 8;

/// The context that all slots share.
pub(crate) struct SlotContext {
    pub(crate) options: PluginHostOptions,
    pub(crate) copies: PrivateCopies,
    pub(crate) changes: ChangeBroadcaster,
    pub(crate) news: mpsc::Sender<WorkerNotification>,
    pub(crate) words: mpsc::Sender<CatalogTaskMessage>,
}

/// A message to the catalog task.
#[derive(Debug)]
pub(crate) enum CatalogTaskMessage {
    /// A slot's offer has changed.
    Rebuild,
    /// A folder has changed.
    Look,
}

// === impl SlotContext ===

impl SlotContext {
    pub(crate) async fn start(
        &self,
        load: &PluginImage,
        limits: WorkerLimits,
        slot_index: usize,
    ) -> Result<(Arc<Worker>, WorkerReady), PluginFault> {
        let order = WorkerOrder { load: load.clone(), limits };
        Worker::start(&order, &self.options, slot_index, &self.news).await
    }

    /// Notifies the catalog task. If its queue is full, the queued messages have this effect already.
    pub(crate) fn notify_task(&self, word: CatalogTaskMessage) {
        let _ = self.words.try_send(word);
    }
}

/// Keeps the catalog current until shutdown.
pub(crate) async fn run_catalog_task(
    inner: Arc<Inner>,
    mut news: mpsc::Receiver<WorkerNotification>,
    mut words: mpsc::Receiver<CatalogTaskMessage>,
) {
    let mut ticks = tokio::time::interval(SWEEP_INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = inner.shutdown.cancelled() => return,
            Some(news) = news.recv() => handle_notification(&inner, news).await,
            Some(word) = words.recv() => match word {
                CatalogTaskMessage::Rebuild => rebuild(&inner),
                CatalogTaskMessage::Look => {
                    wait_until_settled(&inner, &mut words).await;
                    scan_folders(&inner).await;
                }
            },
            _ = ticks.tick() => sweep(&inner).await,
        }
        inner.publish_problems();
    }
}

async fn sweep(inner: &Arc<Inner>) {
    inner.parked.sweep(inner.host.options.times.question);
    inner.tasks.sweep();
    for slot in inner.slots() {
        slot.sweep();
        slot.ensure_subscribed_worker(&inner.host);
    }
    if inner.polls {
        scan_folders(inner).await;
    }
}

/// Waits until the folders are quiet for a moment: a file that is still being written is no plugin yet.
async fn wait_until_settled(inner: &Inner, words: &mut mpsc::Receiver<CatalogTaskMessage>) {
    let quiet = inner.host.options.times.quiet;
    while let Ok(Some(word)) = tokio::time::timeout(quiet, words.recv()).await {
        if matches!(word, CatalogTaskMessage::Rebuild) {
            rebuild(inner);
        }
    }
}

/// Scans the folders, loads changed files and removes slots of deleted ones.
pub(crate) async fn scan_folders(inner: &Arc<Inner>) {
    let folders = inner.folders.clone();
    let found = tokio::task::spawn_blocking(move || scan_files(&folders)).await.unwrap_or_default();
    let mut changed = false;
    for slot in inner.slots() {
        let Some(file) = &slot.file else { continue };
        let is_there = found.iter().any(|(path, _)| path == file);
        if !is_there && slot.looks_changed(None) {
            slot.remove();
            changed = true;
        }
    }
    let fresh: Vec<_> = found
        .into_iter()
        .map(|(path, look)| (inner.slot_of(&path), path, look))
        .filter(|(slot, _, look)| slot.looks_changed(Some(*look)))
        .collect();
    // Loaded concurrently, so that a slow plugin does not delay the others.
    let mut taking = stream::iter(fresh)
        .map(|(slot, path, _)| async move { load_changed_file(inner, &slot, path).await })
        .buffer_unordered(MAX_LOADS_AT_ONCE);
    while let Some(is_different) = taking.next().await {
        changed |= is_different;
    }
    if changed {
        rebuild(inner);
    }
}

fn scan_files(folders: &[PathBuf]) -> Vec<(PathBuf, FileStamp)> {
    let files = folders.iter().filter_map(|folder| files::find_plugins(folder).ok()).flatten();
    files.filter_map(|path| Some((path.clone(), FileStamp::read(&path)?))).collect()
}

/// Loads a changed file. Returns whether the slot's version has changed.
async fn load_changed_file(inner: &Arc<Inner>, slot: &Arc<PluginSlot>, path: PathBuf) -> bool {
    let host = inner.host.clone();
    let copy = tokio::task::spawn_blocking(move || host.copies.copy_file(&path)).await;
    let copy = match copy {
        Ok(Ok(copy)) => copy,
        Ok(Err(fault)) => {
            slot.set_refused(fault);
            return false;
        }
        // The runtime is ending.
        Err(_) => return false,
    };
    if !slot.has_new_content(&copy.hash) {
        return false;
    }
    match slot.load(copy, &inner.host).await {
        Ok(()) => true,
        Err(fault) => {
            tracing::warn!(%fault, "a plugin that changed cannot be loaded; the version before it goes on");
            false
        }
    }
}

/// Rebuilds the catalog, and announces the lists that changed.
pub(crate) fn rebuild(inner: &Inner) {
    let catalog = Arc::new(PluginCatalog::from_slots(&inner.slots()));
    let before = {
        let mut current = inner.catalog.write();
        std::mem::replace(&mut *current, catalog.clone())
    };
    inner.place_subscriptions(&catalog);
    for list in catalog.differences(&before) {
        inner.host.changes.announce(ChangeNotification::List(list));
    }
}

/// Handles a plugin's notification that belongs to no call.
async fn handle_notification(
    inner: &Arc<Inner>,
    WorkerNotification { slot_index, method: told, params }: WorkerNotification,
) {
    match told.as_str() {
        method::TOOLS_CHANGED | method::PROMPTS_CHANGED | method::RESOURCES_CHANGED => {
            if let Some(slot) = inner.slots().get(slot_index) {
                refresh_offer(inner, slot).await;
                rebuild(inner);
            }
        }
        method::RESOURCE_UPDATED => {
            let uri = params.get("uri").ok().flatten().and_then(|uri| uri.to_text());
            if let Some(uri) = uri {
                inner.host.changes.announce(ChangeNotification::Resource(uri));
            }
        }
        _ => inner.host.changes.announce(ChangeNotification::Other(told, params)),
    }
}

/// Requests a plugin's current offer.
async fn refresh_offer(inner: &Inner, slot: &Arc<PluginSlot>) {
    let patience = inner.host.options.times.start;
    let Some(worker) = slot.workers().next() else { return };
    let asking = async {
        let mut call =
            worker.call(worker_method::DESCRIBE, &Raw::empty_object(), patience).await.ok()??;
        loop {
            match call.next().await {
                WorkerCallStep::Event(_) => {}
                WorkerCallStep::Done(ready) => return ready.ok()?.decode::<WorkerReady>().ok(),
                WorkerCallStep::Gone(_) => return None,
            }
        }
    };
    let ready = tokio::time::timeout(patience, asking).await.ok().flatten();
    if let Some(offer) = ready.and_then(|ready| PluginOffer::read(&ready).ok()) {
        slot.set_offer(offer);
    }
}
