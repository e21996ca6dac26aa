//! Counts the calls in flight on one connection, by session, and limits them.
//!
//! Used by `dispatch::upstream` through `Connection::admit`. The limit is in `connection::timing`.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::{Mutex, MutexGuard};
use slab::Slab;
use tokio::time::Instant;

use super::{Connection, error::ConnectionBusy};

/// The calls in flight on one connection, each with the id of its session, and when the connection was last needed.
#[derive(Debug)]
pub(super) struct InFlight {
    calls: Mutex<Slab<Arc<str>>>,
    needed_at: Mutex<Instant>,
}

/// A call's place among those in flight, until it is dropped.
#[derive(Debug)]
pub struct CallAdmission {
    connection: Arc<Connection>,
    at: usize,
}

// === impl InFlight ===

impl InFlight {
    /// Notes that a call needs the connection.
    pub(super) fn mark_needed(&self) {
        *self.needed_at.lock() = Instant::now();
    }

    /// Returns since when no call has needed the connection; `None` while calls are in flight.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        (self.count() == 0).then(|| *self.needed_at.lock())
    }

    fn enter(&self, session: Arc<str>, limit: usize) -> Result<usize, ConnectionBusy> {
        let mut calls = self.lock();
        if calls.len() >= limit {
            return Err(ConnectionBusy { limit });
        }
        Ok(calls.insert(session))
    }

    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    /// The sessions with calls in flight, and how many each has.
    pub(super) fn sessions(&self) -> Vec<(String, usize)> {
        let calls = self.lock();
        let mut sessions = BTreeMap::<&str, usize>::new();
        for (_, session) in &*calls {
            *sessions.entry(session).or_default() += 1;
        }
        sessions.into_iter().map(|(session, count)| (session.to_owned(), count)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Slab<Arc<str>>> {
        self.calls.lock()
    }
}

impl Default for InFlight {
    fn default() -> Self {
        Self { calls: Mutex::default(), needed_at: Mutex::new(Instant::now()) }
    }
}

// === impl CallAdmission ===

impl CallAdmission {
    pub(super) fn new(
        connection: Arc<Connection>,
        session: Arc<str>,
    ) -> Result<Self, ConnectionBusy> {
        let core = &connection.core;
        let at = core.in_flight.enter(session, core.shared.timing.calls_in_flight)?;
        Ok(Self { connection, at })
    }
}

impl Drop for CallAdmission {
    fn drop(&mut self) {
        let in_flight = &self.connection.core.in_flight;
        // Before the call leaves, so that the connection is not idle since before the call.
        in_flight.mark_needed();
        in_flight.lock().try_remove(self.at);
    }
}
