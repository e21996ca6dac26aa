//! The faces that clients reach over the network: Streamable HTTP of both eras, HTTP+SSE, WebSocket.
//!
//! [`serve`] accepts connections, lets in whom the guard lets in, and answers from what the
//! [`ViewProvider`] opens. Everything is bounded: bodies, sessions, streams, queues, and how long anybody is
//! waited for.
//!
//! A face knows transports, sessions and who is asking. It refuses to know what is served and who may
//! use which part of it.

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
mod refusal;
mod rope_body;
mod routes;
mod sessions;
mod sse;
mod stall;
mod streamable;
mod tls;
mod ws;

use std::{io, sync::Arc, time::Duration};

use switchboard_wire::{envelope::MessageOrBatch, link::LinkWriter, server::ServeOptions};
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use access_control::{FaceCaller, TokenDenial, TokenVerifier, is_public_name};
pub use options::{
    AnonymousAccess, FaceAccess, FaceLimits, FaceOptions, FaceTimeouts, RequestRate,
};
pub use sessions::OpenSessionCount;
pub use tls::TlsIdentity;

use crate::view_provider::ViewProvider;
use accept::Acceptor;
use access_control::{AccessControl, RateLimiter};
use budgets::Budgets;
use metrics::Metrics;
use refusal::HttpRefusal;
use routes::{ControlledRoutes, FaceRoutes};
use sessions::{SessionOwner, SessionSlot, SessionSlots, SessionTable};

/// How often sessions are looked at that nobody uses, at the least.
const SWEEP_INTERVAL: Duration = Duration::from_secs(30);

/// Why faces cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FaceError {
    /// The listener is of no use.
    #[error("the address to listen at cannot be used")]
    Listener(#[source] io::Error),
    /// The certificate is of no use.
    #[error("{what}")]
    Tls {
        /// What is wrong.
        what: &'static str,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// What all requests share.
struct Face<F: ViewProvider> {
    front: Arc<F>,
    options: FaceOptions,
    metrics: Arc<Metrics>,
    rates: Arc<RateLimiter>,
    budgets: Budgets,
    slots: SessionSlots,
    sessions: SessionTable<Arc<streamable::StreamableSession<F::View>>>,
    views: streamable::SharedViews<F::View>,
    /// Where the oldest transport's messages are posted to.
    posts: SessionTable<LinkWriter>,
    tasks: TaskTracker,
    /// The end has been called for.
    closing: CancellationToken,
}

/// Serves until `shutdown`, and then as long as answers under way take, up to a deadline.
pub async fn serve<F: ViewProvider>(
    listener: TcpListener,
    front: Arc<F>,
    mut options: FaceOptions,
    shutdown: CancellationToken,
) -> Result<(), FaceError> {
    let bound = listener.local_addr().map_err(FaceError::Listener)?;
    let tls = options.tls.take().map(|identity| identity.acceptor()).transpose()?;
    let beside = std::mem::take(&mut options.beside);
    let (limits, times) = (options.limits, options.times);
    let open_sessions = options.open_sessions.clone();
    let metrics = Arc::new(Metrics::default());
    let rates = Arc::new(RateLimiter::new(limits.rate));
    let guard = AccessControl::new(&options, bound, Arc::clone(&metrics), Arc::clone(&rates));
    let guard = Arc::new(guard);
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
        closing: shutdown.clone(),
    });
    let answers = Arc::new(FaceRoutes::new(Arc::clone(&face), guard, beside));
    let connections = TaskTracker::new();
    let over = CancellationToken::new();
    let door = Acceptor {
        answers,
        tls,
        times,
        metrics,
        closing: shutdown,
        over: over.clone(),
        tasks: connections.clone(),
    };
    tokio::select! {
        () = door.accept(&listener, limits.connections) => {}
        () = face.sweep_for_ever() => {}
    }
    drop((listener, door));
    connections.close();
    if tokio::time::timeout(times.drain, connections.wait()).await.is_err() {
        tracing::info!("some clients are cut off: their answers took too long");
    }
    over.cancel();
    face.end_sessions();
    tasks.close();
    connections.wait().await;
    tasks.wait().await;
    Ok(())
}

/// Serves what stands beside the faces and none of the faces, until `shutdown`.
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
    let guard = Arc::new(AccessControl::new(&options, bound, Arc::clone(&metrics), rates));
    let connections = TaskTracker::new();
    let over = CancellationToken::new();
    let door = Acceptor {
        answers: Arc::new(ControlledRoutes::new(guard, beside)),
        tls,
        times,
        metrics,
        closing: shutdown,
        over: over.clone(),
        tasks: connections.clone(),
    };
    door.accept(&listener, limits.connections).await;
    drop((listener, door));
    connections.close();
    // Streams of events end when they are told to, and not by themselves.
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
    /// Room for one more session, made by ending one that is idle if need be.
    fn slot(&self, owner: &SessionOwner) -> Result<SessionSlot, HttpRefusal> {
        let principal = &owner.principal;
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

    /// Bounds on a session of this owner.
    fn serve_options(&self, owner: &SessionOwner) -> ServeOptions {
        let budget = self.budgets.of(&owner.principal);
        ServeOptions { max_in_flight: self.options.limits.streams, budget }
    }

    /// Takes the messages of a batch out of its principal's rate, but for the first: its request was taken already.
    fn take_rest(&self, owner: &SessionOwner, asked: &MessageOrBatch) -> Result<(), HttpRefusal> {
        match asked {
            MessageOrBatch::One(_) => Ok(()),
            MessageOrBatch::Batch(messages) => {
                self.rates.take(&owner.principal, messages.len() - 1)
            }
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
