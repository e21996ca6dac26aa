//! DPoP proofs for requests with a token that is bound to a key.
//!
//! Used by `oauth_credentials`. The proofs are signed in `dpop`.

use std::sync::Arc;

use http::HeaderValue;
use switchboard_wire::http::{ChallengeAction, RequestLine};

use super::Inner;
use crate::account::OAuthAccount;
use crate::dpop::{self, DpopProver, ProofSubject};
use crate::error::Error;

// === impl Inner ===

impl Inner {
    /// Returns the DPoP proof for a request; `None` if the token is not bound to a key.
    pub(super) fn proof(
        &self,
        account: &OAuthAccount,
        RequestLine { method, url }: RequestLine<'_>,
    ) -> Result<Option<HeaderValue>, Error> {
        let Some(key) = &account.key else { return Ok(None) };
        let (prover, nonce) = {
            let mut state = self.state();
            if state.prover.as_ref().is_none_or(|prover| prover.secret() != key) {
                state.prover = DpopProver::from_secret(key).map(Arc::new);
            }
            (state.prover.clone(), state.nonce.clone())
        };
        let Some(prover) = prover else { return Ok(None) };
        let token = Some(account.access.expose().as_str());
        prover.prove(&ProofSubject { method, url, nonce: nonce.as_deref(), token }).map(Some)
    }

    /// Retries once with the nonce that the server asked for; gives up if the server refuses that nonce too.
    pub(super) fn nonce_verdict(&self, sent: Option<&HeaderValue>) -> ChallengeAction {
        let known = self.state().nonce.clone();
        let shown = sent.and_then(dpop::read_nonce);
        if known.is_some() && known != shown {
            ChallengeAction::Retry
        } else {
            ChallengeAction::GiveUp
        }
    }
}
