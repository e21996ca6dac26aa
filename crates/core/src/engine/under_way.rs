//! Calls under way by connection, so that what a server says beside them reaches them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use switchboard_wire::queue;

use crate::connection::Key;
use crate::dispatch::CallEvent;

/// Calls under way.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnderWay(Arc<Mutex<Calls>>);

#[derive(Debug, Default)]
struct Calls {
    last: u64,
    by_key: HashMap<Key, Vec<Call>>,
}

#[derive(Debug)]
struct Call {
    number: u64,
    session: String,
    events: queue::Sender<CallEvent>,
}

/// A call's place, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    calls: UnderWay,
    key: Key,
    number: u64,
}

// === impl UnderWay ===

impl UnderWay {
    pub(crate) fn enter(&self, key: Key, session: &str, events: queue::Sender<CallEvent>) -> Place {
        let mut calls = self.lock();
        calls.last += 1;
        let number = calls.last;
        let call = Call { number, session: session.to_owned(), events };
        calls.by_key.entry(key).or_default().push(call);
        Place { calls: self.clone(), key, number }
    }

    /// Tells the call of a connection something, if all its calls are of one session. `false`: nobody was told.
    pub(crate) fn tell(&self, key: Key, event: CallEvent) -> bool {
        let calls = self.lock();
        let Some([first, others @ ..]) = calls.by_key.get(&key).map(Vec::as_slice) else {
            return false;
        };
        let is_one_session = others.iter().all(|other| other.session == first.session);
        // A caller that does not read loses what may be lost.
        is_one_session && first.events.try_send(event).is_ok()
    }

    /// How many are of this session.
    pub(super) fn of(&self, session: &str) -> usize {
        let calls = self.lock();
        calls.by_key.values().flatten().filter(|call| call.session == session).count()
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Place ===

impl Drop for Place {
    fn drop(&mut self) {
        let mut calls = self.calls.lock();
        if let Some(there) = calls.by_key.get_mut(&self.key) {
            there.retain(|call| call.number != self.number);
            if there.is_empty() {
                calls.by_key.remove(&self.key);
            }
        }
    }
}
