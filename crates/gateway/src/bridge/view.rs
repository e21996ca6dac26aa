//! The view of one client: a `ServerHandler` over one workspace of an engine.
//!
//! Used by the faces and `switchboard connect`, opened by [`Bridge`]. It answers lists, subscriptions
//! and the gateway's own requests; `call` forwards calls. It decides no permission.

use std::cell::LazyCell;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::json;
use switchboard_config::PermissionMode;
use switchboard_core::catalog::{NameStyle, instructions};
use switchboard_core::connection::OpaqueCapabilities;
use switchboard_core::engine::{
    ArgumentCheck, AttachError, DescribedExtensions, PrincipalLease, QuestionAnswerer,
};
use switchboard_core::{Caller, Request, Session, WorkspaceSnapshot};
use switchboard_wire::Version;
use switchboard_wire::client::ListKind;
use switchboard_wire::envelope::{Notification, RpcError};
use switchboard_wire::json::Raw;
use switchboard_wire::meta::{SKILLS_EXTENSION, TASKS_EXTENSION, method};
use switchboard_wire::server::{
    ClientFacts, HandlerReply, HandlerRequest, RequestContext, ServerDescription, ServerHandler,
    SourceFilter, SubscribedResource,
};
use tokio::time::Instant;

use super::apps::{self, ToolCaller, UiAddress, UiAddressForm, UiServers};
use super::audience::Audience;
use super::extensions::{NotificationQueue, merge_declarations};
use super::gateway_tools::{GatewayRequest, GatewayToolError};
use super::handle::HandleSubject;
use super::lists::ListContext;
use super::view_session::{ViewSession, ViewSessions};
use super::{Bridge, Inner, call, gateway_tools, owners, refusal, view_session};
use crate::view_provider::{ViewRequest, ViewSelection};

/// How long a list waits for failed servers that are retried because of the request.
const RETRIED_LIST_WAIT: Duration = Duration::from_secs(1);

/// The view of one client.
pub struct BridgeView {
    bridge: Bridge,
    pub(super) opening: ViewRequest,
    /// The audience that the view's client belongs to.
    audience: Arc<Audience>,
    /// The lease of the workspace for the view's principal, once there was room for the principal.
    principal: OnceLock<PrincipalLease>,
    /// The view's sessions with the engine, by the capabilities of clients: a modern client declares them with each
    /// request.
    pub(super) sessions: ViewSessions,
    /// The session of the view's subscriptions, which last as long as this session is held.
    watcher: OnceLock<Caller>,
    /// The session of the first client that the view was described to: servers are started for it.
    pub(super) described: OnceLock<Caller>,
    /// Set once the view's servers were waited for.
    settled: tokio::sync::OnceCell<()>,
    /// Whether its tools are searched for, decided at its first list.
    searched: OnceLock<bool>,
    /// The queue of the client's notifications for servers, once there was one.
    pub(super) notifications: NotificationQueue,
    /// The servers whose UI resources the view's clients have read.
    pub(super) ui_servers: UiServers,
}

// === impl BridgeView ===

impl BridgeView {
    pub(super) fn new(bridge: Bridge, opening: ViewRequest, audience: Arc<Audience>) -> Self {
        Self {
            bridge,
            opening,
            audience,
            principal: OnceLock::new(),
            sessions: ViewSessions::default(),
            watcher: OnceLock::new(),
            described: OnceLock::new(),
            settled: tokio::sync::OnceCell::new(),
            searched: OnceLock::new(),
            notifications: NotificationQueue::default(),
            ui_servers: UiServers::default(),
        }
    }

    /// Waits, once, for servers of its principal without lists: some clients never list again.
    pub(super) async fn await_servers(&self) -> Result<(), RpcError> {
        self.await_servers_until(Instant::now() + self.bridge().options.first_list).await
    }

    async fn await_servers_until(&self, deadline: Instant) -> Result<(), RpcError> {
        let (bridge, principal) = (self.bridge(), self.principal()?);
        let wait = || async {
            bridge.engine.retry_failed_for(principal).await;
            bridge.engine.await_first_lists(principal, time_left(deadline)).await;
        };
        self.settled.get_or_init(wait).await;
        Ok(())
    }

    /// Waits for servers whose capabilities the session does not know yet, as long as its first list does.
    pub(super) async fn await_session_servers(&self, caller: &Caller) {
        let engine = &self.bridge().engine;
        let deadline = Instant::now() + self.bridge().options.first_list;
        engine.bind_session(caller, time_left(deadline)).await;
        // A principal without a lease is refused with each request.
        let _ = self.await_servers_until(deadline).await;
        engine.bind_session(caller, time_left(deadline)).await;
    }

    /// Its principal's lease of the workspace.
    pub(super) fn principal(&self) -> Result<&PrincipalLease, RpcError> {
        if let Some(principal) = self.principal.get() {
            return Ok(principal);
        }
        let bridge = self.bridge();
        let lease = bridge.engine.lease_principal(&bridge.workspace, self.opening.principal.id());
        let lease = lease.map_err(|error| refusal::not_attached(&error))?;
        Ok(self.principal.get_or_init(|| lease))
    }

    pub(super) fn bridge(&self) -> &Inner {
        &self.bridge.0
    }

    pub(super) fn snapshot(&self) -> Option<Arc<WorkspaceSnapshot>> {
        self.bridge().engine.snapshot_for(self.principal().ok()?)
    }

    /// The snapshot that the client of a request sees.
    pub(super) fn snapshot_for(&self, context: &RequestContext) -> Option<Arc<WorkspaceSnapshot>> {
        self.bridge().engine.snapshot_of(&self.caller(context).ok()?)
    }

    /// The session for calls of this request.
    pub(super) fn caller(&self, context: &RequestContext) -> Result<Caller, RpcError> {
        let session = self.session_for(context)?;
        Ok(session.caller.clone())
    }

    fn session_for(&self, context: &RequestContext) -> Result<Arc<ViewSession>, RpcError> {
        let (version, info) = (context.version, context.client_info.as_ref());
        self.session_of(version, info, &context.capabilities)
    }

    /// The session for a client with these facts.
    pub(super) fn session_of(
        &self,
        version: Version,
        info: Option<&Raw>,
        capabilities: &Raw,
    ) -> Result<Arc<ViewSession>, RpcError> {
        if let Some(session) = self.sessions.find(version.era(), capabilities) {
            return Ok(session);
        }
        let caller = self.attach(self.session_with(version, info, capabilities))?;
        let session = ViewSession::new(&self.bridge().engine, caller, &self.audience);
        Ok(self.sessions.add(session))
    }

    /// The properties of the session for a client with these facts.
    pub(super) fn session_with(
        &self,
        version: Version,
        info: Option<&Raw>,
        capabilities: &Raw,
    ) -> Session {
        let name = info.and_then(|info| info.get("name").ok().flatten());
        let offers = |kind: &&str| {
            !matches!(capabilities.peek_path(&[*kind]), Ok(None | Some("false" | "null")) | Err(_))
        };
        // A server may also ask for something of an extension.
        let can_ask = ["elicitation", "sampling", "roots"].iter().any(offers)
            || !OpaqueCapabilities::of_client(capabilities).declared.is_empty();
        Session {
            answers: if can_ask { QuestionAnswerer::Caller } else { QuestionAnswerer::Queue },
            client: name.and_then(|name| name.to_text()).unwrap_or_default(),
            capabilities: capabilities.clone(),
            era: Some(version.era()),
            ..self.session()
        }
    }

    /// A session of this view, for a client without facts.
    fn session(&self) -> Session {
        let options = &self.bridge().options;
        Session {
            principal: self.opening.principal.clone(),
            answers: QuestionAnswerer::Queue,
            mode: options.mode,
            usual_mode: PermissionMode::Client,
            argument_check: ArgumentCheck::WhenConfigured,
            results: options.results,
            variables: options.variables,
            names: options.names,
            transport: self.opening.transport,
            clients: self.opening.clients,
            only_server: match &self.opening.part {
                ViewSelection::Server(only) => Some(only.clone()),
                ViewSelection::Everything | ViewSelection::Agent(_) => None,
            },
            ..Session::new(self.opening.session.clone())
        }
    }

    pub(super) fn attach(&self, session: Session) -> Result<Caller, RpcError> {
        let attached = self.bridge().engine.attach(&self.bridge().workspace, session);
        attached.map_err(|error| refusal::not_attached(&error))
    }

    /// Answers a list request. The first list waits for servers without lists, since some clients never list again.
    /// All waits together end at one deadline.
    async fn list(
        &self,
        list: ListKind,
        context: &RequestContext,
    ) -> Result<HandlerReply, RpcError> {
        let (bridge, principal) = (self.bridge(), self.principal()?);
        let session = self.session_for(context)?;
        let caller = &session.caller;
        let deadline = Instant::now() + bridge.options.first_list;
        // Bound before the wait for servers of a known era, and after it for the others.
        bridge.engine.bind_session(caller, time_left(deadline)).await;
        self.await_servers_until(deadline).await?;
        bridge.engine.bind_session(caller, time_left(deadline)).await;
        let is_searched = *self.searched.get_or_init(|| {
            let first = bridge.engine.snapshot_for(principal);
            first.is_some_and(|snapshot| bridge.options.tool_search.decide(&snapshot))
        });
        if bridge.engine.follow_sign_ins(&bridge.workspace).await {
            bridge.engine.settled_snapshot_for(principal, time_left(deadline)).await;
        } else if bridge.engine.retry_failed_for(principal).await {
            let patience = time_left(deadline).min(RETRIED_LIST_WAIT);
            bridge.engine.settled_snapshot_for(principal, patience).await;
        }
        let catalog = bridge.engine.catalog_of(caller).ok_or_else(engine_ended_error)?;
        let snapshot = LazyCell::new(|| bridge.engine.snapshot_of(caller));
        let makes_tasks = |server: &str| {
            let view = snapshot.as_ref().and_then(|snapshot| snapshot.server(server));
            let facts = view.and_then(|view| view.facts.as_ref());
            facts.is_some_and(|facts| facts.has_capability(&["extensions", TASKS_EXTENSION]))
        };
        let seen = ListContext {
            catalog: &catalog,
            names: bridge.options.names,
            part: &self.opening.part,
            version: context.version,
            makes_tasks: &makes_tasks,
            is_searched,
            spill: bridge.options.results.spill,
            shows_apps: apps::shows_apps(context),
        };
        session.note_listed(&self.audience, list, &catalog);
        Ok(HandlerReply::Repeated(self.audience.made.list(&seen, list)))
    }

    fn instructions(&self, snapshot: &WorkspaceSnapshot) -> Option<String> {
        let told = snapshot.catalog.instructions();
        let told: Vec<(&str, &str)> = match &self.opening.part {
            ViewSelection::Server(only) => {
                told.into_iter().filter(|(server, _)| server == only).collect()
            }
            _ => told,
        };
        let prompt = self.bridge().engine.agent_prompt(&self.bridge().workspace);
        instructions::append_to_prompt(prompt, instructions::instructions_section(&told))
    }

    /// Subscribes or unsubscribes in the session of the client's calls.
    async fn watch(
        &self,
        resource: &SubscribedResource,
        on: bool,
        client: &ClientFacts,
    ) -> Result<(), RpcError> {
        let ClientFacts { version, client_info, capabilities } = client;
        let session = self.session_of(*version, client_info.as_ref(), capabilities)?;
        let caller = &session.caller;
        let SubscribedResource { uri, owner } = resource;
        let qualified = self.address_form() == UiAddressForm::Qualified;
        let address = UiAddress::parse(uri).filter(|_| qualified);
        let skill = self.skill_at(uri);
        let own = address.as_ref().map(|address| &address.uri);
        let uri = own.or(skill.as_ref().map(|skill| &skill.uri)).unwrap_or(uri);
        let owner = skill.as_ref().map(|skill| &skill.server).or(owner.as_ref());
        let request = if on { Request::subscribe(uri) } else { Request::unsubscribe(uri) };
        let server = match (&address, owner) {
            (Some(address), _) => Some(self.addressed_server(address.server.clone())?),
            (None, Some(server)) => Some(self.shown_server(server.clone())?),
            (None, None) if on => self.bare_ui_server(uri, caller)?,
            (None, None) => None,
        };
        let request = match server {
            Some(server) => request.of_server(server),
            None => self.aim_at_server(request),
        };
        self.watcher.get_or_init(|| caller.clone());
        let done = self.bridge().engine.call(caller, request).outcome().await;
        done.map(|_| ()).map_err(|error| refusal::of_resource(&error))
    }

    pub(super) fn shows(&self, server: &str) -> bool {
        self.opening.part.has(server)
    }

    /// Answers a request for the gateway itself, and logs it.
    async fn answer(
        &self,
        own: GatewayRequest,
        name: Option<String>,
        asked: &HandlerRequest,
        context: &RequestContext,
    ) -> Result<HandlerReply, RpcError> {
        let name = name.as_deref().unwrap_or_default();
        let sent = asked.params.as_str().len();
        let noted = self.bridge().engine.begin_local_call(
            &self.caller(context)?,
            &asked.method,
            name,
            sent,
        );
        let answer = match own {
            GatewayRequest::Find => {
                // This may be the first request of the client.
                self.await_servers().await?;
                let snapshot = self
                    .snapshot_for(context)
                    .ok_or_else(|| GatewayToolError::Rpc(engine_ended_error()));
                snapshot.and_then(|snapshot| self.find(asked, &snapshot))
            }
            GatewayRequest::Read => self.read_on(asked).await,
            GatewayRequest::Result(address) => {
                self.read_result(name, &address).await.map_err(GatewayToolError::Rpc)
            }
        };
        match &answer {
            Ok(answer) => noted.finish(answer.as_str().len()),
            Err(error) => noted.fail(error.kind()),
        }
        answer.or_else(GatewayToolError::reply).map(HandlerReply::Complete)
    }

    /// The view's description: the bridge's capabilities, those that servers `declared`, and the instructions of the
    /// servers in `snapshot`.
    pub(super) fn description(
        &self,
        snapshot: Option<&WorkspaceSnapshot>,
        declared: &DescribedExtensions,
    ) -> ServerDescription {
        let mut capabilities = json!({
            "tools": { "listChanged": true },
            "prompts": { "listChanged": true },
            "resources": { "subscribe": true, "listChanged": true },
            "logging": {},
            "completions": {},
            // Each version reads the member that it knows.
            "tasks": { "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } },
            "extensions": { TASKS_EXTENSION: {} },
        });
        if let Some(skills) = self.skills() {
            capabilities["extensions"][SKILLS_EXTENSION] = skills;
        }
        ServerDescription {
            info: self.info(),
            capabilities: merge_declarations(declared).add_to(Raw::from(capabilities)),
            instructions: snapshot.and_then(|snapshot| self.instructions(snapshot)),
        }
    }

    /// Directs a request to the one server of the view, if it shows one only.
    pub(super) fn aim_at_server(&self, request: Request) -> Request {
        match &self.opening.part {
            ViewSelection::Server(only) => request.of_server(only.clone()),
            _ => request,
        }
    }
}

impl ServerHandler for BridgeView {
    fn describe(&self) -> ServerDescription {
        let snapshot = self.snapshot();
        let declared = snapshot.as_deref().map(|snapshot| self.declared_by_servers(snapshot));
        self.description(snapshot.as_deref(), &declared.unwrap_or_default())
    }

    fn describe_to<'a>(&'a self, client: &'a ClientFacts) -> BoxFuture<'a, ServerDescription> {
        Box::pin(self.describe_for(client))
    }

    fn info(&self) -> Raw {
        Raw::from(json!({
            "name": "switchboard",
            "title": "Switchboard",
            "version": env!("CARGO_PKG_VERSION"),
        }))
    }

    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        context: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        Box::pin(async move {
            match &*asked.method {
                method::TOOLS_LIST => self.list(ListKind::Tools, context).await,
                method::PROMPTS_LIST => self.list(ListKind::Prompts, context).await,
                method::RESOURCES_LIST => self.list(ListKind::Resources, context).await,
                method::TEMPLATES_LIST => self.list(ListKind::Templates, context).await,
                method::SKILLS_LIST if self.merges_skills() => {
                    Box::pin(self.list_skills(&asked, context)).await
                }
                method::TASKS_GET
                | method::TASKS_UPDATE
                | method::TASKS_CANCEL
                | method::TASKS_RESULT
                | method::TASKS_LIST => Box::pin(self.task(asked, context)).await,
                _ => {
                    let name = call::requested_name(&asked)?;
                    self.await_skill_servers(&asked).await?;
                    if self.bridge().options.names == NameStyle::Bare
                        && name.as_deref().is_some_and(gateway_tools::could_be_gateway_tool)
                    {
                        // The gateway must know whether a server has a tool of that name.
                        self.await_servers().await?;
                    }
                    if let Some(own) = GatewayRequest::of(&asked, name.as_deref(), self) {
                        // Boxed, since nearly all requests go to servers.
                        return Box::pin(self.answer(own, name, &asked, context)).await;
                    }
                    if gateway_tools::is_inner(&asked, name.as_deref(), self) {
                        let asked = match gateway_tools::inner_of(&asked) {
                            Ok(inner) => inner,
                            Err(error) => return error.reply().map(HandlerReply::Complete),
                        };
                        return Box::pin(self.forward(asked, ToolCaller::Model, context)).await;
                    }
                    self.forward(asked, ToolCaller::Client, context).await
                }
            }
        })
    }

    fn subscribe<'a>(
        &'a self,
        resource: &'a SubscribedResource,
        on: bool,
        client: &'a ClientFacts,
    ) -> BoxFuture<'a, Result<(), RpcError>> {
        Box::pin(self.watch(resource, on, client))
    }

    fn subscription_owner(&self, meta: &Raw) -> Option<String> {
        owners::server_tag(meta)
    }

    fn source_filter(&self, client: &ClientFacts) -> Option<SourceFilter> {
        let ClientFacts { version, client_info, capabilities } = client;
        // Where the limit of sessions is reached, each request is refused with that reason.
        let session = self.session_of(*version, client_info.as_ref(), capabilities).ok()?;
        Some(view_session::source_filter(session))
    }

    fn on_unknown_notifications(&self, names: &[String], client: &ClientFacts) {
        self.note_lost_subscriptions(names, client);
    }

    fn on_notification(&self, notification: Notification, client: Option<ClientFacts>) {
        self.forward_notification(&notification, client);
    }

    fn on_abandoned(&self, asked: &HandlerRequest) {
        let Some(handle) = &asked.state else { return };
        let name = call::requested_name(asked).ok().flatten();
        let wanted = if gateway_tools::is_inner(asked, name.as_deref(), self) {
            gateway_tools::inner_of(asked).map(|inner| HandleSubject::of(&inner))
        } else {
            Ok(HandleSubject::of(asked))
        };
        if let Ok(wanted) = wanted {
            // Taking the parked call out and dropping it cancels it.
            drop(self.unseal(&wanted, handle));
        }
    }
}

fn time_left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

fn engine_ended_error() -> RpcError {
    refusal::not_attached(&AttachError::Ended)
}
