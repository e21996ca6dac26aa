//! The state of a connection: pending, connected, idle, failed, sign-in needed or stopped.
//!
//! Written only by the connection's task; used by `dispatch`, the snapshot and the supervisor. It does not hold the
//! server's lists (`connection::lists` does).

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use switchboard_wire::{
    self as wire,
    client::{Client, ServerFacts},
    http::{HttpError, SignInRevision},
    ws::WsError,
};
use tokio::{sync::watch, time::Instant};

use super::{ConnectionError, liveness::Liveness};

/// The state of a connection.
#[derive(Debug, Clone)]
pub enum ConnectionState {
    /// The connection is being made, or waits for a slot.
    Pending(ConnectionAttempt),
    /// The connection is up.
    Connected(Arc<LiveSession>),
    /// The server is not started: its lists are known, and no call needs it.
    Idle(IdleConnection),
    /// The connection could not be made, or was lost.
    Failed(Arc<ConnectionFailure>),
    /// A person has to sign in first.
    NeedsAuth(Arc<SignInNeeded>),
    /// The connection was ended for good.
    Stopped,
}

/// An attempt to connect.
#[derive(Debug, Clone)]
pub struct ConnectionAttempt {
    /// The number of the attempt, from 1, counted over the whole life of the connection.
    pub number: u64,
    /// How many attempts in a row came before it without a lasting session.
    pub retries: u32,
    /// The error of the attempt before.
    pub last: Option<ConnectionError>,
}

/// A server that is started when a call needs it.
#[derive(Debug, Clone, Copy)]
pub struct IdleConnection {
    /// When its lists were read.
    pub lists_read_at: SystemTime,
    /// The number of the last attempt.
    pub(super) number: u64,
    /// The sign-in that its lists were read with.
    pub(super) sign_in: SignInRevision,
}

/// A session with a server.
#[derive(Debug)]
pub struct LiveSession {
    /// The MCP client of the session.
    pub client: Client,
    /// The server's facts from the handshake.
    pub facts: Arc<ServerFacts>,
    /// When the session began.
    pub since: Instant,
    /// How long connecting took.
    pub connect_took: Duration,
    /// The number of the attempt that made the session. It identifies the session within its connection.
    pub(super) number: u64,
    /// The sign-in with which the session was opened.
    pub(super) sign_in: SignInRevision,
    /// Whether the server answers, by the probes so far.
    pub(super) verdict: watch::Sender<Liveness>,
}

/// A failed connection.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", if *was_connected { "the connection was lost" } else { "cannot connect" })]
pub struct ConnectionFailure {
    /// The error.
    #[source]
    pub error: ConnectionError,
    /// Whether the connection had been up.
    pub was_connected: bool,
    /// When the next attempt is made; `None` if none is planned.
    pub retry_at: Option<Instant>,
    /// How many attempts in a row have failed.
    pub retries: u32,
    /// The number of the attempt.
    pub number: u64,
    /// When the connection failed.
    pub since: Instant,
}

/// A connection that waits for a sign-in.
#[derive(Debug, Clone, thiserror::Error)]
#[error("sign-in is needed")]
pub struct SignInNeeded {
    /// The reason, as far as known. Part of the text may come from the server: sanitize it before showing it.
    pub reason: String,
    /// The `WWW-Authenticate` headers of the server.
    pub challenges: Vec<String>,
    /// The error.
    #[source]
    pub error: ConnectionError,
    /// The number of the attempt.
    pub number: u64,
    /// When the sign-in became necessary.
    pub since: Instant,
    /// The sign-in that the server refused.
    pub(super) sign_in: SignInRevision,
}

// === impl ConnectionState ===

impl ConnectionState {
    /// Returns a stable word for the state.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pending(_) => "pending",
            Self::Connected(_) => "connected",
            Self::Idle(_) => "idle",
            Self::Failed(_) => "failed",
            Self::NeedsAuth(_) => "needs-auth",
            Self::Stopped => "stopped",
        }
    }

    /// Returns the session of a connection that is up.
    pub fn live(&self) -> Option<&Arc<LiveSession>> {
        match self {
            Self::Connected(live) => Some(live),
            _ => None,
        }
    }
}

// === impl LiveSession ===

impl LiveSession {
    /// Returns the number of the session within its connection.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns since when the server has answered no probe; `None` while it answers.
    pub fn silent_since(&self) -> Option<Instant> {
        self.verdict.borrow().silent_since
    }

    /// How long the server took for the latest liveness check that it answered; `None` while it is silent or unchecked.
    pub fn answer_took(&self) -> Option<Duration> {
        self.verdict.borrow().answer_took
    }

    /// Keeps the time for the verdict that follows; on its own it is no verdict.
    pub(super) fn note_answer_time(&self, took: Duration) {
        self.verdict.send_if_modified(|verdict| {
            verdict.answer_took = Some(took);
            false
        });
    }
}

// === impl SignInNeeded ===

impl SignInNeeded {
    pub(super) fn new(error: ConnectionError, number: u64, sign_in: SignInRevision) -> Self {
        let (reason, challenges) = match &error {
            ConnectionError::Wire(error) => challenge_of(error),
            _ => (String::new(), Vec::new()),
        };
        Self { reason, challenges, error, number, since: Instant::now(), sign_in }
    }
}

fn challenge_of(error: &wire::Error) -> (String, Vec<String>) {
    match error {
        wire::Error::Http(error) => http_challenge_of(error),
        wire::Error::WebSocket(error) => match &**error {
            WsError::Http(error) => http_challenge_of(error),
            _ => (String::new(), Vec::new()),
        },
        _ => (String::new(), Vec::new()),
    }
}

fn http_challenge_of(error: &HttpError) -> (String, Vec<String>) {
    match error {
        HttpError::SignIn { reason, challenges, .. } => (reason.clone(), challenges.clone()),
        HttpError::Refused { challenges, .. } => (String::new(), challenges.clone()),
        _ => (String::new(), Vec::new()),
    }
}
