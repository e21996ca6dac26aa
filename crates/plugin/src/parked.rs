//! Calls that wait for an answer of their client's.
//!
//! A plugin that asks is in the middle of its function. The client gets the question and a ticket, and comes back with
//! both; until then the call waits here, for so long and in so great a number.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use switchboard_wire::json::Raw;
use tokio::time::Instant;

use crate::{call::Call, catalog::Place, question::Question};

/// Calls that may wait at once.
const MOST: usize = 256;

/// Calls that wait, by their tickets.
#[derive(Default)]
pub(crate) struct Parked(Mutex<HashMap<String, Waiting>>);

/// A call that waits.
pub(crate) struct Waiting {
    pub(crate) call: Call,
    pub(crate) question: Question,
    /// Of what it is a call.
    pub(crate) place: Place,
    since: Instant,
}

// === impl Waiting ===

impl Waiting {
    pub(crate) fn new(call: Call, question: Question, place: Place) -> Self {
        Self { call, question, place, since: Instant::now() }
    }
}

// === impl Parked ===

impl Parked {
    /// Puts a call away, and returns the ticket as a JSON string; or the call, where there is no room.
    pub(crate) fn put(&self, waiting: Waiting) -> Result<Raw, Box<Waiting>> {
        let mut bytes = [0; 16];
        let mut all = self.all();
        if all.len() >= MOST || getrandom::fill(&mut bytes).is_err() {
            return Err(Box::new(waiting));
        }
        let ticket = format!("{:032x}", u128::from_le_bytes(bytes));
        let raw = Raw::string(&ticket);
        all.insert(ticket, waiting);
        Ok(raw)
    }

    /// Takes a call out, once.
    pub(crate) fn take(&self, ticket: &Raw) -> Option<Waiting> {
        self.all().remove(&ticket.to_text()?)
    }

    /// Cancels what has waited too long.
    pub(crate) fn sweep(&self, longest: Duration) {
        let late: Vec<Waiting> = {
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

    fn all(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
