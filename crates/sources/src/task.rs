//! The task that keeps sources current: it waits for changes, runs the builder and publishes snapshots.
//!
//! Used by `sources`. It does not decide whether anything changed (`build`).

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use switchboard_config::{HostContext, ResolveOptions};
use tokio::sync::{Notify, watch};
use tokio::task::{JoinError, JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::build::{BuildOutcome, SnapshotBuilder};
use super::connectors::{ConnectorRefresher, ConnectorRequest, FetchOutcome};
use super::options::{SourcesOptions, SourcesTiming};
use super::snapshot::DesiredSnapshot;

/// How long the watcher's thread may take to end. It only has to wake up.
const WATCH_THREAD_END_TIMEOUT: Duration = Duration::from_secs(5);

/// The signals that wake the tasks.
#[derive(Clone, Default)]
pub(super) struct WakeSignals {
    /// Files may have changed.
    pub(super) wake: Arc<Notify>,
    /// The connector catalog should be fetched.
    pub(super) refresh: Arc<Notify>,
    /// Counts the calls of `reload`, which wait until the files are read.
    pub(super) asked: watch::Sender<u64>,
    /// The last count for which the files have been read.
    pub(super) looked: watch::Sender<u64>,
    /// Everything should end.
    pub(super) stop: CancellationToken,
}

pub(super) struct SourcesTask {
    builder: Arc<Mutex<SnapshotBuilder>>,
    snapshots: watch::Sender<Arc<DesiredSnapshot>>,
    wanted: watch::Sender<Option<ConnectorRequest>>,
    outcomes: watch::Receiver<FetchOutcome>,
    asked: watch::Receiver<u64>,
    refresher: JoinHandle<()>,
    timing: SourcesTiming,
    signals: WakeSignals,
}

// === impl SourcesTask ===

impl SourcesTask {
    /// Builds the first snapshot and starts both tasks.
    pub(super) async fn start(
        surroundings: HostContext,
        asked: ResolveOptions,
        options: SourcesOptions,
        signals: WakeSignals,
    ) -> (watch::Receiver<Arc<DesiredSnapshot>>, JoinHandle<()>) {
        let timing = options.timing;
        let (state_dir, env) = (surroundings.state_dir.clone(), surroundings.env.clone());
        let builder =
            SnapshotBuilder::new(surroundings, asked, &options, Arc::clone(&signals.wake));
        let builder = Arc::new(Mutex::new(builder));
        let (first, mut built) = first_build(&builder).await;
        let (wanted, wants) = watch::channel(built.wanted.take());
        let (fetched, outcomes) = watch::channel(FetchOutcome::default());
        let refresher = ConnectorRefresher {
            wanted: wants,
            outcomes: fetched,
            refresh: Arc::clone(&signals.refresh),
            stop: signals.stop.clone(),
            options,
            state_dir,
            env,
        };
        let (snapshots, subscriber) = watch::channel(Arc::new(first));
        let keeper = Self {
            builder,
            snapshots,
            wanted,
            outcomes,
            asked: signals.asked.subscribe(),
            refresher: tokio::spawn(refresher.run()),
            timing,
            signals,
        };
        let pause = keeper.next_pause(&built);
        (subscriber, tokio::spawn(keeper.run(pause)))
    }

    async fn run(mut self, mut pause: Duration) {
        let stop = self.signals.stop.clone();
        loop {
            let is_over = tokio::select! {
                () = stop.cancelled() => true,
                () = self.wait_for_reason(pause) => false,
            };
            if is_over {
                return self.end().await;
            }
            let asked = *self.asked.borrow_and_update();
            pause = self.build_and_publish().await;
            self.signals.looked.send_replace(asked);
        }
    }

    /// Waits for a change, a fetch, a `reload` or the polling interval.
    async fn wait_for_reason(&mut self, pause: Duration) {
        tokio::select! {
            () = self.signals.wake.notified() => self.wait_out_burst().await,
            Ok(()) = self.outcomes.changed() => {}
            Ok(()) = self.asked.changed() => {}
            () = sleep(pause) => {}
        }
    }

    /// Waits out a burst of changes.
    async fn wait_out_burst(&self) {
        let end = Instant::now() + self.timing.burst;
        let more = async {
            // A timeout means that it is quiet.
            while timeout(self.timing.quiet, self.signals.wake.notified()).await.is_ok() {}
        };
        let _ = timeout_at(end, more).await;
    }

    /// Runs the builder, publishes a new snapshot, and returns the pause until the next poll.
    async fn build_and_publish(&mut self) -> Duration {
        let outcome = self.outcomes.borrow_and_update().clone();
        let mut built = match run_build(&self.builder, outcome).await {
            Ok(built) => built,
            Err(error) => {
                tracing::error!(%error, "the configuration could not be read; the last state stays");
                return self.timing.look;
            }
        };
        if let Some(snapshot) = built.snapshot.take() {
            tracing::debug!(generation = snapshot.generation, "the configuration changed");
            self.snapshots.send_replace(Arc::new(snapshot));
        }
        let wanted = built.wanted.take();
        self.wanted.send_if_modified(|before| {
            let is_new = *before != wanted;
            *before = wanted;
            is_new
        });
        self.next_pause(&built)
    }

    fn next_pause(&self, built: &BuildOutcome) -> Duration {
        match built {
            BuildOutcome { is_unfinished: true, .. } => self.timing.quiet,
            BuildOutcome { is_told: false, .. } => self.timing.poll,
            BuildOutcome { .. } => self.timing.look,
        }
    }

    async fn end(self) {
        // `stop` ends the refresher too; the last thing it waits for is the end of a helper.
        let _ = self.refresher.await;
        let builder = self.builder;
        let closed = spawn_blocking(move || builder.lock().close()).await;
        if let Ok(Some(ended)) = closed {
            let _ = timeout(WATCH_THREAD_END_TIMEOUT, ended).await;
        }
    }
}

/// Runs the first build, which always yields a snapshot.
async fn first_build(builder: &Arc<Mutex<SnapshotBuilder>>) -> (DesiredSnapshot, BuildOutcome) {
    loop {
        match run_build(builder, FetchOutcome::default()).await {
            Ok(mut built) => {
                if let Some(snapshot) = built.snapshot.take() {
                    return (snapshot, built);
                }
            }
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime is ending, and this task with it.
                Err(_) => std::future::pending().await,
            },
        }
    }
}

async fn run_build(
    builder: &Arc<Mutex<SnapshotBuilder>>,
    outcome: FetchOutcome,
) -> Result<BuildOutcome, JoinError> {
    let builder = Arc::clone(builder);
    spawn_blocking(move || builder.lock().build_next(&outcome)).await
}
