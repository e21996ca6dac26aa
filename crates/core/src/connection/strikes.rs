//! Which failures of calls say that the connection itself is no good.
//!
//! Told by the kind of error, never by its text.

use std::{
    io,
    sync::{Mutex, PoisonError},
};

use switchboard_wire::{
    self as wire, Remedy,
    http::{ConnectKind, HttpError},
    ws::WsError,
};

/// Failures in a row on one session.
#[derive(Debug, Default)]
pub(super) struct Strikes(Mutex<Count>);

#[derive(Debug, Default)]
struct Count {
    session: u64,
    strikes: u32,
}

/// What a failure says of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
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
    /// The session works.
    pub(super) fn clear(&self, session: u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Count { session, strikes: 0 };
    }

    /// Notes a failure on a session; `true` if the session is to be given up, at `limit` in a row.
    pub(super) fn note(&self, session: u64, error: &wire::Error, limit: u32) -> bool {
        let mut count = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if count.session != session {
            *count = Count { session, strikes: 0 };
        }
        match weight(error) {
            Weight::Answered => count.strikes = 0,
            Weight::None => {}
            Weight::Strike => count.strikes += 1,
            Weight::Out => return true,
        }
        count.strikes >= limit
    }
}

fn weight(error: &wire::Error) -> Weight {
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
