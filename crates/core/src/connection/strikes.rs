//! Counts failed calls, to decide when a session is broken, and records whether a session ever answered.
//!
//! Used by `connection` and `connection::session`. It judges by the kind of error, never by its text.

use std::{
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

use switchboard_wire::{
    self as wire, Remedy,
    http::{ConnectFailure, HttpError},
    ws::WsError,
};
use tokio::time::Instant;

/// Failures in a row on one session.
#[derive(Debug, Default)]
pub(super) struct Strikes(Mutex<StrikeCount>);

#[derive(Debug, Default)]
struct StrikeCount {
    session: u64,
    strikes: u32,
    /// When the server last answered anything after the handshake.
    answered_at: Option<Instant>,
}

/// How a failure counts against the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureWeight {
    /// The session works: the server answered, if with a refusal.
    Answered,
    /// The failure says nothing about the session.
    None,
    /// The session may be broken.
    Strike,
    /// The session is broken.
    Out,
}

// === impl Strikes ===

impl Strikes {
    /// Begins to count for a new session.
    pub(super) fn begin(&self, session: u64) {
        *self.lock() = StrikeCount { session, strikes: 0, answered_at: None };
    }

    /// Records that the server has answered.
    pub(super) fn clear(&self, session: u64) {
        *self.lock() = StrikeCount { session, strikes: 0, answered_at: Some(Instant::now()) };
    }

    /// Whether the server has answered anything in this session.
    pub(super) fn has_answered(&self, session: u64) -> bool {
        self.answered_at(session).is_some()
    }

    /// Whether the server has answered anything in this session since then.
    pub(super) fn has_answered_since(&self, session: u64, then: Instant) -> bool {
        self.answered_at(session).is_some_and(|at| at >= then)
    }

    fn answered_at(&self, session: u64) -> Option<Instant> {
        let count = self.lock();
        count.answered_at.filter(|_| count.session == session)
    }

    /// Notes a failure on a session; `true` if the session is to be ended, after `limit` failures in a row.
    pub(super) fn note(&self, session: u64, error: &wire::Error, limit: u32) -> bool {
        let mut count = self.lock();
        if count.session != session {
            *count = StrikeCount { session, ..StrikeCount::default() };
        }
        match failure_weight(error) {
            FailureWeight::Answered => {
                count.strikes = 0;
                count.answered_at = Some(Instant::now());
            }
            FailureWeight::None => {}
            FailureWeight::Strike => count.strikes += 1,
            FailureWeight::Out => return true,
        }
        count.strikes >= limit
    }

    fn lock(&self) -> MutexGuard<'_, StrikeCount> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn failure_weight(error: &wire::Error) -> FailureWeight {
    // No call can work before a person has signed in, so the session ends.
    if error.remedy() == Remedy::SignIn {
        return FailureWeight::Out;
    }
    match error {
        wire::Error::Http(error) => http_failure_weight(error),
        wire::Error::WebSocket(error) => match &**error {
            WsError::Http(error) => http_failure_weight(error),
            _ => FailureWeight::None, // Its reader ends the session by itself.
        },
        wire::Error::Io { source, .. } => io_failure_weight(source.kind()),
        wire::Error::StreamLost { .. } => FailureWeight::Strike,
        wire::Error::Rpc(_) | wire::Error::InputNeeded { .. } => FailureWeight::Answered,
        _ => FailureWeight::None,
    }
}

fn http_failure_weight(error: &HttpError) -> FailureWeight {
    match error {
        HttpError::Connect {
            kind: ConnectFailure::Refused | ConnectFailure::Unreachable, ..
        } => FailureWeight::Out,
        HttpError::Connect { .. }
        | HttpError::FirstByte { .. }
        | HttpError::Stalled { .. }
        | HttpError::Closed { .. } => FailureWeight::Strike,
        HttpError::Refused { .. } => FailureWeight::Answered,
        _ => FailureWeight::None,
    }
}

fn io_failure_weight(kind: io::ErrorKind) -> FailureWeight {
    use io::ErrorKind as Kind;
    match kind {
        Kind::ConnectionRefused | Kind::HostUnreachable | Kind::NetworkUnreachable => {
            FailureWeight::Out
        }
        Kind::ConnectionReset | Kind::TimedOut | Kind::BrokenPipe | Kind::UnexpectedEof => {
            FailureWeight::Strike
        }
        _ => FailureWeight::None,
    }
}
