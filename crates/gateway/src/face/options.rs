//! What a face is told: whom it lets in, how much it takes, how long it waits.

use std::{fmt, sync::Arc, time::Duration};

use switchboard_wire::server::ByteBudget;
use tokio::sync::watch;

use super::{access_control::TokenVerifier, sessions::OpenSessionCount, tls::TlsIdentity};

/// How faces are served.
pub struct FaceOptions {
    /// Who may come in.
    pub access: FaceAccess,
    /// Host names that are taken besides those of this machine, as in `--allow-host`. With one that other machines can
    /// use, every client needs a token, whatever `access` says of this machine's user.
    pub hosts: Vec<String>,
    /// Origins of web pages that are taken besides our own pages, as in `--allow-origin`.
    pub origins: Vec<String>,
    /// How much is taken.
    pub limits: FaceLimits,
    /// How long is waited.
    pub times: FaceTimeouts,
    /// Whether `/readyz` says yes.
    pub ready: watch::Receiver<bool>,
    /// The certificate to serve with; without one the faces speak plain HTTP.
    pub tls: Option<TlsIdentity>,
    /// Routes to be served beside the faces. They stand at `/` and under `/api/` and
    /// `/console/`, and ask themselves who comes; the guard looks at `Host` and `RequestOrigin`.
    pub beside: axum::Router,
    /// Counts the sessions that are open.
    pub open_sessions: OpenSessionCount,
}

/// Who may come in.
#[derive(Clone)]
pub struct FaceAccess {
    /// Who stands for whom. Without it no bearer token is accepted.
    pub tokens: Option<Arc<dyn TokenVerifier>>,
    /// What a client without a token has to be.
    pub without_token: AnonymousAccess,
}

/// What becomes of a client without a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnonymousAccess {
    /// It is let in if it runs on this machine, as the same user as we do, and no proxy speaks for it.
    SameUser,
    /// It is asked for one.
    Refused,
    /// It is let in. Only for a network where everybody is trusted.
    Anyone,
}

/// How much is taken. Past a limit a client is refused, and told so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaceLimits {
    /// Bytes of one message (16 MiB).
    pub body: usize,
    /// Sessions that are open at once, of all transports (1,024). A token may hold no more of them than are still
    /// free, so that there is room for another. Past that, the idle session goes that was not used for the longest time.
    pub sessions: usize,
    /// Connections that are open at once (4,096). Another user or another machine may have a fourth of them.
    pub connections: usize,
    /// Calls and streams of one session at once (256). Each request of a batch is a call.
    pub streams: usize,
    /// Events that a session keeps for streams that are taken up again (1,000).
    pub kept_events: usize,
    /// Bytes of those events (4 MiB).
    pub kept_bytes: usize,
    /// Events that may wait for a client that reads slowly (256).
    pub queued_events: usize,
    /// Bytes of those events (1 MiB); one event alone may be larger.
    pub queued_bytes: usize,
    /// Bytes of the requests of one principal that are read or answered, and of the large answers to them (256 MiB).
    pub in_flight_bytes: usize,
    /// Requests of one principal.
    pub rate: RequestRate,
}

/// How often a principal may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestRate {
    /// As often as it likes; a hub that serves one person has nobody to protect.
    Unlimited,
    /// This often a second, with as many again in a burst.
    PerSecond(u32),
}

/// How long is waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaceTimeouts {
    /// For a TLS handshake (10 s).
    pub handshake: Duration,
    /// For the head of a request, from its first byte on, and for the first one on a connection (10 s).
    pub head: Duration,
    /// Until a connection ends that nobody asks anything on (2 min). Clients keep idle connections for
    /// a minute and a half; one that ends first makes no request fail.
    pub idle_connection: Duration,
    /// For the body of a request (60 s).
    pub body: Duration,
    /// For a client that does not read what is written to it (30 s).
    pub stalled: Duration,
    /// Until a session that nobody uses is over (30 min).
    pub idle: Duration,
    /// Between signs of life on a stream that has nothing to say (15 s).
    pub keep_alive: Duration,
    /// For an answer before its stream is opened without it (500 ms).
    pub first_word: Duration,
    /// For answers under way once the end was called for (10 s).
    pub drain: Duration,
}

// === impl FaceOptions ===

impl FaceOptions {
    /// Faces for this machine's own user, ready from the start.
    pub fn local() -> Self {
        Self {
            access: FaceAccess { tokens: None, without_token: AnonymousAccess::SameUser },
            hosts: Vec::new(),
            origins: Vec::new(),
            limits: FaceLimits::default(),
            times: FaceTimeouts::default(),
            ready: watch::channel(true).1,
            tls: None,
            beside: axum::Router::new(),
            open_sessions: OpenSessionCount::default(),
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
