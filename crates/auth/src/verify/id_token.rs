//! Verification of ID tokens (OpenID Connect): who signed in, in answer to our request.
//!
//! Used by `browser_sign_in`. It does not fetch what the issuer says about a person elsewhere (`userinfo`).

use serde_json::{Map, Value};
use switchboard_wire::http::HttpPoolOptions;

use super::claims::{ExpectedClaims, ExpectedUse, TokenClaims};
use super::issuer_keys::IssuerKeys;
use super::token::TokenKind;
use super::{CLOCK_LEEWAY, TokenRejection, VerifiedToken};
use crate::token::unix_now;

/// Verifies the ID tokens of one issuer for one client.
pub(crate) struct IdTokenVerifier {
    issuer: String,
    client: String,
    /// The claim that lists the groups of a person.
    groups_claim: String,
    keys: IssuerKeys,
}

/// The claims of a valid ID token.
pub(crate) struct VerifiedIdToken {
    claims: TokenClaims,
    nonce: String,
}

// === impl IdTokenVerifier ===

impl IdTokenVerifier {
    pub(crate) fn new(
        issuer: &str,
        client: &str,
        groups_claim: &str,
        network: HttpPoolOptions,
    ) -> Self {
        Self {
            issuer: issuer.to_owned(),
            client: client.to_owned(),
            groups_claim: groups_claim.to_owned(),
            keys: IssuerKeys::new(issuer, network),
        }
    }

    /// Verifies a token that has to answer the request with this nonce.
    pub(crate) async fn verify(
        &self,
        token: &str,
        nonce: &str,
    ) -> Result<VerifiedIdToken, TokenRejection> {
        let claims = self.keys.verified_claims(token, TokenKind::Id).await?;
        let verified = VerifiedIdToken { claims, nonce: nonce.to_owned() };
        self.person(&verified)?;
        Ok(verified)
    }

    /// Whether the token says the name and the groups of the person.
    pub(crate) fn describes_person(&self, token: &VerifiedIdToken) -> bool {
        token.claims.describes_subject(&self.groups_claim)
    }

    /// The person of a token, as an access token of the same issuer names them.
    pub(crate) fn person(&self, token: &VerifiedIdToken) -> Result<VerifiedToken, TokenRejection> {
        let expected = ExpectedClaims {
            issuer: &self.issuer,
            purpose: ExpectedUse::Identity { client: &self.client, nonce: &token.nonce },
            groups_claim: &self.groups_claim,
            now: unix_now(),
            leeway: CLOCK_LEEWAY.as_secs(),
        };
        expected.check(&token.claims)
    }
}

// === impl VerifiedIdToken ===

impl VerifiedIdToken {
    /// Adds what the issuer says elsewhere about the same person. What is said about another counts as a forgery.
    pub(crate) fn add_userinfo(&mut self, more: Map<String, Value>) -> Result<(), TokenRejection> {
        if more.get("sub").and_then(Value::as_str) != Some(self.claims.subject()) {
            return Err(TokenRejection::OtherSubject);
        }
        self.claims.add_missing(more);
        Ok(())
    }
}
