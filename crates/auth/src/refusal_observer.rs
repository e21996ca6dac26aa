//! The refusal observer: a credential provider without credentials that passes each refusal to a function.
//!
//! Used by `fetch` and `sign_in_requirement`, which need the address of a host that refused. It does not answer a
//! challenge.

use futures_util::future::BoxFuture;
use http::HeaderMap;
use switchboard_wire::http::{
    ChallengeAction, CredentialChallenge, CredentialError, CredentialProvider, RequestLine,
};

/// Passes each refusal to a function.
pub(crate) struct RefusalObserver<F>(pub(crate) F);

// === impl RefusalObserver ===

impl<F: Fn(&CredentialChallenge) + Send + Sync + 'static> CredentialProvider
    for RefusalObserver<F>
{
    fn headers<'a>(
        &'a self,
        _: RequestLine<'a>,
    ) -> BoxFuture<'a, Result<HeaderMap, CredentialError>> {
        Box::pin(std::future::ready(Ok(HeaderMap::new())))
    }

    fn on_challenge<'a>(
        &'a self,
        challenge: &'a CredentialChallenge,
    ) -> BoxFuture<'a, ChallengeAction> {
        (self.0)(challenge);
        Box::pin(std::future::ready(ChallengeAction::GiveUp))
    }
}
