//! The errors of signing in, one variant for each cause.
//!
//! Used by every module of this crate and by the commands `login`, `logout` and `xaa`. Variants distinguish final
//! refusals ([`Error::is_final`]) from failures that a retry may heal ([`Error::is_transient`]).

use std::{fmt, io};

use switchboard_wire::http::HttpError;
use switchboard_wire::sanitize;
use url::form_urlencoded;

use crate::helper::HelperError;
use crate::network_zone::NetworkZone;
use crate::store::SignInStoreError;
use crate::verify::TokenRejection;

/// Why a fetched document cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The JSON does not have the expected form.
    #[error("it is not the JSON it should be")]
    Json(#[source] serde_json::Error),
    /// The body is not JSON.
    #[error("it is not JSON")]
    NotJson,
}

/// The steps of signing in through an identity provider, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityProviderStep {
    /// Discovering the server's authorization server.
    Server,
    /// Fetching the identity provider's metadata.
    Provider,
    /// Signing in to the identity provider.
    SignIn,
    /// Renewing an expired ID token.
    Renewal,
    /// Exchanging the ID token for a grant for the server (RFC 8693).
    Exchange,
    /// Presenting the grant to the server's authorization server (RFC 7523).
    Grant,
}

/// A failure to sign in or to stay signed in. Texts of servers in it are sanitized already.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // fields: `what` is the document or request, `url` its URL; the rest is said below
pub enum Error {
    /// The HTTP exchange failed: whether the server issued a token is unknown.
    #[error("cannot fetch {what}")]
    Fetch {
        what: &'static str,
        #[source]
        source: HttpError,
    },
    /// A response with a status that is no success.
    #[error("cannot fetch {what}: `{url}` answers {status}")]
    Status { what: &'static str, url: String, status: u16 },
    /// A document that cannot be read.
    #[error("cannot read {what} of `{url}`")]
    Unreadable {
        what: &'static str,
        url: String,
        #[source]
        source: DocumentError,
    },
    /// A server names a URL that does not parse.
    #[error("{what} is not a URL that can be used: `{url}`")]
    NotAUrl { what: &'static str, url: String },
    /// A server names a URL in a network zone that it may not name.
    #[error("{what} points to `{url}`, which is not reached from there ({zone:?} address)")]
    Address { what: &'static str, url: String, zone: NetworkZone },
    /// A URL without TLS where TLS is required.
    #[error("{what} is `{url}`, and only https is safe there")]
    InsecureUrl { what: &'static str, url: String },
    /// The metadata describe another resource than the server.
    #[error(
        "the server at `{server}` says that it is `{said}`: its tokens could be meant for another server"
    )]
    ResourceMismatch { server: String, said: String },
    /// The resource metadata name no authorization server.
    #[error("the server requires a sign-in, but does not name its authorization server")]
    NoAuthorizationServer,
    /// No metadata document of the authorization server was found.
    #[error("the authorization server `{issuer}` publishes no metadata")]
    NoMetadata { issuer: String },
    /// The metadata document names another issuer.
    #[error("the metadata of `{expected}` say that they are of `{said}`")]
    IssuerMismatch { expected: String, said: String },
    /// The authorization server does not support PKCE.
    #[error("the authorization server `{issuer}` does not offer PKCE with S256")]
    NoPkce { issuer: String },
    /// No client is configured, and the authorization server registers none.
    #[error("the authorization server `{issuer}` does not register clients automatically")]
    NoIdentity { issuer: String },
    /// The authorization server has no device authorization endpoint.
    #[error("the server does not support signing in with a code")]
    NoCodes,
    /// The configured client belongs to another authorization server.
    #[error(
        "the configured client was registered with `{configured}`, and the server now uses `{issuer}`"
    )]
    OtherIssuer { configured: String, issuer: String },
    /// The authorization server refused with an OAuth error code.
    #[error("{what} was refused: {error}{}", description.as_ref().map(|text| format!(" ({text})")).unwrap_or_default())]
    Refused { what: &'static str, error: String, description: Option<String> },
    /// The issuer publishes no signing keys.
    #[error("the issuer `{issuer}` publishes no keys")]
    NoKeys { issuer: String },
    /// The issued token is not bound to our DPoP key although it must be.
    #[error("the authorization server `{issuer}` issued a token that is not bound to a key")]
    NotBound { issuer: String },
    /// The entry signs in through an identity provider, but the settings name none.
    #[error("no identity provider is configured")]
    NoIdentityProvider,
    /// The user is not, or no longer, signed in to the identity provider.
    #[error("you are not signed in to the identity provider `{issuer}`{}", why.as_ref().map(|why| format!(": {why}")).unwrap_or_default())]
    NotSignedIn { issuer: String, why: Option<String> },
    /// The identity provider's ID token cannot be used.
    #[error("the identity provider `{issuer}` does not say who signed in: {why}")]
    NoIdentityToken { issuer: String, why: &'static str },
    /// The ID token of a browser's sign-in is not good.
    #[error("the id token of the issuer is not good")]
    IdToken(#[from] TokenRejection),
    /// The token exchange returned another type of token than the requested grant.
    #[error("the identity provider issued `{kind}` instead of a grant for the server")]
    NotAGrant { kind: String },
    /// The helper for the client secret failed.
    #[error("the client secret cannot be read")]
    ClientSecret(#[source] HelperError),
    /// A failure at one step of signing in through an identity provider.
    #[error("signing in through the identity provider failed at {step} (`{endpoint}`)")]
    AtStep {
        step: IdentityProviderStep,
        endpoint: String,
        #[source]
        source: Box<Error>,
    },
    /// The entry has neither an assertion file nor a private key to sign an assertion with.
    #[error("the entry names neither `assertionFile` nor `privateKeyFile`")]
    NoAssertion,
    /// The authorization response does not belong to our request.
    #[error("the response does not belong to this sign-in: {why}")]
    Forged { why: &'static str },
    /// The user did not come back from the sign-in page in time.
    #[error("the sign-in was not completed within {minutes} minutes")]
    Abandoned { minutes: u64 },
    /// The sign-in ended before it told of a page to open.
    #[error("the sign-in ended before there was a page to open")]
    NoPage,
    /// The program has no address at which it could recognise the person's browser.
    #[error(
        "this switchboard has no address at which it could recognise the browser of `{principal}`"
    )]
    NoLink { principal: String },
    /// A browser of somebody else used the link to the sign-in page.
    #[error(
        "{by} used the link, which is not theirs, so it leads nowhere any more; ask for a new one"
    )]
    LinkMisused { by: String },
    /// The task that did the work ended with its runtime, or panicked.
    #[error("{what} was interrupted")]
    Interrupted {
        what: &'static str,
        #[source]
        source: tokio::task::JoinError,
    },
    /// The stored sign-in is gone: another process signed out, here or in another process.
    #[error("another process signed out")]
    SignedOut,
    /// The token has ended, and its authorization server gave no refresh token, or one that is used up.
    #[error("the token has expired, and no refresh token is stored{}", lost.as_ref().map(|why| format!(": {why}")).unwrap_or_default())]
    NoRefreshToken { lost: Option<String> },
    /// The callback port cannot be bound.
    #[error("cannot wait for the browser on port {port}")]
    Listen {
        port: u16,
        #[source]
        source: io::Error,
    },
    /// The implementation of `OpenSignInPage` failed.
    #[error("cannot open the page to sign in")]
    OpenPage(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The private key for client assertions cannot be used.
    #[error("cannot sign with `{path}`: {why}")]
    Key { path: String, why: &'static str },
    /// A file that the entry names cannot be read.
    #[error("cannot read `{path}`")]
    File {
        path: String,
        #[source]
        source: io::Error,
    },
    /// The tokens were deleted here but not revoked at the authorization server.
    #[error("the authorization server could not be notified: {why}")]
    ServerNotNotified { why: &'static str },
    /// The sign-in store could not be read or written.
    #[error(transparent)]
    Store(#[from] SignInStoreError),
    /// The operating system returned no random numbers.
    #[error("the operating system provides no random numbers")]
    Random,
    /// The cryptography refuses a key, or to sign with one.
    #[error("cannot sign {what}")]
    Sign { what: &'static str },
}

// === impl Error ===

impl Error {
    /// The cause below all [`Error::AtStep`]s.
    pub fn root_cause(&self) -> &Self {
        match self {
            Self::AtStep { source, .. } => source.root_cause(),
            error => error,
        }
    }

    /// Wraps the error as a failure of one step.
    pub(crate) fn at_step(self, step: IdentityProviderStep, endpoint: &str) -> Self {
        match self {
            // The innermost step is the right one, and some errors belong to no step.
            error @ (Self::AtStep { .. }
            | Self::NoIdentityProvider
            | Self::NotSignedIn { .. }
            | Self::ClientSecret(_)
            | Self::Store(_)) => error,
            error => {
                let endpoint = sanitize::sanitize_line(endpoint).into_owned();
                Self::AtStep { step, endpoint, source: Box::new(error) }
            }
        }
    }

    /// Whether the authorization server refused with the error code `word`.
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

    /// Whether a retry may succeed without any change by the user.
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

    /// Redacts `secrets` in texts of the server, which may repeat them.
    pub(crate) fn redact_secrets(self, secrets: &[&str]) -> Self {
        let hide = |text: String| {
            let secrets = secrets.iter().filter(|secret| !secret.is_empty());
            secrets.fold(text, |text, secret| {
                // Both the plain secret and its form-encoded spelling.
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
        check(Error::SignedOut, "another process signed out", true);
        let ended = "the token has expired, and no refresh token is stored";
        check(Error::NoRefreshToken { lost: None }, ended, true);
        let lost = Some("it was revoked".to_owned());
        check(Error::NoRefreshToken { lost }, &format!("{ended}: it was revoked"), true);
        check(Error::Sign { what: "a DPoP proof" }, "cannot sign a DPoP proof", false);
        check(Error::Random, "the operating system provides no random numbers", false);
        let late = "the sign-in was not completed within 5 minutes";
        check(Error::Abandoned { minutes: 5 }, late, false);
    }

    #[test]
    fn what_a_server_repeats_is_hidden() {
        let description = Some("code=a%2Fb%3D&more, a/b=".to_owned());
        let refused = Error::Refused { what: "it", error: "bad a/b=".to_owned(), description };
        let said = refused.redact_secrets(&["a/b=", ""]).error_chain();
        assert_eq!(said, "it was refused: bad … (code=…&more, …)");
    }
}
