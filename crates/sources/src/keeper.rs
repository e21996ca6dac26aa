//! The task that keeps the sources current: it waits for reasons to look, and looks.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use switchboard_config::{Asked, Surroundings};
use tokio::sync::{Notify, watch};
use tokio::task::{JoinError, JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::build::{Builder, Built};
use super::connectors::{Outcome, Refresher, Wanted};
use super::options::{Options, Timing};
use super::snapshot::Snapshot;

/// How long the thread that watches may take to end. It only has to wake up.
const THREAD_END: Duration = Duration::from_secs(5);

/// What wakes the tasks from outside.
#[derive(Clone, Default)]
pub(super) struct Bells {
    /// Files may have changed.
    pub(super) wake: Arc<Notify>,
    /// The catalogue is to be fetched.
    pub(super) refresh: Arc<Notify>,
    /// Somebody wants files looked at now, and waits: counts up with each.
    pub(super) asked: watch::Sender<u64>,
    /// Which of those have been served.
    pub(super) looked: watch::Sender<u64>,
    /// Everything ends.
    pub(super) stop: CancellationToken,
}

pub(super) struct Keeper {
    builder: Arc<Mutex<Builder>>,
    snapshots: watch::Sender<Arc<Snapshot>>,
    wanted: watch::Sender<Option<Wanted>>,
    outcomes: watch::Receiver<Outcome>,
    asked: watch::Receiver<u64>,
    refresher: JoinHandle<()>,
    timing: Timing,
    bells: Bells,
}

// === impl Keeper ===

impl Keeper {
    /// Makes the first pass and sets both tasks to work.
    pub(super) async fn start(
        surroundings: Surroundings,
        asked: Asked,
        options: Options,
        bells: Bells,
    ) -> (watch::Receiver<Arc<Snapshot>>, JoinHandle<()>) {
        let timing = options.timing;
        let (state_dir, env) = (surroundings.state_dir.clone(), surroundings.env.clone());
        let builder = Builder::new(surroundings, asked, &options, Arc::clone(&bells.wake));
        let builder = Arc::new(Mutex::new(builder));
        let (first, mut built) = first(&builder).await;
        let (wanted, wants) = watch::channel(built.wanted.take());
        let (fetched, outcomes) = watch::channel(Outcome::default());
        let refresher = Refresher {
            wanted: wants,
            outcomes: fetched,
            refresh: Arc::clone(&bells.refresh),
            stop: bells.stop.clone(),
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
            asked: bells.asked.subscribe(),
            refresher: tokio::spawn(refresher.run()),
            timing,
            bells,
        };
        let pause = keeper.pause(&built);
        (subscriber, tokio::spawn(keeper.run(pause)))
    }

    async fn run(mut self, mut pause: Duration) {
        let stop = self.bells.stop.clone();
        loop {
            let is_over = tokio::select! {
                () = stop.cancelled() => true,
                () = self.reason(pause) => false,
            };
            if is_over {
                return self.end().await;
            }
            let asked = *self.asked.borrow_and_update();
            pause = self.pass().await;
            self.bells.looked.send_replace(asked);
        }
    }

    /// Waits until there is a reason to look.
    async fn reason(&mut self, pause: Duration) {
        tokio::select! {
            () = self.bells.wake.notified() => self.burst().await,
            Ok(()) = self.outcomes.changed() => {}
            Ok(()) = self.asked.changed() => {}
            () = sleep(pause) => {}
        }
    }

    /// Waits out a burst of changes.
    async fn burst(&self) {
        let end = Instant::now() + self.timing.burst;
        let more = async {
            // An elapsed time is quiet.
            while timeout(self.timing.quiet, self.bells.wake.notified()).await.is_ok() {}
        };
        let _ = timeout_at(end, more).await;
    }

    /// Looks, hands over what is new, and says when to look next though nothing happens.
    async fn pass(&mut self) -> Duration {
        let outcome = self.outcomes.borrow_and_update().clone();
        let mut built = match pass(&self.builder, outcome).await {
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
        self.pause(&built)
    }

    fn pause(&self, built: &Built) -> Duration {
        match built {
            Built { is_unfinished: true, .. } => self.timing.quiet,
            Built { is_told: false, .. } => self.timing.poll,
            Built { .. } => self.timing.look,
        }
    }

    async fn end(self) {
        // It was told too; what it waits for last is the end of a helper.
        let _ = self.refresher.await;
        let builder = self.builder;
        let closed = spawn_blocking(move || lock(&builder).close()).await;
        if let Ok(Some(ended)) = closed {
            let _ = timeout(THREAD_END, ended).await;
        }
    }
}

/// The first pass always has something to hand over.
async fn first(builder: &Arc<Mutex<Builder>>) -> (Snapshot, Built) {
    loop {
        match pass(builder, Outcome::default()).await {
            Ok(mut built) => {
                if let Some(snapshot) = built.snapshot.take() {
                    return (snapshot, built);
                }
            }
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime ends, and this with it.
                Err(_) => std::future::pending().await,
            },
        }
    }
}

async fn pass(builder: &Arc<Mutex<Builder>>, outcome: Outcome) -> Result<Built, JoinError> {
    let builder = Arc::clone(builder);
    spawn_blocking(move || lock(&builder).pass(&outcome)).await
}

fn lock(builder: &Mutex<Builder>) -> std::sync::MutexGuard<'_, Builder> {
    builder.lock().unwrap_or_else(PoisonError::into_inner)
}
