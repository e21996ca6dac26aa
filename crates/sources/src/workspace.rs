//! A workspace that is served: whatever its files come to desire is applied to the engine.

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

/// A workspace kept matching its files, until [`shutdown`](Self::shutdown), or until this is dropped.
pub struct SyncedWorkspace {
    id: WorkspaceId,
    /// Whose files they are, to change them.
    whose: (HostContext, ResolveOptions),
    sources: Sources,
    /// The latest state that was applied.
    applied: watch::Receiver<u64>,
    following: JoinHandle<()>,
}

/// Runs native plugins. Asked whenever what is desired changes, so that plugins which policy forbids from then on end,
/// and those which it allows from then on start.
pub trait PluginHost: Send + Sync {
    /// The plugins of this workspace as one server; `None` where none may run. The error says why they cannot.
    fn serve<'a>(
        &'a self,
        desired: &'a Desired,
        surroundings: &'a HostContext,
    ) -> BoxFuture<'a, Result<Option<InProcessServer>, String>>;
}

/// What is served besides what files name.
#[derive(Clone, Default)]
pub struct WorkspaceExtras {
    /// A server that is there while no other is configured, and no argument says which ones to use.
    pub otherwise: Option<InProcessServer>,
    /// What runs the native plugins that are desired.
    pub plugins: Option<Arc<dyn PluginHost>>,
    /// The only servers to start, by name; all if absent.
    pub only: Option<Vec<String>>,
}

/// What is desired at first, and word of everything after it.
struct LoadedSources {
    /// What was given for one run, which makes it another workspace.
    given: String,
    whose: (HostContext, ResolveOptions),
    sources: Sources,
    snapshots: watch::Receiver<Arc<DesiredSnapshot>>,
    first: Arc<DesiredSnapshot>,
}

/// Applies what is desired.
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
    /// Loads what is desired, applies it, and goes on doing so whenever it changes.
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

    /// The same for an agent. Where it cannot be served nothing is applied, and the error says why if that is known.
    pub async fn start_agent(
        engine: Engine,
        surroundings: HostContext,
        asked: ResolveOptions,
        variables: Vec<(OsString, OsString)>,
        options: SourcesOptions,
        extra: WorkspaceExtras,
    ) -> Result<Self, Option<ConfigProblem>> {
        let loaded = LoadedSources::new(surroundings, asked, options, &extra).await;
        // Without its agent this would be the workspace that everybody else is in.
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
        let environment = environment(&variables, &first.desired);
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

    /// The workspace that the same would be started for, where the configuration desires this.
    pub fn id_of(
        desired: &Desired,
        asked: &ResolveOptions,
        variables: &[(OsString, OsString)],
        extra: &WorkspaceExtras,
    ) -> WorkspaceId {
        let given = run_arguments_key(asked, extra);
        WorkspaceId::from_desired(desired, &environment(variables, desired), &given)
    }

    /// Names it to the engine.
    pub fn workspace(&self) -> &WorkspaceId {
        &self.id
    }

    /// What is desired now, and what is wrong with it.
    pub fn snapshot(&self) -> Arc<DesiredSnapshot> {
        self.sources.snapshot()
    }

    /// Its files, to be changed now. What was changed counts once they are [looked at](Self::reload). May block.
    pub fn files(&self) -> config::ConfigWorkspace {
        let (surroundings, asked) = self.whose.clone();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        config::ConfigWorkspace::new(HostContext { now, ..surroundings }, asked)
    }

    /// The agent it is for, if it was asked for and is there.
    pub fn agent(&self) -> Option<String> {
        self.snapshot().desired.agent.as_ref().map(|agent| agent.name.clone())
    }

    /// Looks at the files now; when it returns, what they say has been applied.
    pub async fn reload(&self) {
        self.sources.reload().await;
        let now = self.sources.snapshot().generation;
        // It ends with the one who applies, which is this.
        let _ = self.applied.clone().wait_for(|applied| *applied >= now).await;
    }

    /// Looks at the files soon, without waiting for a reason.
    pub fn refresh(&self) {
        self.sources.refresh();
    }

    /// Ends the watching; the engine keeps what was applied last.
    pub async fn shutdown(self) {
        self.sources.shutdown().await;
        // It ends with the sources.
        let _ = self.following.await;
    }
}

// === impl Loaded ===

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
        let workspace = Workspace {
            id: self.id.clone(),
            environment: environment(&self.variables, &desired),
            in_process: self.in_process_servers(&snapshot.desired, &mut desired).await,
        };
        self.engine.apply(&workspace, desired);
    }

    /// The servers of this process. Where an administrator's servers are the only ones there is none beside them.
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

/// Says why a server that is desired does not run.
fn mark_not_running(desired: &mut Desired, name: &str, why: &str) {
    let is_meant =
        |server: &&mut config::DesiredServer| server.name == name && server.is_in_process();
    for server in desired.servers.iter_mut().filter(is_meant) {
        server.state = ServerReadiness::Invalid(NotReadyReason { why: why.to_owned(), by: None });
    }
}

/// What makes it another workspace than the files alone would.
fn run_arguments_key(asked: &ResolveOptions, extra: &WorkspaceExtras) -> String {
    format!("{:?}{}{:?}", asked.dynamic, asked.strict, extra.only)
}

/// The caller's variables, with what settings put on top of them.
fn environment(variables: &[(OsString, OsString)], desired: &Desired) -> ProcessEnvironment {
    let set = desired.settings.env.iter();
    let set = set.map(|(name, value)| (name.into(), value.value.clone().into()));
    variables.iter().cloned().chain(set).collect()
}
