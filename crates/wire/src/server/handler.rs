//! What a server has to say, free of eras and transports.

use std::borrow::Cow;

use futures_util::future::BoxFuture;

use super::{ClientFacts, PrerenderedResult, RequestContext, SourceFilter};
use crate::{
    client::{InputRequest, InputResponse},
    envelope::{Notification, RpcError},
    json::{Raw, quote},
};

/// Answers requests.
pub trait ServerHandler: Send + Sync + 'static {
    /// What the server says of itself to a client.
    fn describe(&self) -> ServerDescription;

    /// `serverInfo` alone, which every answer to a modern client carries.
    fn info(&self) -> Raw {
        self.describe().info
    }

    /// A client of the older era has said who it is.
    fn on_initialize(&self, client_info: Option<&Raw>) {
        let _ = client_info;
    }

    /// Answers a request. Dropped when the client cancels it or goes away.
    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        context: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>>;

    /// A client wants to hear of changes to a resource, or no longer.
    fn subscribe<'a>(
        &'a self,
        resource: &'a SubscribedResource,
        on: bool,
        client: &'a ClientFacts,
    ) -> BoxFuture<'a, Result<(), RpcError>> {
        let _ = (resource, on, client);
        Box::pin(std::future::ready(Ok(())))
    }

    /// Whose resource a client means that subscribes to a URI, by the `_meta` of its request; `None`: it does not say.
    fn subscription_owner(&self, meta: &Raw) -> Option<String> {
        let _ = meta;
        None
    }

    /// A client begins to listen: which sources it hears of; `None`: all that its session hears of. The filter is kept
    /// until the client no longer listens.
    fn source_filter(&self, client: &ClientFacts) -> Option<SourceFilter> {
        let _ = client;
        None
    }

    /// A client took a request back while it was being asked something for it: what was put away under `asked`'s state
    /// is not wanted any more. Only clients of the older era can; they are asked while their request is under way.
    fn on_abandoned(&self, asked: &HandlerRequest) {
        let _ = asked;
    }

    /// A notification of the client that the session has no use for.
    fn on_notification(&self, notification: Notification) {
        drop(notification);
    }
}

/// A resource that a client wants to hear of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SubscribedResource {
    /// Its URI.
    pub uri: String,
    /// Whose it is, if the client said: several may have one URI.
    pub owner: Option<String>,
}

/// What a server says of itself.
#[derive(Debug, Clone)]
pub struct ServerDescription {
    /// `serverInfo`.
    pub info: Raw,
    /// `capabilities`.
    pub capabilities: Raw,
    /// Advice for the model.
    pub instructions: Option<String>,
}

impl ServerDescription {
    /// `,"instructions":…`, or nothing where there are none.
    pub(super) fn instructions_member(&self) -> String {
        let instructions = self.instructions.as_deref();
        instructions.map(|text| format!(r#","instructions":{}"#, quote(text))).unwrap_or_default()
    }
}

/// A request, free of its era.
#[derive(Debug, Clone)]
pub struct HandlerRequest {
    /// The method.
    pub method: Cow<'static, str>,
    /// Its parameters, as sent.
    pub params: Raw,
    /// Answers to questions of an earlier [`HandlerReply::NeedsInput`].
    pub answers: Vec<InputResponse>,
    /// The state that came with it.
    pub state: Option<Raw>,
}

/// What a request comes to.
#[derive(Debug)]
pub enum HandlerReply {
    /// The result.
    Complete(Raw),
    /// The same, of one that is given again and again.
    Repeated(PrerenderedResult),
    /// Questions first. The request comes again with the answers and with `state`.
    NeedsInput {
        /// What to ask; nothing means only to come again.
        questions: Vec<InputRequest>,
        /// A JSON string that only the handler can read.
        state: Option<Raw>,
    },
}
