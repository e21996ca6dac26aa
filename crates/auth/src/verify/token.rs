//! A JWT, taken apart. Nothing of it is believed here.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use super::Rejected;
use super::claims::Claims;

/// No token is longer; HTTP servers would not take it in a header.
const MAX_LENGTH: usize = 16 << 10;
/// What access tokens call themselves, where they say it (RFC 9068). Other kinds of JWT have names of their own, so that
/// none is taken for another.
const KINDS: [&str; 3] = ["jwt", "at+jwt", "application/at+jwt"];

/// The ways of signing that are accepted. `none` is none, and what is signed with a shared secret proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    Rs256,
    Es256,
    EdDsa,
}

/// What says how to verify the rest.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) algorithm: Algorithm,
    pub(super) key: Option<String>,
}

/// A token, in its parts.
pub(super) struct Token<'a> {
    pub(super) head: Head,
    /// The text that is signed.
    pub(super) signed: &'a [u8],
    payload: &'a str,
    pub(super) signature: Vec<u8>,
}

#[derive(Deserialize)]
struct Written {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    typ: Option<String>,
    /// Extensions that have to be understood; none is.
    #[serde(default)]
    crit: Option<serde_json::Value>,
}

// === impl Token ===

impl<'a> Token<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, Rejected> {
        if text.len() > MAX_LENGTH {
            return Err(Rejected::Malformed);
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(Rejected::Malformed)?;
        let (head, payload) = signed.split_once('.').ok_or(Rejected::Malformed)?;
        let head: Written =
            serde_json::from_slice(&decoded(head)?).map_err(|_| Rejected::Malformed)?;
        let signature = decoded(signature)?;
        Ok(Self { head: head.understood()?, signed: signed.as_bytes(), payload, signature })
    }

    /// What it says, for whoever has verified it.
    pub(super) fn claims(&self) -> Result<Claims, Rejected> {
        serde_json::from_slice(&decoded(self.payload)?).map_err(|_| Rejected::Malformed)
    }
}

fn decoded(part: &str) -> Result<Vec<u8>, Rejected> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| Rejected::Malformed)
}

// === impl Written ===

impl Written {
    fn understood(self) -> Result<Head, Rejected> {
        let is_access = |kind: &String| KINDS.iter().any(|known| kind.eq_ignore_ascii_case(known));
        if self.crit.is_some() || !self.typ.as_ref().is_none_or(is_access) {
            return Err(Rejected::Kind);
        }
        let algorithm = Algorithm::named(&self.alg).ok_or(Rejected::Algorithm)?;
        Ok(Head { algorithm, key: self.kid })
    }
}

// === impl Algorithm ===

impl Algorithm {
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            "EdDSA" => Some(Self::EdDsa),
            _ => None,
        }
    }
}
