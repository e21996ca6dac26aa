//! [`PluginServer`]: all plugins together, as one MCP server.
//!
//! Used by `cli::plugins` and `switchboard plugin`. The requests are answered in `server`, the catalog is
//! kept current in `catalog_task`.

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

/// Notifications and messages that may wait for the catalog task.
const MAX_QUEUED_MESSAGES: usize = 256;

/// All plugins together as one MCP server. Ends when it is dropped or shut down.
pub struct PluginServer {
    pub(crate) inner: Arc<Inner>,
    _watching: Option<FolderWatch>,
}

/// The state that [`PluginServer`] shares with the catalog task.
pub(crate) struct Inner {
    pub(crate) host: Arc<SlotContext>,
    pub(crate) folders: Vec<PathBuf>,
    slots: RwLock<Vec<Arc<PluginSlot>>>,
    pub(crate) catalog: RwLock<Arc<PluginCatalog>>,
    pub(crate) parked: ParkedWorkerCalls,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) tasks: PluginTasks,
    /// The server info, sent with every answer.
    pub(crate) info: Raw,
    /// Whether folders are polled because they cannot be watched.
    pub(crate) polls: bool,
    pub(crate) shutdown: CancellationToken,
    /// The problems as last published.
    problems: watch::Sender<Vec<PluginProblem>>,
}

/// Where plugins come from.
#[derive(Debug, Clone, Default)]
pub struct PluginSources {
    /// The built-in plugins.
    pub builtins: BuiltinPlugins,
    /// Folders with shared objects, searched recursively; or single files.
    pub folders: Vec<PathBuf>,
}

/// One plugin, for listings.
#[derive(Debug, Clone)]
pub struct PluginInfo {
    /// The plugin's name; its file's name if it was never loaded.
    pub name: String,
    /// The plugin's file, unless it is built in.
    pub file: Option<PathBuf>,
    /// The plugin's offer, if it was ever loaded.
    pub offer: Option<Arc<PluginOffer>>,
}

// === impl PluginServer ===

impl PluginServer {
    /// Finds and loads plugins, and keeps them current. A plugin that cannot be loaded is a problem beside
    /// the others.
    pub async fn start(options: PluginHostOptions, sources: PluginSources) -> Self {
        let plugins = Self::prepare(options, sources);
        catalog_task::scan_folders(&plugins.inner).await;
        plugins
    }

    /// A server with only the built-in plugins. Needs a runtime; no worker is started before the first call.
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
        let slots = sources.builtins.iter().enumerate().map(|(index, builtin)| {
            let plugin = (builtin.plugin)();
            let ready = WorkerReady {
                abi: switchboard_plugin_sdk::abi::v2::ABI,
                name: plugin.name().to_owned(),
                version: plugin.version().to_owned(),
                thread_safe: true,
                described: plugin.describe().to_string(),
            };
            // A built-in plugin's description is as sound as the program.
            let offer = PluginOffer::read(&ready).unwrap_or_default();
            let terms = options.run_options_of(builtin.name);
            Arc::new(PluginSlot::builtin(index, builtin.name, offer, terms))
        });
        let slots: Vec<_> = slots.collect();
        let info =
            Raw::from(&json!({ "name": options.name, "version": env!("CARGO_PKG_VERSION") }));
        let inner = Arc::new(Inner {
            catalog: RwLock::new(Arc::new(PluginCatalog::from_slots(&slots))),
            slots: RwLock::new(slots),
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

    /// The broadcaster of changes, for sessions.
    pub fn changes(&self) -> ChangeBroadcaster {
        self.inner.host.changes.clone()
    }

    /// Every plugin, in order.
    pub fn list(&self) -> Vec<PluginInfo> {
        let slots = self.inner.slots();
        let there = slots.iter().filter(|slot| slot.offer().is_some() || !slot.faults().is_empty());
        let shown = there.map(|slot| {
            let offer = slot.offer();
            PluginInfo { name: slot_name(slot), file: slot.file.clone(), offer }
        });
        shown.collect()
    }

    /// The present problems.
    pub fn problems(&self) -> Vec<PluginProblem> {
        self.inner.problems()
    }

    /// The problems whenever they change: a broken file, a crashed plugin. Noticed within a second or two.
    pub fn watch_problems(&self) -> watch::Receiver<Vec<PluginProblem>> {
        self.inner.problems.subscribe()
    }

    /// Ends every worker.
    pub fn shutdown(&self) {
        self.inner.shutdown.cancel();
        for slot in self.inner.slots() {
            slot.end_workers();
        }
    }
}

impl Drop for PluginServer {
    fn drop(&mut self) {
        self.shutdown();
    }
}

fn slot_name(slot: &PluginSlot) -> String {
    let name = slot.offer().map(|offer| offer.name.clone());
    let file = || {
        let name = slot.file.as_deref().and_then(Path::file_stem);
        name.unwrap_or_default().to_string_lossy().into_owned()
    };
    sanitize::sanitize_line(&name.unwrap_or_else(file)).into_owned()
}

// === impl Inner ===

impl Inner {
    fn problems(&self) -> Vec<PluginProblem> {
        let slots = self.slots();
        let faults = slots.iter().flat_map(|slot| {
            let (plugin, file) = (slot_name(slot), slot.file.clone());
            slot.faults().into_iter().map(move |fault| PluginProblem {
                plugin: plugin.clone(),
                file: file.clone(),
                what: sanitize::sanitize_line(&fault.to_string()).into_owned(),
            })
        });
        faults.chain(self.catalog().problems.iter().cloned()).collect()
    }

    /// Publishes the problems to watchers, if they have changed.
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
        self.slots.read().clone()
    }

    /// Returns the slot of a file, which may be new.
    pub(crate) fn slot_of(&self, file: &Path) -> Arc<PluginSlot> {
        let mut slots = self.slots.write();
        let known = slots.iter().find(|slot| slot.file.as_deref() == Some(file));
        if let Some(known) = known {
            return known.clone();
        }
        let terms = self.host.options.run_options_of(&files::plugin_name(file));
        let slot = Arc::new(PluginSlot::new(slots.len(), Some(file.to_owned()), terms));
        slots.push(slot.clone());
        slot
    }
}
