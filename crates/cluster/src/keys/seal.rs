//! One key: sealing with a subkey for each purpose, bound to a place.
//!
//! Used by `keys`. HKDF-SHA-256 makes the subkeys, of the purpose and the cluster's name; ChaCha20-Poly1305 seals. A
//! value says which key sealed it. It does not know the file.

use std::fmt;

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::{hkdf, hmac};

use super::file::KeySecret;
use crate::ClusterName;

/// The version of sealed values.
const VERSION: u8 = 1;
const ID_BYTES: usize = 8;
/// The bytes before the sealed part: version, key id, nonce.
const HEADER_BYTES: usize = 1 + ID_BYTES + NONCE_LEN;

/// What a value is for. A value that was sealed for one purpose opens for no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyPurpose {
    /// What a replica says of itself.
    Heartbeat,
    /// The state that a client keeps for us between two requests.
    Handle,
    /// The id of a session.
    SessionId,
    /// What has changed in a session since it began.
    SessionRecord,
    /// What a client said of itself when its session began.
    ClientDescription,
    /// A message from replica to replica.
    PeerMessage,
    /// What replicas know of a client's token.
    Token,
}

/// The name of a key, derived from it. It tells nothing about the key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeyId([u8; ID_BYTES]);

/// Why a value was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SealedValueError {
    /// The key file has no key of this id.
    #[error("it was sealed with key {0}, which the key file does not have")]
    UnknownKey(KeyId),
    /// No replica sealed it for this place, or it was changed. Authenticated encryption cannot tell these apart.
    #[error("no replica of this cluster sealed it for this place, or it was changed")]
    Foreign,
}

/// A key with its subkeys.
pub(super) struct ClusterKey {
    id: KeyId,
    subkeys: Vec<LessSafeKey>,
    digests: hmac::Key,
}

// === impl KeyPurpose ===

impl KeyPurpose {
    const ALL: [Self; 7] = [
        Self::Heartbeat,
        Self::Handle,
        Self::SessionId,
        Self::SessionRecord,
        Self::ClientDescription,
        Self::PeerMessage,
        Self::Token,
    ];

    /// The label. Part of what replicas share: it never changes.
    fn label(self) -> &'static str {
        match self {
            Self::Heartbeat => "heartbeat",
            Self::Handle => "handle",
            Self::SessionId => "session id",
            Self::SessionRecord => "session record",
            Self::ClientDescription => "client description",
            Self::PeerMessage => "peer message",
            Self::Token => "token",
        }
    }
}

// === impl ClusterKey ===

impl ClusterKey {
    /// The key of one line; `None` if the library derives nothing.
    pub(super) fn new(secret: &KeySecret, name: &ClusterName) -> Option<Self> {
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"switchboard cluster 1");
        let root = salt.extract(secret);
        let id = expand::<ID_BYTES>(&root, "key id", name)?;
        let subkey = |purpose: KeyPurpose| {
            let bytes = expand::<32>(&root, purpose.label(), name)?;
            UnboundKey::new(&CHACHA20_POLY1305, &bytes).ok().map(LessSafeKey::new)
        };
        let subkeys = KeyPurpose::ALL.into_iter().map(subkey).collect::<Option<_>>()?;
        let digests = hmac::Key::new(hmac::HMAC_SHA256, &expand::<32>(&root, "digest", name)?);
        Some(Self { id: KeyId(id), subkeys, digests })
    }

    pub(super) fn id(&self) -> KeyId {
        self.id
    }

    /// A digest of a value, which nobody without the key can compute.
    pub(super) fn digest(&self, value: &[u8]) -> hmac::Tag {
        hmac::sign(&self.digests, value)
    }

    /// Seals a value; `None` without random numbers.
    pub(super) fn seal(&self, purpose: KeyPurpose, place: &str, value: &[u8]) -> Option<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).ok()?;
        let mut sealed = value.to_vec();
        let nonced = Nonce::assume_unique_for_key(nonce);
        let aad = Aad::from(binding(place));
        self.subkey(purpose)?.seal_in_place_append_tag(nonced, aad, &mut sealed).ok()?;
        let mut whole = Vec::with_capacity(HEADER_BYTES + sealed.len());
        whole.push(VERSION);
        whole.extend(self.id.0);
        whole.extend(nonce);
        whole.extend(sealed);
        Some(whole)
    }

    pub(super) fn open(
        &self,
        purpose: KeyPurpose,
        place: &str,
        whole: &[u8],
    ) -> Result<Vec<u8>, SealedValueError> {
        let foreign = SealedValueError::Foreign;
        let (header, sealed) = whole.split_at_checked(HEADER_BYTES).ok_or(foreign)?;
        let nonce = Nonce::try_assume_unique_for_key(&header[1 + ID_BYTES..]);
        let nonce = nonce.map_err(|_| foreign)?;
        let mut sealed = sealed.to_vec();
        let key = self.subkey(purpose).ok_or(foreign)?;
        let opened = key.open_in_place(nonce, Aad::from(binding(place)), &mut sealed);
        opened.map(|opened| opened.to_vec()).map_err(|_| foreign)
    }

    fn subkey(&self, purpose: KeyPurpose) -> Option<&LessSafeKey> {
        let number = KeyPurpose::ALL.iter().position(|one| *one == purpose)?;
        self.subkeys.get(number)
    }
}

fn binding(place: &str) -> Vec<u8> {
    [&[VERSION], place.as_bytes()].concat()
}

/// The output of HKDF for a label and a cluster.
fn expand<const BYTES: usize>(
    root: &hkdf::Prk,
    label: &str,
    name: &ClusterName,
) -> Option<[u8; BYTES]> {
    let info = [label.as_bytes(), &[0], name.as_str().as_bytes()];
    let mut bytes = [0; BYTES];
    root.expand(&info, OutputBytes(BYTES)).ok()?.fill(&mut bytes).ok()?;
    Some(bytes)
}

struct OutputBytes(usize);

impl hkdf::KeyType for OutputBytes {
    fn len(&self) -> usize {
        self.0
    }
}

// === impl KeyId ===

impl KeyId {
    /// The id of the key that sealed a value, if it is a sealed value of this version.
    pub(super) fn of_sealed(whole: &[u8]) -> Option<Self> {
        let (version, rest) = whole.split_first()?;
        let (id, _) = rest.split_first_chunk()?;
        (*version == VERSION).then_some(Self(*id))
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8, name: &str) -> ClusterKey {
        ClusterKey::new(&[byte; 32], &name.parse().unwrap()).unwrap()
    }

    #[test]
    fn a_value_opens_where_it_belongs() {
        let sealed = key(1, "team").seal(KeyPurpose::Heartbeat, "a", b"text").unwrap();
        let open = |key: &ClusterKey, place: &str, sealed: &[u8]| {
            key.open(KeyPurpose::Heartbeat, place, sealed)
        };
        assert_eq!(KeyId::of_sealed(&sealed), Some(key(1, "team").id()));
        assert_eq!(open(&key(1, "team"), "a", &sealed), Ok(b"text".to_vec()));
        for (key, place) in [(key(1, "team"), "b"), (key(1, "other"), "a"), (key(2, "team"), "a")] {
            assert_eq!(open(&key, place, &sealed), Err(SealedValueError::Foreign), "{place}");
        }
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let key = key(1, "team");
        let sealed = key.seal(KeyPurpose::Heartbeat, "a", b"text").unwrap();
        for position in 1 + ID_BYTES..sealed.len() {
            let mut changed = sealed.clone();
            changed[position] ^= 1;
            assert!(key.open(KeyPurpose::Heartbeat, "a", &changed).is_err(), "{position}");
        }
        for length in 0..sealed.len() {
            assert!(key.open(KeyPurpose::Heartbeat, "a", &sealed[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn ids_differ_and_show_nothing() {
        assert_ne!(key(1, "team").id(), key(2, "team").id());
        assert_ne!(key(1, "team").id(), key(1, "other").id());
        assert_eq!(key(1, "team").id().to_string().len(), 16);
    }
}
