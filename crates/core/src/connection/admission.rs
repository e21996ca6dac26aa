//! How many calls are in flight, and whose.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{Connection, error::Busy};

/// Calls in flight on one connection, by session.
#[derive(Debug, Default)]
pub(super) struct InFlight(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    all: usize,
    sessions: BTreeMap<String, usize>,
}

/// A call's place among those in flight, until it is dropped.
#[derive(Debug)]
pub struct Admission {
    connection: Arc<Connection>,
    session: String,
}

// === impl InFlight ===

impl InFlight {
    pub(super) fn enter(&self, session: &str, limit: usize) -> Result<(), Busy> {
        let mut counts = self.lock();
        if counts.all >= limit {
            return Err(Busy { limit });
        }
        counts.all += 1;
        *counts.sessions.entry(session.to_owned()).or_default() += 1;
        Ok(())
    }

    fn leave(&self, session: &str) {
        let mut counts = self.lock();
        counts.all -= 1;
        if let Some(count) = counts.sessions.get_mut(session) {
            *count -= 1;
            if *count == 0 {
                counts.sessions.remove(session);
            }
        }
    }

    pub(super) fn count(&self) -> usize {
        self.lock().all
    }

    pub(super) fn sessions(&self) -> Vec<(String, usize)> {
        let counts = self.lock();
        counts.sessions.iter().map(|(session, count)| (session.clone(), *count)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Admission ===

impl Admission {
    pub(super) fn new(connection: Arc<Connection>, session: &str) -> Result<Self, Busy> {
        let core = &connection.core;
        core.in_flight.enter(session, core.shared.timing.calls_in_flight)?;
        Ok(Self { connection, session: session.to_owned() })
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.connection.core.in_flight.leave(&self.session);
    }
}
