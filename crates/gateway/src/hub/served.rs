//! A workspace that is served: whatever its files come to desire is applied to the engine.

use std::ffi::OsString;
use std::sync::Arc;

use switchboard_config::{Asked, Desired, Surroundings};
use switchboard_core::engine::{Environment, InProcess};
use switchboard_core::{Engine, Workspace, WorkspaceId};
use tokio::task::JoinHandle;

use super::{Options, Snapshot, Sources};

/// A workspace kept matching its files, until [`shutdown`](Self::shutdown), or until this is dropped.
pub struct Served {
    id: WorkspaceId,
    sources: Sources,
    following: JoinHandle<()>,
}

/// What is served besides what files name.
#[derive(Debug, Clone, Default)]
pub struct Extra {
    /// A server that is there while no other is configured.
    pub otherwise: Option<InProcess>,
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
        let given = format!("{:?}{}", asked.dynamic, asked.strict);
        let sources = Sources::start(surroundings, asked, options).await;
        let mut snapshots = sources.subscribe();
        let first = snapshots.borrow_and_update().clone();
        let environment = environment(&variables, &first.desired);
        let id = WorkspaceId::of(&first.desired, &environment, &given);
        let follower = Follower { engine, id: id.clone(), variables, extra };
        follower.apply(&first);
        let following = tokio::spawn(async move {
            while snapshots.changed().await.is_ok() {
                let snapshot = snapshots.borrow_and_update().clone();
                follower.apply(&snapshot);
            }
        });
        Self { id, sources, following }
    }

    /// Names it to the engine.
    pub fn workspace(&self) -> &WorkspaceId {
        &self.id
    }

    /// What is desired now, and what is wrong with it.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.sources.snapshot()
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

// === impl Follower ===

impl Follower {
    fn apply(&self, snapshot: &Snapshot) {
        let desired = &snapshot.desired;
        let lonely = desired.servers.is_empty();
        let workspace = Workspace {
            id: self.id.clone(),
            environment: environment(&self.variables, desired),
            in_process: self.extra.otherwise.iter().filter(|_| lonely).cloned().collect(),
        };
        self.engine.apply(&workspace, desired.clone());
    }
}

/// The caller's variables, with what settings put on top of them.
fn environment(variables: &[(OsString, OsString)], desired: &Desired) -> Environment {
    let set = desired.settings.env.iter();
    let set = set.map(|(name, value)| (name.into(), value.value.clone().into()));
    variables.iter().cloned().chain(set).collect()
}
