//! All plugins together.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::RwLock;
use serde_json::json;
use switchboard_wire::{json::Raw, sanitize, server::ChangeBroadcaster};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::{
    catalog::PluginCatalog,
    catalog_task::{self, SlotContext},
    fault::PluginProblem,
    files::{self, PrivateCopies},
    messages::WorkerReady,
    offer::PluginOffer,
    options::PluginHostOptions,
    parked::ParkedWorkerCalls,
    slot::PluginSlot,
    subscriptions::Subscriptions,
    tasks::PluginTasks,
    watch::{FolderWatch, watch_folders},
    worker::BuiltinPlugins,
};

/// Notifications and words that may wait for the keeper.
const MAX_QUEUED_MESSAGES: usize = 256;

/// All plugins together: one MCP server. Ends when it is dropped or shut down.
pub struct PluginServer {
    pub(crate) inner: Arc<Inner>,
    _watching: Option<FolderWatch>,
}

/// What [`PluginServer`] shares with the task that keeps it.
pub(crate) struct Inner {
    pub(crate) host: Arc<SlotContext>,
    pub(crate) folders: Vec<PathBuf>,
    seats: RwLock<Vec<Arc<PluginSlot>>>,
    pub(crate) catalog: RwLock<Arc<PluginCatalog>>,
    pub(crate) parked: ParkedWorkerCalls,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) tasks: PluginTasks,
    /// What the server says of itself with every answer.
    pub(crate) info: Raw,
    /// Folders are looked at now and then, since they cannot be watched.
    pub(crate) polls: bool,
    pub(crate) shutdown: CancellationToken,
    /// What is wrong, as it was last published.
    problems: watch::Sender<Vec<PluginProblem>>,
}

/// Where plugins come from.
#[derive(Debug, Clone, Default)]
pub struct PluginSources {
    /// Those that are part of the program.
    pub builtins: BuiltinPlugins,
    /// Folders with shared objects, looked through with all that is below them; or single files.
    pub folders: Vec<PathBuf>,
}

/// One plugin, for people.
#[derive(Debug, Clone)]
pub struct PluginInfo {
    /// Its name; of one that could never be loaded, what its file is called.
    pub name: String,
    /// Its file, unless it is part of the program.
    pub file: Option<PathBuf>,
    /// What it offers, if it has ever been sound.
    pub offer: Option<Arc<PluginOffer>>,
}

// === impl PluginServer ===

impl PluginServer {
    /// Finds plugins, loads them, and keeps them current. What cannot be loaded is a problem beside what can.
    pub async fn start(options: PluginHostOptions, sources: PluginSources) -> Self {
        let plugins = Self::prepare(options, sources);
        catalog_task::scan_folders(&plugins.inner).await;
        plugins
    }

    /// The plugins that are part of the program. Needs a runtime, and nothing is started before somebody calls.
    pub fn builtin_only(options: PluginHostOptions, builtins: BuiltinPlugins) -> Self {
        Self::prepare(options, PluginSources { builtins, folders: Vec::new() })
    }

    fn prepare(options: PluginHostOptions, sources: PluginSources) -> Self {
        let (news, heard) = mpsc::channel(MAX_QUEUED_MESSAGES);
        let (words, said) = mpsc::channel(MAX_QUEUED_MESSAGES);
        let watching = (!sources.folders.is_empty())
            .then(|| watch_folders(&sources.folders, words.clone()))
            .flatten();
        let copies = PrivateCopies::new(&options.copies);
        let seats = sources.builtins.iter().enumerate().map(|(index, builtin)| {
            let plugin = (builtin.plugin)();
            let ready = WorkerReady {
                abi: switchboard_plugin_sdk::abi::v2::ABI,
                name: plugin.name().to_owned(),
                version: plugin.version().to_owned(),
                thread_safe: true,
                described: plugin.describe().to_string(),
            };
            // What is part of the program is as sound as the program.
            let offer = PluginOffer::read(&ready).unwrap_or_default();
            let terms = options.run_options_of(builtin.name);
            Arc::new(PluginSlot::builtin(index, builtin.name, offer, terms))
        });
        let seats: Vec<_> = seats.collect();
        let info =
            Raw::from(&json!({ "name": options.name, "version": env!("CARGO_PKG_VERSION") }));
        let inner = Arc::new(Inner {
            catalog: RwLock::new(Arc::new(PluginCatalog::from_slots(&seats))),
            seats: RwLock::new(seats),
            host: Arc::new(SlotContext {
                options,
                copies,
                changes: ChangeBroadcaster::default(),
                news,
                words,
            }),
            polls: watching.is_none() && !sources.folders.is_empty(),
            folders: sources.folders,
            parked: ParkedWorkerCalls::default(),
            subscriptions: Subscriptions::default(),
            tasks: PluginTasks::default(),
            info,
            shutdown: CancellationToken::new(),
            problems: watch::Sender::default(),
        });
        tokio::spawn(catalog_task::run_catalog_task(inner.clone(), heard, said));
        Self { inner, _watching: watching }
    }

    /// Word of changes, for sessions.
    pub fn changes(&self) -> ChangeBroadcaster {
        self.inner.host.changes.clone()
    }

    /// Every plugin, in order.
    pub fn list(&self) -> Vec<PluginInfo> {
        let seats = self.inner.slots();
        let there = seats.iter().filter(|seat| seat.offer().is_some() || !seat.faults().is_empty());
        let shown = there.map(|seat| {
            let offer = seat.offer();
            PluginInfo { name: slot_name(seat), file: seat.file.clone(), offer }
        });
        shown.collect()
    }

    /// What is wrong, beside what works.
    pub fn problems(&self) -> Vec<PluginProblem> {
        self.inner.problems()
    }

    /// The same whenever it changes: a file that is broken now, a plugin that crashed. Noticed within a second or two.
    pub fn watch_problems(&self) -> watch::Receiver<Vec<PluginProblem>> {
        self.inner.problems.subscribe()
    }

    /// Ends every worker.
    pub fn shutdown(&self) {
        self.inner.shutdown.cancel();
        for seat in self.inner.slots() {
            seat.end_workers();
        }
    }
}

impl Drop for PluginServer {
    fn drop(&mut self) {
        self.shutdown();
    }
}

fn slot_name(seat: &PluginSlot) -> String {
    let name = seat.offer().map(|offer| offer.name.clone());
    let file = || {
        let name = seat.file.as_deref().and_then(Path::file_stem);
        name.unwrap_or_default().to_string_lossy().into_owned()
    };
    sanitize::sanitize_line(&name.unwrap_or_else(file)).into_owned()
}

// === impl Inner ===

impl Inner {
    fn problems(&self) -> Vec<PluginProblem> {
        let seats = self.slots();
        let faults = seats.iter().flat_map(|seat| {
            let (plugin, file) = (slot_name(seat), seat.file.clone());
            seat.faults().into_iter().map(move |fault| PluginProblem {
                plugin: plugin.clone(),
                file: file.clone(),
                what: sanitize::sanitize_line(&fault.to_string()).into_owned(),
            })
        });
        faults.chain(self.catalog().problems.iter().cloned()).collect()
    }

    /// Tells those who watch what is wrong, if it is not what they know.
    pub(crate) fn publish_problems(&self) {
        if self.problems.receiver_count() == 0 {
            return;
        }
        let problems = self.problems();
        self.problems.send_if_modified(|known| {
            let is_new = *known != problems;
            *known = problems;
            is_new
        });
    }

    pub(crate) fn catalog(&self) -> Arc<PluginCatalog> {
        self.catalog.read().clone()
    }

    pub(crate) fn slots(&self) -> Vec<Arc<PluginSlot>> {
        self.seats.read().clone()
    }

    /// The seat of a file, which may be new.
    pub(crate) fn slot_of(&self, file: &Path) -> Arc<PluginSlot> {
        let mut seats = self.seats.write();
        let known = seats.iter().find(|seat| seat.file.as_deref() == Some(file));
        if let Some(known) = known {
            return known.clone();
        }
        let terms = self.host.options.run_options_of(&files::plugin_name(file));
        let seat = Arc::new(PluginSlot::new(seats.len(), Some(file.to_owned()), terms));
        seats.push(seat.clone());
        seat
    }
}
