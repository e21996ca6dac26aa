//! Who may speak for the user: asked for headers before each request, and again when refused.

use std::fmt;
use std::net::IpAddr;

use futures_util::future::BoxFuture;
use http::{HeaderMap, Method, StatusCode};
use url::Url;

use super::error::Source;

/// Gives the headers that authorize a request, and decides what a refusal means.
pub trait CredentialProvider: Send + Sync + 'static {
    /// The headers for a request. Called each time it is sent, so it should answer from memory.
    fn headers<'a>(
        &'a self,
        request: RequestLine<'a>,
    ) -> BoxFuture<'a, Result<HeaderMap, CredentialError>>;

    /// A request was answered, with whatever status, by these headers. Comes before [`challenged`](Self::on_challenge).
    fn on_response(&self, _headers: &HeaderMap) {}

    /// The request was answered with 401 or 403.
    ///
    /// `challenge.sent` is what [`headers`](Self::headers) gave for it: when the provider holds
    /// newer headers by now, somebody else has refreshed them already and `Retry` is the answer.
    fn on_challenge<'a>(
        &'a self,
        challenge: &'a CredentialChallenge,
    ) -> BoxFuture<'a, ChallengeAction>;

    /// Which sign-in requests use now. A session that was opened under another revision must not be used any more: a
    /// person has signed in or out since, in this process or in another. Renewing a token changes nothing. Always the
    /// same, by default.
    fn sign_in_revision(&self) -> BoxFuture<'_, SignInRevision> {
        Box::pin(std::future::ready(SignInRevision::default()))
    }

    /// Ends once [`sign_in_revision`](Self::sign_in_revision) is another one than `since`. Never, by default.
    fn sign_in_changed(&self, _since: SignInRevision) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }

    /// Where somebody can be sent to sign in; nothing where that is not how it is done.
    fn sign_in_page(&self) -> Option<&dyn BrowserSignIn> {
        None
    }

    /// Ends what somebody signed in to: it is taken back where that can be done, and forgotten whatever came of that.
    /// Nobody was signed in, by default.
    fn sign_out(&self) -> BoxFuture<'_, Result<SignOutOutcome, CredentialError>> {
        Box::pin(std::future::ready(Ok(SignOutOutcome::Nobody)))
    }
}

/// Tells one sign-in to a server from the next. Only the provider that gave it can compare it with anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignInRevision(pub u64);

/// What came of signing out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignOutOutcome {
    /// Nobody was signed in.
    Nobody,
    /// What was given is taken back and forgotten.
    Ended,
    /// It is forgotten here, but may still be accepted there.
    Forgotten {
        /// Why, in words for a person.
        why: String,
    },
}

/// A way to sign in that begins here and is finished by somebody in their browser.
pub trait BrowserSignIn: Send + Sync {
    /// Begins, and gives the address of the page. The rest happens without the caller; once it is done
    /// [`CredentialProvider::sign_in_changed`] ends. `challenges` are the server's `WWW-Authenticate` values.
    fn open<'a>(
        &'a self,
        challenges: &'a [String],
    ) -> BoxFuture<'a, Result<String, CredentialError>>;
}

/// A request that headers are for: some credentials are good for one request only.
#[derive(Clone, Copy, Debug)]
pub struct RequestLine<'a> {
    /// Its method.
    pub method: &'a Method,
    /// Where it goes.
    pub url: &'a Url,
}

/// A refusal, as the provider needs to see it. Its `Debug` shows no header value.
pub struct CredentialChallenge {
    /// 401 or 403.
    pub status: StatusCode,
    /// All `WWW-Authenticate` values that are text, in order.
    pub www_authenticate: Vec<String>,
    /// The headers the provider gave for the refused request.
    pub sent: HeaderMap,
    /// How often the same request was sent again already: new headers that are refused too were not what was missing.
    pub retries: usize,
    /// The address that refused; nothing where a proxy stands between.
    pub remote: Option<IpAddr>,
}

/// What to do about a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChallengeAction {
    /// There are new headers: send the request again. At most three times per request.
    Retry,
    /// Only the user can help.
    SignIn {
        /// Why, in words for a person.
        reason: String,
    },
    /// The provider itself failed, and may not the next time: nobody has to sign in for that.
    Failed {
        /// Why, in words for a person.
        reason: String,
    },
    /// Nothing to be done; the refusal is the answer.
    GiveUp,
}

/// Why there are no headers to send.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// The user has to sign in first: the reason, in words for a person.
    #[error("sign-in is needed: {0}")]
    SignIn(String),
    /// The provider itself failed.
    #[error("the credentials provider failed")]
    Failed(#[source] Source),
}

/// No credentials: nothing is added, and a refusal is final.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCredentials;

/// The same headers for every request; a refusal is final. Its `Debug` shows names only.
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

/// The names of headers, for `Debug` output that must not show their values.
pub(super) struct HeaderNames<'a>(pub(super) &'a HeaderMap);

impl fmt::Debug for HeaderNames<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

/// Marks every value, so that no library below prints it or lets HTTP/2 compression remember it.
pub(crate) fn mark_sensitive(headers: &mut HeaderMap) {
    for value in headers.values_mut() {
        value.set_sensitive(true);
    }
}
