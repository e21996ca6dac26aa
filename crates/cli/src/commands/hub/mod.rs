//! The hub process that `connect` starts: one engine for all clients of this user, behind the private socket.
//!
//! Used by `commands::run` for the hidden command `hub`, and by `serve`, which is a hub too. Listening is in
//! `hub::socket`, the API in `hub::admin`. It does not open workspaces itself (`workspace_registry` does).

mod workspace_registry;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use switchboard_core::Engine;
use switchboard_core::engine::QueueAccess;
use switchboard_hub::admin::{AdminApi, DEFAULT_ADMIN_PORT, LoopbackError};
use switchboard_hub::socket::{
    self, AttachedClient, ClientHello, HelloRefusal, HubLifetime, HubListener, ListenOptions,
};
use switchboard_process::raise_descriptor_limit;
use tokio_util::sync::CancellationToken;

use super::connect::hub_paths;
use crate::command_engine::Hints;
use crate::limits::{DescriptorShare, fitting_connections};
use crate::report::Failure;
use crate::served_workspace::{self, ServedWorkspace};
use crate::surroundings::Caller;
use crate::wait;
pub(super) use workspace_registry::{WorkspaceRegistry, to_admin_problem};

/// How long a hub that is about to end is waited for.
const HUB_END_TIMEOUT: Duration = Duration::from_secs(10);

/// What stands behind the socket: rooms for clients, and the hub itself for whoever looks after it.
struct HubService {
    rooms: Arc<WorkspaceRegistry>,
    admin: AdminApi,
}

/// A hub in this process, which nobody reaches yet.
pub(super) struct LocalHub {
    pub(super) engine: Engine,
    pub(super) rooms: Arc<WorkspaceRegistry>,
    /// Ends it.
    pub(super) stop: CancellationToken,
    house: Arc<HubService>,
    listener: HubListener,
    options: ListenOptions,
}

pub(crate) async fn run(caller: &Caller) -> Result<(), Failure> {
    socket::detach().map_err(|error| Failure::new("cannot leave the client's session", error))?;
    let mut ending = wait::EndSignals::listen();
    let here = LocalHub::open(caller, lifetime(caller)).await?;
    let here = here.map_err(|error| Failure::new("cannot listen for clients", error))?;
    let stop = here.stop.clone();
    let asked = async {
        stop.run_until_cancelled(ending.wait_for_end()).await;
        stop.cancel();
    };
    let (done, ()) = tokio::join!(here.run(caller), asked);
    done.map_err(no_admin_port)
}

/// Without a port it is a hub all the same; its log says why there was none.
pub(super) fn no_admin_port(error: LoopbackError) -> Failure {
    Failure::new("the admin API was on no port of this machine", error)
}

fn lifetime(caller: &Caller) -> HubLifetime {
    let idle = caller.workspace.desired().settings.limits.hub_idle_ms;
    match (HubLifetime::while_used(), idle) {
        (HubLifetime::WhileUsed { handover, .. }, Some(millis)) => {
            HubLifetime::WhileUsed { idle: Duration::from_millis(millis), handover }
        }
        (lifetime, _) => lifetime,
    }
}

// === impl LocalHub ===

impl LocalHub {
    /// Takes the user's one place for a hub; the inner error says why it cannot be had.
    pub(super) async fn open(
        caller: &Caller,
        lifetime: HubLifetime,
    ) -> Result<Result<Self, socket::SocketError>, Failure> {
        let listener = match HubListener::bind(&hub_paths(caller)?, HUB_END_TIMEOUT).await {
            Ok(listener) => listener,
            Err(error) => return Ok(Err(error)),
        };
        let engine = served_workspace::start_engine(caller, QueueAccess::Open).await?;
        let mut options = ListenOptions::new(env!("CARGO_PKG_VERSION"), lifetime);
        let (usual, limit) = (options.connections, raise_descriptor_limit());
        options.connections = fitting_connections(usual, limit, DescriptorShare::Socket);
        let stop = CancellationToken::new();
        let rooms = Arc::new(WorkspaceRegistry::new(engine.clone(), caller));
        let (pulse, advice) = (options.pulse.clone(), Arc::new(Hints));
        let admin = AdminApi::new(engine.clone(), rooms.clone(), advice, pulse, stop.clone());
        let house = Arc::new(HubService { rooms: rooms.clone(), admin });
        Ok(Ok(Self { engine, rooms, stop, house, listener, options }))
    }

    /// The hub itself, for whoever looks after it.
    pub(super) fn admin(&self) -> &AdminApi {
        &self.house.admin
    }

    /// Lets clients in until it is stopped, or nobody needs it any more; then ends everything.
    pub(super) async fn run(self, caller: &Caller) -> Result<(), LoopbackError> {
        let Self { engine, stop, house, listener, options, rooms } = self;
        drop(rooms);
        let admin = house.admin.clone();
        let listening = async {
            let ended = listener.serve(house, options, stop.clone()).await;
            stop.cancel();
            ended
        };
        let on_port = admin.serve(DEFAULT_ADMIN_PORT, &caller.surroundings.state_dir, &stop);
        let (ended, on_port) = tokio::join!(listening, on_port);
        engine.shutdown().await;
        // Only now is there room for the next one.
        drop(ended.lock);
        on_port
    }
}

// === impl HubService ===

impl socket::HubBackend for HubService {
    type Views = ServedWorkspace;

    fn view_provider<'a>(
        &'a self,
        hello: &'a ClientHello,
    ) -> BoxFuture<'a, Result<Arc<ServedWorkspace>, HelloRefusal>> {
        Box::pin(self.rooms.open_for_client(hello))
    }

    fn is_busy(&self) -> bool {
        self.rooms.is_busy() || self.admin.is_used()
    }

    fn admin(&self) -> Option<&AdminApi> {
        Some(&self.admin)
    }

    fn servers_used_by(&self, session: &str) -> Vec<(String, u64)> {
        self.rooms.used_by(session)
    }

    fn network_clients(&self) -> Vec<AttachedClient> {
        self.rooms.network_clients()
    }
}
