//! A synced workspace: applies every new snapshot of its sources to the engine.
//!
//! Used by `hub::served_workspace`, the hub's workspace registry and `hub::agents`. It does not start
//! servers: the engine's supervisor does (`switchboard_core`).

use std::ffi::OsString;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::future::BoxFuture;
use switchboard_config::{
    self as config, ConfigProblem, Desired, HostContext, NotReadyReason, PLUGINS_SERVER,
    ResolveOptions, ServerReadiness,
};
use switchboard_core::engine::{InProcessServer, ProcessEnvironment};
use switchboard_core::{Engine, Workspace, WorkspaceId};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::{DesiredSnapshot, Sources, SourcesOptions};

/// A workspace that follows its files, until [`shutdown`](Self::shutdown) or drop.
pub struct SyncedWorkspace {
    id: WorkspaceId,
    /// The host context and options of the files, to edit them.
    whose: (HostContext, ResolveOptions),
    sources: Sources,
    /// The generation of the last applied snapshot.
    applied: watch::Receiver<u64>,
    following: JoinHandle<()>,
}

/// Runs native plugins. Called for every new desired state, so that plugins that policy now forbids are
/// stopped and plugins that it now allows are started.
pub trait PluginHost: Send + Sync {
    /// Returns the plugins of this workspace as one server; `None` if none may run. The error says why they
    /// cannot run.
    fn serve<'a>(
        &'a self,
        desired: &'a Desired,
        surroundings: &'a HostContext,
    ) -> BoxFuture<'a, Result<Option<InProcessServer>, String>>;
}

/// The servers of a workspace besides those that files name.
#[derive(Clone, Default)]
pub struct WorkspaceExtras {
    /// A server that is used while no other is configured and no argument selects servers.
    pub otherwise: Option<InProcessServer>,
    /// The host of the desired native plugins.
    pub plugins: Option<Arc<dyn PluginHost>>,
    /// The only servers to start, by name; all if absent.
    pub only: Option<Vec<String>>,
    /// Whether servers of a project's `.mcp.json` are left out.
    pub without_project_servers: bool,
}

/// Started sources with their first snapshot.
struct LoadedSources {
    /// A key of the arguments of this run, which are part of the workspace's identity.
    given: String,
    whose: (HostContext, ResolveOptions),
    sources: Sources,
    snapshots: watch::Receiver<Arc<DesiredSnapshot>>,
    first: Arc<DesiredSnapshot>,
}

/// Applies snapshots to the engine.
struct SnapshotApplier {
    engine: Engine,
    id: WorkspaceId,
    surroundings: HostContext,
    asked: ResolveOptions,
    variables: Vec<(OsString, OsString)>,
    extra: WorkspaceExtras,
}

// === impl SyncedWorkspace ===

impl SyncedWorkspace {
    /// Loads the desired state, applies it, and applies every later one.
    pub async fn start(
        engine: Engine,
        surroundings: HostContext,
        asked: ResolveOptions,
        variables: Vec<(OsString, OsString)>,
        options: SourcesOptions,
        extra: WorkspaceExtras,
    ) -> Self {
        let loaded = LoadedSources::new(surroundings, asked, options, &extra).await;
        Self::follow(engine, loaded, variables, extra).await
    }

    /// Like [`start`](Self::start), for an agent. If the agent cannot be served, nothing is applied, and the
    /// error holds the problem if it is known.
    pub async fn start_agent(
        engine: Engine,
        surroundings: HostContext,
        asked: ResolveOptions,
        variables: Vec<(OsString, OsString)>,
        options: SourcesOptions,
        extra: WorkspaceExtras,
    ) -> Result<Self, Option<ConfigProblem>> {
        let loaded = LoadedSources::new(surroundings, asked, options, &extra).await;
        // Without its agent, this would be the workspace of all other clients.
        let desired = &loaded.first.desired;
        if desired.agent.is_none() || desired.agent_problem().is_some() {
            let problem = desired.agent_problem().cloned();
            loaded.sources.shutdown().await;
            return Err(problem);
        }
        Ok(Self::follow(engine, loaded, variables, extra).await)
    }

    async fn follow(
        engine: Engine,
        loaded: LoadedSources,
        variables: Vec<(OsString, OsString)>,
        extra: WorkspaceExtras,
    ) -> Self {
        let LoadedSources { given, whose, sources, mut snapshots, first } = loaded;
        let environment = process_environment(&variables, &first.desired);
        let id = WorkspaceId::from_desired(&first.desired, &environment, &given);
        let (surroundings, asked) = whose.clone();
        let follower =
            SnapshotApplier { engine, id: id.clone(), surroundings, asked, variables, extra };
        follower.apply(&first).await;
        let (done, applied) = watch::channel(first.generation);
        let following = tokio::spawn(async move {
            while snapshots.changed().await.is_ok() {
                let snapshot = snapshots.borrow_and_update().clone();
                follower.apply(&snapshot).await;
                done.send_replace(snapshot.generation);
            }
        });
        Self { id, whose, sources, applied, following }
    }

    /// Returns the id of the workspace that would be started with these arguments, where the configuration desires
    /// this.
    pub fn id_of(
        desired: &Desired,
        asked: &ResolveOptions,
        variables: &[(OsString, OsString)],
        extra: &WorkspaceExtras,
    ) -> WorkspaceId {
        let given = run_arguments_key(asked, extra);
        WorkspaceId::from_desired(desired, &process_environment(variables, desired), &given)
    }

    /// The workspace's id in the engine.
    pub fn workspace(&self) -> &WorkspaceId {
        &self.id
    }

    /// The current snapshot.
    pub fn snapshot(&self) -> Arc<DesiredSnapshot> {
        self.sources.snapshot()
    }

    /// Its files, for editing. A change takes effect after [`reload`](Self::reload). May block.
    pub fn files(&self) -> config::ConfigWorkspace {
        let (surroundings, asked) = self.whose.clone();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        config::ConfigWorkspace::new(HostContext { now, ..surroundings }, asked)
    }

    /// The name of its agent, if one was requested and exists.
    pub fn agent(&self) -> Option<String> {
        self.snapshot().desired.agent.as_ref().map(|agent| agent.name.clone())
    }

    /// Reads the files now; when this returns, their state has been applied.
    pub async fn reload(&self) {
        self.sources.reload().await;
        let now = self.sources.snapshot().generation;
        // The sender lives as long as `self`, so the wait cannot fail.
        let _ = self.applied.clone().wait_for(|applied| *applied >= now).await;
    }

    /// Reads the files soon, without waiting for a change.
    pub fn refresh(&self) {
        self.sources.refresh();
    }

    /// Stops watching; the engine keeps the last applied state.
    pub async fn shutdown(self) {
        self.sources.shutdown().await;
        // The task ends when the sources close their channel.
        let _ = self.following.await;
    }
}

// === impl LoadedSources ===

impl LoadedSources {
    async fn new(
        surroundings: HostContext,
        asked: ResolveOptions,
        options: SourcesOptions,
        extra: &WorkspaceExtras,
    ) -> Self {
        let given = run_arguments_key(&asked, extra);
        let whose = (surroundings.clone(), asked.clone());
        let sources = Sources::start(surroundings, asked, options).await;
        let mut snapshots = sources.subscribe();
        let first = snapshots.borrow_and_update().clone();
        Self { given, whose, sources, snapshots, first }
    }
}

// === impl SnapshotApplier ===

impl SnapshotApplier {
    async fn apply(&self, snapshot: &DesiredSnapshot) {
        let mut desired = snapshot.desired.clone();
        if let Some(only) = &self.extra.only {
            desired.servers.retain(|server| only.contains(&server.name));
        }
        if self.extra.without_project_servers {
            desired.servers.retain(|server| server.scope != config::Scope::Project);
        }
        let workspace = Workspace {
            id: self.id.clone(),
            environment: process_environment(&self.variables, &desired),
            in_process: self.in_process_servers(&snapshot.desired, &mut desired).await,
        };
        self.engine.apply(&workspace, desired);
    }

    /// The in-process servers. Under exclusive servers of the administrator there are none besides.
    async fn in_process_servers(
        &self,
        all: &Desired,
        desired: &mut Desired,
    ) -> Vec<InProcessServer> {
        let is_unconfigured = all.is_unconfigured(&self.asked) && self.extra.only.is_none();
        let otherwise = self.extra.otherwise.clone().filter(|_| is_unconfigured);
        let plugins = match &self.extra.plugins {
            Some(host) => host.serve(desired, &self.surroundings).await,
            None => Ok(None),
        };
        let plugins = plugins.unwrap_or_else(|why| {
            mark_not_running(desired, PLUGINS_SERVER, &why);
            None
        });
        plugins.into_iter().chain(otherwise).collect()
    }
}

/// Marks a desired server as invalid, with the reason why it does not run.
fn mark_not_running(desired: &mut Desired, name: &str, why: &str) {
    let is_meant =
        |server: &&mut config::DesiredServer| server.name == name && server.is_in_process();
    for server in desired.servers.iter_mut().filter(is_meant) {
        server.state = ServerReadiness::Invalid(NotReadyReason { why: why.to_owned(), by: None });
    }
}

/// A key of the arguments that distinguish this workspace from one with only its files.
fn run_arguments_key(asked: &ResolveOptions, extra: &WorkspaceExtras) -> String {
    let WorkspaceExtras { only, without_project_servers, .. } = extra;
    format!("{:?}{}{only:?}{without_project_servers}", asked.dynamic, asked.strict)
}

/// Returns the caller's variables, overridden by the settings' `env`: what servers are started with.
pub fn process_environment(
    variables: &[(OsString, OsString)],
    desired: &Desired,
) -> ProcessEnvironment {
    let set = desired.settings.env.iter();
    let set = set.map(|(name, value)| (name.into(), value.value.clone().into()));
    variables.iter().cloned().chain(set).collect()
}
