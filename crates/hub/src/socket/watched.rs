//! A view whose calls are counted, and refused once the hub is about to end.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use switchboard_wire::{
    envelope::{Notification, RpcError},
    json::Raw,
    server::{Asked, ClientFacts, Context, Description, Handler, Reply},
};
use tokio_util::sync::CancellationToken;

use super::{activity::Activity, again::try_again, presence::Presence};

/// Passes everything on.
pub(super) struct Watched<V> {
    pub(super) view: Arc<V>,
    pub(super) activity: Arc<Activity>,
    pub(super) presence: Arc<Presence>,
    /// No more calls are taken.
    pub(super) draining: CancellationToken,
}

// === impl Watched ===

impl<V: Handler> Handler for Watched<V> {
    fn describe(&self) -> Description {
        self.view.describe()
    }

    fn info(&self) -> Raw {
        self.view.info()
    }

    fn greeted(&self, client_info: Option<&Raw>) {
        self.presence.is(client_info);
        self.view.greeted(client_info);
    }

    fn call<'a>(
        &'a self,
        asked: Asked,
        context: &'a Context,
    ) -> BoxFuture<'a, Result<Reply, RpcError>> {
        // A call that comes back with answers is one of those that are waited for.
        if self.draining.is_cancelled() && asked.state.is_none() && asked.answers.is_empty() {
            let error = try_again("the hub is about to end; the call was not made");
            return Box::pin(std::future::ready(Err(error)));
        }
        self.presence.is(context.client_info.as_ref());
        let counted = (self.activity.call(), self.presence.call());
        let answer = self.view.call(asked, context);
        Box::pin(async move {
            let _counted = counted;
            answer.await
        })
    }

    fn subscribe<'a>(
        &'a self,
        uri: &'a str,
        on: bool,
        client: &'a ClientFacts,
    ) -> BoxFuture<'a, Result<(), RpcError>> {
        self.view.subscribe(uri, on, client)
    }

    fn abandoned(&self, asked: &Asked) {
        self.view.abandoned(asked);
    }

    fn notified(&self, notification: Notification) {
        self.view.notified(notification);
    }
}
