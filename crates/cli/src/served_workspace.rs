//! A workspace served: its engine, its files watched, and the bridge that shows it to clients.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use switchboard_auth::UserPresence;
use switchboard_config::{
    ConfigProblem, ConfigProblemKind as ProblemKind, ConfigWorkspace, Desired, DynamicConfig,
    HostContext, ProblemSeverity, ResolveOptions, SourceOrigin,
};
use switchboard_core::catalog::NameStyle;
use switchboard_core::connection::ConnectionTiming;
use switchboard_core::engine::{CallVariables, QueueAccess};
use switchboard_core::results::ResultPolicy;
use switchboard_core::{Engine, WorkspaceId};
use switchboard_gateway::bridge::{Bridge, BridgeOptions};
use switchboard_gateway::view_provider::{
    OpenView, ViewError, ViewProvider, ViewRequest, ViewSelection,
};
use switchboard_hub::{AgentBridges, ViewOptions};
use switchboard_process::{ProcessGuard, raise_descriptor_limit};
use switchboard_sources::{
    DesiredSnapshot, PluginHost, SourcesOptions, SyncedWorkspace, WatchMode, WorkspaceExtras,
};

use crate::command_engine;
use crate::limits::{check_hub_descriptors, has_few_threads};
use crate::notice::Notice;
use crate::plugins;
use crate::report::{Failure, FailureKind};
use crate::surroundings::Caller;

/// One workspace, shown in one way.
pub(crate) struct ServedWorkspace {
    served: Arc<SyncedWorkspace>,
    bridge: Bridge,
    agents: AgentBridges,
}

/// Whose workspace it is.
pub(crate) struct WorkspaceInputs {
    pub(crate) surroundings: HostContext,
    pub(crate) asked: ResolveOptions,
    pub(crate) variables: Vec<(OsString, OsString)>,
}

// === impl ServedWorkspace ===

impl ServedWorkspace {
    /// Of a workspace that nobody else serves.
    pub(crate) async fn open(
        engine: Engine,
        view: &ViewOptions,
        whose: WorkspaceInputs,
    ) -> Result<Self, Failure> {
        let agents = agent_bridges(&engine, view, &whose)?;
        let shown = whose.bridge_options(view);
        let given = whose.config_request(view);
        let served = Arc::new(start_workspace(&engine, view, whose).await?);
        let opened = match unusable_argument(&given, &served.snapshot().desired) {
            Some(failure) => Err(failure),
            None => Self::from_synced(engine, Arc::clone(&served), view, shown, agents),
        };
        if opened.is_err() {
            end_if_unused(served).await;
        }
        opened
    }

    /// Of a workspace that others may serve too.
    pub(crate) fn from_synced(
        engine: Engine,
        served: Arc<SyncedWorkspace>,
        view: &ViewOptions,
        mut shown: BridgeOptions,
        agents: AgentBridges,
    ) -> Result<Self, Failure> {
        if let Some(failure) = view_failure(view, &served.snapshot().desired) {
            return Err(failure);
        }
        if let Some(millis) = served.snapshot().desired.settings.limits.first_list_wait_ms {
            shown.first_list = Duration::from_millis(millis);
        }
        let bridge = Bridge::new(engine, served.workspace().clone(), shown);
        Ok(Self { served, bridge, agents })
    }

    /// What is desired, and what is wrong with it.
    pub(crate) fn snapshot(&self) -> Arc<DesiredSnapshot> {
        self.served.snapshot()
    }

    /// Ends the watching of files.
    pub(crate) async fn close(self) {
        end_if_unused(self.served).await;
    }
}

/// Opens the workspaces of agents as they are asked for.
pub(crate) fn agent_bridges(
    engine: &Engine,
    view: &ViewOptions,
    whose: &WorkspaceInputs,
) -> Result<AgentBridges, Failure> {
    let (surroundings, variables) = (whose.surroundings.clone(), whose.variables.clone());
    let (asked, shown) = (whose.config_request(view), whose.bridge_options(view));
    let agents = AgentBridges::new(
        engine.clone(),
        surroundings,
        asked,
        variables,
        sources_options()?,
        shown,
    );
    Ok(agents
        .with_plugins(Arc::new(plugins::WorkspacePluginHost))
        .with_only_servers(view.only_servers()))
}

/// Loads a workspace and keeps it current.
pub(crate) async fn start_workspace(
    engine: &Engine,
    view: &ViewOptions,
    whose: WorkspaceInputs,
) -> Result<SyncedWorkspace, Failure> {
    let (asked, extra, options) =
        (whose.config_request(view), workspace_extras(view)?, sources_options()?);
    let (surroundings, variables) = (whose.surroundings, whose.variables);
    Ok(SyncedWorkspace::start(engine.clone(), surroundings, asked, variables, options, extra).await)
}

/// How files are watched and catalogues fetched.
fn sources_options() -> Result<SourcesOptions, Failure> {
    let guard = ProcessGuard::this_program()
        .map_err(|error| Failure::new("cannot open this program to guard what it starts", error))?;
    let mut options = SourcesOptions::new(guard);
    if has_few_threads() {
        options.watching = WatchMode::Polling;
    }
    Ok(options)
}

/// Ends the watching of files, if nobody else wants them watched.
async fn end_if_unused(served: Arc<SyncedWorkspace>) {
    if let Some(served) = Arc::into_inner(served) {
        served.shutdown().await;
    }
}

/// What is served besides what files name.
fn workspace_extras(view: &ViewOptions) -> Result<WorkspaceExtras, Failure> {
    let plugins = Some(Arc::new(plugins::WorkspacePluginHost) as Arc<dyn PluginHost>);
    Ok(WorkspaceExtras { otherwise: Some(plugins::builtin()?), plugins, only: view.only_servers() })
}

/// What of it makes a workspace another one.
fn only_these(view: &ViewOptions) -> WorkspaceExtras {
    WorkspaceExtras { only: view.only_servers(), ..WorkspaceExtras::default() }
}

impl ViewProvider for ServedWorkspace {
    type View = <Bridge as ViewProvider>::View;

    async fn open(&self, opening: ViewRequest) -> Result<OpenView<Self::View>, ViewError> {
        match &opening.part {
            ViewSelection::Agent(_) => self.agents.open(opening).await,
            ViewSelection::Everything | ViewSelection::Server(_) => self.bridge.open(opening).await,
        }
    }
}

/// An engine that goes on for days.
pub(crate) async fn start_engine(
    caller: &Caller,
    queue_access: QueueAccess,
) -> Result<Engine, Failure> {
    // Before files are read: one that cannot be opened would look like one that is not there.
    check_hub_descriptors(raise_descriptor_limit())?;
    let desired = caller.workspace.desired();
    let mut options = command_engine::engine_options(&desired, caller, UserPresence::Later)?;
    // Nobody types the command again.
    options.timing.retries = max_retries(&desired);
    options.queue_access = queue_access;
    Ok(Engine::start(options).await)
}

// === impl WorkspaceInputs ===

impl WorkspaceInputs {
    /// Of whoever typed the command.
    pub(crate) fn from_caller(caller: &Caller) -> Self {
        Self {
            surroundings: caller.surroundings.clone(),
            asked: caller.asked().clone(),
            variables: caller.variables.clone(),
        }
    }

    /// The workspace it is, by its files as they are. May block.
    pub(crate) fn workspace_id(&self, view: &ViewOptions) -> WorkspaceId {
        SyncedWorkspace::id_of(
            &self.surroundings,
            &self.config_request(view),
            &self.variables,
            &only_these(view),
        )
    }

    /// How the view is shown. The numbers of the caller's environment count for its own sessions only.
    pub(crate) fn bridge_options(&self, view: &ViewOptions) -> BridgeOptions {
        BridgeOptions { variables: Some(self.call_variables()), ..bridge_options(view) }
    }

    /// The numbers of the caller's environment.
    pub(crate) fn call_variables(&self) -> CallVariables {
        CallVariables::from_environment(&self.variables.iter().cloned().collect())
    }

    fn config_request(&self, view: &ViewOptions) -> ResolveOptions {
        view.resolve_options(&self.asked)
    }
}

/// What the view of a client is made of, as files are now.
pub(crate) fn view_config(caller: &Caller, view: &ViewOptions) -> Desired {
    let asked = view.resolve_options(caller.asked());
    ConfigWorkspace::new(caller.surroundings.clone(), asked).desired()
}

/// What a client's starter prints about the view beside what the hub refuses: servers that the agent names and that do
/// not exist, and variables that are no numbers.
pub(crate) fn view_notices(desired: &Desired, caller: &Caller) -> Vec<Notice> {
    // An error is what the client is refused with.
    let is_of_agent = |problem: &&ConfigProblem| {
        problem.kind == ProblemKind::RequiredServer && problem.severity != ProblemSeverity::Error
    };
    let agent = desired.problems.iter().filter(is_of_agent).map(Notice::from);
    agent.chain(command_engine::not_numbers(desired, caller)).collect()
}

/// What stands behind a served address, in words.
pub(crate) fn served_text(desired: &Desired, asked: &ResolveOptions, view: &ViewOptions) -> String {
    let is_unconfigured =
        desired.is_unconfigured(&view.resolve_options(asked)) && view.servers.is_empty();
    match (desired.ready_servers().count(), desired.servers.len()) {
        (_, 0) if is_unconfigured => "the built-in server, since none is configured yet".to_owned(),
        (_, 0) if desired.is_incomplete() => {
            "no servers, since a configuration file cannot be read".to_owned()
        }
        (_, 0) => "no servers".to_owned(),
        (1, _) => "1 server".to_owned(),
        (many, _) => format!("{many} servers"),
    }
}

/// What is wrong with configuration that was given for this run: without it something else than what was meant would be
/// served.
fn unusable_argument(given: &ResolveOptions, desired: &Desired) -> Option<Failure> {
    let is_given = |origin: &SourceOrigin| match origin.path() {
        Some(path) => given.dynamic.contains(&DynamicConfig::File(path.to_owned())),
        None => origin.to_string().starts_with("--mcp-config"),
    };
    // A bad entry costs only its own server, which is shown as invalid.
    let is_fatal = |kind: ProblemKind| {
        use ProblemKind::{Malformed, MissingMember, Unreadable, WrongType};
        matches!(kind, Malformed | Unreadable | WrongType | MissingMember)
    };
    let problem = desired.problems.iter().find(|problem| {
        is_fatal(problem.kind)
            && problem.server.is_none()
            && problem.at.as_ref().is_some_and(|at| is_given(&at.origin))
    })?;
    let hint = match problem.kind {
        ProblemKind::Malformed | ProblemKind::Unreadable => {
            "check its name, and that it is a file of JSON"
        }
        _ => r#"its form is `{"mcpServers": {"name": {"command": "…"}}}`"#,
    };
    let failure = Failure::plain(FailureKind::Usage, "cannot use what `--mcp-config` names");
    let failure = failure.with_causes([problem.message.clone()]).with_location(problem.at.clone());
    Some(failure.with_hint(hint))
}

/// What cannot be shown as asked for.
fn view_failure(view: &ViewOptions, desired: &Desired) -> Option<Failure> {
    if let Some(problem) = desired.agent_problem() {
        let hint = match problem.kind {
            ProblemKind::AgentNotFound => {
                "agents are Markdown files in `.switchboard/agents` of a project, and in `agents` beside your settings"
            }
            _ => "see `switchboard list`, or change `requiredMcpServers` of the agent",
        };
        let failure = Failure::usage(problem.message.clone(), hint);
        return Some(failure.with_location(problem.at.clone()));
    }
    if view.names == NameStyle::Bare && view.servers.len() != 1 && desired.servers.len() > 1 {
        let hint = "name the one server with `--servers`, or take another style";
        return Some(Failure::usage("`--names bare` is for one server only", hint));
    }
    let known = |name: &&String| desired.servers_named(name).next().is_some();
    let unknown = view.servers.iter().find(|name| !known(name))?;
    let message = format!("no server is called `{unknown}`");
    Some(Failure::plain(FailureKind::Usage, message).with_hint("see `switchboard list`"))
}

fn max_retries(desired: &Desired) -> u32 {
    let asked = desired.settings.limits.reconnect_attempts;
    asked.map_or(ConnectionTiming::default().retries, |asked| {
        u32::try_from(asked).unwrap_or(u32::MAX)
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
