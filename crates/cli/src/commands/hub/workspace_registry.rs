//! Every workspace that somebody uses, shown in every way that somebody asked for.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, Weak};

use futures_util::future::BoxFuture;
use switchboard_config::{HostContext, ResolveOptions};
use switchboard_core::{Engine, WorkspaceId};
use switchboard_hub::ViewOptions;
use switchboard_hub::admin::{
    self, AdminApi, AdminProblem, AdminProblemKind, OpenWorkspace, ServedFaces, WorkspaceHost,
    WorkspaceSummary,
};
use switchboard_hub::socket::{AttachedClient, ClientHello, HelloRefusal, HelloRefusalKind};
use switchboard_sources::SyncedWorkspace;
use switchboard_wire::json::Raw;
use tokio::sync::Mutex;

use crate::commands::serve;
use crate::report::Failure;
use crate::served_workspace::{self, ServedWorkspace, WorkspaceInputs};
use crate::surroundings::{self, Caller};

/// Every workspace that has clients.
pub(in crate::commands) struct WorkspaceRegistry {
    engine: Engine,
    /// Whose administrator this machine has, and who runs it: never a client's to say.
    own: HostContext,
    /// Held while a room is opened, so that clients that come at once share it.
    opening: Mutex<()>,
    open: std::sync::Mutex<OpenWorkspaces>,
}

#[derive(Default)]
struct OpenWorkspaces {
    served: HashMap<WorkspaceId, Weak<SyncedWorkspace>>,
    /// By workspace, view, and the numbers of the client's environment.
    rooms: HashMap<(WorkspaceId, String), Weak<ServedWorkspace>>,
}

// === impl WorkspaceRegistry ===

impl WorkspaceRegistry {
    pub(super) fn new(engine: Engine, caller: &Caller) -> Self {
        let own = caller.surroundings.clone();
        Self { engine, own, opening: Mutex::default(), open: std::sync::Mutex::default() }
    }

    /// A room for faces of the network.
    pub(in crate::commands) async fn open_for_faces(
        &self,
        whose: &admin::WorkspaceRequest,
        view: &ViewOptions,
    ) -> Result<Arc<ServedWorkspace>, AdminProblem> {
        let key = format!("{view:?}");
        let shared = self.open_shared(self.of_admin(whose)?, view, &key).await;
        shared.map_err(|failure| to_admin_problem(&failure))
    }

    /// A room for this process's own caller.
    pub(in crate::commands) async fn open_own(
        &self,
        caller: &Caller,
        view: &ViewOptions,
    ) -> Result<Arc<ServedWorkspace>, Failure> {
        self.open_shared(WorkspaceInputs::from_caller(caller), view, &format!("{view:?}")).await
    }

    pub(super) fn is_busy(&self) -> bool {
        self.engine.calls_in_flight() > 0
    }

    /// The servers that a session has called, each with how often.
    pub(super) fn used_by(&self, session: &str) -> Vec<(String, u64)> {
        self.engine.servers_used_by(session)
    }

    /// Clients of the network's faces.
    pub(super) fn network_clients(&self) -> Vec<AttachedClient> {
        AttachedClient::network_clients(&self.engine)
    }

    /// Where the user's state is.
    pub(in super::super) fn state_dir(&self) -> &std::path::Path {
        &self.own.state_dir
    }

    /// The room of a client that speaks MCP.
    pub(super) async fn open_for_client(
        &self,
        hello: &ClientHello,
    ) -> Result<Arc<ServedWorkspace>, HelloRefusal> {
        let view: ViewOptions = hello.view.decode().map_err(|error| {
            to_hello_refusal(format!("the view that was asked for cannot be understood: {error}"))
        })?;
        let whose = self.known_inputs(&hello.cwd, &hello.env);
        let whose = whose.ok_or_else(|| to_hello_refusal("no home folder is known".to_owned()))?;
        let shared = self.open_shared(whose, &view, hello.view.as_str()).await;
        shared.map_err(|failure| to_hello_refusal(failure.in_one_line()))
    }

    async fn open_shared(
        &self,
        whose: WorkspaceInputs,
        view: &ViewOptions,
        key: &str,
    ) -> Result<Arc<ServedWorkspace>, Failure> {
        let _opening = self.opening.lock().await;
        let agents = served_workspace::agent_bridges(&self.engine, view, &whose)?;
        let shown = whose.bridge_options(view);
        let key = format!("{key}{:?}", whose.call_variables());
        let served = self.open_synced(whose, view).await?;
        let key = (served.workspace().clone(), key);
        if let Some(room) = self.open().rooms.get(&key).and_then(Weak::upgrade) {
            return Ok(room);
        }
        let room = Arc::new(ServedWorkspace::from_synced(
            self.engine.clone(),
            served,
            view,
            shown,
            agents,
        )?);
        self.open().rooms.insert(key, Arc::downgrade(&room));
        Ok(room)
    }

    /// The workspace, as somebody has it already, or loaded.
    async fn open_synced(
        &self,
        whose: WorkspaceInputs,
        view: &ViewOptions,
    ) -> Result<Arc<SyncedWorkspace>, Failure> {
        let of = view.clone();
        let looked = tokio::task::spawn_blocking(move || (whose.workspace_id(&of), whose)).await;
        let (id, whose) =
            looked.map_err(|error| Failure::new("cannot read the configuration", error))?;
        let known = {
            let mut open = self.open();
            open.served.retain(|_, served| served.strong_count() > 0);
            open.rooms.retain(|_, room| room.strong_count() > 0);
            open.served.get(&id).and_then(Weak::upgrade)
        };
        if let Some(served) = known {
            return Ok(served);
        }
        let served = Arc::new(served_workspace::start_workspace(&self.engine, view, whose).await?);
        self.open().served.insert(served.workspace().clone(), Arc::downgrade(&served));
        Ok(served)
    }

    /// The client's folder and environment, in place of this process's own; `None` where it has no home.
    fn known_inputs(
        &self,
        cwd: &std::path::Path,
        env: &std::collections::BTreeMap<String, String>,
    ) -> Option<WorkspaceInputs> {
        let usual =
            HostContext::for_platform(surroundings::platform(), env.clone(), cwd.to_owned())?;
        let surroundings = HostContext {
            config_dir: self.own.config_dir.clone(),
            state_dir: self.own.state_dir.clone(),
            managed_dir: self.own.managed_dir.clone(),
            owner: self.own.owner,
            now: surroundings::now(),
            ..usual
        };
        let variables = env.iter().map(|(name, value)| (name.into(), value.into()));
        Some(WorkspaceInputs {
            surroundings,
            asked: ResolveOptions::default(),
            variables: variables.collect(),
        })
    }

    /// The same for whoever came over the admin API.
    fn of_admin(&self, whose: &admin::WorkspaceRequest) -> Result<WorkspaceInputs, AdminProblem> {
        self.known_inputs(&whose.cwd, &whose.env).ok_or_else(|| {
            AdminProblem::new(AdminProblemKind::Refused, "no home folder is known")
                .with_hint("put `HOME` into `env`")
        })
    }

    fn open(&self) -> std::sync::MutexGuard<'_, OpenWorkspaces> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WorkspaceHost for WorkspaceRegistry {
    fn open<'a>(
        &'a self,
        whose: &'a admin::WorkspaceRequest,
    ) -> BoxFuture<'a, Result<OpenWorkspace, AdminProblem>> {
        Box::pin(async move {
            let served = {
                let _opening = self.opening.lock().await;
                let view = ViewOptions::plain(whose.agent.clone());
                self.open_synced(self.of_admin(whose)?, &view)
                    .await
                    .map_err(|error| to_admin_problem(&error))?
            };
            // Whoever asks has just looked at the files.
            served.reload().await;
            Ok(OpenWorkspace { id: served.workspace().clone(), held: Box::new(served) })
        })
    }

    fn workspaces(&self) -> Vec<WorkspaceSummary> {
        let served: Vec<_> = self.open().served.values().filter_map(Weak::upgrade).collect();
        let site = |served: Arc<SyncedWorkspace>| {
            let snapshot = served.snapshot();
            WorkspaceSummary {
                id: served.workspace().to_string(),
                root: snapshot.desired.root.clone(),
                agent: snapshot.desired.agent.as_ref().map(|agent| agent.name.clone()),
            }
        };
        let mut sites: Vec<WorkspaceSummary> = served.into_iter().map(site).collect();
        sites.sort_by(|one, other| (&one.root, &one.id).cmp(&(&other.root, &other.id)));
        sites
    }

    fn find_workspace(&self, id: &WorkspaceId) -> Option<Arc<SyncedWorkspace>> {
        self.open().served.get(id).and_then(Weak::upgrade)
    }

    fn change_problem(&self, doing: &str, error: &switchboard_config::Error) -> AdminProblem {
        to_admin_problem(&Failure::config(doing, error))
    }

    fn serve_faces<'a>(
        &'a self,
        admin: &'a AdminApi,
        whose: &'a admin::WorkspaceRequest,
        wanted: &'a Raw,
    ) -> BoxFuture<'a, Result<ServedFaces, AdminProblem>> {
        Box::pin(serve::in_hub(self, admin, whose, wanted))
    }
}

fn to_hello_refusal(message: String) -> HelloRefusal {
    HelloRefusal { kind: HelloRefusalKind::View, message }
}

/// A failure of ours, for whoever asked over the admin API.
pub(in crate::commands) fn to_admin_problem(failure: &Failure) -> AdminProblem {
    let mut problem = AdminProblem::new(AdminProblemKind::Refused, failure.message());
    if !failure.causes().is_empty() {
        problem = problem.with_detail(failure.causes().join(": "));
    }
    match failure.hint() {
        Some(hint) => problem.with_hint(hint),
        None => problem,
    }
}
