//! What a connection is doing. Written by its task alone, read by everyone.

use std::{sync::Arc, time::Duration};

use switchboard_wire::{
    self as wire,
    client::{Client, ServerFacts},
    http::{HttpError, SignInRevision},
    ws::WsError,
};
use tokio::{sync::watch, time::Instant};

use super::{ConnectionError, liveness::Liveness};

/// What a connection is doing.
#[derive(Debug, Clone)]
pub enum ConnectionState {
    /// It is being made, or waits for its turn to be.
    Pending(ConnectionAttempt),
    /// It is up.
    Connected(Arc<LiveSession>),
    /// It could not be made, or was lost.
    Failed(Arc<ConnectionFailure>),
    /// Somebody has to sign in first.
    NeedsAuth(Arc<SignInNeeded>),
    /// It was ended, for good.
    Stopped,
}

/// A connection in the making.
#[derive(Debug, Clone)]
pub struct ConnectionAttempt {
    /// Which attempt this is, from 1, counted over the whole life of the connection.
    pub number: u64,
    /// How many attempts in a row went before it without a session that lasted.
    pub retries: u32,
    /// How the one before ended.
    pub last: Option<ConnectionError>,
}

/// A session with a server.
#[derive(Debug)]
pub struct LiveSession {
    /// The session itself.
    pub client: Client,
    /// What the server said of itself.
    pub facts: Arc<ServerFacts>,
    /// When it was connected.
    pub since: Instant,
    /// How long connecting took.
    pub connect_took: Duration,
    /// Which attempt made it. Names this session among those of its connection.
    pub(super) number: u64,
    /// The sign-in that it was opened with.
    pub(super) sign_in: SignInRevision,
    /// Whether the server answers, as far as it was asked.
    pub(super) verdict: watch::Sender<Liveness>,
}

/// A connection that is not up.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", if *was_connected { "the connection was lost" } else { "cannot connect" })]
pub struct ConnectionFailure {
    /// Why.
    #[source]
    pub error: ConnectionError,
    /// Whether it had been up.
    pub was_connected: bool,
    /// When it is tried again; never by itself if absent.
    pub retry_at: Option<Instant>,
    /// Attempts used up in a row.
    pub retries: u32,
    /// Which attempt it was.
    pub number: u64,
    /// Since when.
    pub since: Instant,
}

/// A connection that waits for somebody to sign in.
#[derive(Debug, Clone, thiserror::Error)]
#[error("sign-in is needed")]
pub struct SignInNeeded {
    /// Why, as far as is known. Part of it may be the server's words: clean it before it is shown.
    pub reason: String,
    /// What the server's `WWW-Authenticate` says.
    pub challenges: Vec<String>,
    /// What happened.
    #[source]
    pub error: ConnectionError,
    /// Which attempt it was.
    pub number: u64,
    /// Since when.
    pub since: Instant,
    /// The sign-in that was not good enough.
    pub(super) sign_in: SignInRevision,
}

// === impl State ===

impl ConnectionState {
    /// A stable word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pending(_) => "pending",
            Self::Connected(_) => "connected",
            Self::Failed(_) => "failed",
            Self::NeedsAuth(_) => "needs-auth",
            Self::Stopped => "stopped",
        }
    }

    /// The session, of one that is up.
    pub fn live(&self) -> Option<&Arc<LiveSession>> {
        match self {
            Self::Connected(live) => Some(live),
            _ => None,
        }
    }
}

// === impl Live ===

impl LiveSession {
    /// Which session of its connection it is.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Since when the server has answered nothing, although it was asked; `None` while it answers.
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
