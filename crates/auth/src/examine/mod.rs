//! The examination of a sign-in: follows every step of signing in, changes nothing, and reports for each step
//! the request, the answer and its meaning. It answers "why am I signed out".
//!
//! Used by `switchboard doctor auth`. It does not sign in (`sign_in`).

mod describe;
mod examination;
mod redact;

use std::fmt;

use crate::sign_in::SignIn;
use examination::SignInExamination;
pub use redact::redact_url;

/// A step of signing in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignInStep {
    /// The server's challenge to a request without a token.
    Challenge,
    /// The protected resource metadata.
    Resource,
    /// The authorization server metadata.
    AuthorizationServer,
    /// The client at the authorization server.
    Client,
    /// The scopes to request.
    Scopes,
    /// The stored access token.
    Token,
    /// The refresh token.
    Renewal,
    /// The key that the stored record is sealed with.
    Key,
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignInFinding {
    /// The step is in order.
    Good,
    /// The user has to sign in.
    SignIn,
    /// A fault that signing in does not repair.
    Broken,
}

/// The report on one step. It contains no secret, and texts of servers are sanitized.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignInCheck {
    /// The step.
    pub step: SignInStep,
    /// The result.
    pub finding: SignInFinding,
    /// The request, and its URL.
    pub request: String,
    /// The answer, line by line.
    pub response: Vec<String>,
    /// The meaning of the answer.
    pub means: String,
}

/// Examines the steps of signing in to a server, up to the first that fails.
pub async fn examine_sign_in(sign_in: &SignIn) -> Vec<SignInCheck> {
    let mut walk = SignInExamination::new(sign_in);
    let record = walk.record().await;
    if let Some(demand) = walk.challenge().await
        && let Some(found) = walk.discover(&demand, &record).await
    {
        walk.client(&found, &record);
        walk.scopes(&found, &record);
        walk.token(&found, &record).await;
        walk.renewal(&record);
    }
    walk.hops
}

// === impl SignInStep ===

impl SignInStep {
    /// A stable word for machines.
    pub fn word(self) -> &'static str {
        match self {
            Self::Challenge => "challenge",
            Self::Resource => "resource",
            Self::AuthorizationServer => "authorization-server",
            Self::Client => "client",
            Self::Scopes => "scopes",
            Self::Token => "token",
            Self::Renewal => "renewal",
            Self::Key => "key",
        }
    }
}

impl fmt::Display for SignInStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Challenge => "the challenge of the server",
            Self::Resource => "the resource metadata",
            Self::AuthorizationServer => "the authorization server",
            Self::Client => "the client registration",
            Self::Scopes => "the scopes",
            Self::Token => "the token",
            Self::Renewal => "the renewal of the token",
            Self::Key => "the stored sign-in",
        })
    }
}

// === impl SignInFinding ===

impl SignInFinding {
    /// A stable word for machines.
    pub fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::SignIn => "sign-in",
            Self::Broken => "broken",
        }
    }
}
