//! What a provider knows of the store, and when a person has signed in or out.
//!
//! The store's files are the truth for every process. Their stamps are compared before each request, which costs a
//! `stat`; a file is read only when its stamp is another one. So a sign-in or a sign-out counts from the next request
//! on, in whichever process it happened.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use switchboard_wire::http::SignInRevision;
use tokio::time::{Instant, sleep};

use super::{Inner, Presence};
use crate::account::{Account, Record};
use crate::dpop::Prover;
use crate::organisation::IdentityProvider;
use crate::store::{Stamp, StoreError};
use crate::token::now;

/// How often the store is compared with what was read of it while no request asks.
const STORE_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// What was last read of the store, and what was tried since.
#[derive(Default)]
pub(super) struct SignInState {
    /// The stamps of what was last read, or tried to.
    stamps: Option<Stamps>,
    /// Whether it could be read.
    is_readable: bool,
    /// Counts sign-ins and sign-outs.
    revision: u64,
    /// The sign-in with the identity provider, where the server is opened by one.
    identity: Option<String>,
    pub(super) account: Option<Arc<Account>>,
    pub(super) lost: Option<String>,
    pub(super) quiet_until: Option<Instant>,
    /// What a refusal was last answered with.
    pub(super) answer: Option<Arc<Account>>,
    /// Whether the program could not sign in as itself when it last tried.
    pub(super) has_failed: bool,
    pub(super) steps: HashMap<String, u32>,
    pub(super) prover: Option<Arc<Prover>>,
    /// What the server wants to see in the next proof.
    pub(super) nonce: Option<String>,
    /// Where the server was when it last refused a request.
    pub(super) remote: Option<IpAddr>,
}

/// Tells one state of the files that a sign-in consists of from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamps {
    record: Option<Stamp>,
    organisation: Option<Stamp>,
}

// === impl Inner ===

impl Inner {
    /// The account, if nothing has to be done about it.
    pub(super) fn fresh(&self) -> Option<Arc<Account>> {
        let stamps = self.stamps();
        let state = self.state();
        state.account.clone().filter(|account| state.is_of(stamps) && !account.is_due(now()))
    }

    /// Reads the store, if it changed or could not be read before. What cannot be read any more is not used any more.
    pub(super) async fn look(&self) -> Result<(), StoreError> {
        // From before it is read: a change in between is seen the next time.
        let stamps = self.stamps();
        if self.state().is_of(stamps) {
            return Ok(());
        }
        match self.read().await {
            Ok((record, identity)) => {
                let mut state = self.state();
                let is_other_person = state.stamps.is_some() && state.identity != identity;
                state.revision += u64::from(is_other_person);
                state.identity = identity;
                state.is_readable = true;
                self.take(&mut state, &record, stamps);
                Ok(())
            }
            Err(error) => {
                let mut state = self.state();
                state.is_readable = false;
                self.take(&mut state, &Record::default(), stamps);
                Err(error)
            }
        }
    }

    async fn read(&self) -> Result<(Record, Option<String>), StoreError> {
        let identity = match self.sign_in.organisation() {
            Some(organisation) => organisation.sign_in_id().await?,
            None => None,
        };
        let (record, _) = self.sign_in.shelf().load().await?;
        Ok((record, identity))
    }

    /// Takes in a record that was read or written while the record's lock was held.
    pub(super) fn remember(&self, record: &Record, stamp: Option<Stamp>) {
        let mut state = self.state();
        let organisation = state.stamps.and_then(|stamps| stamps.organisation);
        self.take(&mut state, record, Stamps { record: stamp, organisation });
    }

    fn take(&self, state: &mut SignInState, record: &Record, stamps: Stamps) {
        // A token that came through the identity provider is of the person who was signed in there.
        let is_theirs = |account: &&Account| {
            !self.sign_in.goes_through_organisation()
                || state.identity.as_ref() == Some(&account.sign_in_id)
        };
        let account = record.account.as_ref().filter(is_theirs);
        if state.stamps.is_some() && self.is_change(state, account) {
            state.revision += 1;
        }
        state.stamps = Some(stamps);
        state.lost.clone_from(&record.lost);
        if state.account.as_deref() != account {
            state.account = account.cloned().map(Arc::new);
            state.quiet_until = None;
        }
    }

    /// Whether a session that was opened before must not be used with `account`. The first sign-in by this provider
    /// itself, in the middle of a request, is no such change: that request goes on with it.
    fn is_change(&self, state: &SignInState, account: Option<&Account>) -> bool {
        let signs_in_here =
            !self.sign_in.takes_a_person() || matches!(self.presence, Presence::Somebody(_));
        match (state.account.as_deref(), account) {
            (None, None) => false,
            (None, Some(_)) => !signs_in_here || state.has_failed,
            (Some(_), None) => true,
            (Some(before), Some(after)) => before.sign_in_id != after.sign_in_id,
        }
    }

    /// Takes in what this provider has just signed in to and stored.
    pub(super) async fn adopt(&self, account: Account) -> Result<Arc<Account>, StoreError> {
        self.look().await?;
        let mut state = self.state();
        state.has_failed = false;
        // Another process may have signed out meanwhile; then this request was before that, and the next is after.
        Ok(state.account.clone().unwrap_or_else(|| Arc::new(account)))
    }

    /// Which sign-in counts now.
    pub(super) async fn revision(&self) -> SignInRevision {
        if let Err(error) = self.look().await {
            // The request that follows fails with it.
            tracing::debug!(%error, "a stored sign-in cannot be read");
        }
        SignInRevision(self.state().revision)
    }

    /// Compares the store with what was read of it until another sign-in counts than at `since`.
    pub(super) async fn changed(&self, since: SignInRevision) {
        loop {
            let stamps = Some(self.stamps());
            let is_other = self.state().stamps != stamps;
            if is_other {
                self.revision().await;
            }
            if self.state().revision != since.0 {
                return;
            }
            tokio::select! {
                () = sleep(STORE_CHECK_INTERVAL) => {}
                () = self.background.done() => {}
            }
        }
    }

    fn stamps(&self) -> Stamps {
        let organisation = self.sign_in.organisation().and_then(IdentityProvider::stamp);
        Stamps { record: self.sign_in.shelf().stamp(), organisation }
    }
}

// === impl SignInState ===

impl SignInState {
    /// Whether the files are as they were when they were read.
    fn is_of(&self, stamps: Stamps) -> bool {
        self.is_readable && self.stamps == Some(stamps)
    }
}
