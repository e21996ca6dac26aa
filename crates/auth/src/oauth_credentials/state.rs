//! The cached sign-in of a credential provider, and when the user has signed in or out.
//!
//! Used by `oauth_credentials`. The store's files are the truth for every process. Their stamps are compared
//! before each request, which costs a `stat`; a file is read only when its stamp has changed. So a sign-in or
//! sign-out takes effect with the next request, in whichever process it happened.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use switchboard_wire::http::{SignInInfo, SignInRevision};
use tokio::time::{Instant, sleep};

use super::{Inner, UserPresence};
use crate::account::{OAuthAccount, SignInRecord};
use crate::dpop::DpopProver;
use crate::organisation::IdentityProviderClient;
use crate::store::{RecordStamp, SignInStoreError};
use crate::token::unix_now;

/// How often the store's stamps are compared while no request does it.
const STORE_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The sign-in as last read from the store, and the attempts since.
#[derive(Default)]
pub(super) struct SignInState {
    /// The stamps at the last read, successful or not.
    stamps: Option<SignInStamps>,
    /// Whether the last read succeeded.
    is_readable: bool,
    /// Counts sign-ins and sign-outs.
    revision: u64,
    /// The id of the sign-in to the identity provider, for a server that uses one.
    identity: Option<String>,
    pub(super) account: Option<Arc<OAuthAccount>>,
    pub(super) lost: Option<String>,
    pub(super) quiet_until: Option<Instant>,
    /// The account that the last 401 was answered with.
    pub(super) answer: Option<Arc<OAuthAccount>>,
    /// Whether the last unattended sign-in failed.
    pub(super) has_failed: bool,
    pub(super) steps: HashMap<String, u32>,
    pub(super) prover: Option<Arc<DpopProver>>,
    /// The nonce for the next DPoP proof.
    pub(super) nonce: Option<String>,
    /// The server's address when it last refused a request.
    pub(super) remote: Option<IpAddr>,
}

/// The stamps of the files that a sign-in consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SignInStamps {
    record: Option<RecordStamp>,
    organisation: Option<RecordStamp>,
}

// === impl Inner ===

impl Inner {
    /// Returns the account if the store is unchanged and the token needs no renewal.
    pub(super) fn fresh_account(&self) -> Option<Arc<OAuthAccount>> {
        let stamps = self.stamps();
        let state = self.state();
        state
            .account
            .clone()
            .filter(|account| state.is_current(stamps) && !account.needs_renewal(unix_now()))
    }

    /// Reads the store if it changed or could not be read before. An account that can no longer be read is no
    /// longer used.
    pub(super) async fn reload_if_changed(&self) -> Result<(), SignInStoreError> {
        // Taken before the read, so that a change during the read shows at the next comparison.
        let stamps = self.stamps();
        if self.state().is_current(stamps) {
            return Ok(());
        }
        match self.read().await {
            Ok((record, identity)) => {
                let mut state = self.state();
                let is_other_person = state.stamps.is_some() && state.identity != identity;
                state.revision += u64::from(is_other_person);
                state.identity = identity;
                state.is_readable = true;
                self.apply_record(&mut state, &record, stamps);
                Ok(())
            }
            Err(error) => {
                let mut state = self.state();
                state.is_readable = false;
                self.apply_record(&mut state, &SignInRecord::default(), stamps);
                Err(error)
            }
        }
    }

    async fn read(&self) -> Result<(SignInRecord, Option<String>), SignInStoreError> {
        let identity = match self.sign_in.identity_provider() {
            Some(organisation) => organisation.sign_in_id().await?,
            None => None,
        };
        let (record, _) = self.sign_in.stored_record().load().await?;
        Ok((record, identity))
    }

    /// Adopts a record that was read or written under the record's lock.
    pub(super) fn remember(&self, record: &SignInRecord, stamp: Option<RecordStamp>) {
        let mut state = self.state();
        let organisation = state.stamps.and_then(|stamps| stamps.organisation);
        self.apply_record(&mut state, record, SignInStamps { record: stamp, organisation });
    }

    fn apply_record(&self, state: &mut SignInState, record: &SignInRecord, stamps: SignInStamps) {
        // A token that came through the identity provider belongs to the user who was signed in there.
        let is_theirs = |account: &&OAuthAccount| {
            !self.sign_in.uses_identity_provider()
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

    /// Whether a session that was opened before must not be used with `account`. The first sign-in by this
    /// provider itself, in the middle of a request, does not count as a change: that request continues with
    /// it.
    fn is_change(&self, state: &SignInState, account: Option<&OAuthAccount>) -> bool {
        let signs_in_here =
            !self.sign_in.needs_person() || matches!(self.presence, UserPresence::Somebody(_));
        match (state.account.as_deref(), account) {
            (None, None) => false,
            (None, Some(_)) => !signs_in_here || state.has_failed,
            (Some(_), None) => true,
            (Some(before), Some(after)) => before.sign_in_id != after.sign_in_id,
        }
    }

    /// Adopts an account that this provider has just signed in to and stored.
    pub(super) async fn adopt(
        &self,
        account: OAuthAccount,
    ) -> Result<Arc<OAuthAccount>, SignInStoreError> {
        self.reload_if_changed().await?;
        let mut state = self.state();
        state.has_failed = false;
        // If another process signed out meanwhile, this request still uses the account and the next one does
        // not.
        Ok(state.account.clone().unwrap_or_else(|| Arc::new(account)))
    }

    /// The revision of the current sign-in.
    pub(super) async fn revision(&self) -> SignInRevision {
        if let Err(error) = self.reload_if_changed().await {
            // The next request fails with this error.
            tracing::debug!(%error, "a stored sign-in cannot be read");
        }
        SignInRevision(self.state().revision)
    }

    /// The id of the current sign-in.
    pub(super) async fn current_sign_in_id(&self) -> Option<String> {
        self.revision().await;
        self.state().account.as_ref().map(|account| account.sign_in_id.clone())
    }

    /// What is known of the current sign-in.
    pub(super) async fn current_sign_in_info(&self) -> Option<SignInInfo> {
        self.revision().await;
        let signs_in_alone = !self.sign_in.needs_person();
        self.state().account.as_ref().map(|account| account.info(signs_in_alone))
    }

    /// Polls the store until the sign-in differs from the one at `since`.
    pub(super) async fn wait_for_change(&self, since: SignInRevision) {
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
                () = self.background.wait_until_done() => {}
            }
        }
    }

    fn stamps(&self) -> SignInStamps {
        let organisation = self.sign_in.identity_provider().and_then(IdentityProviderClient::stamp);
        SignInStamps { record: self.sign_in.stored_record().stamp(), organisation }
    }
}

// === impl SignInState ===

impl SignInState {
    /// Whether the files are unchanged since they were read.
    fn is_current(&self, stamps: SignInStamps) -> bool {
        self.is_readable && self.stamps == Some(stamps)
    }
}
