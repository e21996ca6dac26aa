//! A resource subscription that ends on drop.
//!
//! Used by `legacy` (until `resources/unsubscribe`) and `modern` (until the listen request ends).
//! It does not deliver changes (`changes`).

use std::sync::Arc;

use super::{ClientFacts, ServerHandler};
use crate::envelope::RpcError;

/// A subscription to some resources. Dropping it unsubscribes.
#[derive(Debug)]
pub(super) struct ResourceSubscription<H: ServerHandler> {
    handler: Arc<H>,
    uris: Vec<String>,
    client: ClientFacts,
}

// === impl ResourceSubscription ===

impl<H: ServerHandler> ResourceSubscription<H> {
    /// Subscribes to all `uris`, or to none if one fails.
    pub(super) async fn subscribe(
        handler: Arc<H>,
        uris: &[String],
        client: ClientFacts,
    ) -> Result<Self, RpcError> {
        let mut subscribed = Self { handler, uris: Vec::new(), client };
        for uri in uris {
            subscribed.handler.subscribe(uri, true, &subscribed.client).await?;
            subscribed.uris.push(uri.clone());
        }
        Ok(subscribed)
    }

    /// Unsubscribes and waits for the outcome.
    pub(super) async fn end(mut self) -> Result<(), RpcError> {
        while let Some(uri) = self.uris.pop() {
            self.handler.subscribe(&uri, false, &self.client).await?;
        }
        Ok(())
    }
}

impl<H: ServerHandler> Drop for ResourceSubscription<H> {
    fn drop(&mut self) {
        let uris = std::mem::take(&mut self.uris);
        if uris.is_empty() {
            return;
        }
        let (handler, client) = (self.handler.clone(), self.client.clone());
        // Without a runtime the program is ending, and subscriptions end with it.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        runtime.spawn(async move {
            for uri in uris {
                if let Err(error) = handler.subscribe(&uri, false, &client).await {
                    tracing::debug!(%error, "a subscription could not be ended");
                }
            }
        });
    }
}
