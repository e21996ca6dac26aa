//! Counts the calls in flight on one connection, by session, and limits them. On a connection that principals share, one
//! of them cannot take the places of all others.
//!
//! Used by `dispatch::upstream` through `Connection::admit`. The limit is in `connection::timing`.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::{Mutex, MutexGuard};
use slab::Slab;
use tokio::time::Instant;

use super::{Connection, error::ConnectionBusy};
use crate::principal_share::has_used_up_share;

/// The calls in flight on one connection, and when the connection was last needed.
#[derive(Debug)]
pub(super) struct InFlight {
    calls: Mutex<Slab<AdmittedCall>>,
    needed_at: Mutex<Instant>,
}

/// A call in flight, by the ids of its session and of its principal.
#[derive(Debug)]
struct AdmittedCall {
    session: Arc<str>,
    principal: Arc<str>,
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

    /// Admits a call. Where principals share the connection, one other than the local one has at most as many places as
    /// are still free: half of them if it is alone.
    fn enter(
        &self,
        call: AdmittedCall,
        limit: usize,
        is_shared: bool,
    ) -> Result<usize, ConnectionBusy> {
        let mut calls = self.lock();
        let free = limit.saturating_sub(calls.len());
        let is_own = |(_, other): &(usize, &AdmittedCall)| other.principal == call.principal;
        let own = || calls.iter().filter(is_own).count();
        if free == 0 || is_shared && has_used_up_share(&call.principal, own(), free) {
            return Err(ConnectionBusy { limit });
        }
        Ok(calls.insert(call))
    }

    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    /// The sessions with calls in flight, and how many each has.
    pub(super) fn sessions(&self) -> Vec<(String, usize)> {
        let calls = self.lock();
        let mut sessions = BTreeMap::<&str, usize>::new();
        for (_, call) in &*calls {
            *sessions.entry(&call.session).or_default() += 1;
        }
        sessions.into_iter().map(|(session, count)| (session.to_owned(), count)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Slab<AdmittedCall>> {
        self.calls.lock()
    }
}

impl Default for InFlight {
    fn default() -> Self {
        Self { calls: Mutex::default(), needed_at: Mutex::new(Instant::now()) }
    }
}

// === impl Connection ===

impl Connection {
    /// Admits a call of `session`, unless too many are in flight, or too many of `principal` where others share the
    /// connection.
    pub fn admit(
        self: &Arc<Self>,
        session: Arc<str>,
        principal: Arc<str>,
    ) -> Result<CallAdmission, ConnectionBusy> {
        let core = &self.core;
        let (limit, is_shared) =
            (core.shared.timing.calls_in_flight, core.spec.principal.is_none());
        let at = core.in_flight.enter(AdmittedCall { session, principal }, limit, is_shared)?;
        Ok(CallAdmission { connection: Arc::clone(self), at })
    }
}

// === impl CallAdmission ===

impl Drop for CallAdmission {
    fn drop(&mut self) {
        let in_flight = &self.connection.core.in_flight;
        // Before the call leaves, so that the connection is not idle since before the call.
        in_flight.mark_needed();
        in_flight.lock().try_remove(self.at);
    }
}
