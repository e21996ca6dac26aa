//! Which failures of calls say that the connection itself is no good, and whether a session ever answered.
//!
//! Told by the kind of error, never by its text.

use std::{
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

use switchboard_wire::{
    self as wire, Remedy,
    http::{ConnectKind, HttpError},
    ws::WsError,
};
use tokio::time::Instant;

/// Failures in a row on one session.
#[derive(Debug, Default)]
pub(super) struct Strikes(Mutex<Count>);

#[derive(Debug, Default)]
struct Count {
    session: u64,
    strikes: u32,
    /// When the server last answered anything after the handshake.
    answered_at: Option<Instant>,
}

/// What a failure says of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// It works: the server answered, if with a refusal.
    Answered,
    /// Nothing.
    None,
    /// It may be broken.
    Strike,
    /// It is.
    Out,
}

// === impl Strikes ===

impl Strikes {
    /// A session begins.
    pub(super) fn begin(&self, session: u64) {
        *self.lock() = Count { session, strikes: 0, answered_at: None };
    }

    /// The session works: the server has answered.
    pub(super) fn clear(&self, session: u64) {
        *self.lock() = Count { session, strikes: 0, answered_at: Some(Instant::now()) };
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

    /// Notes a failure on a session; `true` if the session is to be given up, at `limit` in a row.
    pub(super) fn note(&self, session: u64, error: &wire::Error, limit: u32) -> bool {
        let mut count = self.lock();
        if count.session != session {
            *count = Count { session, ..Count::default() };
        }
        match weight(error) {
            Weight::Answered => {
                count.strikes = 0;
                count.answered_at = Some(Instant::now());
            }
            Weight::None => {}
            Weight::Strike => count.strikes += 1,
            Weight::Out => return true,
        }
        count.strikes >= limit
    }

    fn lock(&self) -> MutexGuard<'_, Count> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn weight(error: &wire::Error) -> Weight {
    // No call can work until somebody has signed in, so the session is of no more use.
    if error.remedy() == Remedy::SignIn {
        return Weight::Out;
    }
    match error {
        wire::Error::Http(error) => of_http(error),
        wire::Error::WebSocket(error) => match &**error {
            WsError::Http(error) => of_http(error),
            _ => Weight::None, // Its reader ends the session by itself.
        },
        wire::Error::Io { source, .. } => of_io(source.kind()),
        wire::Error::StreamLost { .. } => Weight::Strike,
        wire::Error::Rpc(_) | wire::Error::InputNeeded { .. } => Weight::Answered,
        _ => Weight::None,
    }
}

fn of_http(error: &HttpError) -> Weight {
    match error {
        HttpError::Connect { kind: ConnectKind::Refused | ConnectKind::Unreachable, .. } => {
            Weight::Out
        }
        HttpError::Connect { .. }
        | HttpError::FirstByte { .. }
        | HttpError::Stalled { .. }
        | HttpError::Closed { .. } => Weight::Strike,
        HttpError::Refused { .. } => Weight::Answered,
        _ => Weight::None,
    }
}

fn of_io(kind: io::ErrorKind) -> Weight {
    use io::ErrorKind as Kind;
    match kind {
        Kind::ConnectionRefused | Kind::HostUnreachable | Kind::NetworkUnreachable => Weight::Out,
        Kind::ConnectionReset | Kind::TimedOut | Kind::BrokenPipe | Kind::UnexpectedEof => {
            Weight::Strike
        }
        _ => Weight::None,
    }
}
