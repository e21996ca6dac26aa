//! Calls that wait for an answer of their client's.
//!
//! A plugin that asks is in the middle of its function. The client gets the question and a ticket, and comes back with
//! both; until then the call waits here, for so long and in so great a number.

use std::{collections::HashMap, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use switchboard_wire::json::Raw;
use tokio::time::Instant;

use crate::{call::WorkerCall, catalog::ItemRef, question::WorkerQuestion};

/// Calls that may wait at once.
const MAX_PARKED_CALLS: usize = 256;

/// Calls that wait, by their tickets.
#[derive(Default)]
pub(crate) struct ParkedWorkerCalls(Mutex<HashMap<String, ParkedWorkerCall>>);

/// A call that waits.
pub(crate) struct ParkedWorkerCall {
    pub(crate) call: WorkerCall,
    pub(crate) question: WorkerQuestion,
    /// Of what it is a call.
    pub(crate) place: ItemRef,
    since: Instant,
}

// === impl ParkedWorkerCall ===

impl ParkedWorkerCall {
    pub(crate) fn new(call: WorkerCall, question: WorkerQuestion, place: ItemRef) -> Self {
        Self { call, question, place, since: Instant::now() }
    }
}

// === impl Parked ===

impl ParkedWorkerCalls {
    /// Puts a call away, and returns the ticket as a JSON string; or the call, where there is no room.
    pub(crate) fn put(&self, waiting: ParkedWorkerCall) -> Result<Raw, Box<ParkedWorkerCall>> {
        let mut bytes = [0; 16];
        let mut all = self.all();
        if all.len() >= MAX_PARKED_CALLS || getrandom::fill(&mut bytes).is_err() {
            return Err(Box::new(waiting));
        }
        let ticket = format!("{:032x}", u128::from_le_bytes(bytes));
        let raw = Raw::string(&ticket);
        all.insert(ticket, waiting);
        Ok(raw)
    }

    /// Takes a call out, once.
    pub(crate) fn take(&self, ticket: &Raw) -> Option<ParkedWorkerCall> {
        self.all().remove(&ticket.to_text()?)
    }

    /// Cancels what has waited too long.
    pub(crate) fn sweep(&self, longest: Duration) {
        let late: Vec<ParkedWorkerCall> = {
            let mut all = self.all();
            let tickets: Vec<String> = all
                .iter()
                .filter(|(_, waiting)| waiting.since.elapsed() > longest)
                .map(|(ticket, _)| ticket.clone())
                .collect();
            tickets.iter().filter_map(|ticket| all.remove(ticket)).collect()
        };
        drop(late);
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, ParkedWorkerCall>> {
        self.0.lock()
    }
}
