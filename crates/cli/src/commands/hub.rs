//! The hub that `connect` starts: one engine for every client of this user, reached over a private socket.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use switchboard_config::{Asked, Surroundings};
use switchboard_core::Engine;
use switchboard_gateway::socket::{
    self, Hello, Lifetime, ListenOptions, Listener, Refusal, RefusalKind,
};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::connect::place;
use crate::args::View;
use crate::report::Failure;
use crate::serving::{self, Serving, Whose};
use crate::surroundings::{self, Caller};
use crate::wait;

/// How long a hub that is about to end is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Every workspace that has clients, shown in every way that one of them asked for.
pub(super) struct Rooms {
    engine: Engine,
    /// Whose administrator this machine has, and who runs it: never a client's to say.
    own: Surroundings,
    open: Mutex<HashMap<String, Weak<Serving>>>,
}

pub(crate) async fn run(caller: &Caller) -> Result<(), Failure> {
    socket::detach().map_err(|error| Failure::new("cannot leave the client's session", error))?;
    let listener = Listener::bind(&place(caller)?, PATIENCE)
        .await
        .map_err(|error| Failure::new("cannot listen for clients", error))?;
    let engine = serving::engine(caller).await?;
    let rooms = Arc::new(Rooms::new(engine.clone(), caller));
    let idle = caller.workspace.desired().settings.limits.hub_idle_ms;
    let lifetime = match (Lifetime::while_used(), idle) {
        (Lifetime::WhileUsed { handover, .. }, Some(millis)) => {
            Lifetime::WhileUsed { idle: Duration::from_millis(millis), handover }
        }
        (lifetime, _) => lifetime,
    };
    let options = ListenOptions::new(env!("CARGO_PKG_VERSION"), lifetime);
    let stop = CancellationToken::new();
    let listening = listener.serve(rooms, options, stop.clone());
    tokio::pin!(listening);
    let ended = tokio::select! {
        ended = &mut listening => ended,
        () = wait::ended() => {
            stop.cancel();
            listening.await
        }
    };
    engine.shutdown().await;
    // Only now is there room for the next one.
    drop(ended.lock);
    Ok(())
}

// === impl Rooms ===

impl Rooms {
    pub(super) fn new(engine: Engine, caller: &Caller) -> Self {
        Self { engine, own: caller.surroundings.clone(), open: Mutex::default() }
    }

    async fn room(&self, hello: &Hello) -> Result<Arc<Serving>, Refusal> {
        let view: View = hello.view.decode().map_err(|error| {
            refusal(format!("the view that was asked for cannot be understood: {error}"))
        })?;
        let key = format!("{}\0{}\0{:?}", hello.cwd.display(), hello.view, hello.env);
        // Held while a room is opened, so that clients that come at once share it.
        let mut open = self.open.lock().await;
        open.retain(|_, room| room.strong_count() > 0);
        if let Some(room) = open.get(&key).and_then(Weak::upgrade) {
            return Ok(room);
        }
        let whose = self.whose(hello)?;
        let room = Serving::open(self.engine.clone(), &view, whose).await;
        let room = Arc::new(room.map_err(|failure| refusal(failure.in_one_line()))?);
        open.insert(key, Arc::downgrade(&room));
        Ok(room)
    }

    /// The client's folder and environment, in place of this process's own.
    fn whose(&self, hello: &Hello) -> Result<Whose, Refusal> {
        let usual =
            Surroundings::usual(surroundings::platform(), hello.env.clone(), hello.cwd.clone());
        let usual = usual.ok_or_else(|| refusal("no home folder is known".to_owned()))?;
        let surroundings = Surroundings {
            config_dir: self.own.config_dir.clone(),
            state_dir: self.own.state_dir.clone(),
            managed_dir: self.own.managed_dir.clone(),
            owner: self.own.owner,
            now: surroundings::now(),
            ..usual
        };
        let variables = hello.env.iter().map(|(name, value)| (name.into(), value.into()));
        Ok(Whose { surroundings, asked: Asked::default(), variables: variables.collect() })
    }
}

impl socket::Hub for Rooms {
    type Front = Serving;

    fn front<'a>(&'a self, hello: &'a Hello) -> BoxFuture<'a, Result<Arc<Serving>, Refusal>> {
        Box::pin(self.room(hello))
    }

    fn is_busy(&self) -> bool {
        self.engine.calls_in_flight() > 0
    }

    fn used_by(&self, session: &str) -> Vec<(String, u64)> {
        self.engine.used_by(session)
    }
}

fn refusal(message: String) -> Refusal {
    Refusal { kind: RefusalKind::View, message }
}
