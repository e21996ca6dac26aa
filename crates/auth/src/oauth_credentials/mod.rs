//! The credential provider of a signed-in server: it supplies the headers of every request and renews tokens
//! in time.
//!
//! Used by `hub::credentials`, which hands it to connections. Every request uses the sign-in
//! that the store holds at that moment (`state`).
//!
//! Any number of tasks and processes share an account. A task that finds the token expired takes the lock,
//! reads whether another task has renewed the token meanwhile, and only then requests a new one, which is
//! stored before it is used. So however many requests are refused at once, the refresh token is sent once. A
//! token that takes no person, for example one through the organisation's identity provider, is requested in
//! this way too: one request for all waiting calls.

mod proof;
mod renewal;
mod state;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{HeaderMap, StatusCode};
use parking_lot::{Mutex, MutexGuard};
use switchboard_wire::http::{
    self as wire_http, BrowserSignIn, ChallengeAction, CredentialError, CredentialProvider,
    RequestLine, SignInInfo, SignInRevision, SignOutOutcome,
};
use tokio::time::Instant;

use crate::account::OAuthAccount;
use crate::background::BackgroundSignIn;
use crate::challenge::AuthenticateChallenges;
use crate::dpop;
use crate::error::Error;
use crate::flow::OpenSignInPage;
use crate::headers::authorization_header;
use crate::scopes;
use crate::sign_in::SignIn;
use crate::sign_in_link::SignInLinks;
use crate::sign_in_requirement::SignInRequirement;
use crate::sign_out::sign_out;
use crate::store::SignInStoreError;
use crate::token::unix_now;
use state::SignInState;

/// The pause after a failed early renewal.
const RENEWAL_RETRY_PAUSE: Duration = Duration::from_secs(30);
/// How often one set of scopes is signed in for again.
const MAX_STEP_UPS: u32 = 3;

/// Whether a user is present who can sign in on a page.
#[derive(Clone)]
pub enum UserPresence {
    /// No user is present: the connection reports that a sign-in is needed.
    Nobody,
    /// No user is present, but the program keeps running: the user may get the URL of a page and come back
    /// later.
    Later,
    /// No user is present, but the program keeps running, and its user is on another machine: a link of the program
    /// leads the browser of that user, and no other, to the page.
    Elsewhere(Arc<dyn SignInLinks>),
    /// A user is present, and a page can be opened at any time.
    Somebody(Arc<dyn OpenSignInPage>),
}

/// The credentials of one server, from the stored sign-in.
#[derive(Clone)]
pub struct OAuthCredentials {
    inner: Arc<Inner>,
}

struct Inner {
    sign_in: SignIn,
    presence: UserPresence,
    state: Mutex<SignInState>,
    /// Serializes renewals and sign-ins; the next waiter finds the token renewed.
    turn: tokio::sync::Mutex<()>,
    background: BackgroundSignIn,
}

// === impl OAuthCredentials ===

impl OAuthCredentials {
    /// Credentials for the server of `sign_in`.
    pub fn new(sign_in: SignIn, presence: UserPresence) -> Self {
        let (state, turn) = (Mutex::default(), tokio::sync::Mutex::default());
        let background = BackgroundSignIn::default();
        Self { inner: Arc::new(Inner { sign_in, presence, state, turn, background }) }
    }
}

impl CredentialProvider for OAuthCredentials {
    fn headers<'a>(
        &'a self,
        request: RequestLine<'a>,
    ) -> BoxFuture<'a, Result<HeaderMap, CredentialError>> {
        Box::pin(async move {
            let account = match self.inner.fresh_account() {
                Some(account) => Some(account),
                None => self.inner.clone().prepare().await?,
            };
            let Some(account) = account else { return Ok(HeaderMap::new()) };
            let value = authorization_header(&account).map(|value| (AUTHORIZATION, value));
            let proof = self.inner.proof(&account, request).map_err(to_credential_error)?;
            Ok(value.into_iter().chain(proof.map(|value| (dpop::PROOF_HEADER, value))).collect())
        })
    }

    fn on_response(&self, headers: &HeaderMap) {
        let nonce = headers.get(dpop::NONCE_HEADER).and_then(|nonce| nonce.to_str().ok());
        if let Some(nonce) = nonce {
            self.inner.state().nonce = Some(nonce.to_owned());
        }
    }

    fn on_challenge<'a>(
        &'a self,
        challenge: &'a wire_http::CredentialChallenge,
    ) -> BoxFuture<'a, ChallengeAction> {
        let challenges = AuthenticateChallenges::parse(&challenge.www_authenticate);
        if challenges.error() == Some(dpop::USE_NONCE_ERROR) {
            let verdict = self.inner.nonce_verdict(challenge.sent.get(dpop::PROOF_HEADER));
            return Box::pin(std::future::ready(verdict));
        }
        Box::pin(self.inner.clone().handle_refusal(challenge, challenges))
    }

    fn sign_in_revision(&self) -> BoxFuture<'_, SignInRevision> {
        Box::pin(self.inner.revision())
    }

    fn sign_in_id(&self) -> BoxFuture<'_, Option<String>> {
        Box::pin(self.inner.current_sign_in_id())
    }

    fn sign_in_info(&self) -> BoxFuture<'_, Option<SignInInfo>> {
        Box::pin(self.inner.current_sign_in_info())
    }

    fn sign_in_changed(&self, since: SignInRevision) -> BoxFuture<'_, ()> {
        Box::pin(self.inner.wait_for_change(since))
    }

    fn sign_in_page(&self) -> Option<&dyn BrowserSignIn> {
        let sign_in = &self.inner.sign_in;
        let has_page = match &self.inner.presence {
            UserPresence::Later => sign_in.needs_person(),
            // The identity provider's page comes back to the same address as those of servers.
            UserPresence::Elsewhere(_) => {
                sign_in.needs_person() || sign_in.uses_identity_provider()
            }
            UserPresence::Nobody | UserPresence::Somebody(_) => false,
        };
        has_page.then_some(self)
    }

    fn sign_out(&self) -> BoxFuture<'_, Result<SignOutOutcome, CredentialError>> {
        Box::pin(self.inner.sign_out())
    }
}

impl BrowserSignIn for OAuthCredentials {
    fn open<'a>(
        &'a self,
        challenges: &'a [String],
    ) -> BoxFuture<'a, Result<String, CredentialError>> {
        let remote = self.inner.state().remote;
        let demand =
            SignInRequirement { challenges: AuthenticateChallenges::parse(challenges), remote };
        let inner = &self.inner;
        Box::pin(async move {
            let links = match &inner.presence {
                UserPresence::Elsewhere(links) => Some(&**links),
                UserPresence::Nobody | UserPresence::Later | UserPresence::Somebody(_) => None,
            };
            inner
                .background
                .start_or_join(&inner.sign_in, demand, links)
                .await
                .map_err(to_credential_error)
        })
    }

    fn ended(&self) -> BoxFuture<'_, Result<(), CredentialError>> {
        Box::pin(async { self.inner.background.ended().await.map_err(CredentialError::SignIn) })
    }
}

// === impl Inner ===

impl Inner {
    /// Returns the account, after renewing its token or signing in if that needs no user.
    async fn prepare(self: Arc<Self>) -> Result<Option<Arc<OAuthAccount>>, CredentialError> {
        self.reload_if_changed().await.map_err(store_to_credential_error)?;
        let Some(account) = self.state().account.clone() else {
            return if self.sign_in.needs_person() { Ok(None) } else { self.first_token().await };
        };
        let is_over = account.is_expired(unix_now());
        let is_quiet = self.state().quiet_until.is_some_and(|until| Instant::now() < until);
        let is_renewable = account.refresh.is_some() || !self.sign_in.needs_person();
        if !account.needs_renewal(unix_now()) || !is_renewable || (is_quiet && !is_over) {
            return Ok(Some(account));
        }
        let _turn = self.turn.lock().await;
        let renewed = match account.refresh {
            Some(_) => self.renew(&account).await,
            None => self.sign_in_unattended(Some(&account), &SignInRequirement::default()).await,
        };
        match renewed {
            Ok(renewed) => Ok(Some(renewed)),
            Err(error) if is_over && !error.is_final() => {
                Err(CredentialError::Failed(Box::new(error)))
            }
            // The token is valid for a while yet, or the server will refuse it with a reason.
            Err(error) => {
                tracing::warn!(error = error.error_chain(), "a token could not be renewed");
                self.state().quiet_until = Some(Instant::now() + RENEWAL_RETRY_PAUSE);
                Ok(Some(account))
            }
        }
    }

    /// Requests the first token of a program that signs in as itself.
    async fn first_token(&self) -> Result<Option<Arc<OAuthAccount>>, CredentialError> {
        let _turn = self.turn.lock().await;
        self.sign_in_unattended(None, &SignInRequirement::default())
            .await
            .map(Some)
            .map_err(to_credential_error)
    }

    /// Requests a token without the user, to replace `before`. The task or process that gets the lock
    /// requests it; the waiting ones find it in the store.
    async fn sign_in_unattended(
        &self,
        before: Option<&OAuthAccount>,
        demand: &SignInRequirement,
    ) -> Result<Arc<OAuthAccount>, Error> {
        let lock = self.sign_in.stored_record().lock().await?;
        self.reload_if_changed().await?;
        let is_newer = |account: &Arc<OAuthAccount>| {
            before.is_none_or(|before| before.access != account.access)
                && !account.is_expired(unix_now())
        };
        if let Some(account) = self.state().account.clone().filter(is_newer) {
            return Ok(account);
        }
        let signed_in = self.sign_in.run_unattended_locked(&lock, demand).await;
        self.state().has_failed = signed_in.is_err();
        Ok(self.adopt(signed_in?).await?)
    }

    // --- refusals

    async fn handle_refusal(
        self: Arc<Self>,
        refused: &wire_http::CredentialChallenge,
        challenges: AuthenticateChallenges,
    ) -> ChallengeAction {
        let _turn = self.turn.lock().await;
        if let Err(error) = self.reload_if_changed().await {
            return to_verdict(store_to_credential_error(error));
        }
        let account = self.state().account.clone();
        let ours = account.as_deref().and_then(authorization_header);
        if ours.is_some() && ours.as_ref() != refused.sent.get(AUTHORIZATION) {
            return ChallengeAction::Retry; // Another task or process has renewed the token.
        }
        let demand = SignInRequirement { challenges, remote: refused.remote };
        self.state().remote = refused.remote;
        match (refused.status, demand.challenges.error()) {
            (StatusCode::UNAUTHORIZED, _) => {
                self.handle_unauthorized(account, refused.retries, &demand).await
            }
            (StatusCode::FORBIDDEN, Some("insufficient_scope")) => {
                self.step_up(account, &demand).await
            }
            _ => ChallengeAction::GiveUp,
        }
    }

    async fn handle_unauthorized(
        self: &Arc<Self>,
        account: Option<Arc<OAuthAccount>>,
        retries: usize,
        demand: &SignInRequirement,
    ) -> ChallengeAction {
        let mut reason = self.reason(account.as_deref());
        // If the server refuses a token that was renewed for this very request, another renewal does not
        // help.
        let is_answer = retries > 0 && self.state().answer == account;
        let renewable = account.as_ref().filter(|account| account.refresh.is_some() && !is_answer);
        if let Some(account) = renewable {
            match self.renew(account).await {
                Ok(renewed) => {
                    self.state().answer = Some(renewed);
                    return ChallengeAction::Retry;
                }
                Err(error) if !error.is_final() => {
                    return ChallengeAction::Failed { reason: error.error_chain() };
                }
                Err(error) => reason = format!("the sign-in has ended: {}", error.error_chain()),
            }
        }
        self.sign_in_again(account.as_deref(), demand, reason).await
    }

    /// Signs in again for the granted scopes plus the missing ones (`insufficient_scope`).
    async fn step_up(
        &self,
        account: Option<Arc<OAuthAccount>>,
        demand: &SignInRequirement,
    ) -> ChallengeAction {
        let missing = demand.challenges.scope().map(scopes::split_scopes).unwrap_or_default();
        let account = account.as_deref();
        let mut wanted = account.map(|account| account.scopes.clone()).unwrap_or_default();
        scopes::add_missing_scopes(&mut wanted, &missing);
        let steps = {
            let mut state = self.state();
            let steps = state.steps.entry(wanted.join(" ")).or_default();
            *steps += 1;
            *steps
        };
        if steps > MAX_STEP_UPS {
            return ChallengeAction::GiveUp;
        }
        if let Err(error) = self.store_wanted_scopes(wanted).await {
            return ChallengeAction::Failed { reason: error.error_chain() };
        }
        let missing = missing.join(" ");
        let reason = format!("the server wants more than was signed in for: `{missing}`");
        let reason = switchboard_wire::sanitize::sanitize_line(&reason).into_owned();
        self.sign_in_again(account, demand, reason).await
    }

    /// Signs in again to replace the `refused` account, if no user is needed or one is present.
    async fn sign_in_again(
        &self,
        refused: Option<&OAuthAccount>,
        demand: &SignInRequirement,
        reason: String,
    ) -> ChallengeAction {
        let signed_in = if self.sign_in.needs_person() {
            match &self.presence {
                UserPresence::Somebody(visit) => self.sign_in_with_person(demand, &**visit).await,
                UserPresence::Nobody | UserPresence::Later | UserPresence::Elsewhere(_) => {
                    return ChallengeAction::SignIn { reason };
                }
            }
        } else {
            match (self.sign_in_unattended(refused, demand).await, &self.presence) {
                // The user is not signed in to the identity provider: open its page.
                (Err(error), UserPresence::Somebody(visit))
                    if matches!(error.root_cause(), Error::NotSignedIn { .. }) =>
                {
                    self.sign_in_with_person(demand, &**visit).await
                }
                (signed_in, _) => signed_in,
            }
        };
        match signed_in {
            Ok(_) => ChallengeAction::Retry,
            Err(error) if error.is_transient() => {
                ChallengeAction::Failed { reason: error.error_chain() }
            }
            Err(error) => ChallengeAction::SignIn { reason: error.error_chain() },
        }
    }

    /// Signs in with the user, on a page.
    async fn sign_in_with_person(
        &self,
        demand: &SignInRequirement,
        visit: &dyn OpenSignInPage,
    ) -> Result<Arc<OAuthAccount>, Error> {
        let signed_in = self.sign_in.run(demand, visit).await;
        self.state().has_failed = signed_in.is_err();
        Ok(self.adopt(signed_in?).await?)
    }

    fn reason(&self, account: Option<&OAuthAccount>) -> String {
        let lost = self.state().lost.clone();
        lost.unwrap_or_else(|| match account {
            None => "you are not signed in".to_owned(),
            Some(account) if account.is_expired(unix_now()) => "the sign-in has expired".to_owned(),
            Some(_) => "the server does not accept the sign-in any more".to_owned(),
        })
    }

    /// Stores the scopes that the next sign-in should request.
    async fn store_wanted_scopes(&self, wanted: Vec<String>) -> Result<(), Error> {
        let (record, _) = self.sign_in.stored_record().load().await?;
        if record.extra_scopes != wanted {
            self.sign_in.change(|record| record.extra_scopes = wanted).await?;
        }
        Ok(())
    }

    /// Signs out under the `turn` lock, so that no renewal or sign-in runs meanwhile, and reloads the state.
    async fn sign_out(&self) -> Result<SignOutOutcome, CredentialError> {
        let _turn = self.turn.lock().await;
        let ended = sign_out(&self.sign_in).await.map_err(to_credential_error)?;
        self.reload_if_changed().await.map_err(store_to_credential_error)?;
        Ok(match ended {
            None => SignOutOutcome::Nobody,
            Some(Ok(())) => SignOutOutcome::Ended,
            Some(Err(error)) => SignOutOutcome::Forgotten { why: error.error_chain() },
        })
    }

    fn state(&self) -> MutexGuard<'_, SignInState> {
        self.state.lock()
    }
}

fn to_credential_error(error: Error) -> CredentialError {
    if error.is_transient() {
        return CredentialError::Failed(Box::new(error));
    }
    CredentialError::SignIn(error.error_chain())
}

fn to_verdict(error: CredentialError) -> ChallengeAction {
    match error {
        CredentialError::SignIn(reason) => ChallengeAction::SignIn { reason },
        CredentialError::Failed(error) => ChallengeAction::Failed { reason: error.to_string() },
    }
}

/// A record that cannot be opened needs a new sign-in; a disk error may be gone at the next request.
fn store_to_credential_error(error: SignInStoreError) -> CredentialError {
    match error {
        SignInStoreError::NoKey { .. }
        | SignInStoreError::Damaged { .. }
        | SignInStoreError::KeyDamaged { .. } => {
            CredentialError::SignIn(Error::from(error).error_chain())
        }
        error => CredentialError::Failed(Box::new(error)),
    }
}
