//! Walks the whole way that a sign-in takes, changes nothing on it, and tells what each step asked, what came back and
//! what that means. The answer to "why am I signed out".

mod describe;
mod examination;
mod redact;

use std::fmt;

use crate::sign_in::SignIn;
use examination::SignInExamination;
pub use redact::redact_url;

/// A step on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignInStep {
    /// What the server says to whoever comes without a token.
    Challenge,
    /// What it says of itself.
    Resource,
    /// What its authorization server says of itself.
    AuthorizationServer,
    /// As whom we are known there.
    Client,
    /// What is asked for.
    Scopes,
    /// The token that is kept.
    Token,
    /// What the next one is had for.
    Renewal,
    /// What the sign-in is sealed with.
    Key,
}

/// What was found at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignInFinding {
    /// As it should be.
    Good,
    /// Nothing to use until somebody signs in.
    SignIn,
    /// What nobody here can change by signing in.
    Broken,
}

/// One step, looked at. No secret is in it, and words of others are clean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignInCheck {
    /// Which.
    pub step: SignInStep,
    /// How it is.
    pub finding: SignInFinding,
    /// What was asked, and where.
    pub asked: String,
    /// What came back.
    pub came: Vec<String>,
    /// What that means.
    pub means: String,
}

/// Looks at every step of signing in to a server, as far as they lead.
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

// === impl Step ===

impl SignInStep {
    /// A stable word for it.
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
            Self::Challenge => "what the server asks for",
            Self::Resource => "what the server says of itself",
            Self::AuthorizationServer => "its authorization server",
            Self::Client => "as whom",
            Self::Scopes => "for what",
            Self::Token => "the token",
            Self::Renewal => "renewing it",
            Self::Key => "what is kept",
        })
    }
}

// === impl Finding ===

impl SignInFinding {
    /// A stable word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::SignIn => "sign-in",
            Self::Broken => "broken",
        }
    }
}
