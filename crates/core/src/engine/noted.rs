//! Calls that are answered before they reach a server, by whoever shows the engine. They are on record like any other.

use std::time::{Instant, SystemTime};

use switchboard_wire::meta::method;

use super::{Caller, Engine};
use crate::audit::{Called, Ended};

/// Such a call, from when it is made until its answer is known. Dropped before that, it was given up.
pub struct Noted {
    engine: Engine,
    caller: Caller,
    began: Instant,
    called: Option<Called>,
}

// === impl Engine ===

impl Engine {
    /// Begins the record of a call of `name` whose parameters have so many bytes.
    pub fn note(&self, caller: &Caller, method: &str, name: &str, sent: usize) -> Noted {
        let so_far = Called {
            at: SystemTime::now(),
            who: caller.who().clone(),
            server: String::new(),
            method: method::kept(method),
            name: name.to_owned(),
            decision: None,
            ended: Ended::Dropped,
            took: std::time::Duration::ZERO,
            sent,
            received: 0,
            kept: None,
        };
        let (engine, caller) = (self.clone(), caller.clone());
        Noted { engine, caller, began: Instant::now(), called: Some(so_far) }
    }
}

// === impl Noted ===

impl Noted {
    /// It was answered with so many bytes.
    pub fn answered(mut self, received: usize) {
        if let Some(called) = &mut self.called {
            called.received = received;
            called.ended = Ended::Result;
        }
    }

    /// It was not answered: the word for why.
    pub fn failed(mut self, kind: &'static str) {
        if let Some(called) = &mut self.called {
            called.ended = Ended::Failed(kind);
        }
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        if let Some(mut called) = self.called.take() {
            called.took = self.began.elapsed();
            self.engine.0.called(&self.caller.workspace().id, called.into());
        }
    }
}
