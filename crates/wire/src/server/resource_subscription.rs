//! A resource subscription that ends on drop.
//!
//! Used by `legacy` (until `resources/unsubscribe`) and `modern` (until the listen request ends).
//! It does not deliver changes (`changes`).

use std::sync::Arc;

use super::{ClientFacts, ServerHandler, SubscribedResource};
use crate::envelope::RpcError;

/// The subscription of a client to some resources. Dropping it ends the subscription.
#[derive(Debug)]
pub(super) struct ResourceSubscription<H: ServerHandler> {
    handler: Arc<H>,
    resources: Vec<SubscribedResource>,
    client: ClientFacts,
}

// === impl ResourceSubscription ===

impl<H: ServerHandler> ResourceSubscription<H> {
    /// A subscription without resources.
    pub(super) fn new(handler: Arc<H>, client: ClientFacts) -> Self {
        Self { handler, resources: Vec::new(), client }
    }

    /// Subscribes to one more resource.
    pub(super) async fn add(&mut self, resource: SubscribedResource) -> Result<(), RpcError> {
        self.handler.subscribe(&resource, true, &self.client).await?;
        self.resources.push(resource);
        Ok(())
    }

    /// Unsubscribes and waits for the outcome.
    pub(super) async fn end(mut self) -> Result<(), RpcError> {
        while let Some(resource) = self.resources.pop() {
            self.handler.subscribe(&resource, false, &self.client).await?;
        }
        Ok(())
    }
}

impl<H: ServerHandler> Drop for ResourceSubscription<H> {
    fn drop(&mut self) {
        let resources = std::mem::take(&mut self.resources);
        if resources.is_empty() {
            return;
        }
        let (handler, client) = (self.handler.clone(), self.client.clone());
        // Without a runtime the program is ending, and subscriptions end with it.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        runtime.spawn(async move {
            for resource in resources {
                if let Err(error) = handler.subscribe(&resource, false, &client).await {
                    tracing::debug!(%error, "a subscription could not be ended");
                }
            }
        });
    }
}
