//! The file watcher: events of the operating system if it can watch, otherwise none.
//!
//! Used by `build`. It does not poll: `task` reads the files at intervals.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use notify::event::{AccessKind, AccessMode};
use notify::{
    ErrorKind, Event, EventHandler, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
};
use tokio::sync::{Notify, oneshot};

use super::plan::WatchPlan;
use crate::options::WatchMode;

/// Notifies `task` when a file of the plan may have changed.
pub(crate) struct FileWatch {
    ears: WatchBackend,
    plan: Arc<Mutex<WatchPlan>>,
}

enum WatchBackend {
    System {
        watcher: Box<dyn Watcher + Send>,
        /// Completes when the watcher's thread ends.
        ended: oneshot::Receiver<()>,
    },
    None {
        why: Option<Arc<notify::Error>>,
    },
}

/// The event handler on the watcher's thread.
struct ChangeListener {
    plan: Arc<Mutex<WatchPlan>>,
    wake: Arc<Notify>,
    _thread: oneshot::Sender<()>,
}

// === impl FileWatch ===

impl FileWatch {
    pub(crate) fn new(watching: WatchMode, wake: Arc<Notify>) -> Self {
        match watching {
            WatchMode::System => Self::with_watcher(wake, |listener| {
                check_thread()?;
                let watcher = RecommendedWatcher::new(listener, notify::Config::default())?;
                Ok(Box::new(watcher))
            }),
            WatchMode::Polling => {
                Self { ears: WatchBackend::None { why: None }, plan: Arc::default() }
            }
        }
    }

    fn with_watcher(
        wake: Arc<Notify>,
        make: impl FnOnce(ChangeListener) -> notify::Result<Box<dyn Watcher + Send>>,
    ) -> Self {
        let plan = Arc::<Mutex<WatchPlan>>::default();
        let (thread, ended) = oneshot::channel();
        let listener = ChangeListener { plan: Arc::clone(&plan), wake, _thread: thread };
        let ears = match make(listener) {
            Ok(watcher) => WatchBackend::System { watcher, ended },
            Err(error) => unavailable_backend(error),
        };
        Self { ears, plan }
    }

    /// Whether the operating system reports changes.
    pub(crate) fn has_system_watch(&self) -> bool {
        matches!(self.ears, WatchBackend::System { .. })
    }

    /// The error, if watching was requested and failed.
    pub(crate) fn problem(&self) -> Option<Arc<notify::Error>> {
        match &self.ears {
            WatchBackend::System { .. } => None,
            WatchBackend::None { why } => why.clone(),
        }
    }

    /// Watches these paths from now on. Returns false if folders or links on the way changed meanwhile: then
    /// an event may have been missed.
    pub(crate) fn follow(&mut self, paths: &BTreeSet<PathBuf>, marks: &BTreeSet<PathBuf>) -> bool {
        let plan = WatchPlan::for_paths(paths.iter(), marks.iter());
        if let Err(error) = self.listen(&plan) {
            self.ears = unavailable_backend(error);
        }
        !self.has_system_watch() || plan == WatchPlan::for_paths(paths.iter(), marks.iter())
    }

    fn listen(&mut self, plan: &WatchPlan) -> notify::Result<()> {
        let WatchBackend::System { watcher, .. } = &mut self.ears else {
            return Ok(());
        };
        let before = std::mem::replace(&mut *lock(&self.plan), plan.clone());
        for folder in before.folders().filter(|folder| !plan.listens_to(folder)) {
            // The folder may be gone, and its watch with it.
            let _ = watcher.unwatch(folder);
        }
        // All folders each time: a replaced folder needs a new watch, and for the others this is a no-op.
        plan.folders().try_for_each(|folder| watch(watcher.as_mut(), folder))
    }

    /// Stops watching. The returned receiver completes when the watcher's thread has ended.
    pub(crate) fn close(&mut self) -> Option<oneshot::Receiver<()>> {
        match std::mem::replace(&mut self.ears, WatchBackend::None { why: None }) {
            WatchBackend::System { watcher, ended } => {
                drop(watcher);
                Some(ended)
            }
            WatchBackend::None { .. } => None,
        }
    }
}

/// Checks that a thread can be started: `notify` panics if it cannot, and again later.
fn check_thread() -> notify::Result<()> {
    let started = std::thread::Builder::new().spawn(|| {});
    // The thread does nothing that could fail.
    started.map(|thread| drop(thread.join())).map_err(notify::Error::io)
}

fn unavailable_backend(error: notify::Error) -> WatchBackend {
    tracing::warn!(%error, "files cannot be watched and are looked at instead");
    WatchBackend::None { why: Some(Arc::new(error)) }
}

/// Watches a folder. A folder that is gone or not readable is no error, so that the others are watched still.
fn watch(watcher: &mut dyn Watcher, folder: &Path) -> notify::Result<()> {
    use std::io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    match watcher.watch(folder, RecursiveMode::NonRecursive) {
        Err(error) => match &error.kind {
            ErrorKind::PathNotFound => Ok(()),
            ErrorKind::Io(cause)
                if matches!(cause.kind(), NotFound | NotADirectory | PermissionDenied) =>
            {
                Ok(())
            }
            _ => Err(error),
        },
        Ok(()) => Ok(()),
    }
}

fn lock(plan: &Mutex<WatchPlan>) -> std::sync::MutexGuard<'_, WatchPlan> {
    plan.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl ChangeListener ===

impl EventHandler for ChangeListener {
    fn handle_event(&mut self, event: notify::Result<Event>) {
        // An error means that events were lost.
        if event.map_or(true, |event| self.matters(&event)) {
            self.wake.notify_one();
        }
    }
}

impl ChangeListener {
    fn matters(&self, event: &Event) -> bool {
        // Read events are reported too, above all our own.
        let is_reading = match event.kind {
            EventKind::Access(kind) => kind != AccessKind::Close(AccessMode::Write),
            _ => false,
        };
        let plan = lock(&self.plan);
        event.need_rescan() || !is_reading && event.paths.iter().any(|path| plan.concerns(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A watcher on a system without free watches.
    struct UsedUp;

    impl Watcher for UsedUp {
        fn new<F: EventHandler>(_: F, _: notify::Config) -> notify::Result<Self> {
            Err(notify::Error::new(ErrorKind::MaxFilesWatch))
        }

        fn watch(&mut self, _: &Path, _: RecursiveMode) -> notify::Result<()> {
            Err(notify::Error::new(ErrorKind::MaxFilesWatch))
        }

        fn unwatch(&mut self, _: &Path) -> notify::Result<()> {
            Ok(())
        }

        fn kind() -> notify::WatcherKind {
            notify::WatcherKind::NullWatcher
        }
    }

    fn is_exhausted(watch: &FileWatch) -> bool {
        let problem = watch.problem();
        !watch.has_system_watch()
            && problem.is_some_and(|error| matches!(error.kind, ErrorKind::MaxFilesWatch))
    }

    #[test]
    fn without_an_instance_nobody_listens() {
        let watch = FileWatch::with_watcher(Arc::default(), |listener| {
            Ok(Box::new(UsedUp::new(listener, notify::Config::default())?))
        });
        assert!(is_exhausted(&watch));
    }

    #[test]
    fn without_a_watch_nobody_listens() {
        let mut watch = FileWatch::with_watcher(Arc::default(), |_| Ok(Box::new(UsedUp)));
        assert!(watch.has_system_watch());
        let paths = [PathBuf::from("/")].into();
        assert!(watch.follow(&paths, &BTreeSet::new()));
        assert!(is_exhausted(&watch));
    }
}
