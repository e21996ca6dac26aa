//! Options of the faces: access, limits and timeouts, with their defaults.
//!
//! Used by `switchboard serve`, `hub::access` and the hub to start faces. It reads no configuration.

use std::{fmt, sync::Arc, time::Duration};

use switchboard_wire::server::ByteBudget;

use super::{
    access_control::TokenVerifier, replicas::ReplicaGroup, sessions::OpenSessionCount,
    tls::TlsIdentity,
};

/// The options of faces.
pub struct FaceOptions {
    /// The clients that are admitted.
    pub access: FaceAccess,
    /// Allowed host names besides those of this machine, as in `--allow-host`. If other machines can use one of the
    /// names, every client needs a token, even one of this machine's user.
    pub hosts: Vec<String>,
    /// Allowed origins of web pages besides our own pages, as in `--allow-origin`.
    pub origins: Vec<String>,
    /// The limits.
    pub limits: FaceLimits,
    /// The timeouts.
    pub times: FaceTimeouts,
    /// Whether probes are answered at the address while running calls are finished. Without it the address is free for
    /// another process as soon as the shutdown begins.
    pub probes_while_draining: bool,
    /// The certificate to serve with; without one the faces speak plain HTTP.
    pub tls: Option<TlsIdentity>,
    /// Routes beside the faces: `/`, `/api/` and `/console/`. They identify callers themselves; access control checks
    /// only `Host` and `Origin`.
    pub beside: axum::Router,
    /// The number of open sessions.
    pub open_sessions: OpenSessionCount,
    /// The other replicas that answer for the same clients, if there are any.
    pub replicas: Option<ReplicaGroup>,
}

/// The clients that are admitted.
#[derive(Clone)]
pub struct FaceAccess {
    /// The verifier of bearer tokens. Without one, no token is accepted.
    pub tokens: Option<Arc<dyn TokenVerifier>>,
    /// The treatment of clients without a token.
    pub without_token: AnonymousAccess,
}

/// The treatment of a client without a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnonymousAccess {
    /// Admitted if the client runs on this machine as the hub's own user, and not through a proxy.
    SameUser,
    /// Refused, with a challenge for a token.
    Refused,
    /// Admitted. Only for a network where every client is trusted.
    Anyone,
}

/// The limits of faces. A client over a limit is refused, with the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaceLimits {
    /// Bytes of one message (16 MiB).
    pub body: usize,
    /// Open sessions of all transports (1,024). A token may hold no more sessions than are still free, so that
    /// another token always finds one. At the limit, the idle session with the oldest last use is ended.
    pub sessions: usize,
    /// Open connections (4,096). Another user or machine may have a fourth.
    pub connections: usize,
    /// Concurrent calls and streams of one session (256). Each request of a batch is a call.
    pub streams: usize,
    /// Events that a session keeps for resumed streams (1,000).
    pub kept_events: usize,
    /// Bytes of those events (4 MiB).
    pub kept_bytes: usize,
    /// Events that may wait for a slow client (256).
    pub queued_events: usize,
    /// Bytes of those events (1 MiB); a single event may be larger.
    pub queued_bytes: usize,
    /// Bytes of one principal's requests while they are read or answered, and of their large answers (256 MiB).
    pub in_flight_bytes: usize,
    /// The request rate of one principal.
    pub rate: RequestRate,
}

/// The request rate of a principal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestRate {
    /// No limit: a hub that serves one person need not protect others.
    Unlimited,
    /// This number of requests per second, with as many again in a burst.
    PerSecond(u32),
}

/// The timeouts of faces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaceTimeouts {
    /// The TLS handshake (10 s).
    pub handshake: Duration,
    /// The head of a request, from its first byte; also the first head on a connection (10 s).
    pub head: Duration,
    /// An idle connection (2 min). Clients keep idle connections for a minute and a half; if they close first, no
    /// request fails.
    pub idle_connection: Duration,
    /// The body of a request (60 s).
    pub body: Duration,
    /// A client that does not read its response (30 s).
    pub stalled: Duration,
    /// An idle session (30 min).
    pub idle: Duration,
    /// The interval between keep-alive comments on a silent stream (15 s).
    pub keep_alive: Duration,
    /// How long an answer may take before its stream is opened without it (500 ms).
    pub first_word: Duration,
    /// Running answers after a shutdown (10 s).
    pub drain: Duration,
}

// === impl FaceOptions ===

impl FaceOptions {
    /// Options for this machine's own user.
    pub fn local() -> Self {
        Self {
            access: FaceAccess { tokens: None, without_token: AnonymousAccess::SameUser },
            hosts: Vec::new(),
            origins: Vec::new(),
            limits: FaceLimits::default(),
            times: FaceTimeouts::default(),
            probes_while_draining: false,
            tls: None,
            beside: axum::Router::new(),
            open_sessions: OpenSessionCount::default(),
            replicas: None,
        }
    }
}

impl fmt::Debug for FaceOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaceOptions")
            .field("access", &self.access)
            .field("hosts", &self.hosts)
            .field("origins", &self.origins)
            .field("limits", &self.limits)
            .field("times", &self.times)
            .field("tls", &self.tls)
            .field("replicas", &self.replicas)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for FaceAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("tokens", &self.tokens.is_some())
            .field("without_token", &self.without_token)
            .finish()
    }
}

// === impl FaceLimits ===

impl Default for FaceLimits {
    fn default() -> Self {
        Self {
            body: 16 << 20,
            sessions: 1024,
            connections: 4096,
            streams: 256,
            kept_events: 1000,
            kept_bytes: 4 << 20,
            queued_events: 256,
            queued_bytes: 1 << 20,
            in_flight_bytes: ByteBudget::DEFAULT_BYTES,
            rate: RequestRate::Unlimited,
        }
    }
}

// === impl FaceTimeouts ===

impl Default for FaceTimeouts {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(10),
            idle_connection: Duration::from_secs(120),
            body: Duration::from_secs(60),
            stalled: Duration::from_secs(30),
            idle: Duration::from_secs(30 * 60),
            keep_alive: Duration::from_secs(15),
            first_word: Duration::from_millis(500),
            drain: Duration::from_secs(10),
        }
    }
}
