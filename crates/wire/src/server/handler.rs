//! The `ServerHandler` trait: how a server answers requests, independent of era and transport.
//!
//! Implemented by `gateway::bridge`, `plugin` and the test servers; called by `session`. It does not parse or render
//! messages (`legacy`, `modern`, `render`).

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
    /// The server's description for a client.
    fn describe(&self) -> ServerDescription;

    /// The server's description for this client. A handler may wait for servers that it depends on, for a bounded time.
    fn describe_to<'a>(&'a self, client: &'a ClientFacts) -> BoxFuture<'a, ServerDescription> {
        let _ = client;
        Box::pin(std::future::ready(self.describe()))
    }

    /// `serverInfo` alone, which every answer to a modern client carries.
    fn info(&self) -> Raw {
        self.describe().info
    }

    /// A legacy client has sent `initialize`.
    fn on_initialize(&self, client_info: Option<&Raw>) {
        let _ = client_info;
    }

    /// Answers a request. The future is dropped when the client cancels the request or disconnects.
    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        context: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>>;

    /// Starts or ends a client's subscription to a resource.
    fn subscribe<'a>(
        &'a self,
        resource: &'a SubscribedResource,
        on: bool,
        client: &'a ClientFacts,
    ) -> BoxFuture<'a, Result<(), RpcError>> {
        let _ = (resource, on, client);
        Box::pin(std::future::ready(Ok(())))
    }

    /// Returns the owner of the resource that a client subscribes to, from the `_meta` of its request; `None` if the
    /// client names none.
    fn subscription_owner(&self, meta: &Raw) -> Option<String> {
        let _ = meta;
        None
    }

    /// Returns the sources that a client hears of that begins to listen; `None`: all that its session hears of. The
    /// filter is kept until the client no longer listens.
    fn source_filter(&self, client: &ClientFacts) -> Option<SourceFilter> {
        let _ = client;
        None
    }

    /// A client wants to listen for notifications under names that the protocol does not have. They are not granted.
    fn on_unknown_notifications(&self, names: &[String], client: &ClientFacts) {
        let _ = (names, client);
    }

    /// A client cancelled a request while a question of the request was open: the call suspended under the state of
    /// `asked` can be dropped. Only legacy clients can do this, since their request stays open during questions.
    fn on_abandoned(&self, asked: &HandlerRequest) {
        let _ = asked;
    }

    /// A notification of the client that the session does not handle, with the facts that the client stated. A modern
    /// client may state none with a notification.
    fn on_notification(&self, notification: Notification, client: Option<ClientFacts>) {
        drop((notification, client));
    }
}

/// A resource that a client wants to hear of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SubscribedResource {
    /// Its URI.
    pub uri: String,
    /// The server that owns the resource, if the client named it: several servers may have one URI.
    pub owner: Option<String>,
}

/// A server's name, capabilities and instructions.
#[derive(Debug, Clone)]
pub struct ServerDescription {
    /// `serverInfo`.
    pub info: Raw,
    /// `capabilities`.
    pub capabilities: Raw,
    /// Instructions for the model.
    pub instructions: Option<String>,
}

impl ServerDescription {
    /// The text `,"instructions":…`, or an empty string without instructions.
    pub(super) fn instructions_member(&self) -> String {
        let instructions = self.instructions.as_deref();
        instructions.map(|text| format!(r#","instructions":{}"#, quote(text))).unwrap_or_default()
    }
}

/// A request, independent of its era.
#[derive(Debug, Clone)]
pub struct HandlerRequest {
    /// The method.
    pub method: Cow<'static, str>,
    /// The parameters, unchanged.
    pub params: Raw,
    /// Answers to questions of an earlier [`HandlerReply::NeedsInput`].
    pub answers: Vec<InputResponse>,
    /// The state that came with the questions.
    pub state: Option<Raw>,
}

/// The reply to a request.
#[derive(Debug)]
pub enum HandlerReply {
    /// The result.
    Complete(Raw),
    /// A result that is sent many times.
    Repeated(PrerenderedResult),
    /// Questions. The request comes again with the answers and `state`.
    NeedsInput {
        /// The questions; an empty list only asks for the request again.
        questions: Vec<InputRequest>,
        /// A JSON string that is opaque to the client.
        state: Option<Raw>,
    },
}
