//! Calls that are answered before they reach a server, by whoever shows the engine. They are on record like any other.

use std::time::{Instant, SystemTime};

use switchboard_wire::meta::method;

use crate::audit::{CallEnd, CallRecord};
use crate::engine::{Caller, Engine};

/// Such a call, from when it is made until its answer is known. Dropped before that, it was given up.
pub struct LocalCall {
    engine: Engine,
    caller: Caller,
    began: Instant,
    called: Option<CallRecord>,
}

// === impl Engine ===

impl Engine {
    /// Begins the record of a call of `name` whose parameters have so many bytes.
    pub fn begin_local_call(
        &self,
        caller: &Caller,
        method: &str,
        name: &str,
        sent: usize,
    ) -> LocalCall {
        let so_far = CallRecord {
            at: SystemTime::now(),
            who: caller.identity().clone(),
            server: String::new(),
            method: method::intern_name(method),
            name: name.to_owned(),
            decision: None,
            ended: CallEnd::Dropped,
            took: std::time::Duration::ZERO,
            sent,
            received: 0,
            kept: None,
        };
        let (engine, caller) = (self.clone(), caller.clone());
        LocalCall { engine, caller, began: Instant::now(), called: Some(so_far) }
    }
}

// === impl LocalCall ===

impl LocalCall {
    /// It was answered with so many bytes.
    pub fn finish(mut self, received: usize) {
        if let Some(called) = &mut self.called {
            called.received = received;
            called.ended = CallEnd::Result;
        }
    }

    /// It was not answered: the word for why.
    pub fn fail(mut self, kind: &'static str) {
        if let Some(called) = &mut self.called {
            called.ended = CallEnd::Failed(kind);
        }
    }
}

impl Drop for LocalCall {
    fn drop(&mut self) {
        if let Some(mut called) = self.called.take() {
            called.took = self.began.elapsed();
            self.engine.0.record_call(&self.caller.workspace().id, called.into());
        }
    }
}
