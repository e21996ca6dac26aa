//! The task that fetches the connector catalog: at start, when the settings change, on request, and hourly.
//!
//! Used by `task`, and by `connectors::once` for one attempt.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use switchboard_config::EnvironmentVariables;
use switchboard_wire::http::{HttpPool, HttpPoolOptions, ProxySettings, ProxyVariables};
use tokio::sync::{Notify, watch};
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::cache;
use super::catalog::FetchOutcome;
use super::error::ConnectorsError;
use super::fetch::fetch;
use super::request::ConnectorRequest;
use crate::options::SourcesOptions;

/// Fetches the requested connector catalog.
pub(crate) struct ConnectorRefresher {
    pub(crate) wanted: watch::Receiver<Option<ConnectorRequest>>,
    pub(crate) outcomes: watch::Sender<FetchOutcome>,
    pub(crate) refresh: Arc<Notify>,
    pub(crate) stop: CancellationToken,
    pub(crate) options: SourcesOptions,
    pub(crate) state_dir: PathBuf,
    /// The caller's environment, for its proxy variables.
    pub(crate) env: EnvironmentVariables,
}

// === impl ConnectorRefresher ===

impl ConnectorRefresher {
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
                    Some(self.retry_delay(failures))
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
                () = sleep_or_forever(pause) => {}
            }
        }
    }

    /// Makes one attempt, cancelled when another catalog is requested.
    pub(super) async fn attempt(&mut self, wanted: &ConnectorRequest) -> FetchOutcome {
        let outcome = |result: Result<Arc<str>, ConnectorsError>| {
            let (text, error) = match result {
                Ok(text) => (Some(text), None),
                Err(error) => (None, Some(Arc::new(error))),
            };
            FetchOutcome { url: wanted.url.clone(), text, error }
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
                    // Marked as changed again, so that the loop in `run` sees the change.
                    self.wanted.mark_changed();
                    enough.cancel();
                }
            }
        };
        let mut outcome = outcome(result.map(Arc::from));
        if let Some(text) = outcome.text.clone() {
            outcome.error = self.store_copy(wanted.url.clone(), text).await.map(Arc::new);
        }
        outcome
    }

    async fn store_copy(&self, url: String, text: Arc<str>) -> Option<ConnectorsError> {
        let state_dir = self.state_dir.clone();
        let kept = spawn_blocking(move || cache::store(&state_dir, &url, &text)).await;
        match kept {
            Ok(Err((path, source))) => Some(ConnectorsError::Keep { path, source }),
            // A panic or the end of the runtime is no problem of the catalog.
            Ok(Ok(())) | Err(_) => None,
        }
    }

    /// Returns the pool, created on first use because loading certificates takes a moment.
    fn pool(&mut self) -> Result<HttpPool, ConnectorsError> {
        if let Some(pool) = &self.options.pool {
            return Ok(pool.clone());
        }
        let options = HttpPoolOptions {
            proxies: ProxySettings::Variables(ProxyVariables::from_lookup(|name| {
                self.env.get(name).cloned()
            })),
            ..HttpPoolOptions::default()
        };
        let pool = HttpPool::new(&options).map_err(|source| ConnectorsError::Http { source })?;
        self.options.pool = Some(pool.clone());
        Ok(pool)
    }

    /// The pause after `failures` consecutive failures.
    fn retry_delay(&self, failures: u32) -> Duration {
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

async fn sleep_or_forever(pause: Option<Duration>) {
    match pause {
        Some(pause) => sleep(pause).await,
        None => std::future::pending().await,
    }
}

/// A factor between 0.9 and 1.1, so that the hubs of an organisation do not all fetch at once.
fn jitter() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    let share = u32::try_from(random % 2001).map_or(0.0, f64::from) / 2000.0;
    0.9 + 0.2 * share
}
