//! What connections ask for headers: the account of one server, kept fresh.
//!
//! Every request is made with the sign-in that the store holds at that moment (`state`).
//!
//! Any number of tasks and processes share an account. Whoever finds the token ended takes the lock, looks whether
//! somebody else has renewed it meanwhile, and only then asks for another; the new one is stored before it is used. So
//! however many requests are refused at once, the refresh token is shown once. A token that takes no person, such as one
//! through the organisation's identity provider, is asked for in the same way: once for all of them.

mod proof;
mod renewal;
mod state;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{HeaderMap, StatusCode};
use switchboard_wire::http::{
    self as wire_http, CredentialError, Credentials, Outgoing, SignInPage, SignInRevision,
    SignedOut, Verdict,
};
use tokio::time::Instant;

use crate::account::Account;
use crate::background::Background;
use crate::challenge::Challenges;
use crate::demand::Demand;
use crate::dpop;
use crate::error::Error;
use crate::flow::Visit;
use crate::headers::authorization;
use crate::scopes;
use crate::sign_in::SignIn;
use crate::sign_out::sign_out;
use crate::store::StoreError;
use crate::token::now;
use state::SignInState;

/// How long a renewal in good time is put off after one that failed.
const QUIET: Duration = Duration::from_secs(30);
/// How often the same scopes are signed in for again.
const STEPS: u32 = 3;

/// Who is there to sign in when it takes a person.
#[derive(Clone)]
pub enum Presence {
    /// Nobody: the connection will say that it needs them.
    Nobody,
    /// Nobody, but this program stays: somebody may be told of a page, and come back from it later.
    Later,
    /// Somebody, who can be brought to a page at any time.
    Somebody(Arc<dyn Visit>),
}

/// The headers of one server, from what its user signed in to.
#[derive(Clone)]
pub struct Provider {
    inner: Arc<Inner>,
}

struct Inner {
    sign_in: SignIn,
    presence: Presence,
    state: Mutex<SignInState>,
    /// Renewing and signing in happen one at a time; the next in line then finds it done.
    turn: tokio::sync::Mutex<()>,
    background: Background,
}

// === impl Provider ===

impl Provider {
    /// Headers for the server of `sign_in`.
    pub fn new(sign_in: SignIn, presence: Presence) -> Self {
        let (state, turn) = (Mutex::default(), tokio::sync::Mutex::default());
        let background = Background::default();
        Self { inner: Arc::new(Inner { sign_in, presence, state, turn, background }) }
    }
}

impl Credentials for Provider {
    fn headers<'a>(
        &'a self,
        request: Outgoing<'a>,
    ) -> BoxFuture<'a, Result<HeaderMap, CredentialError>> {
        Box::pin(async move {
            let account = match self.inner.fresh() {
                Some(account) => Some(account),
                None => self.inner.clone().prepare().await?,
            };
            let Some(account) = account else { return Ok(HeaderMap::new()) };
            let value = authorization(&account).map(|value| (AUTHORIZATION, value));
            let proof = self.inner.proof(&account, request).map_err(failed)?;
            Ok(value.into_iter().chain(proof.map(|value| (dpop::PROOF, value))).collect())
        })
    }

    fn answered(&self, headers: &HeaderMap) {
        let nonce = headers.get(dpop::NONCE).and_then(|nonce| nonce.to_str().ok());
        if let Some(nonce) = nonce {
            self.inner.state().nonce = Some(nonce.to_owned());
        }
    }

    fn challenged<'a>(&'a self, challenge: &'a wire_http::Challenge) -> BoxFuture<'a, Verdict> {
        let challenges = Challenges::parse(&challenge.www_authenticate);
        if challenges.error() == Some(dpop::USE_NONCE) {
            let verdict = self.inner.nonce(challenge.sent.get(dpop::PROOF));
            return Box::pin(std::future::ready(verdict));
        }
        Box::pin(self.inner.clone().judge(challenge, challenges))
    }

    fn sign_in_revision(&self) -> BoxFuture<'_, SignInRevision> {
        Box::pin(self.inner.revision())
    }

    fn sign_in_changed(&self, since: SignInRevision) -> BoxFuture<'_, ()> {
        Box::pin(self.inner.changed(since))
    }

    fn sign_in_page(&self) -> Option<&dyn SignInPage> {
        let is_later = matches!(self.inner.presence, Presence::Later);
        (is_later && self.inner.sign_in.takes_a_person()).then_some(self)
    }

    fn sign_out(&self) -> BoxFuture<'_, Result<SignedOut, CredentialError>> {
        Box::pin(self.inner.sign_out())
    }
}

impl SignInPage for Provider {
    fn open<'a>(
        &'a self,
        challenges: &'a [String],
    ) -> BoxFuture<'a, Result<String, CredentialError>> {
        let remote = self.inner.state().remote;
        let demand = Demand { challenges: Challenges::parse(challenges), remote };
        let inner = &self.inner;
        Box::pin(async move { inner.background.open(&inner.sign_in, demand).await.map_err(failed) })
    }
}

// === impl Inner ===

impl Inner {
    /// The account, after doing what can be done about it without anybody.
    async fn prepare(self: Arc<Self>) -> Result<Option<Arc<Account>>, CredentialError> {
        self.look().await.map_err(unusable)?;
        let Some(account) = self.state().account.clone() else {
            return if self.sign_in.takes_a_person() { Ok(None) } else { self.first().await };
        };
        let is_over = account.is_over(now());
        let is_quiet = self.state().quiet_until.is_some_and(|until| Instant::now() < until);
        let is_renewable = account.refresh.is_some() || !self.sign_in.takes_a_person();
        if !account.is_due(now()) || !is_renewable || (is_quiet && !is_over) {
            return Ok(Some(account));
        }
        let _turn = self.turn.lock().await;
        let renewed = match account.refresh {
            Some(_) => self.renew(&account).await,
            None => self.by_itself(Some(&account), &Demand::default()).await,
        };
        match renewed {
            Ok(renewed) => Ok(Some(renewed)),
            Err(error) if is_over && !error.is_final() => {
                Err(CredentialError::Failed(Box::new(error)))
            }
            // It is good for a while yet, or the server says what it thinks of it.
            Err(error) => {
                tracing::warn!(error = error.in_one_line(), "a token could not be renewed");
                self.state().quiet_until = Some(Instant::now() + QUIET);
                Ok(Some(account))
            }
        }
    }

    /// The first token of a program that signs in as itself.
    async fn first(&self) -> Result<Option<Arc<Account>>, CredentialError> {
        let _turn = self.turn.lock().await;
        self.by_itself(None, &Demand::default()).await.map(Some).map_err(failed)
    }

    /// A token without anybody, in place of `before`. The task or process that gets the lock asks for it; those that
    /// waited find it in the store.
    async fn by_itself(
        &self,
        before: Option<&Account>,
        demand: &Demand,
    ) -> Result<Arc<Account>, Error> {
        let lock = self.sign_in.shelf().lock().await?;
        self.look().await?;
        let is_newer = |account: &Arc<Account>| {
            before.is_none_or(|before| before.access != account.access) && !account.is_over(now())
        };
        if let Some(account) = self.state().account.clone().filter(is_newer) {
            return Ok(account);
        }
        let signed_in = self.sign_in.by_itself_locked(&lock, demand).await;
        self.state().has_failed = signed_in.is_err();
        Ok(self.adopt(signed_in?).await?)
    }

    // --- refusals

    async fn judge(
        self: Arc<Self>,
        refused: &wire_http::Challenge,
        challenges: Challenges,
    ) -> Verdict {
        let _turn = self.turn.lock().await;
        if let Err(error) = self.look().await {
            return verdict(unusable(error));
        }
        let account = self.state().account.clone();
        let ours = account.as_deref().and_then(authorization);
        if ours.is_some() && ours.as_ref() != refused.sent.get(AUTHORIZATION) {
            return Verdict::Retry; // Somebody was faster.
        }
        let demand = Demand { challenges, remote: refused.remote };
        self.state().remote = refused.remote;
        match (refused.status, demand.challenges.error()) {
            (StatusCode::UNAUTHORIZED, _) => {
                self.unauthorized(account, refused.retries, &demand).await
            }
            (StatusCode::FORBIDDEN, Some("insufficient_scope")) => {
                self.step_up(account, &demand).await
            }
            _ => Verdict::GiveUp,
        }
    }

    async fn unauthorized(
        self: &Arc<Self>,
        account: Option<Arc<Account>>,
        retries: usize,
        demand: &Demand,
    ) -> Verdict {
        let mut reason = self.reason(account.as_deref());
        // A token that was renewed for this very request, and is refused in its turn, is not what is wrong.
        let is_answer = retries > 0 && self.state().answer == account;
        let renewable = account.as_ref().filter(|account| account.refresh.is_some() && !is_answer);
        if let Some(account) = renewable {
            match self.renew(account).await {
                Ok(renewed) => {
                    self.state().answer = Some(renewed);
                    return Verdict::Retry;
                }
                Err(error) if !error.is_final() => {
                    return Verdict::Failed { reason: error.in_one_line() };
                }
                Err(error) => reason = format!("the sign-in has ended: {}", error.in_one_line()),
            }
        }
        self.again(account.as_deref(), demand, reason).await
    }

    /// More is wanted than the token is good for: what it was good for, and that.
    async fn step_up(&self, account: Option<Arc<Account>>, demand: &Demand) -> Verdict {
        let missing = demand.challenges.scope().map(scopes::split).unwrap_or_default();
        let account = account.as_deref();
        let mut wanted = account.map(|account| account.scopes.clone()).unwrap_or_default();
        scopes::add(&mut wanted, &missing);
        let steps = {
            let mut state = self.state();
            let steps = state.steps.entry(wanted.join(" ")).or_default();
            *steps += 1;
            *steps
        };
        if steps > STEPS {
            return Verdict::GiveUp;
        }
        if let Err(error) = self.want(wanted).await {
            return Verdict::Failed { reason: error.in_one_line() };
        }
        let missing = missing.join(" ");
        let reason = format!("the server wants more than was signed in for: `{missing}`");
        let reason = switchboard_wire::sanitize::line(&reason).into_owned();
        self.again(account, demand, reason).await
    }

    /// Signs in again in place of what the server `refused`, if that takes nobody or somebody is there.
    async fn again(&self, refused: Option<&Account>, demand: &Demand, reason: String) -> Verdict {
        let signed_in = if self.sign_in.takes_a_person() {
            match &self.presence {
                Presence::Somebody(visit) => self.visit(demand, &**visit).await,
                Presence::Nobody | Presence::Later => return Verdict::SignIn { reason },
            }
        } else {
            match (self.by_itself(refused, demand).await, &self.presence) {
                // The identity provider knows nobody: somebody may sign in there.
                (Err(error), Presence::Somebody(visit))
                    if matches!(error.root(), Error::NobodyThere { .. }) =>
                {
                    self.visit(demand, &**visit).await
                }
                (signed_in, _) => signed_in,
            }
        };
        match signed_in {
            Ok(_) => Verdict::Retry,
            Err(error) if error.is_passing() => Verdict::Failed { reason: error.in_one_line() },
            Err(error) => Verdict::SignIn { reason: error.in_one_line() },
        }
    }

    /// Signs in with somebody who is brought to a page.
    async fn visit(&self, demand: &Demand, visit: &dyn Visit) -> Result<Arc<Account>, Error> {
        let signed_in = self.sign_in.run(demand, visit).await;
        self.state().has_failed = signed_in.is_err();
        Ok(self.adopt(signed_in?).await?)
    }

    fn reason(&self, account: Option<&Account>) -> String {
        let lost = self.state().lost.clone();
        lost.unwrap_or_else(|| match account {
            None => "nobody has signed in to it".to_owned(),
            Some(account) if account.is_over(now()) => "the sign-in has expired".to_owned(),
            Some(_) => "the server does not accept the sign-in any more".to_owned(),
        })
    }

    /// Notes which scopes the next sign-in should ask for.
    async fn want(&self, wanted: Vec<String>) -> Result<(), Error> {
        let (record, _) = self.sign_in.shelf().load().await?;
        if record.wanted != wanted {
            self.sign_in.change(|record| record.wanted = wanted).await?;
        }
        Ok(())
    }

    /// Nobody renews or signs in meanwhile, and what was known is read anew.
    async fn sign_out(&self) -> Result<SignedOut, CredentialError> {
        let _turn = self.turn.lock().await;
        let ended = sign_out(&self.sign_in).await.map_err(failed)?;
        self.look().await.map_err(unusable)?;
        Ok(match ended {
            None => SignedOut::Nobody,
            Some(Ok(())) => SignedOut::Ended,
            Some(Err(error)) => SignedOut::Forgotten { why: error.in_one_line() },
        })
    }

    fn state(&self) -> MutexGuard<'_, SignInState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failed(error: Error) -> CredentialError {
    if error.is_passing() {
        return CredentialError::Failed(Box::new(error));
    }
    CredentialError::SignIn(error.in_one_line())
}

fn verdict(error: CredentialError) -> Verdict {
    match error {
        CredentialError::SignIn(reason) => Verdict::SignIn { reason },
        CredentialError::Failed(error) => Verdict::Failed { reason: error.to_string() },
    }
}

/// What cannot be opened has to be signed in for again; a disk may do better the next time.
fn unusable(error: StoreError) -> CredentialError {
    match error {
        StoreError::NoKey { .. } | StoreError::Damaged { .. } | StoreError::KeyDamaged { .. } => {
            CredentialError::SignIn(Error::from(error).in_one_line())
        }
        error => CredentialError::Failed(Box::new(error)),
    }
}
