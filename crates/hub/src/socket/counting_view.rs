//! A [`ServerHandler`] that counts the calls of one client and refuses new calls while the hub drains.
//!
//! Used by `connection` around the view of each MCP client. It does not change requests or results.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use switchboard_wire::{
    envelope::{Notification, RpcError},
    json::Raw,
    server::{
        ClientFacts, HandlerReply, HandlerRequest, RequestContext, ServerDescription,
        ServerHandler, SourceFilter, SubscribedResource,
    },
};
use tokio_util::sync::CancellationToken;

use super::{call_errors::retry_error, clients::ConnectedClient, usage::UsageCounters};

/// Passes every request on to `view`.
pub(super) struct CountingView<V> {
    pub(super) view: Arc<V>,
    pub(super) activity: Arc<UsageCounters>,
    pub(super) presence: Arc<ConnectedClient>,
    /// Cancelled once the hub takes no more calls.
    pub(super) draining: CancellationToken,
}

// === impl CountingView ===

impl<V: ServerHandler> ServerHandler for CountingView<V> {
    fn describe(&self) -> ServerDescription {
        self.view.describe()
    }

    fn describe_to<'a>(&'a self, client: &'a ClientFacts) -> BoxFuture<'a, ServerDescription> {
        self.view.describe_to(client)
    }

    fn info(&self) -> Raw {
        self.view.info()
    }

    fn on_initialize(&self, client_info: Option<&Raw>) {
        self.presence.set_identity(client_info);
        self.view.on_initialize(client_info);
    }

    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        context: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        // A call that returns with answers or a state belongs to a running call, which the hub waits for.
        if self.draining.is_cancelled() && asked.state.is_none() && asked.answers.is_empty() {
            let error = retry_error("the hub is about to end; the call was not made");
            return Box::pin(std::future::ready(Err(error)));
        }
        self.presence.set_identity(context.client_info.as_ref());
        let counted = (self.activity.count_call(), self.presence.begin_call());
        let answer = self.view.call(asked, context);
        Box::pin(async move {
            let _counted = counted;
            answer.await
        })
    }

    fn subscribe<'a>(
        &'a self,
        resource: &'a SubscribedResource,
        on: bool,
        client: &'a ClientFacts,
    ) -> BoxFuture<'a, Result<(), RpcError>> {
        self.view.subscribe(resource, on, client)
    }

    fn subscription_owner(&self, meta: &Raw) -> Option<String> {
        self.view.subscription_owner(meta)
    }

    fn source_filter(&self, client: &ClientFacts) -> Option<SourceFilter> {
        self.view.source_filter(client)
    }

    fn on_unknown_notifications(&self, names: &[String], client: &ClientFacts) {
        self.view.on_unknown_notifications(names, client);
    }

    fn on_abandoned(&self, asked: &HandlerRequest) {
        self.view.on_abandoned(asked);
    }

    fn on_notification(&self, notification: Notification, client: Option<ClientFacts>) {
        self.view.on_notification(notification, client);
    }
}
