//! The calls in flight on each connection, to route messages of a server that name no call.
//!
//! Used by `engine::supervisor::listener` for log messages and questions, and by `dispatch::upstream`, which
//! registers calls. Which session may claim a connection is decided in `claims`.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use slab::Slab;
use switchboard_wire::queue;
use tokio::sync::Notify;

use crate::connection::ConnectionKey;
use crate::dispatch::{CallEvent, PendingQuestion};
use crate::engine::session::caller::{Caller, QuestionAnswerer, SessionClients};
use crate::engine::workspace::state::WorkspaceId;
use crate::principal::Principal;

/// The calls in flight. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallsInFlight(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    table: Mutex<CallTable>,
    /// Notified whenever a call ends or its questions change.
    changes: Notify,
}

#[derive(Debug, Default)]
struct CallTable {
    calls: Slab<CallInFlight>,
    /// The number of the next call.
    next: u64,
    /// How many questions wait until their call is known, by connection.
    unowned: HashMap<ConnectionKey, usize>,
}

#[derive(Debug)]
struct CallInFlight {
    key: ConnectionKey,
    caller: Caller,
    events: queue::QueueSender<CallEvent>,
    /// Later calls have greater numbers.
    number: u64,
    /// How many questions of its server wait for its client.
    open_questions: usize,
}

/// Registers a call in flight, until it is dropped.
#[derive(Debug)]
pub(crate) struct CallInFlightLease {
    calls: CallsInFlight,
    at: usize,
}

/// A question that a call waits for, until it is dropped.
#[derive(Debug)]
pub(crate) struct OpenQuestion {
    calls: CallsInFlight,
    at: usize,
    number: u64,
}

/// The call that a question is for. The question counts as open as long as this is held.
#[derive(Debug)]
pub(in crate::engine) struct QuestionCall {
    /// The id of its session.
    pub(in crate::engine) session: Arc<str>,
    /// The name of its client.
    pub(in crate::engine) client: String,
    pub(in crate::engine) principal: Principal,
    pub(in crate::engine) answers: QuestionAnswerer,
    events: queue::QueueSender<CallEvent>,
    _open: OpenQuestion,
}

/// A question that waits until its call is known.
struct UnownedQuestion<'a> {
    calls: &'a CallsInFlight,
    key: ConnectionKey,
}

/// The call that a question is for.
enum QuestionTarget {
    Call(QuestionCall),
    Nobody,
    /// Calls of several clients could have led to the question, and some calls can still end.
    Unclear,
}

// === impl CallsInFlight ===

impl CallsInFlight {
    pub(crate) fn add(
        &self,
        key: ConnectionKey,
        caller: Caller,
        events: queue::QueueSender<CallEvent>,
    ) -> CallInFlightLease {
        let mut table = self.lock();
        let number = table.next;
        table.next += 1;
        let call = CallInFlight { key, caller, events, number, open_questions: 0 };
        let at = table.calls.insert(call);
        CallInFlightLease { calls: self.clone(), at }
    }

    /// Sends an event to a call of a connection, if all calls there belong to one session. `false` if none got it.
    pub(crate) fn send(&self, key: ConnectionKey, event: CallEvent) -> bool {
        let table = self.lock();
        let mut there = table.calls_of(key).map(|(_, call)| call);
        let Some(first) = there.next() else { return false };
        let is_one_session = there.all(|other| other.caller.id() == first.caller.id());
        // A caller that does not read loses the event.
        is_one_session && first.events.try_send(event).is_ok()
    }

    /// Returns how many calls belong to this session.
    pub(in crate::engine) fn count_of_session(&self, session: &str) -> usize {
        self.lock().calls.iter().filter(|(_, call)| **call.caller.id() == *session).count()
    }

    /// Whether another session has calls in flight on a connection.
    pub(in crate::engine) fn has_other_session(&self, key: ConnectionKey, session: &str) -> bool {
        self.lock().calls_of(key).any(|(_, call)| **call.caller.id() != *session)
    }

    /// Returns the session with the oldest call in flight on a connection.
    pub(in crate::engine) fn oldest_session(
        &self,
        key: ConnectionKey,
    ) -> Option<(WorkspaceId, String)> {
        let table = self.lock();
        let (_, oldest) = table.calls_of(key).min_by_key(|(_, call)| call.number)?;
        Some((oldest.caller.workspace().id.clone(), oldest.caller.session().id.clone()))
    }

    /// Returns the call that a question without a call is for: the newest call of the only client that has calls
    /// without open questions. Waits while calls of several clients qualify and can still end; `None` once every
    /// call waits for a question, or no call is left.
    pub(in crate::engine) async fn call_of_question(
        &self,
        key: ConnectionKey,
    ) -> Option<QuestionCall> {
        let question = UnownedQuestion::new(self, key);
        loop {
            let mut changed = std::pin::pin!(self.0.changes.notified());
            // Enabled before the check, so that no change is missed.
            changed.as_mut().enable();
            match question.find_target() {
                QuestionTarget::Call(call) => return Some(call),
                QuestionTarget::Nobody => return None,
                QuestionTarget::Unclear => changed.await,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, CallTable> {
        self.0.table.lock()
    }
}

// === impl CallTable ===

impl CallTable {
    fn calls_of(&self, key: ConnectionKey) -> impl Iterator<Item = (usize, &CallInFlight)> {
        self.calls.iter().filter(move |(_, call)| call.key == key)
    }

    /// Returns the call that a question is for, or why there is none.
    fn asked_call(&self, key: ConnectionKey) -> Result<usize, QuestionTarget> {
        let is_free = |call: &CallInFlight| call.open_questions == 0;
        let free = self.calls_of(key).filter(|(_, call)| is_free(call)).count();
        let candidates = || self.calls_of(key).filter(|(_, call)| free == 0 || is_free(call));
        let newest = candidates().max_by_key(|(_, call)| call.number);
        let (at, newest) = newest.ok_or(QuestionTarget::Nobody)?;
        if candidates().all(|(_, call)| call.is_of_client(newest)) {
            return Ok(at);
        }
        // Each of these questions keeps a call from ending.
        let waiting = self.unowned.get(&key).copied().unwrap_or_default();
        Err(if waiting < free { QuestionTarget::Unclear } else { QuestionTarget::Nobody })
    }
}

// === impl CallInFlight ===

impl CallInFlight {
    fn is_of_client(&self, other: &Self) -> bool {
        self.number == other.number
            || self.caller.id() == other.caller.id()
                && self.caller.session().clients == SessionClients::One
    }
}

// === impl UnownedQuestion ===

impl<'a> UnownedQuestion<'a> {
    fn new(calls: &'a CallsInFlight, key: ConnectionKey) -> Self {
        *calls.lock().unowned.entry(key).or_default() += 1;
        Self { calls, key }
    }

    fn find_target(&self) -> QuestionTarget {
        let mut table = self.calls.lock();
        let at = match table.asked_call(self.key) {
            Ok(at) => at,
            Err(other) => return other,
        };
        let Some(call) = table.calls.get_mut(at) else { return QuestionTarget::Nobody };
        call.open_questions += 1;
        let session = call.caller.session();
        QuestionTarget::Call(QuestionCall {
            session: Arc::clone(call.caller.id()),
            client: session.client.clone(),
            principal: session.principal.clone(),
            answers: session.answers,
            events: call.events.clone(),
            _open: OpenQuestion { calls: self.calls.clone(), at, number: call.number },
        })
    }
}

impl Drop for UnownedQuestion<'_> {
    fn drop(&mut self) {
        let mut table = self.calls.lock();
        if let Some(waiting) = table.unowned.get_mut(&self.key) {
            *waiting -= 1;
            if *waiting == 0 {
                table.unowned.remove(&self.key);
            }
        }
    }
}

// === impl QuestionCall ===

impl QuestionCall {
    /// Puts a question to the caller. `false` if the caller does not take it.
    pub(in crate::engine) fn put(&self, question: PendingQuestion) -> bool {
        self.events.try_send(CallEvent::Question(question)).is_ok()
    }
}

// === impl CallInFlightLease ===

impl CallInFlightLease {
    /// Notes that the call waits for a question.
    pub(crate) fn open_question(&self) -> OpenQuestion {
        let number = {
            let mut table = self.calls.lock();
            table.calls.get_mut(self.at).map_or(u64::MAX, |call| {
                call.open_questions += 1;
                call.number
            })
        };
        self.calls.0.changes.notify_waiters();
        OpenQuestion { calls: self.calls.clone(), at: self.at, number }
    }
}

impl Drop for CallInFlightLease {
    fn drop(&mut self) {
        let call = self.calls.lock().calls.try_remove(self.at);
        // Dropped outside of the lock: code that runs on its end may lock the table.
        drop(call);
        self.calls.0.changes.notify_waiters();
    }
}

// === impl OpenQuestion ===

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        // Another call may have the slot by now.
        if let Some(call) = self.calls.lock().calls.get_mut(self.at)
            && call.number == self.number
        {
            call.open_questions -= 1;
        }
        self.calls.0.changes.notify_waiters();
    }
}
