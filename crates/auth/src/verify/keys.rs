//! Verification keys (JWK, RFC 7517) and signature checks. Keys of unsupported kinds are skipped: an issuer
//! may use them for something else.
//!
//! Used by `verify::issuer_keys` and `verify`.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde::Deserialize;

use super::TokenRejection;
use super::token::{SigningAlgorithm, TokenHeader};

/// More keys than any issuer has.
const MAX_KEYS: usize = 64;

/// A published set of keys.
#[derive(Debug, Deserialize)]
pub(super) struct JwkSet {
    keys: Vec<serde_json::Value>,
}

/// The usable keys with their ids.
#[derive(Clone, Debug)]
pub(super) struct VerifyingKeys(Vec<(Option<String>, VerifyingKey)>);

/// A key for one algorithm: the token's header does not choose how its key is used.
#[derive(Clone, Debug)]
pub(super) enum VerifyingKey {
    Rs256 { modulus: Vec<u8>, exponent: Vec<u8> },
    Es256(Vec<u8>),
    EdDsa(Vec<u8>),
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    alg: Option<String>,
    #[serde(default, rename = "use")]
    purpose: Option<String>,
    #[serde(default)]
    crv: Option<String>,
    #[serde(default)]
    n: Option<String>,
    #[serde(default)]
    e: Option<String>,
    #[serde(default)]
    x: Option<String>,
    #[serde(default)]
    y: Option<String>,
}

// === impl VerifyingKeys ===

impl VerifyingKeys {
    pub(super) fn read(document: JwkSet) -> Self {
        let read = |value| serde_json::from_value::<Jwk>(value).ok()?.key();
        Self(document.keys.into_iter().take(MAX_KEYS).filter_map(read).collect())
    }

    /// Returns the key that a token names. A token that names none gets the only key of its algorithm, if
    /// there is just one.
    pub(super) fn find_key(&self, head: &TokenHeader) -> Option<VerifyingKey> {
        let mut fitting = self.0.iter().filter(|(name, key)| {
            key.algorithm() == head.algorithm && (head.key.is_none() || *name == head.key)
        });
        let first = fitting.next()?;
        fitting.next().is_none().then(|| first.1.clone())
    }
}

// === impl VerifyingKey ===

impl VerifyingKey {
    fn algorithm(&self) -> SigningAlgorithm {
        match self {
            Self::Rs256 { .. } => SigningAlgorithm::Rs256,
            Self::Es256(_) => SigningAlgorithm::Es256,
            Self::EdDsa(_) => SigningAlgorithm::EdDsa,
        }
    }

    pub(super) fn verify(&self, signed: &[u8], signature: &[u8]) -> Result<(), TokenRejection> {
        let verified = match self {
            Self::Rs256 { modulus, exponent } => {
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, signed, signature)
            }
            Self::Es256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed, signature)
            }
            Self::EdDsa(point) => UnparsedPublicKey::new(&ED25519, point).verify(signed, signature),
        };
        verified.map_err(|_| TokenRejection::Signature)
    }
}

// === impl Jwk ===

impl Jwk {
    fn key(self) -> Option<(Option<String>, VerifyingKey)> {
        if self.purpose.as_deref().is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let number = |text: &Option<String>| URL_SAFE_NO_PAD.decode(text.as_deref()?).ok();
        let key = match (self.kty.as_str(), self.crv.as_deref()) {
            ("RSA", _) => {
                VerifyingKey::Rs256 { modulus: number(&self.n)?, exponent: number(&self.e)? }
            }
            ("EC", Some("P-256")) => {
                let (x, y) = (number(&self.x)?, number(&self.y)?);
                VerifyingKey::Es256([&[4], x.as_slice(), y.as_slice()].concat())
            }
            ("OKP", Some("Ed25519")) => VerifyingKey::EdDsa(number(&self.x)?),
            _ => return None,
        };
        let fits = |name: &String| SigningAlgorithm::from_name(name) == Some(key.algorithm());
        self.alg.as_ref().is_none_or(fits).then_some((self.kid, key))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::verify::token::{ParsedToken, TokenKind};

    // The examples of RFC 7515 (A.2, A.3) and RFC 8037 (A.4).
    const RSA: &str = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
    const EC: &str = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
    const ED: &str = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";

    fn published() -> Value {
        json!({ "keys": [
            { "kty": "RSA", "e": "AQAB", "n": "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ" },
            { "kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0" },
            { "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" },
            { "kty": "oct", "k": "c2VjcmV0" }, { "kty": "EC", "crv": "P-521", "x": "AA", "y": "AA" }, 7,
        ]})
    }

    fn read(document: Value) -> VerifyingKeys {
        VerifyingKeys::read(serde_json::from_value(document).unwrap())
    }

    #[test]
    fn the_examples_of_the_standards_are_verified() {
        let keys = read(published());
        assert_eq!(keys.0.len(), 3, "what is of another kind is passed over");
        for text in [RSA, EC, ED] {
            let token = ParsedToken::parse(text, TokenKind::Access).unwrap();
            let key = keys.find_key(&token.head).unwrap();
            key.verify(token.signed, &token.signature).unwrap();
            let mut forged = token.signed.to_vec();
            *forged.last_mut().unwrap() ^= 1;
            assert!(matches!(
                key.verify(&forged, &token.signature),
                Err(TokenRejection::Signature)
            ));
        }
    }

    #[test]
    fn a_key_is_used_as_its_owner_says() {
        let head =
            |algorithm, key: Option<&str>| TokenHeader { algorithm, key: key.map(str::to_owned) };
        let mut document = published();
        document["keys"][1]["kid"] = "a".into();
        document["keys"][2]["use"] = "enc".into();
        let keys = read(document);
        assert!(keys.find_key(&head(SigningAlgorithm::Es256, Some("a"))).is_some());
        assert!(keys.find_key(&head(SigningAlgorithm::Es256, Some("b"))).is_none());
        assert!(
            keys.find_key(&head(SigningAlgorithm::Rs256, Some("a"))).is_none(),
            "its key is another's"
        );
        assert!(
            keys.find_key(&head(SigningAlgorithm::EdDsa, None)).is_none(),
            "it is for something else"
        );
        // Two keys that fit count as none.
        let mut twice = published();
        twice["keys"][3] = twice["keys"][1].clone();
        assert!(read(twice).find_key(&head(SigningAlgorithm::Es256, None)).is_none());
    }
}
