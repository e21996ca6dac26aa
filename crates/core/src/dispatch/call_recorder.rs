//! Records every call for the audit log, however it ends, even one that its caller dropped.
//!
//! Used by all methods of `dispatch`. The record is in `audit::call_record`.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::continuation::unix_millis;
use super::{CallError, CallFinish, Request};
use crate::audit::{CallDecision, CallEnd, CallRecord, StageTimes};
use crate::engine::{
    AppliedServer, CallObservation, Caller, Inner, RecentCallResult, WorkspaceState,
};
use crate::permission::DecisionReason;

/// The record of a call so far. Dropping it hands the record to the engine.
pub(super) struct CallRecorder {
    engine: Arc<Inner>,
    standing: Arc<WorkspaceState>,
    /// The record, until it is handed over.
    called: Option<CallRecord>,
    /// The parameters and the result, while a person watches calls.
    heard: Option<Box<CallObservation>>,
    began: Instant,
    since: u64,
    /// How long the call was with its caller, for answers.
    away: Duration,
}

// === impl CallRecorder ===

impl CallRecorder {
    pub(super) fn new(engine: Arc<Inner>, caller: &Caller, request: &Request) -> Self {
        let params = request.params();
        let named = |path: &[&str]| params.get_path(path).ok().flatten()?.to_text();
        let name = named(&["name"]).or_else(|| named(&["uri"]));
        let name = name.or_else(|| named(&["ref", "name"])).or_else(|| named(&["ref", "uri"]));
        let so_far = CallRecord {
            at: SystemTime::now(),
            caller: Arc::clone(caller.identity()),
            server: request.server.clone().unwrap_or_default(),
            secrets: Arc::default(),
            method: request.method.clone(),
            name: name.unwrap_or_default(),
            decision: None,
            end: CallEnd::Dropped,
            duration: Duration::ZERO,
            stages: StageTimes::default(),
            sent: params.as_str().len(),
            received: 0,
            recent_id: None,
        };
        let heard = engine.recent.observe(so_far.caller.principal.id(), &params);
        Self {
            engine,
            heard,
            standing: Arc::clone(caller.workspace()),
            called: Some(so_far),
            began: Instant::now(),
            since: request.again.as_ref().map_or_else(unix_millis, |again| again.since()),
            away: request.again.as_ref().map(|again| again.elapsed()).unwrap_or_default(),
        }
    }

    /// Sets the server of the call, as soon as it is known.
    pub(super) fn set_server(&mut self, server: &AppliedServer) {
        if let Some(called) = &mut self.called {
            server.name.clone_into(&mut called.server);
            called.secrets = Arc::clone(&server.secrets);
            self.standing.count_use(&called.caller.session, &server.name);
        }
    }

    /// Sets the full name of the tool or prompt, as soon as it is known.
    pub(super) fn set_item(&mut self, full_name: &str) {
        if let Some(called) = &mut self.called {
            full_name.clone_into(&mut called.name);
        }
    }

    pub(super) fn set_decision(&mut self, because: &DecisionReason) {
        if let Some(called) = &mut self.called {
            called.decision = Some(CallDecision::Allowed(because.clone()));
        }
    }

    /// Returns when the call was first made, in milliseconds since 1970.
    pub(super) fn since(&self) -> u64 {
        self.since
    }

    pub(super) fn set_received(&mut self, bytes: usize) {
        if let Some(called) = &mut self.called {
            called.received = bytes;
        }
    }

    /// Sets how long the stages took.
    pub(super) fn set_stages(&mut self, stages: StageTimes) {
        if let Some(called) = &mut self.called {
            called.stages = stages;
        }
    }

    pub(super) fn end(&mut self, ended: &Result<CallFinish, CallError>) {
        if let Some(heard) = &mut self.heard {
            heard.answer = match ended {
                Ok(CallFinish::Done(outcome)) => RecentCallResult::result(&outcome.result),
                Ok(CallFinish::NeedsInput(_) | CallFinish::Task(_)) => RecentCallResult::None,
                Err(error) => RecentCallResult::Error(Box::new(error.clone())),
            };
        }
        match (ended, &mut self.called) {
            // The call may never be made again, and its server was called.
            (Ok(CallFinish::NeedsInput(_)), Some(called)) => called.end = CallEnd::NeedsInput,
            (Ok(CallFinish::Done(outcome)), Some(called)) => called.set_end(Ok(outcome)),
            // The caller asks for the result of the task with calls of their own.
            (Ok(CallFinish::Task(_)), Some(called)) => called.end = CallEnd::Result,
            (Err(error), Some(called)) => called.set_end(Err(error)),
            (_, None) => {}
        }
    }
}

impl Drop for CallRecorder {
    fn drop(&mut self) {
        if let Some(mut called) = self.called.take() {
            called.duration = self.away + self.began.elapsed();
            let called = match self.heard.take() {
                Some(heard) => self.engine.recent.store(called, *heard),
                None => Arc::new(called),
            };
            self.engine.record_call(&self.standing.id, called);
        }
    }
}
