//! A workspace that is served: its engine, the watch of its files, and the bridge that shows it to clients.
//!
//! Used by the hub, which opens one for each way in which clients see a workspace, and by `serve` and `connect`
//! without a hub, which open their own. It does not accept connections.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use switchboard_auth::UserPresence;
use switchboard_config::{
    ConfigProblem, ConfigProblemKind as ProblemKind, Desired, DynamicConfig, HostContext,
    ResolveOptions, SourceOrigin,
};
use switchboard_core::catalog::NameStyle;
use switchboard_core::connection::ConnectionTiming;
use switchboard_core::engine::{CallVariables, QueueAccess};
use switchboard_core::results::ResultPolicy;
use switchboard_core::{Engine, WorkspaceId};
use switchboard_gateway::bridge::{Bridge, BridgeOptions, BridgeReplica};
use switchboard_gateway::view_provider::{
    OpenView, ViewError, ViewProvider, ViewRequest, ViewSelection,
};
use switchboard_process::raise_descriptor_limit;
use switchboard_sources::{
    DesiredSnapshot, SourcesOptions, SyncedWorkspace, WatchMode, WorkspaceExtras,
    resolve_with_cached_catalog,
};

use crate::engine_options::engine_options;
use crate::limits::{check_hub_descriptors, has_few_threads};
use crate::program::ProgramReplicas;
use crate::{AgentBridges, HubError, ProgramContext, ProgramPlugins, ViewOptions, process_guard};

/// One workspace, shown in one way.
pub struct ServedWorkspace {
    synced: Arc<SyncedWorkspace>,
    bridge: Bridge,
    agents: AgentBridges,
}

/// The inputs of a workspace: a folder with its user, configuration of one run, and variables.
pub struct WorkspaceInputs {
    /// The client's folder and environment, and the user's folders.
    pub host: HostContext,
    /// Configuration of one run.
    pub resolve: ResolveOptions,
    /// The client's environment, also variables that are not UTF-8.
    pub variables: Vec<(OsString, OsString)>,
    /// The desired state without an agent, if the configuration was resolved just now.
    pub desired: Option<Box<Desired>>,
    /// The replica that this is, if other replicas answer for the same clients.
    pub replica: Option<BridgeReplica>,
}

// === impl ServedWorkspace ===

impl ServedWorkspace {
    /// Opens a workspace that no other client shares.
    pub async fn open(
        engine: Engine,
        plugins: &ProgramPlugins,
        view: &ViewOptions,
        inputs: WorkspaceInputs,
    ) -> Result<Self, HubError> {
        let agents = agent_bridges(&engine, plugins, view, &inputs)?;
        let bridge = inputs.bridge_options(view);
        let resolve = inputs.resolve_options(view);
        let synced = Arc::new(start_workspace(&engine, plugins, view, inputs).await?);
        let opened = match run_configuration_error(&resolve, &synced.snapshot().desired) {
            Some(error) => Err(error),
            None => Self::from_synced(engine, Arc::clone(&synced), view, bridge, agents),
        };
        if opened.is_err() {
            end_if_unused(synced).await;
        }
        opened
    }

    /// Shows a workspace that other views may share.
    pub(crate) fn from_synced(
        engine: Engine,
        synced: Arc<SyncedWorkspace>,
        view: &ViewOptions,
        mut bridge: BridgeOptions,
        agents: AgentBridges,
    ) -> Result<Self, HubError> {
        if let Some(error) = view_error(view, &synced.snapshot().desired) {
            return Err(error);
        }
        if let Some(millis) = synced.snapshot().desired.settings.limits.first_list_wait_ms {
            bridge.first_list = Duration::from_millis(millis);
        }
        let bridge = Bridge::new(engine, synced.workspace().clone(), bridge);
        Ok(Self { synced, bridge, agents })
    }

    /// Returns the desired state, and the problems of the configuration.
    pub fn snapshot(&self) -> Arc<DesiredSnapshot> {
        self.synced.snapshot()
    }

    /// The id of the workspace in the engine.
    pub(crate) fn id(&self) -> &WorkspaceId {
        self.synced.workspace()
    }

    /// The engine behind it.
    pub(crate) fn engine(&self) -> &Engine {
        self.bridge.engine()
    }

    /// Ends the watch of its files.
    pub async fn close(self) {
        end_if_unused(self.synced).await;
    }
}

/// Opens the workspaces of agents as clients ask for them.
pub(crate) fn agent_bridges(
    engine: &Engine,
    plugins: &ProgramPlugins,
    view: &ViewOptions,
    inputs: &WorkspaceInputs,
) -> Result<AgentBridges, HubError> {
    let agents = AgentBridges::new(
        engine.clone(),
        inputs.host.clone(),
        inputs.resolve_options(view),
        inputs.variables.clone(),
        sources_options()?,
        inputs.bridge_options(view),
    );
    Ok(agents.with_plugins(Arc::clone(&plugins.host)).with_only_servers(view.only_servers()))
}

/// Loads a workspace and keeps it current.
pub(crate) async fn start_workspace(
    engine: &Engine,
    plugins: &ProgramPlugins,
    view: &ViewOptions,
    inputs: WorkspaceInputs,
) -> Result<SyncedWorkspace, HubError> {
    let (resolve, mut options) = (inputs.resolve_options(view), sources_options()?);
    if let Some(desired) = inputs.desired {
        options = options.with_known_files(*desired, &inputs.host, &resolve);
    }
    let extras = WorkspaceExtras {
        otherwise: Some(plugins.builtin.clone()),
        plugins: Some(Arc::clone(&plugins.host)),
        only: view.only_servers(),
        without_project_servers: view.without_project_servers,
    };
    let WorkspaceInputs { host, variables, .. } = inputs;
    Ok(SyncedWorkspace::start(engine.clone(), host, resolve, variables, options, extras).await)
}

/// How files are watched and connector catalogs fetched.
fn sources_options() -> Result<SourcesOptions, HubError> {
    let mut options = SourcesOptions::new(process_guard()?);
    if has_few_threads() {
        options.watching = WatchMode::Polling;
    }
    Ok(options)
}

/// Ends the watch of a workspace's files, if no other view needs it.
async fn end_if_unused(synced: Arc<SyncedWorkspace>) {
    if let Some(synced) = Arc::into_inner(synced) {
        synced.shutdown().await;
    }
}

impl ViewProvider for ServedWorkspace {
    type View = <Bridge as ViewProvider>::View;

    async fn open(&self, request: ViewRequest) -> Result<OpenView<Self::View>, ViewError> {
        match &request.part {
            ViewSelection::Agent(_) => self.agents.open(request).await,
            ViewSelection::Everything | ViewSelection::Server(_) => self.bridge.open(request).await,
        }
    }
}

/// Starts an engine that goes on for days, with the settings of `desired`.
pub async fn start_engine(
    program: &ProgramContext,
    desired: &Desired,
    queue_access: QueueAccess,
) -> Result<Engine, HubError> {
    check_hub_descriptors(raise_descriptor_limit())?;
    let mut options = engine_options(desired, program, UserPresence::Later)?;
    // No person types the command again.
    options.timing.retries = max_retries(desired);
    options.queue_access = queue_access;
    Ok(Engine::start(options).await)
}

// === impl WorkspaceInputs ===

impl WorkspaceInputs {
    /// The workspace that the program itself was started in, whose configuration was resolved to `desired`.
    pub fn from_program(program: &ProgramContext, desired: &Desired) -> Self {
        Self {
            host: program.host.clone(),
            resolve: program.resolve.clone(),
            variables: program.variables.clone(),
            desired: Some(Box::new(desired.clone())),
            replica: program.replicas.as_ref().map(ProgramReplicas::for_bridge),
        }
    }

    /// Returns the id of the workspace, by the present configuration files, which are resolved if `desired` is
    /// absent. May block.
    pub(crate) fn identify(&mut self, view: &ViewOptions) -> WorkspaceId {
        // Of the extras only the choice of servers makes another workspace.
        let extras = WorkspaceExtras {
            only: view.only_servers(),
            without_project_servers: view.without_project_servers,
            ..WorkspaceExtras::default()
        };
        let resolve = self.resolve_options(view);
        let desired = self.desired.take().filter(|_| view.agent.is_none());
        let desired =
            desired.unwrap_or_else(|| resolve_with_cached_catalog(&self.host, &resolve).desired);
        let id = SyncedWorkspace::id_of(&desired, &resolve, &self.variables, &extras);
        self.desired = Some(desired);
        id
    }

    /// How the view is shown. The numbers of the client's environment count for its own sessions only.
    pub(crate) fn bridge_options(&self, view: &ViewOptions) -> BridgeOptions {
        let (variables, replica) = (Some(self.call_variables()), self.replica.clone());
        BridgeOptions { variables, replica, ..bridge_options(view) }
    }

    /// The numbers of the client's environment.
    pub(crate) fn call_variables(&self) -> CallVariables {
        CallVariables::from_environment(&self.variables.iter().cloned().collect())
    }

    fn resolve_options(&self, view: &ViewOptions) -> ResolveOptions {
        view.resolve_options(&self.resolve)
    }
}

/// The error of configuration that was given for this run: without that configuration, the wrong servers would be
/// served.
fn run_configuration_error(resolve: &ResolveOptions, desired: &Desired) -> Option<HubError> {
    let is_of_run = |origin: &SourceOrigin| match origin.path() {
        Some(path) => resolve.dynamic.contains(&DynamicConfig::File(path.to_owned())),
        None => origin.to_string().starts_with("--mcp-config"),
    };
    // A bad entry costs only its own server, which is shown as invalid.
    let is_fatal = |kind: ProblemKind| {
        use ProblemKind::{Malformed, MissingMember, Unreadable, WrongType};
        matches!(kind, Malformed | Unreadable | WrongType | MissingMember)
    };
    let is_error = |problem: &&ConfigProblem| {
        is_fatal(problem.kind)
            && problem.server.is_none()
            && problem.at.as_ref().is_some_and(|at| is_of_run(&at.origin))
    };
    let problem = desired.problems.iter().find(is_error)?;
    Some(HubError::RunConfiguration(Box::new(problem.clone())))
}

/// Why the view cannot be shown as asked for.
fn view_error(view: &ViewOptions, desired: &Desired) -> Option<HubError> {
    if let Some(problem) = desired.agent_problem() {
        return Some(HubError::Agent(Box::new(problem.clone())));
    }
    if view.names == NameStyle::Bare && view.servers.len() != 1 && desired.servers.len() > 1 {
        return Some(HubError::BareNames);
    }
    let is_known = |name: &&String| desired.servers_named(name).next().is_some();
    let name = view.servers.iter().find(|name| !is_known(name))?.clone();
    Some(HubError::UnknownServer { name })
}

fn max_retries(desired: &Desired) -> u32 {
    let attempts = desired.settings.limits.reconnect_attempts;
    attempts.map_or(ConnectionTiming::default().retries, |attempts| {
        u32::try_from(attempts).unwrap_or(u32::MAX)
    })
}

fn bridge_options(view: &ViewOptions) -> BridgeOptions {
    let results = match view.result_limit {
        None => ResultPolicy::gateway(),
        Some(0) => ResultPolicy::unlimited(),
        Some(tokens) => ResultPolicy::gateway().with_tokens(tokens),
    };
    BridgeOptions {
        names: view.names,
        mode: view.mode,
        tool_search: view.tool_search,
        results,
        ..BridgeOptions::default()
    }
}
