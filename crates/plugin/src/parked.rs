//! Parked calls: calls of plugins that wait for their client's answer to a question.
//!
//! Used by `server`. A plugin that asks is in the middle of its function. The client gets the question and a
//! ticket, and comes back with the answer and the ticket; until then the call waits here. Number and time are
//! limited.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use switchboard_wire::json::Raw;
use tokio::time::Instant;

use crate::{call::WorkerCall, catalog::ItemRef, question::WorkerQuestion};

/// The limit of parked calls.
const MAX_PARKED_CALLS: usize = 256;

/// The parked calls, by ticket.
#[derive(Default)]
pub(crate) struct ParkedWorkerCalls(Mutex<HashMap<String, ParkedWorkerCall>>);

/// A parked call.
pub(crate) struct ParkedWorkerCall {
    pub(crate) call: WorkerCall,
    pub(crate) question: WorkerQuestion,
    /// The item that was called.
    pub(crate) place: ItemRef,
    since: Instant,
}

// === impl ParkedWorkerCall ===

impl ParkedWorkerCall {
    pub(crate) fn new(call: WorkerCall, question: WorkerQuestion, place: ItemRef) -> Self {
        Self { call, question, place, since: Instant::now() }
    }
}

// === impl ParkedWorkerCalls ===

impl ParkedWorkerCalls {
    /// Parks a call and returns the ticket as a JSON string; returns the call if the limit is reached.
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

    /// Removes and returns a parked call; a ticket is valid once.
    pub(crate) fn take(&self, ticket: &Raw) -> Option<ParkedWorkerCall> {
        self.all().remove(&ticket.to_text()?)
    }

    /// Cancels calls that have waited longer than `longest`.
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
