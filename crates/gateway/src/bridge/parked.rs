//! Parked calls, which wait for their client's answer.
//!
//! Used by `call` and `handle`. A ticket names a parked call and can be redeemed once. A call that no client
//! continues in time is dropped, which cancels it at its server. A principal that parks too many calls loses its own
//! oldest, never another's. It does not check who may use a ticket (`handle`).

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use switchboard_core::RunningCall;
use switchboard_core::dispatch::{PendingQuestion, QuestionKind};
use switchboard_core::principal_share::{PoolSpace, find_room};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

/// The most parked calls of all principals. Also how many dropped calls are remembered.
const MAX_PARKED_CALLS: usize = 1024;

/// Parked calls. Clones share them.
#[derive(Clone)]
pub(super) struct ParkedCalls {
    patience: Duration,
    /// A random number that tells tickets of this process from those of an earlier one.
    run: u64,
    calls: Arc<Mutex<ParkedTable>>,
}

#[derive(Default)]
struct ParkedTable {
    waiting: HashMap<u64, ParkedEntry>,
    next: u64,
    /// The calls that were dropped to make room, oldest first, and how far each had come.
    dropped: VecDeque<(u64, DroppedCall)>,
}

struct ParkedEntry {
    /// The principal of the call.
    principal: Arc<str>,
    since: Instant,
    call: ParkedCall,
    /// Drops the call when its time is up; aborted with the entry.
    _expiry: AbortOnDropHandle<()>,
}

/// A call, and its open question.
pub(super) struct ParkedCall {
    pub(super) running: RunningCall,
    pub(super) question: PendingQuestion,
}

/// The name of a parked call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct CallTicket {
    run: u64,
    call: u64,
    /// The server of the call.
    server: String,
}

/// How far a call had come when it was dropped to make room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DroppedCall {
    /// It waited for permission: its server never got it.
    Unsent,
    /// Its server had asked something back.
    Sent,
}

/// Why a ticket has no call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TicketError {
    /// The call was taken before.
    Redeemed,
    /// The call was dropped, because its principal had too many parked calls.
    Dropped(DroppedCall),
    /// The call was parked in a process that has ended.
    Restarted,
}

// === impl ParkedCalls ===

impl ParkedCalls {
    pub(super) fn new(patience: Duration) -> Self {
        let mut run = [0; 8];
        // Without random numbers, runs cannot be told apart; but then no handle can be sealed either.
        let _ = getrandom::fill(&mut run);
        Self { patience, run: u64::from_le_bytes(run), calls: Arc::default() }
    }

    /// The random number of this process.
    pub(super) fn run(&self) -> u64 {
        self.run
    }

    /// Parks a call of a principal.
    pub(super) fn put(&self, principal: &Arc<str>, call: ParkedCall) -> CallTicket {
        let server = call.question.server.clone();
        let mut calls = self.lock();
        let dropped = calls.make_room(principal);
        let number = calls.next;
        calls.next += 1;
        calls.waiting.insert(number, self.entry(number, principal, call));
        drop(calls);
        // Dropped after the lock is released: the drop may send a cancellation.
        drop(dropped);
        CallTicket { run: self.run, call: number, server }
    }

    /// Parks a call again that was taken and not answered: its ticket is valid again.
    pub(super) fn put_back(&self, principal: &Arc<str>, ticket: &CallTicket, call: ParkedCall) {
        let waiting = self.entry(ticket.call, principal, call);
        self.lock().waiting.insert(ticket.call, waiting);
    }

    /// Takes a call out.
    pub(super) fn take(&self, ticket: &CallTicket) -> Result<ParkedCall, TicketError> {
        if ticket.run != self.run {
            return Err(TicketError::Restarted);
        }
        let mut calls = self.lock();
        match calls.waiting.remove(&ticket.call) {
            Some(waiting) => Ok(waiting.call),
            None => Err(calls.why_missing(ticket.call)),
        }
    }

    fn entry(&self, number: u64, principal: &Arc<str>, call: ParkedCall) -> ParkedEntry {
        let (principal, since) = (Arc::clone(principal), Instant::now());
        ParkedEntry { principal, since, call, _expiry: self.expiry(number) }
    }

    fn expiry(&self, number: u64) -> AbortOnDropHandle<()> {
        let (calls, patience) = (Arc::downgrade(&self.calls), self.patience);
        AbortOnDropHandle::new(tokio::spawn(async move {
            tokio::time::sleep(patience).await;
            let Some(calls) = calls.upgrade() else { return };
            let expired = calls.lock().waiting.remove(&number);
            // Dropped after the lock is released: the drop may send a cancellation.
            drop(expired);
        }))
    }

    fn lock(&self) -> MutexGuard<'_, ParkedTable> {
        self.calls.lock()
    }
}

// === impl ParkedTable ===

impl ParkedTable {
    /// Makes room for a call of a principal. Returns the call that has to go for it.
    fn make_room(&mut self, principal: &Arc<str>) -> Option<ParkedEntry> {
        let holders = self.waiting.values().map(|waiting| &*waiting.principal);
        let giver: Arc<str> = match find_room(MAX_PARKED_CALLS, holders, principal) {
            PoolSpace::Free => return None,
            PoolSpace::EvictCaller => Arc::clone(principal),
            PoolSpace::Other(other) => other.into(),
        };
        let of_giver = self.waiting.iter().filter(|(_, waiting)| waiting.principal == giver);
        let oldest = of_giver.min_by_key(|(number, waiting)| (waiting.since, **number));
        let number = *oldest?.0;
        let entry = self.waiting.remove(&number)?;
        if self.dropped.len() >= MAX_PARKED_CALLS {
            self.dropped.pop_front();
        }
        self.dropped.push_back((number, DroppedCall::of(&entry.call)));
        Some(entry)
    }

    fn why_missing(&self, number: u64) -> TicketError {
        let dropped = self.dropped.iter().find(|(dropped, _)| *dropped == number);
        dropped.map_or(TicketError::Redeemed, |(_, call)| TicketError::Dropped(*call))
    }
}

// === impl DroppedCall ===

impl DroppedCall {
    fn of(call: &ParkedCall) -> Self {
        match call.question.about {
            QuestionKind::Permission(_) => Self::Unsent,
            _ => Self::Sent,
        }
    }
}
