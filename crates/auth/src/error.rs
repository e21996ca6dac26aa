//! What can go wrong on the way to a token, told apart by variant.

use std::{fmt, io};

use switchboard_wire::http::HttpError;
use switchboard_wire::sanitize;
use url::form_urlencoded;

use crate::helper::HelperError;
use crate::network_zone::NetworkZone;
use crate::store::SignInStoreError;

/// Why a document cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// Not the JSON it should be.
    #[error("it is not the JSON it should be")]
    Json(#[source] serde_json::Error),
    /// Something that is no JSON at all.
    #[error("it is not JSON")]
    NotJson,
}

/// The steps of signing in through an identity provider, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityProviderStep {
    /// Who protects the server, and how.
    Server,
    /// The identity provider's description of itself.
    Provider,
    /// Signing in to the identity provider.
    SignIn,
    /// Another statement about who signed in, in place of one that has ended.
    Renewal,
    /// That statement, exchanged for a grant for the server (RFC 8693).
    Exchange,
    /// The grant, presented to the server's authorization server (RFC 7523).
    Grant,
}

/// A failure to sign in, or to stay signed in. Words of a server in it are cleaned already.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // fields: `what` is the document or request, `url` where; the rest is said below
pub enum Error {
    /// The exchange itself failed: nothing is known of the token's fate.
    #[error("cannot fetch {what}")]
    Fetch {
        what: &'static str,
        #[source]
        source: HttpError,
    },
    /// An answer with a status that says no.
    #[error("cannot fetch {what}: `{url}` answers {status}")]
    Status { what: &'static str, url: String, status: u16 },
    /// A document that cannot be used.
    #[error("cannot read {what} of `{url}`")]
    Unreadable {
        what: &'static str,
        url: String,
        #[source]
        source: DocumentError,
    },
    /// What a server names as a URL is none.
    #[error("{what} is not a URL that can be used: `{url}`")]
    NotAUrl { what: &'static str, url: String },
    /// A URL that points where its author may not send us.
    #[error("{what} points to `{url}`, which is not reached from there ({zone:?} address)")]
    Address { what: &'static str, url: String, zone: NetworkZone },
    /// A URL without TLS where there has to be some.
    #[error("{what} is `{url}`, and only https is safe there")]
    Plain { what: &'static str, url: String },
    /// The metadata describe another resource than the server.
    #[error(
        "the server at `{server}` says that it is `{said}`: its tokens could be somebody else's"
    )]
    ResourceMismatch { server: String, said: String },
    /// The resource names no authorization server.
    #[error("the server says that it is protected, but not by which authorization server")]
    NoAuthorizationServer,
    /// Nobody describes the authorization server.
    #[error("the authorization server `{issuer}` does not describe itself")]
    NoMetadata { issuer: String },
    /// The authorization server's document is of another issuer.
    #[error("the metadata of `{expected}` say that they are of `{said}`")]
    IssuerMismatch { expected: String, said: String },
    /// The authorization server cannot prove that a code is ours.
    #[error("the authorization server `{issuer}` does not offer PKCE with S256")]
    NoPkce { issuer: String },
    /// There is no way to become a client.
    #[error("the authorization server `{issuer}` registers nobody by itself")]
    NoIdentity { issuer: String },
    /// There is no page where a code could be typed.
    #[error("the server has no way to sign in with a code")]
    NoCodes,
    /// Configured credentials are of another authorization server.
    #[error(
        "the configured client was registered with `{configured}`, and the server now uses `{issuer}`"
    )]
    OtherIssuer { configured: String, issuer: String },
    /// The authorization server said no, in OAuth's words.
    #[error("{what} was refused: {error}{}", description.as_ref().map(|text| format!(" ({text})")).unwrap_or_default())]
    Refused { what: &'static str, error: String, description: Option<String> },
    /// The issuer publishes no keys.
    #[error("the issuer `{issuer}` publishes no keys")]
    NoKeys { issuer: String },
    /// A token that is not bound to our key, where it has to be.
    #[error("the authorization server `{issuer}` gave a token that is bound to no key")]
    NotBound { issuer: String },
    /// An entry that signs in through an identity provider, and no settings that name one.
    #[error("no identity provider is configured")]
    NoIdentityProvider,
    /// Nobody has signed in to the identity provider, or not any more.
    #[error("nobody is signed in to the identity provider `{issuer}`{}", why.as_ref().map(|why| format!(": {why}")).unwrap_or_default())]
    NobodyThere { issuer: String, why: Option<String> },
    /// What the identity provider says about somebody cannot be used.
    #[error("the identity provider `{issuer}` does not say who signed in: {why}")]
    NoIdentityToken { issuer: String, why: &'static str },
    /// What the identity provider gave is not what was asked for.
    #[error("a grant for the server was asked for, and `{kind}` was given")]
    NotAGrant { kind: String },
    /// The secret that a helper should have printed.
    #[error("the client's secret is not to be had")]
    ClientSecret(#[source] HelperError),
    /// One step of signing in through an identity provider.
    #[error("signing in through the identity provider failed at {leg} (`{endpoint}`)")]
    Leg {
        leg: IdentityProviderStep,
        endpoint: String,
        #[source]
        source: Box<Error>,
    },
    /// There is neither a statement to present nor a key to sign one with.
    #[error("the entry names neither `assertionFile` nor `privateKeyFile`")]
    NoAssertion,
    /// The answer to the sign-in is not the answer to ours.
    #[error("the answer to the sign-in does not belong to it: {why}")]
    Forged { why: &'static str },
    /// Nobody came back.
    #[error("nobody finished signing in within {minutes} minutes")]
    Abandoned { minutes: u64 },
    /// The sign-in ended before it told of a page to open.
    #[error("the sign-in ended before there was a page to open")]
    NoPage,
    /// The task that did the work ended with its runtime, or panicked.
    #[error("{what} was interrupted")]
    Interrupted {
        what: &'static str,
        #[source]
        source: tokio::task::JoinError,
    },
    /// The stored sign-in is gone: somebody signed out, here or in another process.
    #[error("somebody signed out")]
    SignedOut,
    /// The token has ended, and its authorization server gave no refresh token, or one that is used up.
    #[error("the token has ended, and no refresh token is stored{}", lost.as_ref().map(|why| format!(": {why}")).unwrap_or_default())]
    NoRefreshToken { lost: Option<String> },
    /// The port for the way back is not to be had.
    #[error("cannot wait for the browser on port {port}")]
    Listen {
        port: u16,
        #[source]
        source: io::Error,
    },
    /// Whoever brings people to pages could not.
    #[error("cannot open the page to sign in")]
    Visit(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The key that signs assertions does not.
    #[error("cannot sign with `{path}`: {why}")]
    Key { path: String, why: &'static str },
    /// A file that the entry names.
    #[error("cannot read `{path}`")]
    File {
        path: String,
        #[source]
        source: io::Error,
    },
    /// Tokens that were given up, and nobody who took them back.
    #[error("the authorization server was not told: {why}")]
    NotTold { why: &'static str },
    /// What is kept could not be read or written.
    #[error(transparent)]
    Store(#[from] SignInStoreError),
    /// The operating system gives no random numbers.
    #[error("the operating system gives no random numbers")]
    Random,
    /// The cryptography refuses a key, or to sign with one.
    #[error("cannot sign {what}")]
    Sign { what: &'static str },
}

// === impl Error ===

impl Error {
    /// What happened, whatever leg it happened on.
    pub fn root_cause(&self) -> &Self {
        match self {
            Self::Leg { source, .. } => source.root_cause(),
            error => error,
        }
    }

    /// As a failure of one leg.
    pub(crate) fn at_step(self, leg: IdentityProviderStep, endpoint: &str) -> Self {
        match self {
            // The first to know where it happened is right, and some are about no place at all.
            error @ (Self::Leg { .. }
            | Self::NoIdentityProvider
            | Self::NobodyThere { .. }
            | Self::ClientSecret(_)
            | Self::Store(_)) => error,
            error => {
                let endpoint = sanitize::sanitize_line(endpoint).into_owned();
                Self::Leg { leg, endpoint, source: Box::new(error) }
            }
        }
    }

    /// Whether the authorization server itself refused, with this word.
    pub fn is_refusal(&self, word: &str) -> bool {
        matches!(self.root_cause(), Self::Refused { error, .. } if error == word)
    }

    /// Whether only another sign-in helps: the authorization server said no, and meant it, or nothing is stored to ask it
    /// with. Anything else may be a network in between, down to a page of a hotel that answers in its place.
    pub fn is_final(&self) -> bool {
        let cause = self.root_cause();
        let is_ended =
            matches!(cause, Self::Refused { .. } | Self::SignedOut | Self::NoRefreshToken { .. });
        is_ended && !self.is_transient()
    }

    /// Whether another attempt may go better without anybody doing anything.
    pub fn is_transient(&self) -> bool {
        match self.root_cause() {
            Self::Fetch { .. } | Self::Store(_) => true,
            Self::Status { status, .. } => *status >= 500 || *status == 429,
            Self::Refused { error, .. } => {
                matches!(error.as_str(), "temporarily_unavailable" | "server_error" | "slow_down")
            }
            _ => false,
        }
    }

    /// The same without `secrets`, where a server repeats them.
    pub(crate) fn redact_secrets(self, secrets: &[&str]) -> Self {
        let hide = |text: String| {
            let secrets = secrets.iter().filter(|secret| !secret.is_empty());
            secrets.fold(text, |text, secret| {
                // As it is, and as it was written into the form.
                let encoded: String = form_urlencoded::byte_serialize(secret.as_bytes()).collect();
                text.replace(secret, "…").replace(&encoded, "…")
            })
        };
        match self {
            Self::Refused { what, error, description } => {
                Self::Refused { what, error: hide(error), description: description.map(hide) }
            }
            other => other,
        }
    }

    /// The whole chain of causes in one line.
    pub fn error_chain(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        text
    }
}

// === impl IdentityProviderStep ===

impl fmt::Display for IdentityProviderStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Server => "discovery of the server",
            Self::Provider => "discovery of the provider",
            Self::SignIn => "the sign-in",
            Self::Renewal => "the renewal of the id token",
            Self::Exchange => "the token exchange",
            Self::Grant => "the grant to the server's authorization server",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn errors_say_what_happened() {
        let task = tokio::spawn(std::future::pending::<()>());
        task.abort();
        let source = task.await.unwrap_err();
        let check = |error: Error, text: &str, is_final: bool| {
            assert_eq!((error.to_string().as_str(), error.is_final()), (text, is_final));
            assert!(!error.is_transient() && !error.is_refusal("invalid_grant"), "{error:?}");
        };
        let what = "the renewal of a token";
        check(Error::Interrupted { what, source }, "the renewal of a token was interrupted", false);
        check(Error::NoPage, "the sign-in ended before there was a page to open", false);
        check(Error::SignedOut, "somebody signed out", true);
        let ended = "the token has ended, and no refresh token is stored";
        check(Error::NoRefreshToken { lost: None }, ended, true);
        let lost = Some("it was revoked".to_owned());
        check(Error::NoRefreshToken { lost }, &format!("{ended}: it was revoked"), true);
        check(Error::Sign { what: "a DPoP proof" }, "cannot sign a DPoP proof", false);
        check(Error::Random, "the operating system gives no random numbers", false);
        let nobody = "nobody finished signing in within 5 minutes";
        check(Error::Abandoned { minutes: 5 }, nobody, false);
    }

    #[test]
    fn what_a_server_repeats_is_hidden() {
        let description = Some("code=a%2Fb%3D&more, a/b=".to_owned());
        let refused = Error::Refused { what: "it", error: "bad a/b=".to_owned(), description };
        let said = refused.redact_secrets(&["a/b=", ""]).error_chain();
        assert_eq!(said, "it was refused: bad … (code=…&more, …)");
    }
}
