//! Records of calls that the gateway answers without a server.
//!
//! Used by the gateway's bridge for its own tools. They are in the audit log like all other calls.

use std::time::{Instant, SystemTime};

use switchboard_wire::meta::method;

use crate::audit::{CallEnd, CallRecord};
use crate::engine::{Caller, Engine};

/// A call that is answered locally, until its answer is known. Dropped before that, it counts as dropped by its
/// caller.
pub struct LocalCall {
    engine: Engine,
    caller: Caller,
    began: Instant,
    called: Option<CallRecord>,
}

// === impl Engine ===

impl Engine {
    /// Begins the record of a call of `name` with so many bytes of parameters.
    pub fn begin_local_call(
        &self,
        caller: &Caller,
        method: &str,
        name: &str,
        sent: usize,
    ) -> LocalCall {
        let so_far = CallRecord {
            at: SystemTime::now(),
            caller: caller.identity().clone(),
            server: String::new(),
            secrets: std::sync::Arc::default(),
            method: method::intern_name(method),
            name: name.to_owned(),
            decision: None,
            end: CallEnd::Dropped,
            duration: std::time::Duration::ZERO,
            stages: crate::audit::StageTimes::default(),
            sent,
            received: 0,
            recent_id: None,
        };
        let (engine, caller) = (self.clone(), caller.clone());
        LocalCall { engine, caller, began: Instant::now(), called: Some(so_far) }
    }
}

// === impl LocalCall ===

impl LocalCall {
    /// Records an answer with so many bytes.
    pub fn finish(mut self, received: usize) {
        if let Some(called) = &mut self.called {
            called.received = received;
            called.end = CallEnd::Result;
        }
    }

    /// Records a failure of this kind.
    pub fn fail(mut self, kind: &'static str) {
        if let Some(called) = &mut self.called {
            called.end = CallEnd::Failed(kind);
        }
    }
}

impl Drop for LocalCall {
    fn drop(&mut self) {
        if let Some(mut called) = self.called.take() {
            called.duration = self.began.elapsed();
            self.engine.0.record_call(&self.caller.workspace().id, called.into());
        }
    }
}
