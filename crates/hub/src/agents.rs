//! Bridges for single agents: one workspace for each agent name, open while a client of that agent is connected.
//!
//! Used by `served_workspace` for clients that ask for the view of an agent. It does not read configuration files
//! (`sources` does) and does not decide what an agent may use (`config` does).

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::Arc;

use switchboard_config::{ConfigProblem, ConfigProblemKind, HostContext, ResolveOptions};
use switchboard_core::Engine;
use tokio::sync::Mutex;

use switchboard_gateway::bridge::{Bridge, BridgeOptions, BridgeView, WeakBridge};
use switchboard_gateway::view_provider::{
    OpenView, ViewError, ViewProvider, ViewRequest, ViewSelection,
};
use switchboard_sources::{PluginHost, SourcesOptions, SyncedWorkspace, WorkspaceExtras};

/// Opens the views of single agents, each with its own servers and tools. The servers that an agent adds start with its
/// first client and end with its last.
pub struct AgentBridges {
    engine: Engine,
    surroundings: HostContext,
    asked: ResolveOptions,
    variables: Vec<(OsString, OsString)>,
    options: SourcesOptions,
    extra: WorkspaceExtras,
    shown: BridgeOptions,
    /// Locked while a bridge is opened, so that clients that arrive at once share it.
    open: Mutex<HashMap<String, WeakBridge>>,
}

// === impl AgentBridges ===

impl AgentBridges {
    /// The agents of the workspace that `surroundings` and `asked` name, shown as `shown` says.
    pub fn new(
        engine: Engine,
        surroundings: HostContext,
        asked: ResolveOptions,
        variables: Vec<(OsString, OsString)>,
        options: SourcesOptions,
        shown: BridgeOptions,
    ) -> Self {
        let (extra, open) = (WorkspaceExtras::default(), Mutex::default());
        Self { engine, surroundings, asked, variables, options, extra, shown, open }
    }

    /// Has `plugins` run the native plugins that an agent works with.
    #[must_use]
    pub fn with_plugins(mut self, plugins: Arc<dyn PluginHost>) -> Self {
        self.extra.plugins = Some(plugins);
        self
    }

    /// Starts only these servers, even if an agent names others.
    #[must_use]
    pub fn with_only_servers(mut self, servers: Option<Vec<String>>) -> Self {
        self.extra.only = servers;
        self
    }

    /// Opens a view for one client of an agent.
    pub async fn open(&self, opening: ViewRequest) -> Result<OpenView<BridgeView>, ViewError> {
        let ViewSelection::Agent(name) = &opening.part else { return Err(ViewError::NoSuchView) };
        let bridge = self.bridge(name).await?;
        bridge.open(opening).await
    }

    async fn bridge(&self, name: &str) -> Result<Bridge, ViewError> {
        let mut open = self.open.lock().await;
        open.retain(|_, bridge| bridge.upgrade().is_some());
        if let Some(bridge) = open.get(name).and_then(WeakBridge::upgrade) {
            return Ok(bridge);
        }
        let asked = ResolveOptions { agent: Some(name.to_owned()), ..self.asked.clone() };
        let served = SyncedWorkspace::start_agent(
            self.engine.clone(),
            self.surroundings.clone(),
            asked,
            self.variables.clone(),
            self.options.clone(),
            self.extra.clone(),
        )
        .await
        .map_err(agent_error)?;
        let (engine, workspace) = (self.engine.clone(), served.workspace().clone());
        let agent = Box::new(move || served.agent());
        let bridge = Bridge::for_agent(engine, workspace, self.shown.clone(), agent);
        open.insert(name.to_owned(), bridge.downgrade());
        Ok(bridge)
    }
}

/// The error for a client of an agent that cannot be served.
fn agent_error(problem: Option<ConfigProblem>) -> ViewError {
    match problem {
        Some(problem) if problem.kind != ConfigProblemKind::AgentNotFound => {
            ViewError::AgentNotReady(problem.message)
        }
        _ => ViewError::NoSuchView,
    }
}
