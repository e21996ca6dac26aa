//! A hub in this process: one engine for every client of this user, reached over a private socket.
//!
//! Used by `switchboard hub` and `serve`. It does not handle signals or print anything; a [`CancellationToken`] stops
//! it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use switchboard_config::{Desired, HostContext};
use switchboard_core::Engine;
use switchboard_core::engine::QueueAccess;
use switchboard_process::raise_descriptor_limit;
use tokio_util::sync::CancellationToken;

use crate::admin::{AdminApi, DEFAULT_ADMIN_PORT};
use crate::limits::{DescriptorShare, fitting_connections};
use crate::served_workspace::{self, ServedWorkspace};
use crate::socket::{
    AttachedClient, ClientHello, HelloRefusal, HubBackend, HubFolders, HubLifetime, HubListener,
    HubPaths, ListenOptions,
};
use crate::workspace_registry::WorkspaceRegistry;
use crate::{HubAdvice, HubError, ProgramContext, ProgramPlugins};

/// How long a hub that is about to end is waited for.
const HUB_END_TIMEOUT: Duration = Duration::from_secs(10);

/// The service behind the socket: workspaces for clients, and the admin API.
struct HubService {
    workspaces: Arc<WorkspaceRegistry>,
    admin: AdminApi,
}

/// A hub in this process, which accepts no client before [`run`](Self::run).
pub struct LocalHub {
    engine: Engine,
    workspaces: Arc<WorkspaceRegistry>,
    stop: CancellationToken,
    service: Arc<HubService>,
    listener: HubListener,
    options: ListenOptions,
    state_dir: PathBuf,
}

/// Where the hub of this user and these folders is.
pub fn hub_paths(host: &HostContext) -> Result<HubPaths, HubError> {
    HubPaths::find(&HubFolders::from_surroundings(host)).map_err(HubError::SocketPath)
}

// === impl LocalHub ===

impl LocalHub {
    /// Opens the user's one hub, with the settings of `desired`. Fails with [`HubError::Listen`] if another hub runs
    /// or the socket cannot be used.
    pub async fn open(
        program: &ProgramContext,
        desired: &Desired,
        plugins: ProgramPlugins,
        advice: Arc<dyn HubAdvice>,
        lifetime: HubLifetime,
    ) -> Result<Self, HubError> {
        let listener = HubListener::bind(&hub_paths(&program.host)?, HUB_END_TIMEOUT).await;
        let listener = listener.map_err(HubError::Listen)?;
        let engine = served_workspace::start_engine(program, desired, QueueAccess::Open).await?;
        let mut options = ListenOptions::new(program.version, lifetime);
        let (usual, limit) = (options.connections, raise_descriptor_limit());
        options.connections = fitting_connections(usual, limit, DescriptorShare::Socket);
        let stop = CancellationToken::new();
        let workspaces =
            Arc::new(WorkspaceRegistry::new(engine.clone(), program, plugins, Arc::clone(&advice)));
        let usage = options.usage.clone();
        let admin = AdminApi::new(engine.clone(), workspaces.clone(), advice, usage, stop.clone());
        let service = Arc::new(HubService { workspaces: workspaces.clone(), admin });
        let state_dir = program.host.state_dir.clone();
        Ok(Self { engine, workspaces, stop, service, listener, options, state_dir })
    }

    /// The admin API of this hub.
    pub fn admin(&self) -> &AdminApi {
        &self.service.admin
    }

    /// The workspaces that its clients use.
    pub fn workspaces(&self) -> Arc<WorkspaceRegistry> {
        Arc::clone(&self.workspaces)
    }

    /// Stops the hub when it is cancelled.
    pub fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Lets clients in until the hub is stopped, or no client needs it any more; then ends everything.
    pub async fn run(self) -> Result<(), HubError> {
        let Self { engine, stop, service, listener, options, workspaces, state_dir } = self;
        drop(workspaces);
        let admin = service.admin.clone();
        let listening = async {
            let ended = listener.serve(service, options, stop.clone()).await;
            stop.cancel();
            ended
        };
        let on_port = admin.serve(DEFAULT_ADMIN_PORT, &state_dir, &stop);
        let (ended, on_port) = tokio::join!(listening, on_port);
        engine.shutdown().await;
        // Only now is there room for the next hub.
        drop(ended.lock);
        on_port.map_err(HubError::AdminPort)
    }
}

// === impl HubService ===

impl HubBackend for HubService {
    type Views = ServedWorkspace;

    fn view_provider<'a>(
        &'a self,
        hello: &'a ClientHello,
    ) -> BoxFuture<'a, Result<Arc<ServedWorkspace>, HelloRefusal>> {
        Box::pin(self.workspaces.open_for_client(hello))
    }

    fn is_busy(&self) -> bool {
        self.workspaces.is_busy() || self.admin.is_used()
    }

    fn admin(&self) -> Option<&AdminApi> {
        Some(&self.admin)
    }

    fn servers_used_by(&self, session: &str) -> Vec<(String, u64)> {
        self.workspaces.servers_used_by(session)
    }

    fn network_clients(&self) -> Vec<AttachedClient> {
        self.workspaces.network_clients()
    }
}
