//! A verifier that accepts the tokens of several verifiers.
//!
//! Used by `serve`, which may accept stored tokens and tokens of an identity provider. It verifies
//! no token itself.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use switchboard_core::principal::Principal;

use crate::face::{TokenDenial, TokenVerifier};

/// Asks the verifiers in order. A token is valid for at most one verifier.
pub struct TokenVerifiers(pub Vec<Arc<dyn TokenVerifier>>);

// === impl TokenVerifiers ===

impl TokenVerifiers {
    /// The verifier with metadata that tells clients how to obtain a token.
    fn find_describing(&self, path: &str) -> Option<&Arc<dyn TokenVerifier>> {
        self.0.iter().find(|tokens| tokens.metadata(path).is_some())
    }

    async fn admit_first(&self, token: &str, path: &str) -> Result<Principal, TokenDenial> {
        let mut denied = TokenDenial::NotGood;
        for tokens in &self.0 {
            match tokens.admit(token, path).await {
                Ok(principal) => return Ok(principal),
                // `NotGood` means an unknown token; any other denial comes from the verifier that
                // the token belongs to.
                Err(TokenDenial::NotGood) => {}
                Err(why) => denied = why,
            }
        }
        Err(denied)
    }
}

impl TokenVerifier for TokenVerifiers {
    fn admit<'a>(
        &'a self,
        token: &'a str,
        path: &'a str,
    ) -> BoxFuture<'a, Result<Principal, TokenDenial>> {
        Box::pin(self.admit_first(token, path))
    }

    fn recheck_interval(&self, token: &str) -> Option<Duration> {
        self.0.iter().filter_map(|tokens| tokens.recheck_interval(token)).min()
    }

    fn challenge(&self, path: &str) -> String {
        let telling = self.find_describing(path).or_else(|| self.0.first());
        telling.map_or_else(|| "Bearer".to_owned(), |tokens| tokens.challenge(path))
    }

    fn metadata(&self, path: &str) -> Option<String> {
        self.find_describing(path)?.metadata(path)
    }
}
