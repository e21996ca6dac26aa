//! Tokens of several kinds at one door: any of them opens it.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::face::{Denied, Tokens};

/// Asks one after the other. Nobody is in it twice, so each token is good with one of them at most.
pub struct Several(pub Vec<Arc<dyn Tokens>>);

// === impl Several ===

impl Several {
    /// The one that can tell clients how to get a token by themselves.
    fn describing(&self, path: &str) -> Option<&Arc<dyn Tokens>> {
        self.0.iter().find(|tokens| tokens.metadata(path).is_some())
    }

    async fn first(&self, token: &str, path: &str) -> Result<String, Denied> {
        let mut denied = Denied::NotGood;
        for tokens in &self.0 {
            match tokens.admit(token, path).await {
                Ok(principal) => return Ok(principal),
                // One that says more than that it does not know the token is the one it is of.
                Err(Denied::NotGood) => {}
                Err(why) => denied = why,
            }
        }
        Err(denied)
    }
}

impl Tokens for Several {
    fn admit<'a>(&'a self, token: &'a str, path: &'a str) -> BoxFuture<'a, Result<String, Denied>> {
        Box::pin(self.first(token, path))
    }

    fn challenge(&self, path: &str) -> String {
        let telling = self.describing(path).or_else(|| self.0.first());
        telling.map_or_else(|| "Bearer".to_owned(), |tokens| tokens.challenge(path))
    }

    fn metadata(&self, path: &str) -> Option<String> {
        self.describing(path)?.metadata(path)
    }
}
