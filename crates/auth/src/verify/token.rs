//! A parser of JWTs. It checks no signature and no claim (`verify::keys`, `verify::claims`).
//!
//! Used by `verify`.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use super::TokenRejection;
use super::claims::TokenClaims;

/// Longer than any token that HTTP servers accept in a header.
const MAX_TOKEN_BYTES: usize = 16 << 10;

/// The kinds of tokens. Each has `typ` values of its own, so that none is taken for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// An access token (RFC 9068).
    Access,
    /// An ID token of OpenID Connect.
    Id,
}

/// The accepted algorithms. `none` and shared secrets are not among them, as they prove nothing about the
/// issuer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SigningAlgorithm {
    Rs256,
    Es256,
    EdDsa,
}

/// The header fields that say how to verify the token.
#[derive(Debug)]
pub(super) struct TokenHeader {
    pub(super) algorithm: SigningAlgorithm,
    pub(super) key: Option<String>,
}

/// A parsed token.
pub(super) struct ParsedToken<'a> {
    pub(super) head: TokenHeader,
    /// The signed text.
    pub(super) signed: &'a [u8],
    payload: &'a str,
    pub(super) signature: Vec<u8>,
}

#[derive(Deserialize)]
struct RawTokenHeader {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    typ: Option<String>,
    /// Critical extensions; a token with any is rejected.
    #[serde(default)]
    crit: Option<serde_json::Value>,
}

// === impl ParsedToken ===

impl<'a> ParsedToken<'a> {
    pub(super) fn parse(text: &'a str, kind: TokenKind) -> Result<Self, TokenRejection> {
        if text.len() > MAX_TOKEN_BYTES {
            return Err(TokenRejection::Malformed);
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(TokenRejection::Malformed)?;
        let (head, payload) = signed.split_once('.').ok_or(TokenRejection::Malformed)?;
        let head: RawTokenHeader =
            serde_json::from_slice(&decode_part(head)?).map_err(|_| TokenRejection::Malformed)?;
        let signature = decode_part(signature)?;
        Ok(Self { head: head.into_header(kind)?, signed: signed.as_bytes(), payload, signature })
    }

    /// The claims, unverified. The caller has to check the signature first.
    pub(super) fn claims(&self) -> Result<TokenClaims, TokenRejection> {
        serde_json::from_slice(&decode_part(self.payload)?).map_err(|_| TokenRejection::Malformed)
    }
}

fn decode_part(part: &str) -> Result<Vec<u8>, TokenRejection> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenRejection::Malformed)
}

// === impl RawTokenHeader ===

impl RawTokenHeader {
    fn into_header(self, kind: TokenKind) -> Result<TokenHeader, TokenRejection> {
        let is_of_kind =
            |typ: &String| kind.type_names().iter().any(|known| typ.eq_ignore_ascii_case(known));
        if self.crit.is_some() || !self.typ.as_ref().is_none_or(is_of_kind) {
            return Err(TokenRejection::Kind);
        }
        let algorithm = SigningAlgorithm::from_name(&self.alg).ok_or(TokenRejection::Algorithm)?;
        Ok(TokenHeader { algorithm, key: self.kid })
    }
}

// === impl TokenKind ===

impl TokenKind {
    fn type_names(self) -> &'static [&'static str] {
        match self {
            Self::Access => &["jwt", "at+jwt", "application/at+jwt"],
            Self::Id => &["jwt"],
        }
    }
}

// === impl SigningAlgorithm ===

impl SigningAlgorithm {
    pub(super) fn from_name(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            "EdDSA" => Some(Self::EdDsa),
            _ => None,
        }
    }
}
