//! A workspace served: its engine, its files watched, and the bridge that shows it to clients.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use switchboard_auth::Presence;
use switchboard_config::{
    Asked, Desired, Dynamic, Kind as ProblemKind, Mode, Origin, Surroundings,
};
use switchboard_core::catalog::Style;
use switchboard_core::connection::Timing;
use switchboard_core::results::Policy;
use switchboard_core::{Engine, WorkspaceId};
use switchboard_gateway::bridge::{Bridge, BridgeOptions, ToolSearch};
use switchboard_gateway::front::{Front, NoSuchPart, Opened, Opening, Part};
use switchboard_hub::Agents;
use switchboard_process::{Guard, raise_descriptor_limit};
use switchboard_sources::{Extra, Options, PluginHost, Served, Snapshot, Watching};

use crate::args::{ModeArg, Names, Search, View};
use crate::hub;
use crate::limits::{check_hub_descriptors, has_few_threads};
use crate::plugins;
use crate::report::{Failure, Kind};
use crate::surroundings::Caller;

/// One workspace, shown in one way.
pub(crate) struct Serving {
    served: Arc<Served>,
    bridge: Bridge,
    agents: Agents,
}

/// Whose workspace it is.
pub(crate) struct Whose {
    pub(crate) surroundings: Surroundings,
    pub(crate) asked: Asked,
    pub(crate) variables: Vec<(OsString, OsString)>,
}

// === impl Serving ===

impl Serving {
    /// Of a workspace that nobody else serves.
    pub(crate) async fn open(engine: Engine, view: &View, whose: Whose) -> Result<Self, Failure> {
        let agents = agents(&engine, view, &whose)?;
        let given = whose.asked(view);
        let served = Arc::new(start(&engine, view, whose).await?);
        let opened = match unusable_argument(&given, &served.snapshot().desired) {
            Some(failure) => Err(failure),
            None => Self::over(engine, Arc::clone(&served), view, agents),
        };
        if opened.is_err() {
            end(served).await;
        }
        opened
    }

    /// Of a workspace that others may serve too.
    pub(crate) fn over(
        engine: Engine,
        served: Arc<Served>,
        view: &View,
        agents: Agents,
    ) -> Result<Self, Failure> {
        if let Some(failure) = wrong(view, &served.snapshot().desired) {
            return Err(failure);
        }
        let mut options = self::options(view);
        if let Some(millis) = served.snapshot().desired.settings.limits.first_list_wait_ms {
            options.first_list = Duration::from_millis(millis);
        }
        let bridge = Bridge::new(engine, served.workspace().clone(), options);
        Ok(Self { served, bridge, agents })
    }

    /// What is desired, and what is wrong with it.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.served.snapshot()
    }

    /// Ends the watching of files.
    pub(crate) async fn close(self) {
        end(self.served).await;
    }
}

/// Opens the workspaces of agents as they are asked for.
pub(crate) fn agents(engine: &Engine, view: &View, whose: &Whose) -> Result<Agents, Failure> {
    let (surroundings, variables) = (whose.surroundings.clone(), whose.variables.clone());
    let (asked, shown) = (whose.asked(view), self::options(view));
    let agents = Agents::new(engine.clone(), surroundings, asked, variables, sources()?, shown);
    Ok(agents.with_plugins(Arc::new(plugins::Host)).only(only(view)))
}

/// Loads a workspace and keeps it current.
pub(crate) async fn start(engine: &Engine, view: &View, whose: Whose) -> Result<Served, Failure> {
    let (asked, extra, options) = (whose.asked(view), extra(view)?, sources()?);
    let (surroundings, variables) = (whose.surroundings, whose.variables);
    Ok(Served::start(engine.clone(), surroundings, asked, variables, options, extra).await)
}

/// How files are watched and catalogues fetched.
fn sources() -> Result<Options, Failure> {
    let guard = Guard::this_program()
        .map_err(|error| Failure::new("cannot open this program to guard what it starts", error))?;
    let mut options = Options::new(guard);
    if has_few_threads() {
        options.watching = Watching::Polling;
    }
    Ok(options)
}

/// Ends the watching of files, if nobody else wants them watched.
async fn end(served: Arc<Served>) {
    if let Some(served) = Arc::into_inner(served) {
        served.shutdown().await;
    }
}

/// What is served besides what files name.
fn extra(view: &View) -> Result<Extra, Failure> {
    let plugins = Some(Arc::new(plugins::Host) as Arc<dyn PluginHost>);
    Ok(Extra { otherwise: Some(plugins::builtin()?), plugins, only: only(view) })
}

/// What of it makes a workspace another one.
fn only_these(view: &View) -> Extra {
    Extra { only: only(view), ..Extra::default() }
}

fn only(view: &View) -> Option<Vec<String>> {
    (!view.servers.is_empty()).then(|| view.servers.clone())
}

impl Front for Serving {
    type View = <Bridge as Front>::View;

    async fn open(&self, opening: Opening) -> Result<Opened<Self::View>, NoSuchPart> {
        match &opening.part {
            Part::Agent(_) => self.agents.open(opening).await,
            Part::Everything | Part::Server(_) => self.bridge.open(opening).await,
        }
    }
}

/// An engine that goes on for days.
pub(crate) async fn engine(caller: &Caller) -> Result<Engine, Failure> {
    // Before files are read: one that cannot be opened would look like one that is not there.
    check_hub_descriptors(raise_descriptor_limit())?;
    let desired = caller.workspace.desired();
    let mut options = hub::engine_options(&desired, caller, Presence::Later)?;
    // Nobody types the command again.
    options.timing.retries = retries(&desired);
    Ok(Engine::start(options).await)
}

// === impl Whose ===

impl Whose {
    /// Of whoever typed the command.
    pub(crate) fn of(caller: &Caller) -> Self {
        Self {
            surroundings: caller.surroundings.clone(),
            asked: caller.asked().clone(),
            variables: caller.variables.clone(),
        }
    }

    /// The workspace it is, by its files as they are. May block.
    pub(crate) fn id(&self, view: &View) -> WorkspaceId {
        Served::id_of(&self.surroundings, &self.asked(view), &self.variables, &only_these(view))
    }

    fn asked(&self, view: &View) -> Asked {
        Asked { agent: view.agent.clone(), ..self.asked.clone() }
    }
}

/// What is wrong with configuration that was given for this run: without it something else than what was meant would be
/// served.
fn unusable_argument(given: &Asked, desired: &Desired) -> Option<Failure> {
    let is_given = |origin: &Origin| match origin.path() {
        Some(path) => given.dynamic.contains(&Dynamic::File(path.to_owned())),
        None => origin.to_string().starts_with("--mcp-config"),
    };
    let problem = desired.problems.iter().find(|problem| {
        matches!(problem.kind, ProblemKind::Malformed | ProblemKind::Unreadable)
            && problem.at.as_ref().is_some_and(|at| is_given(&at.origin))
    })?;
    let failure = Failure::plain(Kind::Usage, "cannot use what `--mcp-config` names");
    let failure = failure.because([problem.message.clone()]).placed(problem.at.clone());
    Some(failure.hinted("check its name, and that it is a file of JSON"))
}

/// What cannot be shown as asked for.
fn wrong(view: &View, desired: &Desired) -> Option<Failure> {
    if let Some(problem) = desired.agent_problem() {
        let hint = match problem.kind {
            ProblemKind::AgentNotFound => {
                "agents are Markdown files in `.switchboard/agents` of a project, and in `agents` beside your settings"
            }
            _ => "see `switchboard list`, or change `requiredMcpServers` of the agent",
        };
        let failure = Failure::usage(problem.message.clone(), hint);
        return Some(failure.placed(problem.at.clone()));
    }
    if view.names == Names::Bare && view.servers.len() != 1 && desired.servers.len() > 1 {
        let hint = "name the one server with `--servers`, or take another style";
        return Some(Failure::usage("`--names bare` is for one server only", hint));
    }
    let known = |name: &&String| desired.named(name).next().is_some();
    let unknown = view.servers.iter().find(|name| !known(name))?;
    let message = format!("no server is called `{unknown}`");
    Some(Failure::plain(Kind::Usage, message).hinted("see `switchboard list`"))
}

fn retries(desired: &Desired) -> u32 {
    let asked = desired.settings.limits.reconnect_attempts;
    asked.map_or(Timing::default().retries, |asked| u32::try_from(asked).unwrap_or(u32::MAX))
}

fn options(view: &View) -> BridgeOptions {
    let results = match view.result_limit {
        None => Policy::gateway(),
        Some(0) => Policy::unlimited(),
        Some(tokens) => Policy::gateway().with_tokens(tokens),
    };
    BridgeOptions {
        names: match view.names {
            Names::Server => Style::Gateway,
            Names::Full => Style::Full,
            Names::Bare => Style::Bare,
        },
        mode: view.mode.map(|mode| match mode {
            ModeArg::Client => Mode::Client,
            ModeArg::Default => Mode::Default,
            ModeArg::Plan => Mode::Plan,
            ModeArg::Auto => Mode::Auto,
            ModeArg::BypassPermissions => Mode::BypassPermissions,
            ModeArg::DontAsk => Mode::DontAsk,
        }),
        tool_search: match view.tool_search {
            Search::Off => ToolSearch::Off,
            Search::Auto => ToolSearch::Auto,
            Search::On => ToolSearch::On,
        },
        results,
        ..BridgeOptions::default()
    }
}
