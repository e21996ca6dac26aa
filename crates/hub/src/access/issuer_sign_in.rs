//! Signing a browser in with the issuer: to its page, and back with a session of the person whom it named.
//!
//! What has to be remembered while the browser is away is in a sealed cookie of that browser (`HandleKind::IssuerVisit`),
//! so a response that another browser was given is worth nothing here. A visit is good once, for a short time. With
//! replicas, one of them may see a response that another one took; the issuer takes its code once.
//!
//! Used by `sign_in_pages`. The protocol is in `auth`, the session in `browser_session`. It shows no pages.

use std::collections::VecDeque;
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use switchboard_auth::{BrowserSignInClient, IssuerVisit};
use switchboard_core::sealing::HandleKind;
use url::Url;

use super::browser_session::{BeginSessionError, BrowserSessions, SessionProof};
use super::issued_tokens::to_principal;

/// The path that the issuer sends browsers back to.
pub(super) const ISSUER_CALLBACK_PATH: &str = "/sign-in/issuer/callback";
/// How long a person may take at the issuer.
const VISIT_LIFETIME: Duration = Duration::from_secs(600);
const VISIT_COOKIE: &str = "switchboard-issuer";
/// The most visits that are remembered as finished, until they would have ended.
const MAX_FINISHED_VISITS: usize = 4096;

/// Signs browsers in with the issuer of one address.
pub(super) struct IssuerSignIn {
    client: BrowserSignInClient,
    /// The digests of visits that were finished, the oldest first.
    finished: Mutex<VecDeque<[u8; 32]>>,
}

/// The content of the cookie of a browser that is at the issuer.
#[derive(Serialize, Deserialize)]
struct VisitCookie {
    visit: IssuerVisit,
    /// The path that the browser goes on to.
    next: String,
}

/// A browser that the issuer signed in.
pub(super) struct FinishedVisit {
    /// The value of the `Set-Cookie` header with the session.
    pub(super) session: HeaderValue,
    /// The path that the browser goes on to.
    pub(super) next: String,
}

/// Why a browser is not signed in.
#[derive(Debug, thiserror::Error)]
pub(super) enum IssuerSignInError {
    /// The response is not one to a visit of this browser, or the visit is over.
    #[error("this browser began no such sign-in, has finished it, or took longer than ten minutes")]
    NoVisit,
    #[error(transparent)]
    Auth(#[from] switchboard_auth::Error),
    #[error(transparent)]
    Session(#[from] BeginSessionError),
}

// === impl IssuerSignIn ===

impl IssuerSignIn {
    pub(super) fn new(client: BrowserSignInClient) -> Self {
        Self { client, finished: Mutex::default() }
    }

    /// The issuer.
    pub(super) fn issuer(&self) -> &str {
        self.client.issuer()
    }

    /// Returns the issuer's page for a browser that goes on to the path `next`, and the value of the `Set-Cookie` header
    /// with its visit.
    pub(super) async fn begin(
        &self,
        sessions: &BrowserSessions,
        next: String,
    ) -> Result<(Url, HeaderValue), IssuerSignInError> {
        let (page, visit) = self.client.begin(&redirect(sessions)).await?;
        let (cookie, kind) = (VisitCookie { visit, next }, HandleKind::IssuerVisit);
        let cookie = sessions.seal_cookie(VISIT_COOKIE, kind, &cookie, VISIT_LIFETIME)?;
        Ok((page, cookie))
    }

    /// Takes back a browser with `state` in its `query`, and begins a session of the person whom the issuer names.
    pub(super) async fn finish(
        &self,
        sessions: &BrowserSessions,
        headers: &HeaderMap,
        state: &str,
        query: &str,
    ) -> Result<FinishedVisit, IssuerSignInError> {
        let cookie: Option<VisitCookie> =
            sessions.open_cookie(VISIT_COOKIE, HandleKind::IssuerVisit, headers);
        let VisitCookie { visit, next } = cookie
            .filter(|cookie| cookie.visit.state() == state && self.mark_finished(state))
            .ok_or(IssuerSignInError::NoVisit)?;
        let person = self.client.finish(&visit, &redirect(sessions), query).await?;
        let proof = SessionProof::of_issued(&to_principal(person));
        let session = sessions.begin(proof.ok_or(IssuerSignInError::NoVisit)?)?;
        Ok(FinishedVisit { session, next })
    }

    /// The value of the `Set-Cookie` header that takes the visit from the browser.
    pub(super) fn forget_visit(sessions: &BrowserSessions) -> HeaderValue {
        sessions.clear_cookie(VISIT_COOKIE)
    }

    /// Whether the visit was not finished before.
    fn mark_finished(&self, state: &str) -> bool {
        let digest = Sha256::digest(state).into();
        let mut finished = self.finished.lock();
        if finished.contains(&digest) {
            return false;
        }
        if finished.len() >= MAX_FINISHED_VISITS {
            finished.pop_front();
        }
        finished.push_back(digest);
        true
    }
}

/// The URL that the issuer sends browsers back to, which it has to know.
fn redirect(sessions: &BrowserSessions) -> String {
    let mut url = sessions.base().clone();
    url.set_path(ISSUER_CALLBACK_PATH);
    url.into()
}
