//! The faces: Streamable HTTP of both eras, HTTP+SSE and WebSocket, served over the network.
//!
//! Used by `switchboard serve` and the hub. [`serve`] accepts connections, admits requests through `access_control`,
//! and answers them with the views of the [`ViewProvider`]. Bodies, sessions, streams, queues and waits are all
//! bounded. A face knows transports, sessions and principals; it does not know servers and tools, or who may use
//! them.

mod accept;
mod access_control;
mod budgets;
mod connections;
mod events;
mod head_clock;
mod lent_body;
mod media;
mod metrics;
mod options;
mod probes;
mod refusal;
pub mod replicas;
mod rope_body;
mod routes;
mod sessions;
mod sse;
mod stall;
mod streamable;
mod tls;
mod ws;

use std::{io, sync::Arc, time::Duration};

use switchboard_core::principal::Authentication;
use switchboard_wire::{envelope::MessageOrBatch, link::LinkWriter, server::ServeOptions};
use tokio::net::TcpListener;
use tokio_util::{
    sync::CancellationToken,
    task::{AbortOnDropHandle, TaskTracker},
};

pub use access_control::{FaceCaller, TokenDenial, TokenVerifier, is_public_name};
pub use options::{
    AnonymousAccess, FaceAccess, FaceLimits, FaceOptions, FaceTimeouts, RequestRate,
};
pub use probes::{Readiness, answer_probes};
pub use sessions::OpenSessionCount;
pub use stall::StallTimeoutStream;
pub use tls::TlsIdentity;

use crate::replica_tag::ReplicaTag;
use crate::view_provider::{OpenView, SessionClients, ViewProvider, ViewRequest};
use accept::Acceptor;
use access_control::{AccessControl, RateLimiter};
use budgets::Budgets;
use metrics::{Metrics, Transport};
use refusal::HttpRefusal;
use routes::{ControlledRoutes, FaceRoutes};
use sessions::{SessionOwner, SessionSlot, SessionSlots, SessionTable};

/// The longest interval between searches for idle sessions.
const SWEEP_INTERVAL: Duration = Duration::from_secs(30);

/// Why faces cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FaceError {
    /// The listener cannot be used.
    #[error("the address to listen at cannot be used")]
    Listener(#[source] io::Error),
    /// The certificate cannot be used.
    #[error("{what}")]
    Tls {
        /// The part at fault.
        what: &'static str,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The state that all requests share.
struct Face<F: ViewProvider> {
    front: Arc<F>,
    options: FaceOptions,
    metrics: Arc<Metrics>,
    rates: Arc<RateLimiter>,
    budgets: Budgets,
    slots: SessionSlots,
    sessions: SessionTable<Arc<streamable::StreamableSession<F::View>>>,
    views: streamable::SharedViews<F::View>,
    /// The writers of HTTP+SSE sessions: the targets of messages that clients post.
    posts: SessionTable<LinkWriter>,
    tasks: TaskTracker,
    restorer: streamable::SessionRestorer,
    /// Cancelled at shutdown.
    closing: CancellationToken,
}

/// Serves until `shutdown`, then until running answers end or the drain timeout passes.
pub async fn serve<F: ViewProvider>(
    listener: TcpListener,
    front: Arc<F>,
    mut options: FaceOptions,
    shutdown: CancellationToken,
) -> Result<(), FaceError> {
    let bound = listener.local_addr().map_err(FaceError::Listener)?;
    let tls = options.tls.as_ref().map(TlsIdentity::acceptor).transpose()?;
    let beside = std::mem::take(&mut options.beside);
    let (limits, times) = (options.limits, options.times);
    let open_sessions = options.open_sessions.clone();
    let metrics = Arc::new(Metrics::default());
    let members = options.replicas.as_ref().map(|group| Arc::clone(&group.members));
    let rates = Arc::new(RateLimiter::new(limits.rate).shared_by(members));
    let access_control =
        AccessControl::new(&options, bound, Arc::clone(&metrics), Arc::clone(&rates));
    let access_control = Arc::new(access_control);
    let tasks = TaskTracker::new();
    let face = Arc::new(Face {
        front,
        options,
        metrics: Arc::clone(&metrics),
        rates,
        budgets: Budgets::new(limits.in_flight_bytes),
        slots: SessionSlots::new(limits.sessions, open_sessions),
        sessions: SessionTable::default(),
        views: streamable::SharedViews::default(),
        posts: SessionTable::default(),
        tasks: tasks.clone(),
        restorer: streamable::SessionRestorer::default(),
        closing: shutdown.clone(),
    });
    let group = face.options.replicas.clone();
    let _following = group.map(|group| {
        AbortOnDropHandle::new(tokio::spawn(replicas::follow(Arc::clone(&face), group)))
    });
    let answers = FaceRoutes::new(Arc::clone(&face), access_control, beside);
    let acceptor = Acceptor::new(answers, tls, times, metrics, shutdown);
    let (connections, over) = (acceptor.tasks.clone(), acceptor.over.clone());
    tokio::select! {
        () = acceptor.accept(&listener, limits.connections) => {}
        () = face.sweep_for_ever() => {}
    }
    drop(acceptor);
    connections.close();
    let draining = tokio::time::timeout(times.drain, connections.wait());
    let drained = if face.options.probes_while_draining {
        answer_probes(&listener, &face.options, Readiness::ShuttingDown, draining).await?
    } else {
        drop(listener);
        draining.await
    };
    if drained.is_err() {
        tracing::info!("some clients are cut off: their answers took too long");
    }
    over.cancel();
    face.end_sessions();
    tasks.close();
    connections.wait().await;
    tasks.wait().await;
    Ok(())
}

/// Serves only the routes beside the faces, until `shutdown`.
pub async fn serve_beside(
    listener: TcpListener,
    mut options: FaceOptions,
    shutdown: CancellationToken,
) -> Result<(), FaceError> {
    let bound = listener.local_addr().map_err(FaceError::Listener)?;
    let tls = options.tls.take().map(|identity| identity.acceptor()).transpose()?;
    let beside = std::mem::take(&mut options.beside);
    let (limits, times) = (options.limits, options.times);
    let metrics = Arc::new(Metrics::default());
    let rates = Arc::new(RateLimiter::new(limits.rate));
    let access_control = Arc::new(AccessControl::new(&options, bound, Arc::clone(&metrics), rates));
    let answers = ControlledRoutes::new(access_control, beside);
    let acceptor = Acceptor::new(answers, tls, times, metrics, shutdown);
    let (connections, over) = (acceptor.tasks.clone(), acceptor.over.clone());
    acceptor.accept(&listener, limits.connections).await;
    drop((listener, acceptor));
    connections.close();
    // Event streams end only when they are cancelled.
    over.cancel();
    connections.wait().await;
    Ok(())
}

// === impl FaceError ===

impl FaceError {
    fn tls(what: &'static str, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Tls { what, source: Box::new(source) }
    }
}

// === impl Face ===

impl<F: ViewProvider> Face<F> {
    /// A slot for one more session. An idle session is ended if necessary.
    fn slot(&self, owner: &SessionOwner) -> Result<SessionSlot, HttpRefusal> {
        let principal = owner.principal.id();
        self.slots.take(principal).or_else(|refusal| {
            let giver = self.slots.giver(principal);
            let idle = self.sessions.take_least_recent(&giver, |session| session.idle_since());
            idle.ok_or(refusal)?.end();
            if giver == *principal {
                self.slots.take_instead(principal)
            } else {
                self.slots.take(principal)
            }
        })
    }

    /// Opens the view of a session that one client has to itself.
    async fn open_view(
        &self,
        owner: &SessionOwner,
        session: String,
        transport: Transport,
    ) -> Result<OpenView<F::View>, HttpRefusal> {
        let opening = ViewRequest {
            principal: owner.principal.clone(),
            session,
            part: owner.part.clone(),
            transport: transport.as_str(),
            clients: SessionClients::One,
        };
        let opened = self.front.open(opening).await;
        opened.map_err(|error| HttpRefusal::no_view(&owner.part, &error))
    }

    /// The limits for a session of this owner.
    fn serve_options(&self, owner: &SessionOwner) -> ServeOptions {
        let budget = self.budgets.of(owner.principal.id());
        ServeOptions { max_in_flight: self.options.limits.streams, budget }
    }

    /// Counts the messages of a batch for the rate limit, except the first, which access control has counted.
    fn take_rest(&self, owner: &SessionOwner, asked: &MessageOrBatch) -> Result<(), HttpRefusal> {
        match asked {
            MessageOrBatch::One(_) => Ok(()),
            MessageOrBatch::Batch(messages) => {
                self.rates.take(owner.principal.id(), messages.len() - 1)
            }
        }
    }

    /// The tag of this replica, if there are others.
    fn tag(&self) -> Option<ReplicaTag> {
        self.options.replicas.as_ref().map(|group| group.tag)
    }

    /// Refuses a request of a client that is no program of this user while this replica is apart from the others:
    /// whether the client is still let in is not known.
    fn check_replicas(&self, owner: &SessionOwner) -> Result<(), HttpRefusal> {
        let is_certain = owner.principal.authentication() == Authentication::SameUser;
        let group = self.options.replicas.as_ref().filter(|_| !is_certain);
        match group.and_then(|group| group.relay.problem()) {
            Some(problem) => Err(HttpRefusal::full(problem)),
            None => Ok(()),
        }
    }

    fn sweep(&self) {
        let idle = self.options.times.idle;
        for session in self.sessions.take_if(|session| session.is_idle(idle)) {
            session.end();
        }
        self.views.sweep(idle);
    }

    async fn sweep_for_ever(&self) {
        let every = SWEEP_INTERVAL.min(self.options.times.idle / 4).max(Duration::from_millis(10));
        let mut ticks = tokio::time::interval(every);
        loop {
            ticks.tick().await;
            self.sweep();
        }
    }

    /// Ends every session.
    fn end_sessions(&self) {
        for session in self.sessions.take_if(|_| true) {
            session.end();
        }
        self.views.clear();
    }
}
