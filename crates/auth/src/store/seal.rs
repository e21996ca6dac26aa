//! Sealing of records (authenticated encryption): without the key, a record can be neither read nor changed
//! unnoticed.
//!
//! Used by `store::file`. It does not keep the key (`store::key`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::key::KEY_BYTES;
use crate::secret::Secret;

/// A sealing key.
#[derive(Clone, Debug)]
pub(super) struct RecordKey(Secret<[u8; KEY_BYTES]>);

/// The JSON content of a record file.
#[derive(Serialize, Deserialize)]
pub(super) struct SealedRecord {
    version: u8,
    /// The name of the key that opens it.
    pub(super) key: String,
    nonce: String,
    text: String,
}

// === impl RecordKey ===

impl RecordKey {
    pub(super) fn new(bytes: [u8; KEY_BYTES]) -> Self {
        Self(Secret::new(bytes))
    }

    /// Creates a random key; `None` without randomness.
    pub(super) fn random() -> Option<Self> {
        let mut bytes = [0; KEY_BYTES];
        getrandom::fill(&mut bytes).ok()?;
        Some(Self::new(bytes))
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self::new)
    }

    pub(super) fn bytes(&self) -> &[u8; KEY_BYTES] {
        self.0.expose()
    }

    /// The key's name: a hash that does not reveal the key.
    pub(super) fn name(&self) -> String {
        let hash = Sha256::digest([b"switchboard key ".as_slice(), self.bytes()].concat());
        STANDARD.encode(&hash[..9])
    }

    /// Seals `text` under `label`. It opens under that label only, so a file put in another's place does not
    /// open.
    pub(super) fn seal(&self, label: &str, mut text: Vec<u8>) -> Option<SealedRecord> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).ok()?;
        let aad = Aad::from(label.as_bytes());
        let fresh = Nonce::assume_unique_for_key(nonce);
        self.aead()?.seal_in_place_append_tag(fresh, aad, &mut text).ok()?;
        let (nonce, text) = (STANDARD.encode(nonce), STANDARD.encode(text));
        Some(SealedRecord { version: 1, key: self.name(), nonce, text })
    }

    /// Opens a sealed record; `None` if the key or label differs or the text was changed.
    pub(super) fn open(&self, label: &str, sealed: &SealedRecord) -> Option<Vec<u8>> {
        let nonce: [u8; NONCE_LEN] = STANDARD.decode(&sealed.nonce).ok()?.try_into().ok()?;
        let mut text = STANDARD.decode(&sealed.text).ok()?;
        let aad = Aad::from(label.as_bytes());
        let nonce = Nonce::assume_unique_for_key(nonce);
        let open = self.aead()?.open_in_place(nonce, aad, &mut text).ok()?.len();
        text.truncate(open);
        Some(text)
    }

    fn aead(&self) -> Option<LessSafeKey> {
        Some(LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, self.bytes()).ok()?))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_with_its_key_in_its_place_unchanged() {
        let (key, other) = (RecordKey::random().unwrap(), RecordKey::random().unwrap());
        let mut sealed = key.seal("a", b"token".to_vec()).unwrap();
        assert_eq!(key.open("a", &sealed).unwrap(), b"token");
        assert!(key.open("b", &sealed).is_none());
        assert!(other.open("a", &sealed).is_none());
        assert_ne!(key.name(), other.name());
        let mut bytes = STANDARD.decode(&sealed.text).unwrap();
        bytes[0] ^= 1;
        sealed.text = STANDARD.encode(bytes);
        assert!(key.open("a", &sealed).is_none());
    }

    #[test]
    fn two_seals_of_one_text_differ() {
        let key = RecordKey::random().unwrap();
        let [a, b] = [(); 2].map(|()| key.seal("a", b"x".to_vec()).unwrap().text);
        assert_ne!(a, b);
        assert!(!format!("{key:?}").contains('['));
    }
}
