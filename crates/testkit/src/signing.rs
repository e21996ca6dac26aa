//! Signing keys of an authorization server, and the JWTs that it signs.
//!
//! Used by tests of `auth` and `cli`.

#![allow(clippy::expect_used, clippy::missing_panics_doc)] // a key that cannot be made fails its test

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

/// An ES256 key, and its published name.
pub struct SigningKey {
    name: String,
    pair: EcdsaKeyPair,
}

impl SigningKey {
    /// A new key.
    pub fn new(name: &str) -> Self {
        let (random, kind) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let der = EcdsaKeyPair::generate_pkcs8(kind, &random).expect("a key");
        let pair = EcdsaKeyPair::from_pkcs8(kind, der.as_ref(), &random).expect("the same key");
        Self { name: name.to_owned(), pair }
    }

    /// The public key as a JWK.
    pub fn jwk(&self) -> Value {
        let (x, y) = self.pair.public_key().as_ref()[1..].split_at(32);
        let [x, y] = [x, y].map(|part| URL_SAFE_NO_PAD.encode(part));
        json!({ "kty": "EC", "crv": "P-256", "kid": self.name, "x": x, "y": y })
    }

    /// Signs `claims`; `head` may claim another algorithm.
    pub fn sign(&self, head: &Value, claims: &Value) -> String {
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", encode(head), encode(claims));
        let signed = self.pair.sign(&SystemRandom::new(), text.as_bytes()).expect("a signature");
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signed))
    }

    /// An access token.
    pub fn token(&self, claims: &Value) -> String {
        self.sign(&json!({ "alg": "ES256", "kid": self.name, "typ": "at+jwt" }), claims)
    }
}
