//! The issuer's keys, fetched when they are needed. A key that nobody has heard of is asked for, but not more often than
//! strangers may make us ask.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use switchboard_wire::http::PoolOptions;
use switchboard_wire::sanitize;
use tokio::time::Instant;
use url::Url;

use super::Rejected;
use super::keys::{Document, Key, Keys};
use super::token::Head;
use crate::error::Error;
use crate::fetch::Fetcher;
use crate::metadata::{Issued, discover_server};

const WHAT: &str = "the issuer's keys";
/// How old keys become before they are looked at again: a key that was withdrawn is not believed for longer.
const FRESH: Duration = Duration::from_secs(10 * 60);
/// The least time between two fetches: tokens that name unknown keys cost nothing to make.
const PAUSE: Duration = Duration::from_secs(10);

/// The keys of one issuer.
pub(super) struct Published {
    issuer: String,
    network: PoolOptions,
    state: Mutex<State>,
    /// Fetching happens one at a time; the next in line then finds it done.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    keys: Option<Arc<Keys>>,
    fetched: Option<Instant>,
    /// When it was last tried, with whatever success.
    tried: Option<Instant>,
    failure: Option<String>,
}

// === impl Published ===

impl Published {
    pub(super) fn new(issuer: &str, network: PoolOptions) -> Self {
        let (state, turn) = (Mutex::default(), tokio::sync::Mutex::default());
        Self { issuer: issuer.to_owned(), network, state, turn }
    }

    /// The key that a token is to be verified with.
    pub(super) async fn named(&self, head: &Head) -> Result<Key, Rejected> {
        if let Some(key) = self.fresh().and_then(|keys| keys.named(head)) {
            return Ok(key);
        }
        let keys = self.fetched(head).await?;
        keys.named(head).ok_or(Rejected::UnknownKey)
    }

    fn fresh(&self) -> Option<Arc<Keys>> {
        let state = self.state();
        state.keys.clone().filter(|_| state.fetched.is_some_and(|at| at.elapsed() < FRESH))
    }

    async fn fetched(&self, head: &Head) -> Result<Arc<Keys>, Rejected> {
        let _turn = self.turn.lock().await;
        // Whoever was before us in line may have fetched what we need.
        if let Some(keys) = self.fresh().filter(|keys| keys.named(head).is_some()) {
            return Ok(keys);
        }
        if self.state().tried.is_none_or(|at| at.elapsed() >= PAUSE) {
            let fetched = self.fetch().await;
            self.state().note(fetched);
        }
        let state = self.state();
        // What was good a while ago is better than to turn everybody away.
        state.keys.clone().ok_or_else(|| {
            let why = state.failure.clone().unwrap_or_default();
            Rejected::Unavailable { why }
        })
    }

    async fn fetch(&self) -> Result<Keys, Error> {
        let what = "the issuer of tokens";
        let shown = || sanitize::line(&self.issuer).into_owned();
        let url = Url::parse(&self.issuer).map_err(|_| Error::NotAUrl { what, url: shown() })?;
        let fetcher = Fetcher::new(&[&url], None, &self.network)?;
        let server = discover_server(Issued::Named(&self.issuer), &fetcher).await?;
        let missing = || Error::NoKeys { issuer: shown() };
        let place = server.jwks_uri.ok_or_else(missing)?;
        let document = fetcher.document::<Document>(WHAT, &place).await?;
        Ok(Keys::read(document.ok_or_else(missing)?))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl State ===

impl State {
    fn note(&mut self, fetched: Result<Keys, Error>) {
        let now = Some(Instant::now());
        self.tried = now;
        match fetched {
            Ok(keys) => (self.keys, self.fetched, self.failure) = (Some(Arc::new(keys)), now, None),
            Err(error) => {
                let why = error.in_one_line();
                tracing::warn!(error = why, "the issuer's keys cannot be had");
                self.failure = Some(why);
            }
        }
    }
}
