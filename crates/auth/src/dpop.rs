//! Proof of possession (DPoP, RFC 9449): a key pair that a token is bound to, and a signed proof for each
//! request. A stolen DPoP token is useless without the key.
//!
//! Used by `token`, `sign_in`, `examine` and `oauth_credentials::proof`. It does not remember nonces
//! (`oauth_credentials`) and does not sign client assertions (`assertion`).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderName, HeaderValue, Method};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use url::Url;

use crate::assertion::random_text;
use crate::error::Error;
use crate::secret::Secret;
use crate::token::unix_now;

/// The request header that carries a proof.
pub(crate) const PROOF_HEADER: HeaderName = HeaderName::from_static("dpop");
/// The response header with the nonce for the next proof.
pub(crate) const NONCE_HEADER: HeaderName = HeaderName::from_static("dpop-nonce");
/// The signing algorithm of proofs; every server that takes DPoP takes this one.
pub(crate) const SIGNING_ALGORITHM: &str = "ES256";
/// The error code for a missing or old nonce.
pub(crate) const USE_NONCE_ERROR: &str = "use_dpop_nonce";

/// A key pair that signs DPoP proofs.
pub(crate) struct DpopProver {
    key: EcdsaKeyPair,
    random: SystemRandom,
    kept: Secret<String>,
    /// The JOSE header of every proof: it holds the public key and never changes.
    head: String,
}

/// The request that a proof is about.
pub(crate) struct ProofSubject<'a> {
    pub(crate) method: &'a Method,
    pub(crate) url: &'a Url,
    pub(crate) nonce: Option<&'a str>,
    /// The access token in the request, if there is one already.
    pub(crate) token: Option<&'a str>,
}

// === impl DpopProver ===

impl DpopProver {
    /// Creates a new key pair.
    pub(crate) fn new() -> Result<Self, Error> {
        let made =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        let made = made.map_err(|_| Error::Random)?;
        Self::from_secret(&Secret::new(URL_SAFE_NO_PAD.encode(made))).ok_or(Error::Random)
    }

    /// Reads a stored key pair; `None` if the text is no key.
    pub(crate) fn from_secret(kept: &Secret<String>) -> Option<Self> {
        let random = SystemRandom::new();
        let der = URL_SAFE_NO_PAD.decode(kept.expose()).ok()?;
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der, &random).ok()?;
        // An uncompressed point: one byte for the form, then x and y.
        let (x, y) = key.public_key().as_ref().get(1..)?.split_at_checked(32)?;
        let [x, y] = [x, y].map(|number| URL_SAFE_NO_PAD.encode(number));
        let jwk = json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y });
        let head = encoded(&json!({ "typ": "dpop+jwt", "alg": SIGNING_ALGORITHM, "jwk": jwk }));
        Some(Self { key, random, kept: kept.clone(), head })
    }

    /// The key pair in its stored form.
    pub(crate) fn secret(&self) -> &Secret<String> {
        &self.kept
    }

    /// Signs a proof for one request. A proof must not be sent twice.
    pub(crate) fn prove(&self, proven: &ProofSubject<'_>) -> Result<HeaderValue, Error> {
        let mut place = proven.url.clone();
        place.set_query(None);
        place.set_fragment(None);
        let mut claims = json!({
            "jti": random_text()?, "htm": proven.method.as_str(), "htu": place.as_str(), "iat": unix_now(),
        });
        if let Some(nonce) = proven.nonce {
            claims["nonce"] = nonce.into();
        }
        if let Some(token) = proven.token {
            claims["ath"] = URL_SAFE_NO_PAD.encode(Sha256::digest(token)).into();
        }
        let text = format!("{}.{}", self.head, encoded(&claims));
        let signed = self.key.sign(&self.random, text.as_bytes()).map_err(|_| Error::Random)?;
        let proof = format!("{text}.{}", URL_SAFE_NO_PAD.encode(signed));
        HeaderValue::try_from(proof).map_err(|_| Error::Random)
    }
}

fn encoded(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

/// Reads the nonce out of a proof that was sent.
pub(crate) fn read_nonce(proof: &HeaderValue) -> Option<String> {
    let claims = proof.to_str().ok()?.split('.').nth(1)?;
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
    claims["nonce"].as_str().map(str::to_owned)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::*;

    fn part(proof: &str, index: usize) -> Value {
        let part = proof.split('.').nth(index).unwrap();
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
    }

    fn verified(proof: &str) -> Value {
        let (text, signature) = proof.rsplit_once('.').unwrap();
        let head = part(proof, 0);
        assert_eq!((&head["typ"], &head["alg"]), (&"dpop+jwt".into(), &"ES256".into()));
        let mut key = vec![4];
        for name in ["x", "y"] {
            key.extend(URL_SAFE_NO_PAD.decode(head["jwk"][name].as_str().unwrap()).unwrap());
        }
        assert!(head["jwk"]["d"].is_null(), "the private half stays here");
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key);
        key.verify(text.as_bytes(), &signature).unwrap();
        part(proof, 1)
    }

    #[test]
    fn a_proof_is_about_one_request() {
        let prover = DpopProver::new().unwrap();
        let url = "https://x.example/mcp?a=b#c".parse().unwrap();
        let about = |nonce, token| ProofSubject { method: &Method::POST, url: &url, nonce, token };
        let bare = prover.prove(&about(None, None)).unwrap();
        let claims = verified(bare.to_str().unwrap());
        assert_eq!(
            (&claims["htm"], &claims["htu"]),
            (&"POST".into(), &"https://x.example/mcp".into())
        );
        assert!(claims["ath"].is_null() && claims["nonce"].is_null());
        let full = prover.prove(&about(Some("n"), Some("token"))).unwrap();
        let claims = verified(full.to_str().unwrap());
        // RFC 9449 computes `ath` in its example in this way.
        assert_eq!(claims["ath"], URL_SAFE_NO_PAD.encode(Sha256::digest("token")));
        assert_eq!((read_nonce(&bare), read_nonce(&full).as_deref()), (None, Some("n")));
        assert_ne!(part(bare.to_str().unwrap(), 1)["jti"], claims["jti"]);
    }

    #[test]
    fn a_key_that_was_kept_is_the_same_key() {
        let prover = DpopProver::new().unwrap();
        let again = DpopProver::from_secret(prover.secret()).unwrap();
        assert_eq!(prover.head, again.head);
        assert!(DpopProver::from_secret(&Secret::new("nonsense".into())).is_none());
    }
}
