//! The task that fetches: at first, when the settings change, when asked to, and from time to time.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use switchboard_config::Environment;
use switchboard_wire::http::{Pool, PoolOptions, Proxies, ProxyVars};
use tokio::sync::{Notify, watch};
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::catalogue::Outcome;
use super::copy;
use super::error::Error;
use super::fetch::fetch;
use super::wanted::Wanted;
use crate::options::Options;

/// Fetches what is wanted.
pub(crate) struct Refresher {
    pub(crate) wanted: watch::Receiver<Option<Wanted>>,
    pub(crate) outcomes: watch::Sender<Outcome>,
    pub(crate) refresh: Arc<Notify>,
    pub(crate) stop: CancellationToken,
    pub(crate) options: Options,
    pub(crate) state_dir: PathBuf,
    /// The caller's, which says where proxies are.
    pub(crate) env: Environment,
}

// === impl Refresher ===

impl Refresher {
    pub(crate) async fn run(mut self) {
        let mut failures = 0;
        while !self.stop.is_cancelled() {
            let wanted = self.wanted.borrow_and_update().clone();
            let pause = match wanted {
                None => None,
                Some(wanted) => {
                    let outcome = self.attempt(&wanted).await;
                    failures = if outcome.text.is_some() { 0 } else { failures + 1 };
                    if !self.stop.is_cancelled() && !self.wanted.has_changed().unwrap_or(true) {
                        self.outcomes.send_replace(outcome);
                    }
                    Some(self.pause(failures))
                }
            };
            let stop = self.stop.clone();
            tokio::select! {
                () = stop.cancelled() => return,
                changed = self.wanted.changed() => match changed {
                    Ok(()) => failures = 0,
                    Err(_) => return,
                },
                () = self.refresh.notified() => {}
                () = passed(pause) => {}
            }
        }
    }

    /// One attempt, which ends early when something else is wanted.
    pub(super) async fn attempt(&mut self, wanted: &Wanted) -> Outcome {
        let outcome = |result: Result<Arc<str>, Error>| {
            let (text, error) = match result {
                Ok(text) => (Some(text), None),
                Err(error) => (None, Some(Arc::new(error))),
            };
            Outcome { url: wanted.url.clone(), text, error }
        };
        let pool = match self.pool() {
            Ok(pool) => pool,
            Err(error) => return outcome(Err(error)),
        };
        let enough = self.stop.child_token();
        let timing = &self.options.timing;
        let fetching = fetch(wanted, &pool, &self.options.guard, timing, &enough);
        tokio::pin!(fetching);
        let result = loop {
            tokio::select! {
                result = &mut fetching => break result,
                _ = self.wanted.changed(), if !enough.is_cancelled() => {
                    // Seen again by whoever looks next.
                    self.wanted.mark_changed();
                    enough.cancel();
                }
            }
        };
        let mut outcome = outcome(result.map(Arc::from));
        if let Some(text) = outcome.text.clone() {
            outcome.error = self.keep(wanted.url.clone(), text).await.map(Arc::new);
        }
        outcome
    }

    async fn keep(&self, url: String, text: Arc<str>) -> Option<Error> {
        let state_dir = self.state_dir.clone();
        let kept = spawn_blocking(move || copy::keep(&state_dir, &url, &text)).await;
        match kept {
            Ok(Err((path, source))) => Some(Error::Keep { path, source }),
            // It panicked or the runtime ends; neither concerns the catalogue.
            Ok(Ok(())) | Err(_) => None,
        }
    }

    /// Made when it is needed first: loading certificates takes a moment.
    fn pool(&mut self) -> Result<Pool, Error> {
        if let Some(pool) = &self.options.pool {
            return Ok(pool.clone());
        }
        let options = PoolOptions {
            proxies: Proxies::Given(ProxyVars::from_lookup(|name| self.env.get(name).cloned())),
            ..PoolOptions::default()
        };
        let pool = Pool::new(&options).map_err(|source| Error::Http { source })?;
        self.options.pool = Some(pool.clone());
        Ok(pool)
    }

    /// How long to wait after so many failures in a row.
    fn pause(&self, failures: u32) -> Duration {
        let timing = &self.options.timing;
        let pause = match failures.checked_sub(1) {
            None => timing.refresh,
            Some(again) => {
                let doubled = timing.retry.saturating_mul(2_u32.saturating_pow(again));
                doubled.min(timing.refresh)
            }
        };
        pause.mul_f64(jitter())
    }
}

async fn passed(pause: Option<Duration>) {
    match pause {
        Some(pause) => sleep(pause).await,
        None => std::future::pending().await,
    }
}

/// Between 0.9 and 1.1, so that the hubs of an organisation do not all ask at once.
fn jitter() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    let share = u32::try_from(random % 2001).map_or(0.0, f64::from) / 2000.0;
    0.9 + 0.2 * share
}
