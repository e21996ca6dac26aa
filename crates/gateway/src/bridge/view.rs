//! One client's view.

use std::cell::LazyCell;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures_util::future::BoxFuture;
use serde_json::json;
use switchboard_config::Mode;
use switchboard_core::catalog::instructions;
use switchboard_core::engine::{Answers, AttachError, PrincipalLease};
use switchboard_core::{Caller, Request, Session, Snapshot};
use switchboard_wire::Version;
use switchboard_wire::client::List;
use switchboard_wire::envelope::RpcError;
use switchboard_wire::json::Raw;
use switchboard_wire::meta::{SKILLS_EXTENSION, TASKS_EXTENSION, method};
use switchboard_wire::placed;
use switchboard_wire::server::{Asked, Context, Description, Handler, Reply};

use super::audience::Audience;
use super::handle::Wanted;
use super::lists::Seen;
use super::own::Own;
use super::{Bridge, Inner, call, own, refusal};
use crate::front::{Opening, Part};

/// Sets of capabilities that one view keeps sessions for; a client has one, or very few.
const CALLERS: usize = 8;

const INFO: &str = concat!(
    r#"{"name":"switchboard","title":"Switchboard","version":""#,
    env!("CARGO_PKG_VERSION"),
    r#""}"#
);

/// What one client sees.
pub struct View {
    bridge: Bridge,
    pub(super) opening: Opening,
    /// What all clients of its principal have in common.
    audience: Arc<Audience>,
    /// Its principal's place in the workspace, once there was room for it.
    principal: OnceLock<PrincipalLease>,
    /// Its sessions with the engine, by what its client can do: a modern one says so anew with each request.
    callers: Mutex<Vec<Caller>>,
    /// The session that its subscriptions are made in, and heard in as long as it is held here.
    watcher: OnceLock<Caller>,
    /// Set once its servers were waited for.
    settled: tokio::sync::OnceCell<()>,
    /// Whether its tools are looked for, decided when it first asks for a list.
    searched: OnceLock<bool>,
}

// === impl View ===

impl View {
    pub(super) fn new(bridge: Bridge, opening: Opening, audience: Arc<Audience>) -> Self {
        Self {
            bridge,
            opening,
            audience,
            principal: OnceLock::new(),
            callers: Mutex::default(),
            watcher: OnceLock::new(),
            settled: tokio::sync::OnceCell::new(),
            searched: OnceLock::new(),
        }
    }

    /// Waits, once, for servers of its principal that have not said yet what they offer: some clients never ask again.
    pub(super) async fn await_servers(&self) -> Result<(), RpcError> {
        let (bridge, principal) = (self.bridge(), self.principal()?);
        let wait = || async {
            bridge.engine.settled_for(principal, bridge.options.first_list).await;
        };
        self.settled.get_or_init(wait).await;
        Ok(())
    }

    /// Its principal's place in the workspace.
    pub(super) fn principal(&self) -> Result<&PrincipalLease, RpcError> {
        if let Some(principal) = self.principal.get() {
            return Ok(principal);
        }
        let bridge = self.bridge();
        let lease = bridge.engine.lease_principal(&bridge.workspace, &self.opening.principal);
        let lease = lease.map_err(|error| refusal::not_attached(&error))?;
        Ok(self.principal.get_or_init(|| lease))
    }

    pub(super) fn bridge(&self) -> &Inner {
        &self.bridge.0
    }

    pub(super) fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.bridge().engine.snapshot_for(self.principal().ok()?)
    }

    /// The session that calls are made in.
    pub(super) fn caller(&self, context: &Context) -> Result<Caller, RpcError> {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(caller) = known(&callers, &context.capabilities) {
            return Ok(caller.clone());
        }
        let name = context.client_info.as_ref().and_then(|info| info.get("name").ok().flatten());
        let can_ask =
            ["elicitation", "sampling", "roots"].iter().any(|kind| context.offers(&[kind]));
        let caller = self.attach(Session {
            answers: if can_ask { Answers::Caller } else { Answers::Queue },
            client: name.and_then(|name| name.to_text()).unwrap_or_default(),
            capabilities: context.capabilities.clone(),
            ..self.session()
        })?;
        if callers.len() >= CALLERS {
            callers.clear();
        }
        callers.push(caller.clone());
        Ok(caller)
    }

    /// A session of this view, of a client that says nothing of itself.
    fn session(&self) -> Session {
        let options = &self.bridge().options;
        Session {
            principal: self.opening.principal.clone(),
            answers: Answers::Queue,
            mode: options.mode,
            usual_mode: Mode::Client,
            results: options.results,
            transport: self.opening.transport,
            ..Session::new(self.opening.session.clone())
        }
    }

    fn attach(&self, session: Session) -> Result<Caller, RpcError> {
        let attached = self.bridge().engine.attach(&self.bridge().workspace, session);
        attached.map_err(|error| refusal::not_attached(&error))
    }

    /// The session that subscriptions are made in: that of the client's calls, where it has made any.
    fn watcher(&self) -> Result<&Caller, RpcError> {
        if let Some(caller) = self.watcher.get() {
            return Ok(caller);
        }
        let last = {
            let callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
            callers.last().cloned()
        };
        let caller = match last {
            Some(caller) => caller,
            None => self.attach(self.session())?,
        };
        Ok(self.watcher.get_or_init(|| caller))
    }

    /// The first list waits for servers that have not said yet what they offer: some clients never ask again.
    async fn list(&self, list: List, version: Version) -> Result<Reply, RpcError> {
        self.await_servers().await?;
        let (bridge, principal) = (self.bridge(), self.principal()?);
        let is_searched = *self.searched.get_or_init(|| {
            let first = bridge.engine.snapshot_for(principal);
            first.is_some_and(|snapshot| bridge.options.tool_search.decide(&snapshot))
        });
        if bridge.engine.follow_sign_ins(&bridge.workspace).await {
            bridge.engine.settled_for(principal, bridge.options.first_list).await;
        }
        let catalog = bridge.engine.catalog_for(principal).ok_or_else(ended)?;
        let snapshot = LazyCell::new(|| bridge.engine.snapshot_for(principal));
        let makes_tasks = |server: &str| {
            let view = snapshot.as_ref().and_then(|snapshot| snapshot.server(server));
            let facts = view.and_then(|view| view.facts.as_ref());
            facts.is_some_and(|facts| facts.offers(&["extensions", TASKS_EXTENSION]))
        };
        let seen = Seen {
            catalog: &catalog,
            names: bridge.options.names,
            part: &self.opening.part,
            version,
            makes_tasks: &makes_tasks,
            is_searched,
            spill: bridge.options.results.spill,
        };
        Ok(Reply::Repeated(self.audience.made.list(&seen, list)))
    }

    fn instructions(&self) -> Option<String> {
        let snapshot = self.snapshot()?;
        let told = snapshot.catalog.instructions();
        let told: Vec<(&str, &str)> = match &self.opening.part {
            Part::Server(only) => told.into_iter().filter(|(server, _)| server == only).collect(),
            _ => told,
        };
        instructions::section(&told)
    }

    async fn watch(&self, uri: &str, on: bool) -> Result<(), RpcError> {
        let request = if on { Request::subscribe(uri) } else { Request::unsubscribe(uri) };
        let done = self.bridge().engine.call(self.watcher()?, self.aimed(request)).outcome().await;
        done.map(|_| ()).map_err(|error| refusal::error(&error))
    }

    pub(super) fn shows(&self, server: &str) -> bool {
        self.opening.part.has(server)
    }

    /// Answers what is the gateway's own, on record.
    async fn answer(
        &self,
        own: Own,
        name: Option<String>,
        asked: &Asked,
        context: &Context,
    ) -> Result<Reply, RpcError> {
        let name = name.as_deref().unwrap_or_default();
        let sent = asked.params.as_str().len();
        let noted = self.bridge().engine.note(&self.caller(context)?, &asked.method, name, sent);
        let answer = match own {
            Own::Find => {
                let snapshot = self.snapshot().ok_or_else(ended);
                snapshot.and_then(|snapshot| self.find(asked, &snapshot))
            }
            Own::Read => self.read_on(asked).await,
            Own::Result(address) => self.read_result(name, &address).await,
        };
        match &answer {
            Ok(answer) => noted.answered(answer.as_str().len()),
            Err(_) => noted.failed("request"),
        }
        answer.map(Reply::Complete)
    }

    /// A request for the one server that is shown, if it is one.
    pub(super) fn aimed(&self, request: Request) -> Request {
        match &self.opening.part {
            Part::Server(only) => request.of_server(only.clone()),
            _ => request,
        }
    }
}

impl Handler for View {
    fn describe(&self) -> Description {
        let mut capabilities = json!({
            "tools": { "listChanged": true },
            "prompts": { "listChanged": true },
            "resources": { "subscribe": true, "listChanged": true },
            "logging": {},
            "completions": {},
            // Each version is told of the one that it knows.
            "tasks": { "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } },
            "extensions": { TASKS_EXTENSION: {} },
        });
        if let Some(skills) = self.skills() {
            capabilities["extensions"][SKILLS_EXTENSION] = skills;
        }
        // Plain values of ours: there is nothing in them that could fail.
        let raw = |value| Raw::of(&value).unwrap_or_else(|_| Raw::empty_object());
        Description {
            info: self.info(),
            capabilities: raw(capabilities),
            instructions: self.instructions(),
        }
    }

    fn info(&self) -> Raw {
        Raw::parse(INFO).unwrap_or_else(|_| Raw::empty_object())
    }

    fn call<'a>(
        &'a self,
        asked: Asked,
        context: &'a Context,
    ) -> BoxFuture<'a, Result<Reply, RpcError>> {
        placed(|| async move {
            let version = context.version;
            match &*asked.method {
                method::TOOLS_LIST => self.list(List::Tools, version).await,
                method::PROMPTS_LIST => self.list(List::Prompts, version).await,
                method::RESOURCES_LIST => self.list(List::Resources, version).await,
                method::TEMPLATES_LIST => self.list(List::Templates, version).await,
                method::TASKS_GET
                | method::TASKS_UPDATE
                | method::TASKS_CANCEL
                | method::TASKS_RESULT
                | method::TASKS_LIST => Box::pin(self.task(asked, context)).await,
                _ => {
                    let name = call::wanted(&asked)?;
                    if let Some(own) = Own::of(&asked, name.as_deref()) {
                        // Apart, since nearly everything is somebody else's.
                        return Box::pin(self.answer(own, name, &asked, context)).await;
                    }
                    if own::is_inner(&asked, name.as_deref()) {
                        let asked = own::inner_of(&asked)?;
                        let name = call::wanted(&asked)?;
                        return Box::pin(self.forward(asked, name.as_deref(), context)).await;
                    }
                    self.forward(asked, name.as_deref(), context).await
                }
            }
        })
    }

    fn subscribe<'a>(&'a self, uri: &'a str, on: bool) -> BoxFuture<'a, Result<(), RpcError>> {
        Box::pin(self.watch(uri, on))
    }

    fn abandoned(&self, asked: &Asked) {
        let Some(handle) = &asked.state else { return };
        let name = call::wanted(asked).ok().flatten();
        let wanted = if own::is_inner(asked, name.as_deref()) {
            own::inner_of(asked).map(|inner| Wanted::of(&inner))
        } else {
            Ok(Wanted::of(asked))
        };
        if let Ok(wanted) = wanted {
            // A call that waits under it is cancelled by being taken out and dropped.
            drop(self.unseal(&wanted, handle));
        }
    }
}

/// The session of a client that can do this.
fn known<'a>(callers: &'a [Caller], capabilities: &Raw) -> Option<&'a Caller> {
    callers.iter().find(|caller| caller.session().capabilities.as_str() == capabilities.as_str())
}

fn ended() -> RpcError {
    refusal::not_attached(&AttachError::Ended)
}
