//! The hub that `connect` starts: one engine for every client of this user, reached over a private socket.

mod rooms;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use switchboard_core::Engine;
use switchboard_hub::admin::{Admin, LoopbackError, PORT};
use switchboard_hub::socket::{self, Attached, Hello, Lifetime, ListenOptions, Listener, Refusal};
use switchboard_process::raise_descriptor_limit;
use tokio_util::sync::CancellationToken;

use super::connect::place;
use crate::hub::Hints;
use crate::limits::{DescriptorShare, fitting_connections};
use crate::report::Failure;
use crate::serving::{self, Serving};
use crate::surroundings::Caller;
use crate::wait;
pub(super) use rooms::{Rooms, problem};

/// How long a hub that is about to end is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// What stands behind the socket: rooms for clients, and the hub itself for whoever looks after it.
struct House {
    rooms: Arc<Rooms>,
    admin: Admin,
}

/// A hub in this process, which nobody reaches yet.
pub(super) struct Here {
    pub(super) engine: Engine,
    pub(super) rooms: Arc<Rooms>,
    /// Ends it.
    pub(super) stop: CancellationToken,
    house: Arc<House>,
    listener: Listener,
    options: ListenOptions,
}

pub(crate) async fn run(caller: &Caller) -> Result<(), Failure> {
    socket::detach().map_err(|error| Failure::new("cannot leave the client's session", error))?;
    let mut ending = wait::Ending::listen();
    let here = Here::open(caller, lifetime(caller)).await?;
    let here = here.map_err(|error| Failure::new("cannot listen for clients", error))?;
    let stop = here.stop.clone();
    let asked = async {
        stop.run_until_cancelled(ending.wanted()).await;
        stop.cancel();
    };
    let (done, ()) = tokio::join!(here.run(caller), asked);
    done.map_err(no_admin_port)
}

/// Without a port it is a hub all the same; its log says why there was none.
pub(super) fn no_admin_port(error: LoopbackError) -> Failure {
    Failure::new("the admin API was on no port of this machine", error)
}

fn lifetime(caller: &Caller) -> Lifetime {
    let idle = caller.workspace.desired().settings.limits.hub_idle_ms;
    match (Lifetime::while_used(), idle) {
        (Lifetime::WhileUsed { handover, .. }, Some(millis)) => {
            Lifetime::WhileUsed { idle: Duration::from_millis(millis), handover }
        }
        (lifetime, _) => lifetime,
    }
}

// === impl Here ===

impl Here {
    /// Takes the user's one place for a hub; the inner error says why it cannot be had.
    pub(super) async fn open(
        caller: &Caller,
        lifetime: Lifetime,
    ) -> Result<Result<Self, socket::Error>, Failure> {
        let listener = match Listener::bind(&place(caller)?, PATIENCE).await {
            Ok(listener) => listener,
            Err(error) => return Ok(Err(error)),
        };
        let engine = serving::engine(caller).await?;
        let mut options = ListenOptions::new(env!("CARGO_PKG_VERSION"), lifetime);
        let (usual, limit) = (options.connections, raise_descriptor_limit());
        options.connections = fitting_connections(usual, limit, DescriptorShare::Socket);
        let stop = CancellationToken::new();
        let rooms = Arc::new(Rooms::new(engine.clone(), caller));
        let (pulse, advice) = (options.pulse.clone(), Arc::new(Hints));
        let admin = Admin::new(engine.clone(), rooms.clone(), advice, pulse, stop.clone());
        let house = Arc::new(House { rooms: rooms.clone(), admin });
        Ok(Ok(Self { engine, rooms, stop, house, listener, options }))
    }

    /// The hub itself, for whoever looks after it.
    pub(super) fn admin(&self) -> &Admin {
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
        let on_port = admin.serve(PORT, &caller.surroundings.state_dir, &stop);
        let (ended, on_port) = tokio::join!(listening, on_port);
        engine.shutdown().await;
        // Only now is there room for the next one.
        drop(ended.lock);
        on_port
    }
}

// === impl House ===

impl socket::Hub for House {
    type Front = Serving;

    fn front<'a>(&'a self, hello: &'a Hello) -> BoxFuture<'a, Result<Arc<Serving>, Refusal>> {
        Box::pin(self.rooms.room(hello))
    }

    fn is_busy(&self) -> bool {
        self.rooms.is_busy() || self.admin.is_used()
    }

    fn admin(&self) -> Option<&Admin> {
        Some(&self.admin)
    }

    fn used_by(&self, session: &str) -> Vec<(String, u64)> {
        self.rooms.used_by(session)
    }

    fn others(&self) -> Vec<Attached> {
        self.rooms.others()
    }
}
