//! Calls under way by connection, so that what a server says beside them reaches them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use slab::Slab;
use switchboard_wire::queue;

use crate::connection::ConnectionKey;
use crate::dispatch::CallEvent;

/// Calls under way.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallsInFlight(Arc<Mutex<Slab<CallInFlight>>>);

#[derive(Debug)]
struct CallInFlight {
    key: ConnectionKey,
    session: Arc<str>,
    events: queue::QueueSender<CallEvent>,
}

/// A call's place, until it is dropped.
#[derive(Debug)]
pub(crate) struct CallInFlightLease {
    calls: CallsInFlight,
    at: usize,
}

// === impl CallsInFlight ===

impl CallsInFlight {
    pub(crate) fn add(
        &self,
        key: ConnectionKey,
        session: Arc<str>,
        events: queue::QueueSender<CallEvent>,
    ) -> CallInFlightLease {
        let at = self.lock().insert(CallInFlight { key, session, events });
        CallInFlightLease { calls: self.clone(), at }
    }

    /// Tells the call of a connection something, if all its calls are of one session. `false`: nobody was told.
    pub(crate) fn send(&self, key: ConnectionKey, event: CallEvent) -> bool {
        let calls = self.lock();
        let mut there = calls.iter().map(|(_, call)| call).filter(|call| call.key == key);
        let Some(first) = there.next() else { return false };
        let is_one_session = there.all(|other| other.session == first.session);
        // A caller that does not read loses what may be lost.
        is_one_session && first.events.try_send(event).is_ok()
    }

    /// How many are of this session.
    pub(in crate::engine) fn count_of_session(&self, session: &str) -> usize {
        self.lock().iter().filter(|(_, call)| *call.session == *session).count()
    }

    fn lock(&self) -> MutexGuard<'_, Slab<CallInFlight>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl CallInFlightLease ===

impl Drop for CallInFlightLease {
    fn drop(&mut self) {
        let call = self.calls.lock().try_remove(self.at);
        // Not under the lock: who hears of its end may look here.
        drop(call);
    }
}
