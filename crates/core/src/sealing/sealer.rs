//! The sealer of one machine: AEAD encryption of handles with one key.
//!
//! Used by `engine::storage`, which opens it. It does not load or store the key (`sealing::key` does).

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::time::Instant;

use super::key::{self, SealingKey};
use super::{HandleBinding, HandleKind, HandleRefusal, HandleSealer, SealError};
use crate::problem::EngineProblem;

/// The version of the handle format.
const HANDLE_VERSION: u8 = 1;
/// The bytes before the sealed part: version, kind, nonce.
const HEADER_BYTES: usize = 2 + NONCE_LEN;
/// The first bytes of the sealed part: the expiry time in milliseconds since 1970.
const EXPIRY_BYTES: usize = 8;

/// Seals with a key from user state, or with a key that only this process has.
pub struct LocalSealer {
    key: Option<LessSafeKey>,
    clock: ExpiryClock,
}

/// The time of day, as a clock that never runs backwards.
struct ExpiryClock {
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
        let expiry = self.clock.now().saturating_add(millis(lasts));
        let mut sealed =
            Vec::with_capacity(EXPIRY_BYTES + payload.len() + CHACHA20_POLY1305.tag_len());
        sealed.extend(expiry.to_le_bytes());
        sealed.extend(payload);
        let aad = Aad::from(bound.bytes(HANDLE_VERSION));
        let nonced = Nonce::assume_unique_for_key(nonce);
        key.seal_in_place_append_tag(nonced, aad, &mut sealed).map_err(|_| SealError)?;
        let mut handle = vec![HANDLE_VERSION, bound.kind.byte()];
        handle.extend(nonce);
        handle.extend(sealed);
        Ok(URL_SAFE_NO_PAD.encode(handle))
    }

    fn open(&self, bound: &HandleBinding<'_>, handle: &str) -> Result<Vec<u8>, HandleRefusal> {
        let key = self.key.as_ref().ok_or(HandleRefusal::Foreign)?;
        let bytes = URL_SAFE_NO_PAD.decode(handle).map_err(|_| HandleRefusal::Foreign)?;
        let (head, sealed) = bytes.split_at_checked(HEADER_BYTES).ok_or(HandleRefusal::Foreign)?;
        if head[..2] != [HANDLE_VERSION, bound.kind.byte()] {
            return Err(HandleRefusal::Foreign);
        }
        let nonce =
            Nonce::try_assume_unique_for_key(&head[2..]).map_err(|_| HandleRefusal::Foreign)?;
        let mut sealed = sealed.to_vec();
        let opened = key.open_in_place(nonce, Aad::from(bound.bytes(HANDLE_VERSION)), &mut sealed);
        let opened = opened.map_err(|_| HandleRefusal::Foreign)?;
        let (expiry, payload) =
            opened.split_first_chunk::<EXPIRY_BYTES>().ok_or(HandleRefusal::Foreign)?;
        if u64::from_le_bytes(*expiry) <= self.clock.now() {
            return Err(HandleRefusal::Expired);
        }
        Ok(payload.to_vec())
    }
}

impl HandleKind {
    /// Reads the kind that a handle claims. Only opening the handle shows whether the claim is true.
    pub fn from_handle(handle: &str) -> Option<Self> {
        // Four Base64 letters are three bytes: version and kind are the first two.
        let start = URL_SAFE_NO_PAD.decode(handle.get(..4)?).ok()?;
        (start[0] == HANDLE_VERSION).then(|| Self::from_byte(start[1])).flatten()
    }
}

impl std::fmt::Debug for LocalSealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sealer").finish_non_exhaustive()
    }
}

// === impl ExpiryClock ===

impl ExpiryClock {
    fn new() -> Self {
        Self { then: SystemTime::now(), since: Instant::now() }
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
