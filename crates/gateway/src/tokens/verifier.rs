//! The verifier of stored tokens, as a face calls it.
//!
//! Used by `serve` for its access control. It does not change tokens (`store`), apart from the time of their last
//! use.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use switchboard_core::principal::Principal;

use super::secret::{TokenDigest, TokenSecret};
use super::store::{ClientToken, TokenEntry, TokenStore, TokenStoreError};
use crate::face::{TokenDenial, TokenVerifier};

/// The age in seconds at which the recorded last use of a token is written again.
const USE_NOTE_INTERVAL_SECONDS: u64 = 60;

/// How often a token that holds a stream open is looked up. A check costs one `stat`.
const RECHECK_INTERVAL: Duration = Duration::from_millis(400);

/// Verifies tokens against the current file. If the file cannot be parsed, every token is refused.
#[derive(Debug)]
pub struct StoredTokenVerifier {
    store: TokenStore,
    known: Mutex<LoadedTokens>,
    /// Whether a write of the last use is running.
    noting: Arc<AtomicBool>,
}

/// The file's contents at the last read.
#[derive(Debug, Default)]
struct LoadedTokens {
    stamp: Option<TokenFileStamp>,
    tokens: HashMap<TokenDigest, (ClientToken, Principal)>,
}

/// The facts that differ between a file and its replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenFileStamp {
    Missing,
    Of { inode: u64, length: u64, seconds: i64, nanos: i64 },
}

// === impl StoredTokenVerifier ===

impl StoredTokenVerifier {
    /// A verifier for a store.
    pub fn new(store: TokenStore) -> Self {
        Self { store, known: Mutex::default(), noting: Arc::default() }
    }

    fn find_token(&self, secret: &str, now: u64) -> Option<(ClientToken, Principal)> {
        // Before the lock, which every request with a token takes.
        let (stamp, digest) = (file_stamp(&self.store), TokenDigest::of(secret));
        let mut known = self.lock_loaded();
        if let Err(error) = known.refresh(&self.store, stamp) {
            tracing::error!(%error, "no token is accepted: they cannot be read");
            return None;
        }
        known.tokens.get(&digest).filter(|(token, _)| token.is_good(now)).cloned()
    }

    /// Returns the description of the token with this secret, if it is valid now.
    pub fn token(&self, secret: &str) -> Option<ClientToken> {
        self.find_token(secret, seconds_now()).map(|(token, _)| token)
    }

    /// Returns the principal of the token with this id, with its present groups, if the token is valid now. `None`
    /// once it is revoked, has expired, or the file cannot be read.
    pub fn principal_of_id(&self, id: &str) -> Option<Principal> {
        let (stamp, now) = (file_stamp(&self.store), seconds_now());
        let mut known = self.lock_loaded();
        if let Err(error) = known.refresh(&self.store, stamp) {
            tracing::error!(%error, "no token is accepted: they cannot be read");
            return None;
        }
        let mut tokens = known.tokens.values();
        let (_, principal) = tokens.find(|(token, _)| token.id == id && token.is_good(now))?;
        Some(principal.clone())
    }

    /// Records the last use of a token in the background, at most once a minute.
    fn note_use(&self, token: &ClientToken, now: u64) {
        let is_noted =
            token.used.is_some_and(|used| now.saturating_sub(used) < USE_NOTE_INTERVAL_SECONDS);
        if is_noted || self.noting.swap(true, Ordering::AcqRel) {
            return;
        }
        let (store, noting, id) = (self.store.clone(), Arc::clone(&self.noting), token.id.clone());
        tokio::task::spawn_blocking(move || {
            if let Err(error) = store.note_use(&id, now) {
                tracing::warn!(%error, "when a token was used cannot be written down");
            }
            noting.store(false, Ordering::Release);
        });
    }

    fn lock_loaded(&self) -> MutexGuard<'_, LoadedTokens> {
        self.known.lock()
    }
}

impl TokenVerifier for StoredTokenVerifier {
    fn admit<'a>(
        &'a self,
        token: &'a str,
        _: &'a str,
    ) -> BoxFuture<'a, Result<Principal, TokenDenial>> {
        let now = seconds_now();
        let found = self.find_token(token, now);
        if let Some((token, _)) = &found {
            self.note_use(token, now);
        }
        let principal = found.map(|(_, principal)| principal).ok_or(TokenDenial::NotGood);
        Box::pin(std::future::ready(principal))
    }

    fn recheck_interval(&self, token: &str) -> Option<Duration> {
        TokenSecret::has_form(token).then_some(RECHECK_INTERVAL)
    }
}

// === impl LoadedTokens ===

impl LoadedTokens {
    /// Reads the file again if it was replaced, which `stamp` tells.
    fn refresh(
        &mut self,
        store: &TokenStore,
        stamp: TokenFileStamp,
    ) -> Result<(), TokenStoreError> {
        if self.stamp == Some(stamp) {
            return Ok(());
        }
        // An unreadable file leaves no tokens of the earlier read valid.
        *self = Self::default();
        let by_hash = |entry: TokenEntry| {
            let principal = entry.token.principal();
            (entry.sha256, (entry.token, principal))
        };
        self.tokens = store.load()?.tokens.into_iter().map(by_hash).collect();
        self.stamp = Some(stamp);
        Ok(())
    }
}

/// Taken before the file is read: a change in between is found at the next check.
fn file_stamp(store: &TokenStore) -> TokenFileStamp {
    match fs::metadata(store.path()) {
        Ok(facts) => TokenFileStamp::Of {
            inode: facts.ino(),
            length: facts.len(),
            seconds: facts.mtime(),
            nanos: facts.mtime_nsec(),
        },
        Err(_) => TokenFileStamp::Missing,
    }
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
