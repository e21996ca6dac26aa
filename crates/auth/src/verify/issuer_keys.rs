//! The signing keys of an issuer (JWKS), fetched when a token needs them. An unknown key id triggers a fetch,
//! but no more often than `MIN_FETCH_INTERVAL`.
//!
//! Used by `verify`. It does not check signatures (`verify::keys`).

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use switchboard_wire::http::HttpPoolOptions;
use switchboard_wire::sanitize;
use tokio::time::Instant;

use super::TokenRejection;
use super::keys::{JwkSet, VerifyingKey, VerifyingKeys};
use super::token::TokenHeader;
use crate::error::Error;
use crate::metadata::discover_issuer;

const DOCUMENT_NAME: &str = "the issuer's keys";
/// How long keys are cached: a withdrawn key is trusted no longer than this.
const MAX_KEYS_AGE: Duration = Duration::from_secs(10 * 60);
/// The least time between two fetches, because anyone can make tokens that name unknown keys.
const MIN_FETCH_INTERVAL: Duration = Duration::from_secs(10);

/// The cached keys of one issuer.
pub(super) struct IssuerKeys {
    issuer: String,
    network: HttpPoolOptions,
    state: Mutex<IssuerKeysState>,
    /// Serializes fetches; the next waiter finds the keys fetched.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct IssuerKeysState {
    keys: Option<Arc<VerifyingKeys>>,
    fetched: Option<Instant>,
    /// The time of the last attempt, successful or not.
    tried: Option<Instant>,
    failure: Option<String>,
}

// === impl IssuerKeys ===

impl IssuerKeys {
    pub(super) fn new(issuer: &str, network: HttpPoolOptions) -> Self {
        let (state, turn) = (Mutex::default(), tokio::sync::Mutex::default());
        Self { issuer: issuer.to_owned(), network, state, turn }
    }

    /// Returns the key that verifies a token.
    pub(super) async fn find_key(
        &self,
        head: &TokenHeader,
    ) -> Result<VerifyingKey, TokenRejection> {
        if let Some(key) = self.fresh().and_then(|keys| keys.find_key(head)) {
            return Ok(key);
        }
        let keys = self.fetch_for(head).await?;
        keys.find_key(head).ok_or(TokenRejection::UnknownKey)
    }

    fn fresh(&self) -> Option<Arc<VerifyingKeys>> {
        let state = self.state();
        state.keys.clone().filter(|_| state.fetched.is_some_and(|at| at.elapsed() < MAX_KEYS_AGE))
    }

    async fn fetch_for(&self, head: &TokenHeader) -> Result<Arc<VerifyingKeys>, TokenRejection> {
        let _turn = self.turn.lock().await;
        // A task that held the lock before may have fetched the key.
        if let Some(keys) = self.fresh().filter(|keys| keys.find_key(head).is_some()) {
            return Ok(keys);
        }
        if self.state().tried.is_none_or(|at| at.elapsed() >= MIN_FETCH_INTERVAL) {
            let fetched = self.fetch().await;
            self.state().note(fetched);
        }
        let state = self.state();
        // While the issuer is down, old keys are better than rejecting every token.
        state.keys.clone().ok_or_else(|| {
            let why = state.failure.clone().unwrap_or_default();
            TokenRejection::Unavailable { why }
        })
    }

    async fn fetch(&self) -> Result<VerifyingKeys, Error> {
        let what = "the issuer of tokens";
        let (server, fetcher) = discover_issuer(what, &self.issuer, &self.network).await?;
        let missing =
            || Error::NoKeys { issuer: sanitize::sanitize_line(&self.issuer).into_owned() };
        let place = server.jwks_uri.ok_or_else(missing)?;
        let document = fetcher.get_document::<JwkSet>(DOCUMENT_NAME, &place).await?;
        Ok(VerifyingKeys::read(document.ok_or_else(missing)?))
    }

    fn state(&self) -> MutexGuard<'_, IssuerKeysState> {
        self.state.lock()
    }
}

// === impl IssuerKeysState ===

impl IssuerKeysState {
    fn note(&mut self, fetched: Result<VerifyingKeys, Error>) {
        let now = Some(Instant::now());
        self.tried = now;
        match fetched {
            Ok(keys) => (self.keys, self.fetched, self.failure) = (Some(Arc::new(keys)), now, None),
            Err(error) => {
                let why = error.error_chain();
                tracing::warn!(error = why, "the issuer's keys cannot be had");
                self.failure = Some(why);
            }
        }
    }
}
