//! [`Sources`]: the handle on the sources of one workspace.
//!
//! Used by `workspace`. The work is done in `task`.

use std::sync::Arc;
use std::time::Duration;

use switchboard_config::{HostContext, ResolveOptions};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::DropGuard;

use super::options::SourcesOptions;
use super::snapshot::DesiredSnapshot;
use super::task::{SourcesTask, WakeSignals};

/// How long [`Sources::reload`] waits for the files.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(2);

/// The sources of one workspace, kept current until [`shutdown`](Self::shutdown) or drop.
pub struct Sources {
    snapshots: watch::Receiver<Arc<DesiredSnapshot>>,
    signals: WakeSignals,
    task: JoinHandle<()>,
    stop: DropGuard,
}

// === impl Sources ===

impl Sources {
    /// Loads the desired state, and keeps it current from then on.
    ///
    /// Never fails: each failure is a [`SourceProblem`](super::SourceProblem) of the snapshot. Waits for
    /// files, not for the network: the cached connector catalog is used until the fetch ends. Needs a tokio
    /// runtime with I/O and time.
    pub async fn start(
        surroundings: HostContext,
        asked: ResolveOptions,
        options: SourcesOptions,
    ) -> Self {
        let signals = WakeSignals::default();
        let (snapshots, task) =
            SourcesTask::start(surroundings, asked, options, signals.clone()).await;
        Self { snapshots, task, stop: signals.stop.clone().drop_guard(), signals }
    }

    /// The current snapshot.
    pub fn snapshot(&self) -> Arc<DesiredSnapshot> {
        Arc::clone(&self.snapshots.borrow())
    }

    /// A receiver of new snapshots; of several, it sees only the latest. Closed when the sources end.
    pub fn subscribe(&self) -> watch::Receiver<Arc<DesiredSnapshot>> {
        self.snapshots.clone()
    }

    /// Reads the files now. Returns when the snapshot is current, or after `RELOAD_TIMEOUT`.
    pub async fn reload(&self) {
        let mut number = 0;
        self.signals.asked.send_modify(|asked| {
            *asked += 1;
            number = *asked;
        });
        let mut looked = self.signals.looked.subscribe();
        // If the file system hangs, the last state stays.
        let _ = timeout(RELOAD_TIMEOUT, looked.wait_for(|looked| *looked >= number)).await;
    }

    /// Reads the files and fetches the connector catalog soon, without waiting for a change.
    pub fn refresh(&self) {
        self.signals.wake.notify_one();
        self.signals.refresh.notify_one();
    }

    /// Stops the sources. Returns when no task, watcher thread or helper is left.
    pub async fn shutdown(self) {
        drop(self.stop);
        // Fails only if the task panicked or the runtime ended; the task is gone either way.
        let _ = self.task.await;
    }
}
