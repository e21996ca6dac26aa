//! The handle.

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

/// How long a look at the files may take.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(2);

/// The sources of one workspace, kept current until [`shutdown`](Self::shutdown), or until this is dropped.
pub struct Sources {
    snapshots: watch::Receiver<Arc<DesiredSnapshot>>,
    bells: WakeSignals,
    task: JoinHandle<()>,
    stop: DropGuard,
}

// === impl Sources ===

impl Sources {
    /// Loads what is desired, and keeps it current from then on.
    ///
    /// Never fails: what is wrong is a [`SourceProblem`](super::SourceProblem) of the snapshot. Waits for files, not for the
    /// network: the catalogue's last copy counts until it was fetched. Needs a tokio runtime with I/O and time.
    pub async fn start(
        surroundings: HostContext,
        asked: ResolveOptions,
        options: SourcesOptions,
    ) -> Self {
        let bells = WakeSignals::default();
        let (snapshots, task) =
            SourcesTask::start(surroundings, asked, options, bells.clone()).await;
        Self { snapshots, task, stop: bells.stop.clone().drop_guard(), bells }
    }

    /// What is desired now.
    pub fn snapshot(&self) -> Arc<DesiredSnapshot> {
        Arc::clone(&self.snapshots.borrow())
    }

    /// Tells of every new snapshot, the latest only where several came in between. Ends with the sources.
    pub fn subscribe(&self) -> watch::Receiver<Arc<DesiredSnapshot>> {
        self.snapshots.clone()
    }

    /// Looks at the files now, and returns when that is done, or takes too long: the snapshot is then of now.
    pub async fn reload(&self) {
        let mut number = 0;
        self.bells.asked.send_modify(|asked| {
            *asked += 1;
            number = *asked;
        });
        let mut looked = self.bells.looked.subscribe();
        // A file system that hangs has the last state stay.
        let _ = timeout(RELOAD_TIMEOUT, looked.wait_for(|looked| *looked >= number)).await;
    }

    /// Looks at the files and fetches the catalogue soon, without waiting for a reason.
    pub fn refresh(&self) {
        self.bells.wake.notify_one();
        self.bells.refresh.notify_one();
    }

    /// Ends everything, and returns when nothing is left: no task, no thread that watches, no helper.
    pub async fn shutdown(self) {
        drop(self.stop);
        // It fails only with the runtime, or because it panicked; it is gone either way.
        let _ = self.task.await;
    }
}
