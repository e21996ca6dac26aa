//! All plugins together.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use serde_json::json;
use switchboard_wire::{json::Raw, sanitize, server::Changes};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::{
    catalog::Catalog,
    fault::Problem,
    files::{self, Copies},
    keeper::{self, Host},
    offer::Offer,
    options::Options,
    parked::Parked,
    seat::Seat,
    server::raw,
    subscriptions::Subscriptions,
    tasks::Tasks,
    told::Ready,
    watch::{Watching, watch as watch_folders},
    worker::Builtins,
};

/// Notifications and words that may wait for the keeper.
const QUEUE: usize = 256;

/// All plugins together: one MCP server. Ends when it is dropped or shut down.
pub struct Plugins {
    pub(crate) inner: Arc<Inner>,
    _watching: Option<Watching>,
}

/// What [`Plugins`] shares with the task that keeps it.
pub(crate) struct Inner {
    pub(crate) host: Arc<Host>,
    pub(crate) folders: Vec<PathBuf>,
    seats: RwLock<Vec<Arc<Seat>>>,
    pub(crate) catalog: RwLock<Arc<Catalog>>,
    pub(crate) parked: Parked,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) tasks: Tasks,
    /// What the server says of itself with every answer.
    pub(crate) info: Raw,
    /// Folders are looked at now and then, since they cannot be watched.
    pub(crate) polls: bool,
    pub(crate) shutdown: CancellationToken,
    /// What is wrong, as it was last published.
    problems: watch::Sender<Vec<Problem>>,
}

/// Where plugins come from.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// Those that are part of the program.
    pub builtins: Builtins,
    /// Folders with shared objects, looked through with all that is below them; or single files.
    pub folders: Vec<PathBuf>,
}

/// One plugin, for people.
#[derive(Debug, Clone)]
pub struct Shown {
    /// Its name; of one that could never be loaded, what its file is called.
    pub name: String,
    /// Its file, unless it is part of the program.
    pub file: Option<PathBuf>,
    /// What it offers, if it has ever been sound.
    pub offer: Option<Arc<Offer>>,
}

// === impl Plugins ===

impl Plugins {
    /// Finds plugins, loads them, and keeps them current. What cannot be loaded is a problem beside what can.
    pub async fn start(options: Options, sources: Sources) -> Self {
        let plugins = Self::prepare(options, sources);
        keeper::look(&plugins.inner).await;
        plugins
    }

    /// The plugins that are part of the program. Needs a runtime, and nothing is started before somebody calls.
    pub fn of_program(options: Options, builtins: Builtins) -> Self {
        Self::prepare(options, Sources { builtins, folders: Vec::new() })
    }

    fn prepare(options: Options, sources: Sources) -> Self {
        let (news, heard) = mpsc::channel(QUEUE);
        let (words, said) = mpsc::channel(QUEUE);
        let watching = (!sources.folders.is_empty())
            .then(|| watch_folders(&sources.folders, words.clone()))
            .flatten();
        let copies = Copies::new(&options.copies);
        let seats = sources.builtins.iter().enumerate().map(|(index, builtin)| {
            let plugin = (builtin.plugin)();
            let ready = Ready {
                abi: switchboard_plugin_sdk::abi::v2::ABI,
                name: plugin.name().to_owned(),
                version: plugin.version().to_owned(),
                thread_safe: true,
                described: plugin.describe().to_string(),
            };
            // What is part of the program is as sound as the program.
            let offer = Offer::read(&ready).unwrap_or_default();
            let terms = options.terms_of(builtin.name);
            Arc::new(Seat::builtin(index, builtin.name, offer, terms))
        });
        let seats: Vec<_> = seats.collect();
        let info = raw(&json!({ "name": options.name, "version": env!("CARGO_PKG_VERSION") }));
        let inner = Arc::new(Inner {
            catalog: RwLock::new(Arc::new(Catalog::of(&seats))),
            seats: RwLock::new(seats),
            host: Arc::new(Host { options, copies, changes: Changes::default(), news, words }),
            polls: watching.is_none() && !sources.folders.is_empty(),
            folders: sources.folders,
            parked: Parked::default(),
            subscriptions: Subscriptions::default(),
            tasks: Tasks::default(),
            info,
            shutdown: CancellationToken::new(),
            problems: watch::Sender::default(),
        });
        tokio::spawn(keeper::keep(inner.clone(), heard, said));
        Self { inner, _watching: watching }
    }

    /// Word of changes, for sessions.
    pub fn changes(&self) -> Changes {
        self.inner.host.changes.clone()
    }

    /// Every plugin, in order.
    pub fn shown(&self) -> Vec<Shown> {
        let seats = self.inner.seats();
        let there = seats.iter().filter(|seat| seat.offer().is_some() || !seat.faults().is_empty());
        let shown = there.map(|seat| {
            let offer = seat.offer();
            Shown { name: name_of(seat), file: seat.file.clone(), offer }
        });
        shown.collect()
    }

    /// What is wrong, beside what works.
    pub fn problems(&self) -> Vec<Problem> {
        self.inner.problems()
    }

    /// The same whenever it changes: a file that is broken now, a plugin that crashed. Noticed within a second or two.
    pub fn watch_problems(&self) -> watch::Receiver<Vec<Problem>> {
        self.inner.problems.subscribe()
    }

    /// Ends every worker.
    pub fn shutdown(&self) {
        self.inner.shutdown.cancel();
        for seat in self.inner.seats() {
            seat.end();
        }
    }
}

impl Drop for Plugins {
    fn drop(&mut self) {
        self.shutdown();
    }
}

fn name_of(seat: &Seat) -> String {
    let name = seat.offer().map(|offer| offer.name.clone());
    let file = || {
        let name = seat.file.as_deref().and_then(Path::file_stem);
        name.unwrap_or_default().to_string_lossy().into_owned()
    };
    sanitize::line(&name.unwrap_or_else(file)).into_owned()
}

// === impl Inner ===

impl Inner {
    fn problems(&self) -> Vec<Problem> {
        let seats = self.seats();
        let faults = seats.iter().flat_map(|seat| {
            let (plugin, file) = (name_of(seat), seat.file.clone());
            seat.faults().into_iter().map(move |fault| Problem {
                plugin: plugin.clone(),
                file: file.clone(),
                what: sanitize::line(&fault.to_string()).into_owned(),
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

    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.catalog.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn seats(&self) -> Vec<Arc<Seat>> {
        self.seats.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The seat of a file, which may be new.
    pub(crate) fn seat_of(&self, file: &Path) -> Arc<Seat> {
        let mut seats = self.seats.write().unwrap_or_else(PoisonError::into_inner);
        let known = seats.iter().find(|seat| seat.file.as_deref() == Some(file));
        if let Some(known) = known {
            return known.clone();
        }
        let terms = self.host.options.terms_of(&files::name(file));
        let seat = Arc::new(Seat::new(seats.len(), Some(file.to_owned()), terms));
        seats.push(seat.clone());
        seat
    }
}
