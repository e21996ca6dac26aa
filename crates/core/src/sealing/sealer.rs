//! The sealer of one machine: AEAD encryption of handles with one key.
//!
//! Used by `engine::storage`, which opens it. It does not load or store the key (`sealing::key` does).

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::time::Instant;

use super::key::{self, SealingKey};
use super::{HandleBinding, HandleRefusal, HandleSealer, SealError};
use crate::problem::EngineProblem;

/// The first bytes of the sealed part: the expiry time in milliseconds since 1970.
const EXPIRY_BYTES: usize = 8;

/// Seals with a key from user state, or with a key that only this process has.
pub struct LocalSealer {
    key: Option<LessSafeKey>,
    clock: ExpiryClock,
}

/// The time of day, as a clock that never runs backwards.
#[derive(Debug)]
pub struct ExpiryClock {
    then: SystemTime,
    since: Instant,
}

// === impl LocalSealer ===

impl LocalSealer {
    /// Opens the sealer with the key in the folder `state`, made if there is none. Returns problems with the key
    /// file beside it.
    pub fn open(state: &Path) -> (Self, Vec<EngineProblem>) {
        match key::open_key(state) {
            Ok(found) => (Self::with(Some(found.key)), found.notice.into_iter().collect()),
            Err(error) => (Self::ephemeral(), vec![error.problem()]),
        }
    }

    /// Makes a sealer with a key in memory only: its handles become invalid when the process ends.
    pub fn ephemeral() -> Self {
        Self::with(key::random().ok())
    }

    fn with(key: Option<SealingKey>) -> Self {
        let key = key.and_then(|key| UnboundKey::new(&CHACHA20_POLY1305, &key).ok());
        Self { key: key.map(LessSafeKey::new), clock: ExpiryClock::new() }
    }
}

impl HandleSealer for LocalSealer {
    fn seal(
        &self,
        bound: &HandleBinding<'_>,
        payload: &[u8],
        lasts: Duration,
    ) -> Result<String, SealError> {
        let key = self.key.as_ref().ok_or(SealError)?;
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).map_err(|_| SealError)?;
        let expiry = self.clock.expiry(lasts);
        let mut sealed =
            Vec::with_capacity(EXPIRY_BYTES + payload.len() + CHACHA20_POLY1305.tag_len());
        sealed.extend(expiry.to_le_bytes());
        sealed.extend(payload);
        let aad = Aad::from(bound.to_bytes());
        let nonced = Nonce::assume_unique_for_key(nonce);
        key.seal_in_place_append_tag(nonced, aad, &mut sealed).map_err(|_| SealError)?;
        Ok(bound.kind.to_handle(&[&nonce[..], &sealed].concat()))
    }

    fn open(&self, bound: &HandleBinding<'_>, handle: &str) -> Result<Vec<u8>, HandleRefusal> {
        let key = self.key.as_ref().ok_or(HandleRefusal::Foreign)?;
        let bytes = bound.kind.sealed_bytes(handle).ok_or(HandleRefusal::Foreign)?;
        let (nonce, sealed) = bytes.split_at_checked(NONCE_LEN).ok_or(HandleRefusal::Foreign)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| HandleRefusal::Foreign)?;
        let mut sealed = sealed.to_vec();
        let opened = key.open_in_place(nonce, Aad::from(bound.to_bytes()), &mut sealed);
        let opened = opened.map_err(|_| HandleRefusal::Foreign)?;
        let (expiry, payload) =
            opened.split_first_chunk::<EXPIRY_BYTES>().ok_or(HandleRefusal::Foreign)?;
        if self.clock.is_over(u64::from_le_bytes(*expiry)) {
            return Err(HandleRefusal::Expired);
        }
        Ok(payload.to_vec())
    }
}

impl std::fmt::Debug for LocalSealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sealer").finish_non_exhaustive()
    }
}

// === impl ExpiryClock ===

impl Default for ExpiryClock {
    fn default() -> Self {
        Self::new()
    }
}

impl ExpiryClock {
    /// A clock that begins now.
    pub fn new() -> Self {
        Self { then: SystemTime::now(), since: Instant::now() }
    }

    /// The end of a time that begins now, in milliseconds since 1970.
    pub fn expiry(&self, lasts: Duration) -> u64 {
        self.now().saturating_add(millis(lasts))
    }

    /// Whether a time has ended.
    pub fn is_over(&self, expiry: u64) -> bool {
        expiry <= self.now()
    }

    /// Returns milliseconds since 1970, from the later of two clocks: the monotonic one stands still while the
    /// machine sleeps, the wall clock can be set back, and neither may make a handle last longer.
    fn now(&self) -> u64 {
        let counted = self.then + self.since.elapsed();
        let told = SystemTime::now();
        counted.max(told).duration_since(UNIX_EPOCH).map_or(0, millis)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
