//! Calls that wait here for their client to answer something.
//!
//! A ticket names one of them, once: who takes the call back has it alone. After a while nobody has come, and it is
//! dropped, which cancels it at its server. Whether whoever brings a ticket may use it is not known here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use switchboard_core::RunningCall;
use switchboard_core::dispatch::PendingQuestion;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

/// Calls that may wait at once; the oldest go first.
const MAX_PARKED_CALLS: usize = 1024;

/// Calls that wait. Clones share them.
#[derive(Clone)]
pub(super) struct ParkedCalls {
    patience: Duration,
    /// Tells tickets of this run from those of another.
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
    /// Ends it when its time is up, and ends with it.
    _expiry: AbortOnDropHandle<()>,
}

/// A call, and what it waits for.
pub(super) struct ParkedCall {
    pub(super) running: RunningCall,
    pub(super) question: PendingQuestion,
}

/// Names a call that waits.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct CallTicket {
    run: u64,
    call: u64,
    /// Whose call it is.
    server: String,
}

/// Why there is no call for a ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TicketError {
    /// It was taken before, or given up for others.
    Taken,
    /// It waited in a process that has ended.
    Restarted,
}

// === impl ParkedCalls ===

impl ParkedCalls {
    pub(super) fn new(patience: Duration) -> Self {
        let mut run = [0; 8];
        // Without randomness runs cannot be told apart; but then nothing can be sealed either.
        let _ = getrandom::fill(&mut run);
        Self { patience, run: u64::from_le_bytes(run), calls: Arc::default() }
    }

    /// Tells this run from others.
    pub(super) fn run(&self) -> u64 {
        self.run
    }

    /// Puts a call away.
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

    /// Puts a call back that was taken and not answered: its ticket counts again.
    pub(super) fn put_back(&self, ticket: &CallTicket, call: ParkedCall) {
        let expiry = self.expiry(ticket.call);
        let waiting = ParkedEntry { since: Instant::now(), call, _expiry: expiry };
        self.lock().waiting.insert(ticket.call, waiting);
    }

    /// Takes a call back.
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
            // Not under the lock: it may say goodbye to its server.
            drop(expired);
        }))
    }

    fn lock(&self) -> MutexGuard<'_, ParkedTable> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
