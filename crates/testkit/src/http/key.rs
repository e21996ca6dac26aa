//! Keys for certificates.
//!
//! Used by `tls`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{PKCS_ECDSA_P256_SHA256, PublicKeyData, SignatureAlgorithm, SigningKey};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use sha2::{Digest as _, Sha256};

/// The length of a PEM line.
const LINE: usize = 64;

/// A key on the curve P-256.
pub(super) struct Key {
    pair: EcdsaKeyPair,
    der: Vec<u8>,
}

// === impl Key ===

impl Key {
    /// A new key.
    pub(super) fn generate() -> Self {
        let (curve, random) = (&ECDSA_P256_SHA256_ASN1_SIGNING, SystemRandom::new());
        let der = EcdsaKeyPair::generate_pkcs8(curve, &random).expect("a key");
        let pair = EcdsaKeyPair::from_pkcs8(curve, der.as_ref(), &random).expect("our own key");
        Self { pair, der: der.as_ref().to_vec() }
    }

    /// The private key.
    pub(super) fn der(&self) -> &[u8] {
        &self.der
    }

    /// The private key as PEM.
    pub(super) fn pem(&self) -> String {
        let text = STANDARD.encode(&self.der);
        let lines: Vec<_> =
            text.as_bytes().chunks(LINE).map(|line| String::from_utf8_lossy(line)).collect();
        let (begin, end) = ("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----");
        format!("{begin}\n{}\n{end}\n", lines.join("\n"))
    }

    /// The key id for certificates: a positive number of at most twenty bytes.
    pub(super) fn id(&self) -> Vec<u8> {
        let mut id = Sha256::digest(self.der_bytes())[..20].to_vec();
        id[0] &= 0x7f;
        id
    }
}

impl PublicKeyData for Key {
    fn der_bytes(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &PKCS_ECDSA_P256_SHA256
    }
}

impl SigningKey for Key {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        let signed = self.pair.sign(&SystemRandom::new(), message);
        signed
            .map(|signature| signature.as_ref().to_vec())
            .map_err(|_| rcgen::Error::RemoteKeyError)
    }
}
