//! Client assertions (RFC 7523): short-lived JWTs that a client signs about itself, one for each request.
//!
//! Used by `token` for `private_key_jwt` and by `grant` for the JWT bearer grant. It does not sign DPoP
//! proofs (`dpop`) and does not verify tokens (`verify`).

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::json;

use crate::error::Error;

/// How long an assertion is valid: one request, plus clock skew.
const ASSERTION_LIFETIME_SECS: u64 = 120;

/// A private key with its signing algorithm.
pub(crate) struct AssertionSigner {
    key: AssertionKey,
    random: SystemRandom,
}

enum AssertionKey {
    Es256(Box<EcdsaKeyPair>),
    Rs256(Box<RsaKeyPair>),
    EdDsa(Box<Ed25519KeyPair>),
}

// === impl AssertionSigner ===

impl AssertionSigner {
    /// Reads a private key from a file. Without an algorithm, the kind of key decides.
    pub(crate) fn from_file(path: &str, algorithm: Option<&str>) -> Result<Self, Error> {
        let pem =
            std::fs::read(path).map_err(|source| Error::File { path: path.to_owned(), source })?;
        Self::from_pem(&pem, algorithm).map_err(|why| Error::Key { path: path.to_owned(), why })
    }

    fn from_pem(pem: &[u8], algorithm: Option<&str>) -> Result<Self, &'static str> {
        let der =
            PrivateKeyDer::from_pem_slice(pem).map_err(|_| "it holds no private key in PEM")?;
        let random = SystemRandom::new();
        let bytes = der.secret_der();
        let is = |name: &str| algorithm.is_none_or(|algorithm| algorithm == name);
        let es256 = || {
            let fixed = &ECDSA_P256_SHA256_FIXED_SIGNING;
            EcdsaKeyPair::from_pkcs8(fixed, bytes, &random)
                .ok()
                .map(|key| AssertionKey::Es256(Box::new(key)))
        };
        let rs256 = || {
            let key = RsaKeyPair::from_pkcs8(bytes).or_else(|_| RsaKeyPair::from_der(bytes));
            key.ok().map(|key| AssertionKey::Rs256(Box::new(key)))
        };
        let eddsa = || {
            let key = Ed25519KeyPair::from_pkcs8_maybe_unchecked(bytes);
            key.ok().map(|key| AssertionKey::EdDsa(Box::new(key)))
        };
        let key = None
            .or_else(|| is("ES256").then(es256).flatten())
            .or_else(|| is("RS256").then(rs256).flatten())
            .or_else(|| is("EdDSA").then(eddsa).flatten());
        let why = "it is no PKCS#8 key for the algorithm; ES256, RS256 and EdDSA are understood";
        Ok(Self { key: key.ok_or(why)?, random })
    }

    /// Signs an assertion for `client`, addressed to `audience`.
    pub(crate) fn sign_client_assertion(
        &self,
        client: &str,
        audience: &str,
    ) -> Result<String, Error> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let claims = json!({
            "iss": client, "sub": client, "aud": audience,
            "iat": now, "nbf": now, "exp": now + ASSERTION_LIFETIME_SECS, "jti": random_text()?,
        });
        let header = json!({ "alg": self.algorithm(), "typ": "JWT" });
        let encode = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encode(header), encode(claims));
        let signature = self.sign(signed.as_bytes()).ok_or(Error::Random)?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    fn algorithm(&self) -> &'static str {
        match self.key {
            AssertionKey::Es256(_) => "ES256",
            AssertionKey::Rs256(_) => "RS256",
            AssertionKey::EdDsa(_) => "EdDSA",
        }
    }

    fn sign(&self, text: &[u8]) -> Option<Vec<u8>> {
        match &self.key {
            AssertionKey::Es256(key) => Some(key.sign(&self.random, text).ok()?.as_ref().to_vec()),
            AssertionKey::EdDsa(key) => Some(key.sign(text).as_ref().to_vec()),
            AssertionKey::Rs256(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &self.random, text, &mut signature).ok()?;
                Some(signature)
            }
        }
    }
}

/// Returns 256 random bits as text.
pub(crate) fn random_text() -> Result<String, Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| Error::Random)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use ring::signature::{ECDSA_P256_SHA256_FIXED, KeyPair as _, UnparsedPublicKey};

    use super::*;

    fn pem(der: &[u8]) -> String {
        let text = base64::engine::general_purpose::STANDARD.encode(der);
        format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n")
    }

    #[test]
    fn what_is_signed_can_be_verified() {
        let random = SystemRandom::new();
        let der = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let signer =
            AssertionSigner::from_pem(pem(der.as_ref()).as_bytes(), Some("ES256")).unwrap();
        let text = signer.sign_client_assertion("me", "https://as.example").unwrap();
        let (body, signature) = text.rsplit_once('.').unwrap();
        let AssertionKey::Es256(key) = &signer.key else { panic!("not ES256") };
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key.public_key().as_ref());
        public.verify(body.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
        let claims = URL_SAFE_NO_PAD.decode(body.split_once('.').unwrap().1).unwrap();
        let claims: serde_json::Value = serde_json::from_slice(&claims).unwrap();
        assert_eq!((&claims["iss"], &claims["aud"]), (&"me".into(), &"https://as.example".into()));
    }

    #[test]
    fn a_key_of_another_kind_is_refused() {
        let der = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pem = pem(der.as_ref());
        assert!(AssertionSigner::from_pem(pem.as_bytes(), None).is_ok());
        assert!(AssertionSigner::from_pem(pem.as_bytes(), Some("ES256")).is_err());
        assert!(AssertionSigner::from_pem(b"nothing", None).is_err());
    }
}
