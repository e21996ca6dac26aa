//! Sealing with one key.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::time::Instant;

use super::key::{self, Key};
use super::{Bound, CannotSeal, Kind, Refused, Seal};
use crate::problem::Problem;

/// The form of a handle.
const VERSION: u8 = 1;
/// What stands before the sealed part: version, kind, nonce.
const HEAD: usize = 2 + NONCE_LEN;
/// What the sealed part begins with: when it expires, in milliseconds since 1970.
const EXPIRY: usize = 8;

/// Seals with a key that lies in user state, or that ends with the process.
pub struct Sealer {
    key: Option<LessSafeKey>,
    clock: Clock,
}

/// The time of day, which goes on even if somebody sets it back.
struct Clock {
    then: SystemTime,
    since: Instant,
}

// === impl Sealer ===

impl Sealer {
    /// With the key that lies in `state`, made if there is none. What is wrong with it is told beside it.
    pub fn open(state: &Path) -> (Self, Vec<Problem>) {
        match key::open(state) {
            Ok(found) => (Self::with(Some(found.key)), found.notice.into_iter().collect()),
            Err(error) => (Self::fleeting(), vec![error.problem()]),
        }
    }

    /// With a key that nobody keeps: what it seals ends with the process.
    pub fn fleeting() -> Self {
        Self::with(key::random().ok())
    }

    fn with(key: Option<Key>) -> Self {
        let key = key.and_then(|key| UnboundKey::new(&CHACHA20_POLY1305, &key).ok());
        Self { key: key.map(LessSafeKey::new), clock: Clock::new() }
    }
}

impl Seal for Sealer {
    fn seal(
        &self,
        bound: &Bound<'_>,
        payload: &[u8],
        lasts: Duration,
    ) -> Result<String, CannotSeal> {
        let key = self.key.as_ref().ok_or(CannotSeal)?;
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).map_err(|_| CannotSeal)?;
        let expiry = self.clock.now().saturating_add(millis(lasts));
        let mut sealed = Vec::with_capacity(EXPIRY + payload.len() + CHACHA20_POLY1305.tag_len());
        sealed.extend(expiry.to_le_bytes());
        sealed.extend(payload);
        let aad = Aad::from(bound.bytes(VERSION));
        let nonced = Nonce::assume_unique_for_key(nonce);
        key.seal_in_place_append_tag(nonced, aad, &mut sealed).map_err(|_| CannotSeal)?;
        let mut handle = vec![VERSION, bound.kind.byte()];
        handle.extend(nonce);
        handle.extend(sealed);
        Ok(URL_SAFE_NO_PAD.encode(handle))
    }

    fn open(&self, bound: &Bound<'_>, handle: &str) -> Result<Vec<u8>, Refused> {
        let key = self.key.as_ref().ok_or(Refused::Foreign)?;
        let bytes = URL_SAFE_NO_PAD.decode(handle).map_err(|_| Refused::Foreign)?;
        let (head, sealed) = bytes.split_at_checked(HEAD).ok_or(Refused::Foreign)?;
        if head[..2] != [VERSION, bound.kind.byte()] {
            return Err(Refused::Foreign);
        }
        let nonce = Nonce::try_assume_unique_for_key(&head[2..]).map_err(|_| Refused::Foreign)?;
        let mut sealed = sealed.to_vec();
        let opened = key.open_in_place(nonce, Aad::from(bound.bytes(VERSION)), &mut sealed);
        let opened = opened.map_err(|_| Refused::Foreign)?;
        let (expiry, payload) = opened.split_first_chunk::<EXPIRY>().ok_or(Refused::Foreign)?;
        if u64::from_le_bytes(*expiry) <= self.clock.now() {
            return Err(Refused::Expired);
        }
        Ok(payload.to_vec())
    }
}

impl Kind {
    /// What a handle says it is. Only opening it tells whether that is true.
    pub fn claimed(handle: &str) -> Option<Self> {
        // Four letters are three bytes: version and kind are the first two.
        let start = URL_SAFE_NO_PAD.decode(handle.get(..4)?).ok()?;
        (start[0] == VERSION).then(|| Self::of_byte(start[1])).flatten()
    }
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sealer").finish_non_exhaustive()
    }
}

// === impl Clock ===

impl Clock {
    fn new() -> Self {
        Self { then: SystemTime::now(), since: Instant::now() }
    }

    /// Milliseconds since 1970. The later of two clocks: one stands still while the machine sleeps, the other can be
    /// set back, and neither may make a handle last longer.
    fn now(&self) -> u64 {
        let counted = self.then + self.since.elapsed();
        let told = SystemTime::now();
        counted.max(told).duration_since(UNIX_EPOCH).map_or(0, millis)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
