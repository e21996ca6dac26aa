//! Proofs that requests are ours, for tokens that are bound to a key.

use std::sync::Arc;

use http::HeaderValue;
use switchboard_wire::http::{ChallengeAction, RequestLine};

use super::Inner;
use crate::account::OAuthAccount;
use crate::dpop::{self, DpopProver, ProofSubject};
use crate::error::Error;

// === impl Inner ===

impl Inner {
    /// What proves that a request is ours, where the token is bound to a key.
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

    /// The server wants a word of its own in the proof. It gets it once; one that it does not accept is the answer.
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
