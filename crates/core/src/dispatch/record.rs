//! One record for every call, however it ends; even one that its caller dropped.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::{CallError, Outcome, Request};
use crate::audit::{Called, Decision, Ended};
use crate::engine::{Caller, Inner, Standing};
use crate::permission::Because;

/// What is known of a call so far. Told when the call ends.
pub(super) struct Record {
    engine: Arc<Inner>,
    standing: Arc<Standing>,
    /// There until it is told.
    called: Option<Called>,
    began: Instant,
}

// === impl Record ===

impl Record {
    pub(super) fn new(engine: Arc<Inner>, caller: &Caller, request: &Request) -> Self {
        let params = request.params();
        let named = |path: &[&str]| params.get_path(path).ok().flatten()?.to_text();
        let name = named(&["name"]).or_else(|| named(&["uri"]));
        let name = name.or_else(|| named(&["ref", "name"])).or_else(|| named(&["ref", "uri"]));
        let so_far = Called {
            at: SystemTime::now(),
            who: Arc::clone(caller.who()),
            server: request.server.clone().unwrap_or_default(),
            method: request.envelope.method().into_owned(),
            name: name.unwrap_or_default(),
            decision: None,
            ended: Ended::Dropped,
            took: Duration::ZERO,
            sent: params.as_str().len(),
            received: 0,
        };
        let standing = Arc::clone(caller.workspace());
        Self { engine, standing, called: Some(so_far), began: Instant::now() }
    }

    /// Whose it is, as soon as that is known.
    pub(super) fn server(&mut self, server: &str) {
        if let Some(called) = &mut self.called {
            server.clone_into(&mut called.server);
            self.standing.uses(&called.who.session, server);
        }
    }

    pub(super) fn decided(&mut self, because: &Because) {
        if let Some(called) = &mut self.called {
            called.decision = Some(Decision::Allowed(because.clone()));
        }
    }

    pub(super) fn received(&mut self, bytes: usize) {
        if let Some(called) = &mut self.called {
            called.received = bytes;
        }
    }

    pub(super) fn end(&mut self, ended: &Result<Outcome, CallError>) {
        if let Some(called) = &mut self.called {
            called.end(ended);
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if let Some(mut called) = self.called.take() {
            called.took = self.began.elapsed();
            self.engine.called(&self.standing.id, Arc::new(called));
        }
    }
}
