//! The MCP client: a session with one server, in either era.
//!
//! Used by `core::connection` and `switchboard probe`. [`Client::connect`] connects to a [`ServerTarget`], detects
//! its era and performs the handshake. [`Client::call`] starts an [`Exchange`], equal in both eras. Messages of a
//! server outside any call come out of the [`ServerInbox`]. It does not reconnect, and does not know how servers are
//! configured.
//!
//! ```no_run
//! # async fn example() -> Result<(), switchboard_wire::Error> {
//! use switchboard_wire::client::{CallRequest, Client, ClientOptions, ListKind, ServerTarget, StdioTarget};
//! use switchboard_process::{ProcessCommand, ProcessGuard, StderrOptions};
//! use switchboard_wire::json::Raw;
//!
//! let mut command = ProcessCommand::new("mcp-server-time");
//! command.env = std::env::vars_os().collect();
//! let stdio = StdioTarget { command, guard: ProcessGuard::none(), stderr: StderrOptions::default() };
//! let target = ServerTarget::Stdio(stdio);
//! let (client, _inbox) = Client::connect(target, ClientOptions::new("example", "1.0")).await?;
//! for tool in client.list(ListKind::Tools).await?.items {
//!     println!("{tool}");
//! }
//! let arguments = Raw::parse(r#"{"timezone":"Europe/Zurich"}"#).unwrap();
//! let now = client.call(CallRequest::call_tool("get_current_time", &arguments)).result().await?;
//! println!("{now}");
//! client.close().await;
//! # Ok(())
//! # }
//! ```

mod call_request;
mod channel;
mod connect;
mod deep_items;
pub mod elicitation;
mod exchange;
mod exchange_driver;
mod handshake;
mod headers;
mod http_channel;
mod inbox;
mod listen;
mod lists;
mod mailbox;
mod options;
mod request;
mod request_meta;
mod request_stream;
mod request_text;
mod route;
mod server_facts;
mod session;
pub mod skills;
mod stray_text;
mod target;
mod tasks;
mod tool_facts;
mod unsent;

use std::{sync::Arc, time::Duration};

use tokio::sync::{Notify, oneshot};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

pub use call_request::{CallRequest, InputRequest, InputResponse, ResultTypes, TaskHandling};
pub use exchange::{Exchange, ExchangeEvent, SuspendedExchange};
pub use inbox::{InboxEvent, ServerInbox, ServerQuestion};
pub use lists::{ExcludedItem, FetchedList, ListKind, ListTruncation};
pub use options::{
    CallAttribution, ClientLimits, ClientOptions, EraCache, Implementation, RootFolder, ServerEras,
    VersionNegotiation,
};
pub use server_facts::ServerFacts;
pub use target::{HttpTarget, ServerTarget, StdioTarget};

use channel::ServerChannel;
use session::ClientSession;
use stray_text::StrayText;

use crate::{
    Era, Error,
    envelope::Notification,
    json::{Raw, quote},
    meta::method,
};

/// How long the deletion of a session at the server may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// How long the GET stream of a legacy server may take to open before calls are made without it.
const LISTEN_OPEN_TIMEOUT: Duration = Duration::from_secs(1);

/// How long the tasks and the process of an abandoned connection attempt may take to end. Longer than the time a
/// process is given to exit, so that the process is gone by then.
const ABANDON_TIMEOUT: Duration = Duration::from_secs(2);

/// A connection to one server. Clones share it; the connection ends when the last clone and the last exchange are
/// dropped.
#[derive(Debug, Clone)]
pub struct Client(Arc<ClientInner>);

#[derive(Debug)]
struct ClientInner {
    session: Arc<ClientSession>,
    /// Tells the listener that the subscriptions have changed.
    subscriptions_changed: Arc<Notify>,
    tasks: TaskTracker,
    _closing: DropGuard,
}

// === impl Client ===

impl Client {
    /// Connects to a server and greets it. Dropping the future stops the connection attempt; its process may take a
    /// moment to exit.
    pub async fn connect(
        target: ServerTarget,
        options: ClientOptions,
    ) -> Result<(Self, ServerInbox), Error> {
        Self::connect_cancellable(target, options, std::future::pending()).await
    }

    /// Connects like [`Client::connect`] until `abandoned` completes. It then returns after all tasks and the process
    /// of the attempt have ended.
    pub async fn connect_cancellable(
        target: ServerTarget,
        options: ClientOptions,
        abandoned: impl Future<Output = ()>,
    ) -> Result<(Self, ServerInbox), Error> {
        let after = options.connect_timeout;
        let given_up = CancellationToken::new();
        let on_drop = given_up.clone().drop_guard();
        // Boxed: the future holds the connection code of every transport and is large.
        let stray = StrayText::default();
        let mut connecting = Box::pin(connect::connect(target, options, &given_up, &stray));
        let error = tokio::select! {
            biased;
            connected = &mut connecting => {
                on_drop.disarm();
                return connected.map_err(|error| stray.explain(error));
            }
            () = abandoned => Error::Closed,
            () = tokio::time::sleep(after) => {
                stray.explain(Error::Timeout { method: method::INITIALIZE.to_owned(), after })
            }
        };
        given_up.cancel();
        let ended = async {
            // The connection may be complete in this very moment.
            if let Ok((client, _)) = connecting.await {
                client.close().await;
            }
        };
        let _ = tokio::time::timeout(ABANDON_TIMEOUT, ended).await;
        Err(error)
    }

    async fn assemble(session: Arc<ClientSession>, tasks: TaskTracker) -> Self {
        let closing = session.closing.clone().drop_guard();
        let subscriptions_changed = Arc::new(Notify::new());
        let (opened, opening) = oneshot::channel();
        let listening =
            listen::keep_listening(session.clone(), subscriptions_changed.clone(), opened);
        tasks.spawn(listening);
        tasks.close();
        let client = Self(Arc::new(ClientInner {
            session,
            subscriptions_changed,
            tasks,
            _closing: closing,
        }));
        // A legacy server's messages are lost while the GET stream is closed: a question during an early first call
        // would never arrive. A server that does not answer the GET is not waited for.
        let _ = tokio::time::timeout(LISTEN_OPEN_TIMEOUT, opening).await;
        client
    }

    pub(crate) fn session(&self) -> &Arc<ClientSession> {
        &self.0.session
    }

    /// The server's version, name and capabilities, from the handshake.
    pub fn server_facts(&self) -> Arc<ServerFacts> {
        // A client exists only after the handshake.
        self.session().facts().unwrap_or_else(|| {
            Arc::new(ServerFacts {
                version: crate::Version::LATEST_LEGACY,
                info: None,
                capabilities: Raw::empty_object(),
                instructions: None,
            })
        })
    }

    /// The server's process, if Switchboard started one.
    pub fn process(&self) -> Option<&switchboard_process::Process> {
        match &self.session().channel {
            ServerChannel::Link(link) => link.process.as_ref(),
            ServerChannel::Http(_) => None,
        }
    }

    /// Starts a call. The request is sent when the exchange is first polled.
    pub fn call(&self, call: CallRequest) -> Exchange {
        Exchange::new(self.clone(), call)
    }

    /// Continues a suspended call. If the call has to be repeated, `call` is the original request.
    pub fn resume(
        &self,
        call: &CallRequest,
        resume: SuspendedExchange,
        answers: Vec<InputResponse>,
    ) -> Exchange {
        match resume {
            SuspendedExchange::Again { state } => self.call(call.with_answers(state, &answers)),
            SuspendedExchange::Parked(mut exchange) => {
                exchange.answer(answers);
                *exchange
            }
        }
    }

    /// Reads a complete list.
    pub async fn list(&self, list: ListKind) -> Result<FetchedList, Error> {
        self.session().list(list).await
    }

    /// Sends a request without progress or questions, and returns its result.
    pub async fn request(&self, method: &str, params: Option<&Raw>) -> Result<Raw, Error> {
        self.session().request(method, params).await
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: Option<&Raw>) -> Result<(), Error> {
        self.session().send_notification(Notification::new(method, params)).await
    }

    /// Asks for log messages from `level` up: of the whole legacy session, or of each later call to a modern server.
    pub async fn set_log_level(&self, level: &str) -> Result<(), Error> {
        if self.server_facts().era() == Era::Legacy {
            let params = format!(r#"{{"level":{}}}"#, quote(level));
            self.request(method::SET_LEVEL, Some(&Raw::from_trusted(params.into()))).await?;
        }
        self.session().settings().log_level = Some(level.to_owned());
        Ok(())
    }

    /// Subscribes to changes of a resource.
    pub async fn subscribe(&self, uri: &str) -> Result<(), Error> {
        if !self.server_facts().has_capability(&["resources", "subscribe"]) {
            return Err(Error::NotOffered { what: "resources.subscribe" });
        }
        if self.server_facts().era() == Era::Legacy {
            self.request(method::RESOURCES_SUBSCRIBE, Some(&uri_params(uri))).await?;
        }
        self.session().settings().subscriptions.insert(uri.to_owned());
        self.0.subscriptions_changed.notify_one();
        Ok(())
    }

    /// Ends the subscription to a resource.
    pub async fn unsubscribe(&self, uri: &str) -> Result<(), Error> {
        if self.server_facts().era() == Era::Legacy {
            self.request(method::RESOURCES_UNSUBSCRIBE, Some(&uri_params(uri))).await?;
        }
        self.session().settings().subscriptions.remove(uri);
        self.0.subscriptions_changed.notify_one();
        Ok(())
    }

    /// Closes the connection and waits for the end: running calls fail, the session is deleted at the server, the
    /// process and its descendants have exited.
    pub async fn close(&self) {
        let session = self.session();
        session.fail_all(&Error::Closed);
        match &session.channel {
            ServerChannel::Http(http) => {
                let facts = session.facts();
                let goodbye = http.delete(facts.as_deref());
                // A server that does not take the deletion in time lets the session expire.
                let _ = tokio::time::timeout(CLOSE_TIMEOUT, goodbye).await;
            }
            ServerChannel::Link(link) => link.writer.close().await,
        }
        session.closing.cancel();
        if let Some(process) = self.process() {
            process.stop().await;
        }
        self.0.tasks.wait().await;
    }
}

fn uri_params(uri: &str) -> Raw {
    Raw::from_trusted(format!(r#"{{"uri":{}}}"#, quote(uri)).into())
}
