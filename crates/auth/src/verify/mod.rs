//! Verification of the tokens of a trusted issuer: access tokens that clients present, and ID tokens of people who sign
//! in.
//!
//! Used by `hub::access` for the HTTP faces, and by `browser_sign_in`. A token is accepted when it is signed with a key
//! that the issuer publishes now, by an algorithm of a short list, and names that issuer, us as audience, and a time that
//! includes now. It does not decide what the token's holder may do.

mod claims;
mod id_token;
mod issuer_keys;
mod keys;
mod token;

use std::time::Duration;

use switchboard_wire::http::HttpPoolOptions;

use crate::token::unix_now;
use claims::{ExpectedAudience, ExpectedClaims, ExpectedUse, TokenClaims};
pub(crate) use id_token::IdTokenVerifier;
use issuer_keys::IssuerKeys;
use token::{ParsedToken, TokenKind};

/// The tolerated clock skew.
const CLOCK_LEEWAY: Duration = Duration::from_secs(60);

/// The trust settings of a resource.
#[derive(Clone, Debug)]
pub struct TrustedIssuer {
    /// The issuer of accepted tokens.
    pub issuer: String,
    /// The accepted audiences; if empty, the URL at which the token is presented.
    pub audiences: Vec<String>,
    /// The scopes that a token must have.
    pub scopes: Vec<String>,
    /// The claim that lists the groups of a token's subject.
    pub groups_claim: String,
}

/// Verifies the tokens of one issuer.
pub struct AccessTokenVerifier {
    trust: TrustedIssuer,
    keys: IssuerKeys,
}

/// The content of a valid token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedToken {
    /// The issuer.
    pub issuer: String,
    /// The subject: unique among the users of one issuer, without meaning for another issuer.
    pub subject: String,
    /// The subject's display name. It is not unique.
    pub name: Option<String>,
    /// The subject's groups.
    pub groups: Vec<String>,
    /// The token's scopes.
    pub scopes: Vec<String>,
    /// When the token expires, in seconds since 1970.
    pub expires_at: u64,
}

/// Why a token is rejected. The message repeats nothing of the token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenRejection {
    /// Not a readable signed JWT.
    #[error("it is not a token that can be read")]
    Malformed,
    /// Signed by an algorithm that is not accepted, or not signed.
    #[error("it is not signed by RS256, ES256 or EdDSA")]
    Algorithm,
    /// Another type of token.
    #[error("it is a token of another kind")]
    Kind,
    /// The issuer publishes no key that fits.
    #[error("the issuer does not know the key that signed it")]
    UnknownKey,
    /// The signature is wrong.
    #[error("its signature is wrong")]
    Signature,
    /// Another issuer.
    #[error("it was issued by another issuer")]
    Issuer,
    /// Another audience.
    #[error("it is for another resource or client")]
    Audience,
    /// An ID token for another request.
    #[error("it does not answer this request")]
    Nonce,
    /// The token has expired.
    #[error("it has expired")]
    Expired,
    /// The token is not valid yet.
    #[error("it is not valid yet")]
    NotYet,
    /// The token has no valid subject.
    #[error("it has no subject")]
    Subject,
    /// The issuer describes another subject than that of the token.
    #[error("the issuer describes another person than the token")]
    OtherSubject,
    /// The list of groups is too long or not readable.
    #[error("its groups cannot be read")]
    Groups,
    /// The token is bound to a key, and proof of possession is not supported here.
    #[error("it is bound to a key")]
    Bound,
    /// A required scope is missing.
    #[error("it lacks a required scope")]
    Scope,
    /// The issuer's keys could not be fetched, so the token could not be checked.
    #[error("the keys of the issuer cannot be fetched: {why}")]
    Unavailable {
        /// The cause, in one line.
        why: String,
    },
}

// === impl AccessTokenVerifier ===

impl AccessTokenVerifier {
    /// A verifier with these trust settings. The issuer's keys are fetched for the first token.
    pub fn new(trust: TrustedIssuer, network: HttpPoolOptions) -> Self {
        let keys = IssuerKeys::new(&trust.issuer, network);
        Self { trust, keys }
    }

    /// The trust settings.
    pub fn trusted_issuer(&self) -> &TrustedIssuer {
        &self.trust
    }

    /// Verifies a token that was presented at the URL `resource`.
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
        let claims = self.keys.verified_claims(token, TokenKind::Access).await?;
        let audience = match &*self.trust.audiences {
            [] => ExpectedAudience::Resource(resource),
            any => ExpectedAudience::Any(any),
        };
        let expected = ExpectedClaims {
            issuer: &self.trust.issuer,
            purpose: ExpectedUse::Access { audience, scopes: &self.trust.scopes },
            groups_claim: &self.trust.groups_claim,
            now: unix_now(),
            leeway: CLOCK_LEEWAY.as_secs(),
        };
        expected.check(&claims)
    }
}

// === impl IssuerKeys ===

impl IssuerKeys {
    /// Checks the signature of a token, and returns its claims, which are not checked.
    async fn verified_claims(
        &self,
        token: &str,
        kind: TokenKind,
    ) -> Result<TokenClaims, TokenRejection> {
        let token = ParsedToken::parse(token, kind)?;
        let key = self.find_key(&token.head).await?;
        key.verify(token.signed, &token.signature)?;
        token.claims()
    }
}
