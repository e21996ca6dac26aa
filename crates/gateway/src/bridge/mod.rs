//! The bridge: shows one engine to any client as one server, in the client's era.
//!
//! Used by the faces and by `switchboard connect` as a view provider: a [`Bridge`] opens a [`BridgeView`] for each
//! client. Lists come from the engine's snapshot; calls go through its one pipeline. Questions during a call (a form,
//! a page, sampling, permission) go to the client in the neutral form of `wire`, with a sealed handle that only this
//! client can use, for this request. The call is parked here meanwhile, unless its server and its client are both
//! stateless. It does not know transports, and decides no permission.

mod announcer;
mod apps;
mod audience;
mod authority_label;
mod call;
mod consent;
mod extensions;
mod gateway_tools;
mod handle;
mod lists;
mod owners;
mod parked;
mod refusal;
mod skills;
mod tasks;
mod view;
mod view_session;

use std::sync::{Arc, Weak};
use std::time::Duration;

use switchboard_config::PermissionMode;
use switchboard_core::catalog::NameStyle;
use switchboard_core::engine::CallVariables;
use switchboard_core::results::ResultPolicy;
use switchboard_core::{Caller, Engine, Session, WorkspaceId};
use tokio_util::sync::{CancellationToken, DropGuard};

pub use gateway_tools::ToolSearch;
pub(crate) use owners::SERVER_KEY;
pub use view::BridgeView;

use crate::replica_tag::ReplicaTag;
use crate::view_provider::{
    OpenView, SessionClients, ViewError, ViewProvider, ViewRequest, ViewSelection,
};
use announcer::ChangeAnnouncer;
use audience::Audiences;
use parked::ParkedCalls;
use tasks::LocalTasks;

/// Shows one workspace of an engine to clients. Clones share it.
#[derive(Clone)]
pub struct Bridge(Arc<Inner>);

/// A weak reference to a bridge.
pub struct WeakBridge(Weak<Inner>);

/// Returns the name of the workspace's agent, while it has one. The closure owns the task that keeps the workspace
/// current, which ends with the bridge.
pub type AgentName = Box<dyn Fn() -> Option<String> + Send + Sync>;

struct Inner {
    engine: Engine,
    workspace: WorkspaceId,
    options: BridgeOptions,
    audiences: Arc<Audiences>,
    parked: ParkedCalls,
    tasks: LocalTasks,
    agent: Option<AgentName>,
    /// Keeps the workspace alive while it is shown, even without clients.
    _lease: Option<Caller>,
    _news: DropGuard,
}

/// Options of a bridge.
#[derive(Debug, Clone)]
pub struct BridgeOptions {
    /// The style of tool names.
    pub names: NameStyle,
    /// Whether clients list all tools or search for them.
    pub tool_search: ToolSearch,
    /// The permission mode for calls that no rule decides. `None`: the mode of the settings, else the client's own
    /// prompt decides.
    pub mode: Option<PermissionMode>,
    /// The policy for large results.
    pub results: ResultPolicy,
    /// The limits from the client's environment; `None`: those of the workspace's environment.
    pub variables: Option<CallVariables>,
    /// How long the first list waits for servers without lists.
    pub first_list: Duration,
    /// How long a parked call waits for its client.
    pub patience: Duration,
    /// The replica that this is, if handles of clients come back to any replica.
    pub replica: Option<BridgeReplica>,
}

/// The replica that a bridge belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeReplica {
    /// Its tag, in handles that only this replica can use.
    pub tag: ReplicaTag,
    /// What handles are bound to, in place of the workspace, which has another id on each machine.
    pub place: String,
}

impl Default for BridgeOptions {
    fn default() -> Self {
        Self {
            names: NameStyle::Gateway,
            tool_search: ToolSearch::Off,
            mode: None,
            results: ResultPolicy::gateway(),
            variables: None,
            first_list: Duration::from_secs(5),
            patience: Duration::from_secs(600),
            replica: None,
        }
    }
}

// === impl Bridge ===

impl Bridge {
    /// A bridge to `workspace`, which must have a desired state.
    pub fn new(engine: Engine, workspace: WorkspaceId, options: BridgeOptions) -> Self {
        Self::with(engine, workspace, options, None)
    }

    /// A bridge to the workspace of an agent.
    pub fn for_agent(
        engine: Engine,
        workspace: WorkspaceId,
        options: BridgeOptions,
        agent: AgentName,
    ) -> Self {
        Self::with(engine, workspace, options, Some(agent))
    }

    /// The engine that is shown.
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// A weak reference, for a cache that does not keep the bridge alive.
    pub fn downgrade(&self) -> WeakBridge {
        WeakBridge(Arc::downgrade(&self.0))
    }

    fn with(
        engine: Engine,
        workspace: WorkspaceId,
        options: BridgeOptions,
        agent: Option<AgentName>,
    ) -> Self {
        let audiences = Arc::new(Audiences::new(options.names));
        let ended = CancellationToken::new();
        let news = ChangeAnnouncer::new(&engine, workspace.clone(), Arc::clone(&audiences));
        tokio::spawn(ended.clone().run_until_cancelled_owned(news.announce()));
        let parked = ParkedCalls::new(options.patience);
        let keeper = Session { clients: SessionClients::None, ..Session::new("gateway") };
        let lease = engine.attach(&workspace, keeper);
        let news = ended.drop_guard();
        Self(Arc::new(Inner {
            engine,
            workspace,
            options,
            audiences,
            parked,
            tasks: LocalTasks::default(),
            agent,
            _lease: lease.ok(),
            _news: news,
        }))
    }
}

// === impl WeakBridge ===

impl WeakBridge {
    /// The bridge, if it still exists.
    pub fn upgrade(&self) -> Option<Bridge> {
        self.0.upgrade().map(Bridge)
    }
}

// === impl Inner ===

impl Inner {
    fn shows_agent(&self, name: &str) -> bool {
        let agent = self.agent.as_ref().and_then(|name| name());
        agent.is_some_and(|agent| agent == name)
    }
}

impl ViewProvider for Bridge {
    type View = BridgeView;

    async fn open(&self, opening: ViewRequest) -> Result<OpenView<BridgeView>, ViewError> {
        let snapshot = self.0.engine.snapshot(&self.0.workspace).ok_or(ViewError::NoSuchView)?;
        match &opening.part {
            ViewSelection::Everything => {}
            ViewSelection::Server(name) if snapshot.server(name).is_some() => {}
            // An agent has a workspace of its own.
            ViewSelection::Agent(name) if self.0.shows_agent(name) => {}
            ViewSelection::Server(_) | ViewSelection::Agent(_) => {
                return Err(ViewError::NoSuchView);
            }
        }
        let audience = self.0.audiences.of(opening.principal.id(), &opening.part);
        let changes = audience.changes.clone();
        let view = Arc::new(BridgeView::new(self.clone(), opening, Arc::clone(&audience)));
        audience.add(&view);
        // Weak: the filter of a change receiver may outlive the view.
        let shown = Arc::downgrade(&view);
        let changes = changes.with_source_filter(move |seen| {
            shown.upgrade().is_some_and(|view| view.sessions.have_seen(seen))
        });
        if !view.opening.principal.is_local() {
            // Servers of another principal may start only now. Their instructions reach a client once, in the
            // handshake, so it waits for them. If there is no room for the servers, each request reports that.
            let _ = view.await_servers().await;
        }
        Ok(OpenView { view, changes })
    }
}
