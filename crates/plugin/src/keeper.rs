//! What all seats share, and the one task that keeps the catalog current.

use std::{
    path::PathBuf,
    sync::{Arc, PoisonError},
    time::Duration,
};

use futures_util::{StreamExt as _, stream};
use switchboard_wire::{
    json::Raw,
    meta::method,
    server::{Change, Changes},
};
use tokio::sync::mpsc;

use crate::{
    call::Next,
    catalog::Catalog,
    fault::Fault,
    files::{self, Copies, Look},
    offer::Offer,
    options::Options,
    plugins::Inner,
    running::{News, Worker},
    seat::Seat,
    told::{Ready, said},
    worker::{Limits, Load, Order},
};

/// How often what waits too long is looked for.
const SWEEP: Duration = Duration::from_secs(1);

/// Plugins that are loaded at once.
const AT_ONCE: usize = 8;

/// What all seats share.
pub(crate) struct Host {
    pub(crate) options: Options,
    pub(crate) copies: Copies,
    pub(crate) changes: Changes,
    pub(crate) news: mpsc::Sender<News>,
    pub(crate) words: mpsc::Sender<Word>,
}

/// What the keeper is told.
#[derive(Debug)]
pub(crate) enum Word {
    /// A seat offers something else.
    Rebuild,
    /// Something has happened in a folder.
    Look,
}

// === impl Host ===

impl Host {
    pub(crate) async fn start(
        &self,
        load: &Load,
        limits: Limits,
        seat: usize,
    ) -> Result<(Arc<Worker>, Ready), Fault> {
        let order = Order { load: load.clone(), limits };
        Worker::start(&order, &self.options, seat, &self.news).await
    }

    /// Tells the keeper. What does not fit is said already.
    pub(crate) fn say(&self, word: Word) {
        let _ = self.words.try_send(word);
    }
}

/// Keeps everything current until the end.
pub(crate) async fn keep(
    inner: Arc<Inner>,
    mut news: mpsc::Receiver<News>,
    mut words: mpsc::Receiver<Word>,
) {
    let mut ticks = tokio::time::interval(SWEEP);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = inner.shutdown.cancelled() => return,
            Some(news) = news.recv() => hear(&inner, news).await,
            Some(word) = words.recv() => match word {
                Word::Rebuild => rebuild(&inner),
                Word::Look => {
                    settle(&inner, &mut words).await;
                    look(&inner).await;
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
    for seat in inner.seats() {
        seat.sweep();
        seat.attend(&inner.host);
    }
    if inner.polls {
        look(inner).await;
    }
}

/// Waits until nothing has happened for a moment: a file that is being written is not a plugin yet.
async fn settle(inner: &Inner, words: &mut mpsc::Receiver<Word>) {
    let quiet = inner.host.options.times.quiet;
    while let Ok(Some(word)) = tokio::time::timeout(quiet, words.recv()).await {
        if matches!(word, Word::Rebuild) {
            rebuild(inner);
        }
    }
}

/// Takes in what has become of the folders.
pub(crate) async fn look(inner: &Arc<Inner>) {
    let folders = inner.folders.clone();
    let found = tokio::task::spawn_blocking(move || seen(&folders)).await.unwrap_or_default();
    let mut changed = false;
    for seat in inner.seats() {
        let Some(file) = &seat.file else { continue };
        let is_there = found.iter().any(|(path, _)| path == file);
        if !is_there && seat.looks_changed(None) {
            seat.remove();
            changed = true;
        }
    }
    let fresh: Vec<_> = found
        .into_iter()
        .map(|(path, look)| (inner.seat_of(&path), path, look))
        .filter(|(seat, _, look)| seat.looks_changed(Some(*look)))
        .collect();
    // One that takes its time does not keep the others.
    let mut taking = stream::iter(fresh)
        .map(|(seat, path, _)| async move { take(inner, &seat, path).await })
        .buffer_unordered(AT_ONCE);
    while let Some(is_different) = taking.next().await {
        changed |= is_different;
    }
    if changed {
        rebuild(inner);
    }
}

fn seen(folders: &[PathBuf]) -> Vec<(PathBuf, Look)> {
    let files = folders.iter().filter_map(|folder| files::find(folder).ok()).flatten();
    files.filter_map(|path| Some((path.clone(), Look::at(&path)?))).collect()
}

/// Loads a file that has changed. Whether anything is different for it.
async fn take(inner: &Arc<Inner>, seat: &Arc<Seat>, path: PathBuf) -> bool {
    let host = inner.host.clone();
    let copy = tokio::task::spawn_blocking(move || host.copies.take(&path)).await;
    let copy = match copy {
        Ok(Ok(copy)) => copy,
        Ok(Err(fault)) => {
            seat.refuse(fault);
            return false;
        }
        // The runtime ends.
        Err(_) => return false,
    };
    if !seat.is_news(&copy.hash) {
        return false;
    }
    match seat.load(copy, &inner.host).await {
        Ok(()) => true,
        Err(fault) => {
            tracing::warn!(%fault, "a plugin that changed cannot be loaded; the version before it goes on");
            false
        }
    }
}

/// Puts the catalog together anew, and tells clients what is different.
pub(crate) fn rebuild(inner: &Inner) {
    let catalog = Arc::new(Catalog::of(&inner.seats()));
    let before = {
        let mut current = inner.catalog.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *current, catalog.clone())
    };
    inner.place_subscriptions(&catalog);
    for list in catalog.differences(&before) {
        inner.host.changes.announce(Change::List(list));
    }
}

/// A plugin tells everybody something.
async fn hear(inner: &Arc<Inner>, News { seat, method: told, params }: News) {
    match told.as_str() {
        method::TOOLS_CHANGED | method::PROMPTS_CHANGED | method::RESOURCES_CHANGED => {
            if let Some(seat) = inner.seats().get(seat) {
                ask_again(inner, seat).await;
                rebuild(inner);
            }
        }
        method::RESOURCE_UPDATED => {
            let uri = params.get("uri").ok().flatten().and_then(|uri| uri.to_text());
            if let Some(uri) = uri {
                inner.host.changes.announce(Change::Resource(uri));
            }
        }
        _ => inner.host.changes.announce(Change::Other(told, params)),
    }
}

/// Asks a plugin what it offers by now.
async fn ask_again(inner: &Inner, seat: &Arc<Seat>) {
    let patience = inner.host.options.times.start;
    let Some(worker) = seat.workers().next() else { return };
    let asking = async {
        let mut call = worker.call(said::DESCRIBE, &Raw::empty_object(), patience).await.ok()??;
        loop {
            match call.next().await {
                Next::Event(_) => {}
                Next::Done(ready) => return ready.ok()?.decode::<Ready>().ok(),
                Next::Gone(_) => return None,
            }
        }
    };
    let ready = tokio::time::timeout(patience, asking).await.ok().flatten();
    if let Some(offer) = ready.and_then(|ready| Offer::read(&ready).ok()) {
        seat.offers(offer);
    }
}
