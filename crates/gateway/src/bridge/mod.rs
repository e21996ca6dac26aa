//! The bridge: one engine, shown to any client as one server, in whichever era the client speaks.
//!
//! A [`Bridge`] is a front for the faces: it opens a [`BridgeView`] for each client. Lists come from the engine's snapshot;
//! calls go through its one pipeline. What comes up during a call (a form, a page, a model to ask, consent) is put to the
//! client in the neutral form of `wire`, with a sealed handle that only this client can use, for the same request. Either
//! the call waits here meanwhile, or, where its server and its client both keep nothing, neither does the bridge.
//!
//! This module refuses to know transports, and decides no permission.

mod announcer;
mod audience;
mod call;
mod consent;
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

use switchboard_config::Mode;
use switchboard_core::catalog::NameStyle;
use switchboard_core::engine::{CallVariables, LOCAL_PRINCIPAL};
use switchboard_core::results::ResultPolicy;
use switchboard_core::{Caller, Engine, Session, WorkspaceId};
use tokio_util::sync::{CancellationToken, DropGuard};

pub use gateway_tools::ToolSearch;
pub use view::BridgeView;

use crate::view_provider::{OpenView, ViewError, ViewProvider, ViewRequest, ViewSelection};
use announcer::ChangeAnnouncer;
use audience::Audiences;
use parked::ParkedCalls;
use tasks::LocalTasks;

/// Shows one workspace of an engine to clients. Clones share everything.
#[derive(Clone)]
pub struct Bridge(Arc<Inner>);

/// A bridge that others keep alive.
pub struct WeakBridge(Weak<Inner>);

/// Tells the name of the agent that a workspace is for, while it has one. It owns what keeps the workspace current, which
/// ends with the bridge.
pub type AgentName = Box<dyn Fn() -> Option<String> + Send + Sync>;

struct Inner {
    engine: Engine,
    workspace: WorkspaceId,
    options: BridgeOptions,
    audiences: Arc<Audiences>,
    parked: ParkedCalls,
    tasks: LocalTasks,
    agent: Option<AgentName>,
    /// Keeps the workspace while it is shown, clients or none.
    _lease: Option<Caller>,
    _news: DropGuard,
}

/// How things are shown.
#[derive(Debug, Clone)]
pub struct BridgeOptions {
    /// What tools are called.
    pub names: NameStyle,
    /// Whether tools are listed, or looked for.
    pub tool_search: ToolSearch,
    /// What happens to calls that no rule decides; `None`: what the settings say, else the client's own prompt decides.
    pub mode: Option<Mode>,
    /// What becomes of large results.
    pub results: ResultPolicy,
    /// The numbers of the client's environment; `None`: those of the workspace's environment.
    pub variables: Option<CallVariables>,
    /// How long the first list waits for servers that have none yet.
    pub first_list: Duration,
    /// How long a parked call waits for its client.
    pub patience: Duration,
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
        }
    }
}

// === impl Bridge ===

impl Bridge {
    /// Shows `workspace`, to which something was applied.
    pub fn new(engine: Engine, workspace: WorkspaceId, options: BridgeOptions) -> Self {
        Self::with(engine, workspace, options, None)
    }

    /// Shows the workspace of an agent.
    pub fn for_agent(
        engine: Engine,
        workspace: WorkspaceId,
        options: BridgeOptions,
        agent: AgentName,
    ) -> Self {
        Self::with(engine, workspace, options, Some(agent))
    }

    /// The same bridge, for a cache that does not keep it alive.
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
        let lease = engine.attach(&workspace, Session::new("gateway"));
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
    /// The bridge, if it is still kept.
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
            // An agent is a workspace of its own.
            ViewSelection::Agent(name) if self.0.shows_agent(name) => {}
            ViewSelection::Server(_) | ViewSelection::Agent(_) => {
                return Err(ViewError::NoSuchView);
            }
        }
        let audience = self.0.audiences.of(&opening.principal, &opening.part);
        let changes = audience.changes.clone();
        let view = Arc::new(BridgeView::new(self.clone(), opening, Arc::clone(&audience)));
        audience.add(&view);
        // Whoever hears of changes may outlive the view.
        let shown = Arc::downgrade(&view);
        let changes = changes.with_source_filter(move |seen| {
            shown.upgrade().is_some_and(|view| view.sessions.have_seen(seen))
        });
        if view.opening.principal != LOCAL_PRINCIPAL {
            // Servers of another principal may start only now. What they say of themselves is told to a client once, when
            // it is greeted. Where there is no room for them, each request is told so.
            let _ = view.await_servers().await;
        }
        Ok(OpenView { view, changes })
    }
}
