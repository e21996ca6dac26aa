//! The other side of a sign-in: whether a token that somebody shows was given by the issuer that is trusted, for us.
//!
//! A token is believed when it is signed with a key that the issuer publishes now, by an algorithm of a short list, and
//! says that it is of that issuer, for this resource, and good at this moment. Who may do what with it is not decided
//! here.

mod claims;
mod issuer_keys;
mod keys;
mod token;

use std::time::Duration;

use switchboard_wire::http::HttpPoolOptions;

use crate::token::unix_now;
use claims::{ExpectedAudience, ExpectedClaims};
use issuer_keys::IssuerKeys;
use token::ParsedToken;

/// Clocks differ by so much.
const CLOCK_LEEWAY: Duration = Duration::from_secs(60);

/// What a resource believes.
#[derive(Clone, Debug)]
pub struct TrustedIssuer {
    /// Who gives out tokens for it.
    pub issuer: String,
    /// What tokens are good for everywhere; without any, the URL that they are shown at.
    pub audiences: Vec<String>,
    /// What a token has to allow.
    pub scopes: Vec<String>,
}

/// Verifies tokens of one issuer.
pub struct AccessTokenVerifier {
    trust: TrustedIssuer,
    keys: IssuerKeys,
}

/// Whom a token speaks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedToken {
    /// The issuer.
    pub issuer: String,
    /// Its name for them. No two people of an issuer have the same; without an issuer it means nothing.
    pub subject: String,
    /// What the token allows.
    pub scopes: Vec<String>,
    /// When it ends, in seconds since 1970.
    pub expires_at: u64,
}

/// Why a token is not believed. None of it says anything of what stands in the token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenRejection {
    /// It is no signed JWT that can be read.
    #[error("it is not a token that can be read")]
    Malformed,
    /// It is signed in a way that is not accepted, or not at all.
    #[error("it is not signed by RS256, ES256 or EdDSA")]
    Algorithm,
    /// It is a token of another kind.
    #[error("it is not an access token")]
    Kind,
    /// No key of the issuer signed it.
    #[error("the issuer does not know the key that signed it")]
    UnknownKey,
    /// The signature is somebody else's.
    #[error("its signature is wrong")]
    Signature,
    /// Somebody else gave it out.
    #[error("another issuer gave it out")]
    Issuer,
    /// It is for something else.
    #[error("it is for another resource")]
    Audience,
    /// It is over.
    #[error("it has expired")]
    Expired,
    /// It is not good yet.
    #[error("it is not good yet")]
    NotYet,
    /// It does not say whom it speaks for.
    #[error("it does not say whom it speaks for")]
    Subject,
    /// It is bound to a key, and whoever shows it did not prove to have that.
    #[error("it is bound to a key")]
    Bound,
    /// It does not allow enough.
    #[error("it does not allow enough")]
    Scope,
    /// The issuer's keys are not to be had; nothing is known of the token.
    #[error("the keys of the issuer cannot be had: {why}")]
    Unavailable {
        /// Why, in one line.
        why: String,
    },
}

// === impl Verifier ===

impl AccessTokenVerifier {
    /// For what is trusted. The issuer is asked for its keys when the first token is shown.
    pub fn new(trust: TrustedIssuer, network: HttpPoolOptions) -> Self {
        let keys = IssuerKeys::new(&trust.issuer, network);
        Self { trust, keys }
    }

    /// What is trusted.
    pub fn trusted_issuer(&self) -> &TrustedIssuer {
        &self.trust
    }

    /// Whom a token speaks for that is shown at `resource`, a URL.
    pub async fn verify(
        &self,
        token: &str,
        resource: &str,
    ) -> Result<VerifiedToken, TokenRejection> {
        let judged = self.check_token(token, resource).await;
        judged.inspect_err(|why| tracing::info!(%why, "a token is not believed"))
    }

    async fn check_token(
        &self,
        token: &str,
        resource: &str,
    ) -> Result<VerifiedToken, TokenRejection> {
        let token = ParsedToken::parse(token)?;
        let key = self.keys.find_key(&token.head).await?;
        key.verify(token.signed, &token.signature)?;
        let audience = match &*self.trust.audiences {
            [] => ExpectedAudience::Resource(resource),
            any => ExpectedAudience::Any(any),
        };
        let expected = ExpectedClaims {
            issuer: &self.trust.issuer,
            audience,
            scopes: &self.trust.scopes,
            now: unix_now(),
            leeway: CLOCK_LEEWAY.as_secs(),
        };
        expected.check(&token.claims()?)
    }
}
