//! The registry of every workspace that clients of the hub use, in every way that they see it.
//!
//! Used by the socket, the admin API and the faces, which open workspaces here; clients with equal inputs share one
//! workspace. It does not accept connections.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::future::BoxFuture;
use switchboard_auth::SignInStore;
use switchboard_config::{Desired, HostContext, Platform, ResolveOptions};
use switchboard_core::{Engine, WorkspaceId};
use switchboard_sources::SyncedWorkspace;
use switchboard_wire::json::Raw;
use tokio::sync::Mutex;

use crate::access::sign_in_links::SignInLinkTable;
use crate::admin::{
    AdminApi, AdminProblem, AdminProblemKind, OpenWorkspace, ServedFaces, WorkspaceHost,
    WorkspaceRequest, WorkspaceSummary,
};
use crate::faces;
use crate::served_workspace::{self, ServedWorkspace, WorkspaceInputs};
use crate::socket::{AttachedClient, ClientHello, HelloRefusal, HelloRefusalKind};
use crate::{HubAdvice, HubError, ProgramContext, ProgramPlugins, ViewOptions};

/// Every workspace that has clients.
pub struct WorkspaceRegistry {
    engine: Engine,
    /// The folders and the user of the hub's own process: a client cannot name other ones.
    own_host: HostContext,
    /// The hub's own program.
    program: Option<PathBuf>,
    plugins: ProgramPlugins,
    advice: Arc<dyn HubAdvice>,
    sign_ins: Arc<dyn SignInStore>,
    sign_in_links: SignInLinkTable,
    /// Held while a workspace is opened, so that clients that come at once share the workspace.
    opening: Mutex<()>,
    open: parking_lot::Mutex<OpenWorkspaces>,
}

#[derive(Default)]
struct OpenWorkspaces {
    synced: HashMap<WorkspaceId, Weak<SyncedWorkspace>>,
    /// By workspace, view, and the numbers of the client's environment.
    served: HashMap<(WorkspaceId, String), Weak<ServedWorkspace>>,
}

// === impl WorkspaceRegistry ===

impl WorkspaceRegistry {
    pub(crate) fn new(
        engine: Engine,
        program: &ProgramContext,
        plugins: ProgramPlugins,
        advice: Arc<dyn HubAdvice>,
    ) -> Self {
        let (opening, open) = (Mutex::default(), parking_lot::Mutex::default());
        let (sign_ins, sign_in_links) =
            (Arc::clone(&program.sign_ins), program.sign_in_links.clone());
        let (own_host, program) = (program.host.clone(), program.program.clone());
        Self { engine, own_host, program, plugins, advice, sign_ins, sign_in_links, opening, open }
    }

    /// The links by which people of other machines sign in to servers.
    pub(crate) fn sign_in_links(&self) -> &SignInLinkTable {
        &self.sign_in_links
    }

    /// A workspace for faces that a client of the admin API asks for.
    pub(crate) async fn open_for_faces(
        &self,
        request: &WorkspaceRequest,
        view: &ViewOptions,
    ) -> Result<Arc<ServedWorkspace>, AdminProblem> {
        let inputs = self.inputs_of_request(request)?;
        let opened = self.open_shared(inputs, view, &format!("{view:?}")).await;
        opened.map_err(|error| self.to_admin_problem(&error))
    }

    /// The workspace that this process itself was started in, whose configuration was resolved to `desired`.
    pub async fn open_own(
        &self,
        program: &ProgramContext,
        desired: &Desired,
        view: &ViewOptions,
    ) -> Result<Arc<ServedWorkspace>, HubError> {
        let inputs = WorkspaceInputs::from_program(program, desired);
        self.open_shared(inputs, view, &format!("{view:?}")).await
    }

    /// The workspace of a client that speaks MCP on the socket.
    pub(crate) async fn open_for_client(
        &self,
        hello: &ClientHello,
    ) -> Result<Arc<ServedWorkspace>, HelloRefusal> {
        let view: ViewOptions = hello.view.decode().map_err(|error| {
            to_hello_refusal(format!("the view that was asked for cannot be understood: {error}"))
        })?;
        let inputs = self.client_inputs(&hello.cwd, &hello.env);
        let inputs =
            inputs.ok_or_else(|| to_hello_refusal("no home folder is known".to_owned()))?;
        let opened = self.open_shared(inputs, &view, hello.view.as_str()).await;
        opened.map_err(|error| to_hello_refusal(self.advice.explain(&error).into_line()))
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.engine.calls_in_flight() > 0
    }

    /// The servers that a session has called, each with how often.
    pub(crate) fn servers_used_by(&self, session: &str) -> Vec<(String, u64)> {
        self.engine.servers_used_by(session)
    }

    /// Clients of the network's faces.
    pub(crate) fn network_clients(&self) -> Vec<AttachedClient> {
        AttachedClient::network_clients(&self.engine)
    }

    /// Where the user's state is.
    pub(crate) fn state_dir(&self) -> &Path {
        &self.own_host.state_dir
    }

    /// The words of the program for errors.
    pub(crate) fn advice(&self) -> Arc<dyn HubAdvice> {
        Arc::clone(&self.advice)
    }

    /// An error, for a client of the admin API.
    pub(crate) fn to_admin_problem(&self, error: &HubError) -> AdminProblem {
        self.advice.explain(error).into()
    }

    async fn open_shared(
        &self,
        inputs: WorkspaceInputs,
        view: &ViewOptions,
        key: &str,
    ) -> Result<Arc<ServedWorkspace>, HubError> {
        let _opening = self.opening.lock().await;
        let agents = served_workspace::agent_bridges(&self.engine, &self.plugins, view, &inputs)?;
        let bridge = inputs.bridge_options(view);
        let key = format!("{key}{:?}{:?}", inputs.call_variables(), inputs.replica);
        let synced = self.open_synced(inputs, view).await?;
        let key = (synced.workspace().clone(), key);
        if let Some(served) = self.lock_open().served.get(&key).and_then(Weak::upgrade) {
            return Ok(served);
        }
        let engine = self.engine.clone();
        let served = Arc::new(ServedWorkspace::from_synced(engine, synced, view, bridge, agents)?);
        self.lock_open().served.insert(key, Arc::downgrade(&served));
        Ok(served)
    }

    /// The workspace that another client has open already, or a new one, loaded.
    async fn open_synced(
        &self,
        mut inputs: WorkspaceInputs,
        view: &ViewOptions,
    ) -> Result<Arc<SyncedWorkspace>, HubError> {
        let of_view = view.clone();
        let identify = move || (inputs.identify(&of_view), inputs);
        let identified = tokio::task::spawn_blocking(identify).await;
        let (id, inputs) = identified.map_err(HubError::Configuration)?;
        let known = {
            let mut open = self.lock_open();
            open.synced.retain(|_, synced| synced.strong_count() > 0);
            open.served.retain(|_, served| served.strong_count() > 0);
            open.synced.get(&id).and_then(Weak::upgrade)
        };
        if let Some(synced) = known {
            return Ok(synced);
        }
        let synced =
            served_workspace::start_workspace(&self.engine, &self.plugins, view, inputs).await?;
        let synced = Arc::new(synced);
        self.lock_open().synced.insert(synced.workspace().clone(), Arc::downgrade(&synced));
        Ok(synced)
    }

    /// The inputs of a workspace with the client's folder and environment, in place of this process's own; `None`
    /// where the client has no home.
    fn client_inputs(&self, cwd: &Path, env: &BTreeMap<String, String>) -> Option<WorkspaceInputs> {
        let client = HostContext::for_platform(Platform::current(), env.clone(), cwd.to_owned())?;
        // A clock before 1970 is as good as none.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let host = HostContext {
            config_dir: self.own_host.config_dir.clone(),
            state_dir: self.own_host.state_dir.clone(),
            managed_dir: self.own_host.managed_dir.clone(),
            secrets: Arc::clone(&self.own_host.secrets),
            owner: self.own_host.owner,
            now,
            ..client
        };
        let variables = env.iter().map(|(name, value)| (name.into(), value.into()));
        let resolve = ResolveOptions::default();
        let variables = variables.collect();
        Some(WorkspaceInputs { host, resolve, variables, desired: None, replica: None })
    }

    /// The inputs of a workspace for a client of the admin API; refused where the client has no home.
    fn inputs_of_request(
        &self,
        request: &WorkspaceRequest,
    ) -> Result<WorkspaceInputs, AdminProblem> {
        self.client_inputs(&request.cwd, &request.env).ok_or_else(|| {
            AdminProblem::new(AdminProblemKind::Refused, "no home folder is known")
                .with_hint("put `HOME` into `env`")
        })
    }

    fn lock_open(&self) -> parking_lot::MutexGuard<'_, OpenWorkspaces> {
        self.open.lock()
    }
}

impl WorkspaceHost for WorkspaceRegistry {
    fn open<'a>(
        &'a self,
        request: &'a WorkspaceRequest,
    ) -> BoxFuture<'a, Result<OpenWorkspace, AdminProblem>> {
        Box::pin(async move {
            let synced = {
                let _opening = self.opening.lock().await;
                let view = ViewOptions::plain(request.agent.clone());
                let opened = self.open_synced(self.inputs_of_request(request)?, &view).await;
                opened.map_err(|error| self.to_admin_problem(&error))?
            };
            // The client that asks has just looked at the files.
            synced.reload().await;
            Ok(OpenWorkspace { id: synced.workspace().clone(), keep_open: Box::new(synced) })
        })
    }

    fn workspaces(&self) -> Vec<WorkspaceSummary> {
        let open: Vec<_> = self.lock_open().synced.values().filter_map(Weak::upgrade).collect();
        let mut summaries: Vec<_> = open.iter().map(|synced| to_summary(synced)).collect();
        summaries.sort_by(|one, other| (&one.root, &one.id).cmp(&(&other.root, &other.id)));
        summaries
    }

    fn find_workspace(&self, id: &WorkspaceId) -> Option<Arc<SyncedWorkspace>> {
        self.lock_open().synced.get(id).and_then(Weak::upgrade)
    }

    fn sign_ins(&self) -> Arc<dyn SignInStore> {
        Arc::clone(&self.sign_ins)
    }

    fn program(&self) -> Option<PathBuf> {
        self.program.clone()
    }

    fn change_problem(&self, doing: &str, error: &switchboard_config::Error) -> AdminProblem {
        self.advice.explain_change(doing, error).into()
    }

    fn serve_faces<'a>(
        &'a self,
        admin: &'a AdminApi,
        request: &'a WorkspaceRequest,
        wanted: &'a Raw,
    ) -> BoxFuture<'a, Result<ServedFaces, AdminProblem>> {
        Box::pin(faces::serve_in_hub(self, admin, request, wanted))
    }
}

fn to_summary(synced: &SyncedWorkspace) -> WorkspaceSummary {
    let snapshot = synced.snapshot();
    WorkspaceSummary {
        id: synced.workspace().to_string(),
        root: snapshot.desired.root.clone(),
        agent: snapshot.desired.agent.as_ref().map(|agent| agent.name.clone()),
    }
}

fn to_hello_refusal(message: String) -> HelloRefusal {
    HelloRefusal { kind: HelloRefusalKind::View, message }
}
