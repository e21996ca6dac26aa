//! Counts the calls in flight on one connection, by session, and limits them.
//!
//! Used by `dispatch::upstream` through `Connection::admit`. The limit is in `connection::timing`.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use slab::Slab;

use super::{Connection, error::ConnectionBusy};

/// The calls in flight on one connection, each with the id of its session.
#[derive(Debug, Default)]
pub(super) struct InFlight(Mutex<Slab<Arc<str>>>);

/// A call's place among those in flight, until it is dropped.
#[derive(Debug)]
pub struct CallAdmission {
    connection: Arc<Connection>,
    at: usize,
}

// === impl InFlight ===

impl InFlight {
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.connection.core.in_flight.lock().try_remove(self.at);
    }
}
