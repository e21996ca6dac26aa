//! A workspace that is served: whatever its files come to desire is applied to the engine.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use switchboard_config::{self as config, Asked, Desired, Surroundings, resolve};
use switchboard_core::engine::{Environment, InProcess};
use switchboard_core::{Engine, Workspace, WorkspaceId};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::{Options, Snapshot, Sources, kept_catalogue};

/// A workspace kept matching its files, until [`shutdown`](Self::shutdown), or until this is dropped.
pub struct Served {
    id: WorkspaceId,
    /// Whose files they are, to change them.
    whose: (Surroundings, Asked),
    sources: Sources,
    /// The latest state that was applied.
    applied: watch::Receiver<u64>,
    following: JoinHandle<()>,
}

/// What is served besides what files name.
#[derive(Debug, Clone, Default)]
pub struct Extra {
    /// A server that is there while no other is configured.
    pub otherwise: Option<InProcess>,
    /// Servers that are there beside whatever is configured.
    pub also: Vec<InProcess>,
    /// The only servers to start, by name; all if absent.
    pub only: Option<Vec<String>>,
}

/// What is desired at first, and word of everything after it.
struct Loaded {
    /// What was given for one run, which makes it another workspace.
    given: String,
    whose: (Surroundings, Asked),
    sources: Sources,
    snapshots: watch::Receiver<Arc<Snapshot>>,
    first: Arc<Snapshot>,
}

/// Applies what is desired.
struct Follower {
    engine: Engine,
    id: WorkspaceId,
    variables: Vec<(OsString, OsString)>,
    extra: Extra,
}

// === impl Served ===

impl Served {
    /// Loads what is desired, applies it, and goes on doing so whenever it changes.
    pub async fn start(
        engine: Engine,
        surroundings: Surroundings,
        asked: Asked,
        variables: Vec<(OsString, OsString)>,
        options: Options,
        extra: Extra,
    ) -> Self {
        let loaded = Loaded::new(surroundings, asked, options, &extra).await;
        Self::follow(engine, loaded, variables, extra)
    }

    /// The same for an agent. `None` if there is none of that name: then nothing is applied.
    pub(super) async fn start_agent(
        engine: Engine,
        surroundings: Surroundings,
        asked: Asked,
        variables: Vec<(OsString, OsString)>,
        options: Options,
        extra: Extra,
    ) -> Option<Self> {
        let loaded = Loaded::new(surroundings, asked, options, &extra).await;
        // Without its agent this would be the workspace that everybody else is in.
        if loaded.first.desired.agent.is_none() {
            loaded.sources.shutdown().await;
            return None;
        }
        Some(Self::follow(engine, loaded, variables, extra))
    }

    fn follow(
        engine: Engine,
        loaded: Loaded,
        variables: Vec<(OsString, OsString)>,
        extra: Extra,
    ) -> Self {
        let Loaded { given, whose, sources, mut snapshots, first } = loaded;
        let environment = environment(&variables, &first.desired);
        let id = WorkspaceId::of(&first.desired, &environment, &given);
        let follower = Follower { engine, id: id.clone(), variables, extra };
        follower.apply(&first);
        let (done, applied) = watch::channel(first.generation);
        let following = tokio::spawn(async move {
            while snapshots.changed().await.is_ok() {
                let snapshot = snapshots.borrow_and_update().clone();
                follower.apply(&snapshot);
                done.send_replace(snapshot.generation);
            }
        });
        Self { id, whose, sources, applied, following }
    }

    /// The workspace that the same would be started for, by its files as they are. May block.
    pub fn id_of(
        surroundings: &Surroundings,
        asked: &Asked,
        variables: &[(OsString, OsString)],
        extra: &Extra,
    ) -> WorkspaceId {
        let given = given(asked, extra);
        let mut asked = asked.clone();
        asked.connectors.extend(kept_catalogue(surroundings, &asked));
        let desired = resolve(surroundings, &asked);
        WorkspaceId::of(&desired, &environment(variables, &desired), &given)
    }

    /// Names it to the engine.
    pub fn workspace(&self) -> &WorkspaceId {
        &self.id
    }

    /// What is desired now, and what is wrong with it.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.sources.snapshot()
    }

    /// Its files, to be changed now. What was changed counts once they are [looked at](Self::look). May block.
    pub fn files(&self) -> config::Workspace {
        let (surroundings, asked) = self.whose.clone();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        config::Workspace::new(Surroundings { now, ..surroundings }, asked)
    }

    /// The agent it is for, if it was asked for and is there.
    pub fn agent(&self) -> Option<String> {
        self.snapshot().desired.agent.as_ref().map(|agent| agent.name.clone())
    }

    /// Looks at the files now; when it returns, what they say has been applied.
    pub async fn look(&self) {
        self.sources.look().await;
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

impl Loaded {
    async fn new(
        surroundings: Surroundings,
        asked: Asked,
        options: Options,
        extra: &Extra,
    ) -> Self {
        let given = given(&asked, extra);
        let whose = (surroundings.clone(), asked.clone());
        let sources = Sources::start(surroundings, asked, options).await;
        let mut snapshots = sources.subscribe();
        let first = snapshots.borrow_and_update().clone();
        Self { given, whose, sources, snapshots, first }
    }
}

// === impl Extra ===

impl Extra {
    /// What is served from this process. Where an administrator's servers are the only ones, there is nothing beside
    /// them.
    fn in_process(&self, desired: &Desired) -> Vec<InProcess> {
        let lonely = desired.servers.is_empty() && self.also.is_empty();
        let is_wanted = |server: &&InProcess| {
            self.only.as_ref().is_none_or(|only| only.iter().any(|name| name == server.name()))
        };
        let also = self.also.iter().filter(|_| !desired.exclusive).filter(is_wanted);
        also.chain(self.otherwise.iter().filter(|_| lonely)).cloned().collect()
    }
}

// === impl Follower ===

impl Follower {
    fn apply(&self, snapshot: &Snapshot) {
        let desired = &snapshot.desired;
        let workspace = Workspace {
            id: self.id.clone(),
            environment: environment(&self.variables, desired),
            in_process: self.extra.in_process(desired),
        };
        let mut desired = desired.clone();
        if let Some(only) = &self.extra.only {
            desired.servers.retain(|server| only.contains(&server.name));
        }
        self.engine.apply(&workspace, desired);
    }
}

/// What makes it another workspace than the files alone would.
fn given(asked: &Asked, extra: &Extra) -> String {
    format!("{:?}{}{:?}", asked.dynamic, asked.strict, extra.only)
}

/// The caller's variables, with what settings put on top of them.
fn environment(variables: &[(OsString, OsString)], desired: &Desired) -> Environment {
    let set = desired.settings.env.iter();
    let set = set.map(|(name, value)| (name.into(), value.value.clone().into()));
    variables.iter().cloned().chain(set).collect()
}
