//! Interest in resources that ends by itself: with an unsubscription, or with whatever held it.

use std::sync::Arc;

use super::{ClientFacts, ServerHandler};
use crate::envelope::RpcError;

/// Somebody hears of changes to some resources. Dropped, they no longer do.
#[derive(Debug)]
pub(super) struct ResourceSubscription<H: ServerHandler> {
    handler: Arc<H>,
    uris: Vec<String>,
    client: ClientFacts,
}

// === impl ResourceSubscription ===

impl<H: ServerHandler> ResourceSubscription<H> {
    /// Subscribes to all of `uris`, or to none of them.
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

    /// Ends it, for whoever wants to know that it has ended.
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
        // Without a runtime everything ends, subscriptions too.
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
