//! The `CredentialProvider` trait: supplies the headers that authorize requests, and handles 401 and 403.
//!
//! Used by `send`; implemented by `auth` (OAuth, helpers), by `sources::connectors` and by the static headers here.
//! It does not store tokens or open a browser.

use std::fmt;
use std::net::IpAddr;

use futures_util::future::BoxFuture;
use http::{HeaderMap, Method, StatusCode};
use url::Url;

use super::error::Source;

/// Supplies the headers that authorize a request, and decides how to go on after a refusal.
pub trait CredentialProvider: Send + Sync + 'static {
    /// Returns the headers for a request. Called for every attempt, so it should answer from memory.
    fn headers<'a>(
        &'a self,
        request: RequestLine<'a>,
    ) -> BoxFuture<'a, Result<HeaderMap, CredentialError>>;

    /// A request got a response, of any status, with these headers. Called before
    /// [`on_challenge`](Self::on_challenge).
    fn on_response(&self, _headers: &HeaderMap) {}

    /// The request was answered with 401 or 403.
    ///
    /// `challenge.sent` holds the headers that [`headers`](Self::headers) returned for it. If the provider has newer
    /// headers by now, a concurrent request has refreshed them, and `Retry` is the answer.
    fn on_challenge<'a>(
        &'a self,
        challenge: &'a CredentialChallenge,
    ) -> BoxFuture<'a, ChallengeAction>;

    /// The revision of the sign-in that requests use now. A session opened under another revision must not be used
    /// any more: a person has signed in or out since, in this or another process. Renewing a token does not change
    /// it. Constant by default.
    fn sign_in_revision(&self) -> BoxFuture<'_, SignInRevision> {
        Box::pin(std::future::ready(SignInRevision::default()))
    }

    /// Completes when [`sign_in_revision`](Self::sign_in_revision) differs from `since`. Never, by default.
    fn sign_in_changed(&self, _since: SignInRevision) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }

    /// The id of the sign-in that requests use now: equal in every process, kept by renewals; no secret. `None` where
    /// no sign-in is stored, and by default.
    fn sign_in_id(&self) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    /// What is known of that sign-in. `None` where no sign-in is stored, and by default.
    fn sign_in_info(&self) -> BoxFuture<'_, Option<SignInInfo>> {
        Box::pin(std::future::ready(None))
    }

    /// The browser sign-in, if the server has one.
    fn sign_in_page(&self) -> Option<&dyn BrowserSignIn> {
        None
    }

    /// Signs out: revokes the tokens where the server can, and deletes them in any case. By default, the outcome is
    /// [`SignOutOutcome::Nobody`].
    fn sign_out(&self) -> BoxFuture<'_, Result<SignOutOutcome, CredentialError>> {
        Box::pin(std::future::ready(Ok(SignOutOutcome::Nobody)))
    }
}

/// The number of a sign-in. Only the provider that returned it can compare it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignInRevision(pub u64);

/// A stored sign-in, without its tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignInInfo {
    /// The issuer of the authorization server.
    pub issuer: String,
    /// The scopes that were requested.
    pub scopes: Vec<String>,
    /// When the person signed in, in seconds since 1970; `None` for a sign-in of a version that did not store it.
    pub signed_in_at: Option<u64>,
    /// When the access token expires, in seconds since 1970.
    pub expires_at: Option<u64>,
    /// Whether an expired access token is renewed without the person.
    pub is_renewable: bool,
}

/// The outcome of signing out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignOutOutcome {
    /// There was no sign-in.
    Nobody,
    /// The tokens are revoked and deleted.
    Ended,
    /// The tokens are deleted here, but the server may still accept them.
    Forgotten {
        /// Why, in words for a person.
        why: String,
    },
}

/// A sign-in that starts here and that a person finishes in a browser.
pub trait BrowserSignIn: Send + Sync {
    /// Starts the sign-in and returns the URL of the page. The rest runs without the caller; when it is done,
    /// [`CredentialProvider::sign_in_changed`] completes. `challenges` are the server's `WWW-Authenticate` values.
    fn open<'a>(
        &'a self,
        challenges: &'a [String],
    ) -> BoxFuture<'a, Result<String, CredentialError>>;

    /// Waits until the sign-in that is under way has ended, and says why if no one signed in. Where none is under way,
    /// it is about the one before.
    fn ended(&self) -> BoxFuture<'_, Result<(), CredentialError>>;
}

/// Method and URL of the request that needs headers: some credentials are valid for one request only.
#[derive(Clone, Copy, Debug)]
pub struct RequestLine<'a> {
    /// The method of the request.
    pub method: &'a Method,
    /// The URL of the request.
    pub url: &'a Url,
}

/// A refusal, as the provider needs it. Its `Debug` shows no header value.
pub struct CredentialChallenge {
    /// 401 or 403.
    pub status: StatusCode,
    /// All `WWW-Authenticate` values that are text, in order.
    pub www_authenticate: Vec<String>,
    /// The provider's headers in the refused request.
    pub sent: HeaderMap,
    /// How often this request was repeated already. If new headers were refused too, further ones will not help.
    pub retries: usize,
    /// The address of the server that refused; `None` behind a proxy.
    pub remote: Option<IpAddr>,
}

/// The reaction to a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChallengeAction {
    /// Repeat the request with new headers, at most three times per request.
    Retry,
    /// Only a sign-in by the user can help.
    SignIn {
        /// Why, in words for a person.
        reason: String,
    },
    /// The provider failed, perhaps only this time: no sign-in is needed.
    Failed {
        /// Why, in words for a person.
        reason: String,
    },
    /// Return the refusal to the caller.
    GiveUp,
}

/// Why the provider has no headers.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// The user has to sign in first; the reason, for a person.
    #[error("sign-in is needed: {0}")]
    SignIn(String),
    /// The provider failed.
    #[error("the credentials provider failed")]
    Failed(#[source] Source),
}

/// A provider without credentials: it adds no headers, and a refusal is final.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCredentials;

/// A provider of constant headers; a refusal is final. Its `Debug` shows names only.
#[derive(Clone, Default)]
pub struct StaticHeaders(HeaderMap);

// === impl NoCredentials ===

impl CredentialProvider for NoCredentials {
    fn headers<'a>(
        &'a self,
        _: RequestLine<'a>,
    ) -> BoxFuture<'a, Result<HeaderMap, CredentialError>> {
        Box::pin(std::future::ready(Ok(HeaderMap::new())))
    }

    fn on_challenge<'a>(&'a self, _: &'a CredentialChallenge) -> BoxFuture<'a, ChallengeAction> {
        Box::pin(std::future::ready(ChallengeAction::GiveUp))
    }
}

// === impl StaticHeaders ===

impl StaticHeaders {
    /// Sends `headers` with each request.
    pub fn new(mut headers: HeaderMap) -> Self {
        mark_sensitive(&mut headers);
        Self(headers)
    }
}

impl CredentialProvider for StaticHeaders {
    fn headers<'a>(
        &'a self,
        _: RequestLine<'a>,
    ) -> BoxFuture<'a, Result<HeaderMap, CredentialError>> {
        Box::pin(std::future::ready(Ok(self.0.clone())))
    }

    fn on_challenge<'a>(&'a self, _: &'a CredentialChallenge) -> BoxFuture<'a, ChallengeAction> {
        Box::pin(std::future::ready(ChallengeAction::GiveUp))
    }
}

impl fmt::Debug for StaticHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StaticHeaders").field(&HeaderNames(&self.0)).finish()
    }
}

// === impl CredentialChallenge ===

impl fmt::Debug for CredentialChallenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Challenge")
            .field("status", &self.status)
            .field("www_authenticate", &self.www_authenticate)
            .field("retries", &self.retries)
            .field("sent", &HeaderNames(&self.sent))
            .field("remote", &self.remote)
            .finish()
    }
}

/// The names of headers, for `Debug` output that must not show values.
pub(super) struct HeaderNames<'a>(pub(super) &'a HeaderMap);

impl fmt::Debug for HeaderNames<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

/// Marks every value as sensitive, so that no library prints it or puts it into the HTTP/2 compression table.
pub(crate) fn mark_sensitive(headers: &mut HeaderMap) {
    for value in headers.values_mut() {
        value.set_sensitive(true);
    }
}
