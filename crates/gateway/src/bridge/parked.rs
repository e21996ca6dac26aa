//! Parked calls, which wait for their client's answer.
//!
//! Used by `call` and `handle`. A ticket names a parked call and can be redeemed once. A call that no client
//! continues in time is dropped, which cancels it at its server. It does not check who may use a ticket (`handle`).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use switchboard_core::RunningCall;
use switchboard_core::dispatch::PendingQuestion;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

/// The most parked calls; the oldest are dropped first.
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
}

struct ParkedEntry {
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

/// Why a ticket has no call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TicketError {
    /// The call was taken before, or dropped to make room.
    Taken,
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

    /// Parks a call.
    pub(super) fn put(&self, call: ParkedCall) -> CallTicket {
        let server = call.question.server.clone();
        let mut calls = self.lock();
        calls.waiting.retain(|_, waiting| waiting.since.elapsed() < self.patience);
        if calls.waiting.len() >= MAX_PARKED_CALLS {
            let oldest = calls.waiting.iter().min_by_key(|(_, waiting)| waiting.since);
            if let Some(oldest) = oldest.map(|(number, _)| *number) {
                calls.waiting.remove(&oldest);
            }
        }
        let number = calls.next;
        calls.next += 1;
        let expiry = self.expiry(number);
        calls.waiting.insert(number, ParkedEntry { since: Instant::now(), call, _expiry: expiry });
        CallTicket { run: self.run, call: number, server }
    }

    /// Parks a call again that was taken and not answered: its ticket is valid again.
    pub(super) fn put_back(&self, ticket: &CallTicket, call: ParkedCall) {
        let expiry = self.expiry(ticket.call);
        let waiting = ParkedEntry { since: Instant::now(), call, _expiry: expiry };
        self.lock().waiting.insert(ticket.call, waiting);
    }

    /// Takes a call out.
    pub(super) fn take(&self, ticket: &CallTicket) -> Result<ParkedCall, TicketError> {
        if ticket.run != self.run {
            return Err(TicketError::Restarted);
        }
        let waiting = self.lock().waiting.remove(&ticket.call);
        waiting.map(|waiting| waiting.call).ok_or(TicketError::Taken)
    }

    fn expiry(&self, number: u64) -> AbortOnDropHandle<()> {
        let (calls, patience) = (Arc::downgrade(&self.calls), self.patience);
        AbortOnDropHandle::new(tokio::spawn(async move {
            tokio::time::sleep(patience).await;
            let Some(calls) = calls.upgrade() else { return };
            let expired =
                calls.lock().unwrap_or_else(PoisonError::into_inner).waiting.remove(&number);
            // Dropped after the lock is released: the drop may send a cancellation.
            drop(expired);
        }))
    }

    fn lock(&self) -> MutexGuard<'_, ParkedTable> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
