//! One record for every call, however it ends; even one that its caller dropped.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::handed::now;
use super::{CallError, Finish, Request};
use crate::audit::{Called, Decision, Ended};
use crate::engine::{Answer, Caller, Heard, Inner, Standing};
use crate::permission::Because;

/// What is known of a call so far. Told when the call ends.
pub(super) struct Record {
    engine: Arc<Inner>,
    standing: Arc<Standing>,
    /// There until it is told.
    called: Option<Called>,
    /// What it says, where somebody looks.
    heard: Option<Box<Heard>>,
    began: Instant,
    since: u64,
    /// How long it was away, with whoever it was handed to.
    away: Duration,
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
            method: request.method.clone(),
            name: name.unwrap_or_default(),
            decision: None,
            ended: Ended::Dropped,
            took: Duration::ZERO,
            sent: params.as_str().len(),
            received: 0,
            kept: None,
        };
        let heard = engine.recent.hear(&so_far.who.principal, &params);
        Self {
            engine,
            heard,
            standing: Arc::clone(caller.workspace()),
            called: Some(so_far),
            began: Instant::now(),
            since: request.again.as_ref().map_or_else(now, |again| again.since()),
            away: request.again.as_ref().map(|again| again.waited()).unwrap_or_default(),
        }
    }

    /// Whose it is, as soon as that is known.
    pub(super) fn server(&mut self, server: &str) {
        if let Some(called) = &mut self.called {
            server.clone_into(&mut called.server);
            self.standing.uses(&called.who.session, server);
        }
    }

    /// The full name of the tool or prompt, as soon as that is known.
    pub(super) fn item(&mut self, full_name: &str) {
        if let Some(called) = &mut self.called {
            full_name.clone_into(&mut called.name);
        }
    }

    pub(super) fn decided(&mut self, because: &Because) {
        if let Some(called) = &mut self.called {
            called.decision = Some(Decision::Allowed(because.clone()));
        }
    }

    /// When it was first made, in milliseconds since 1970.
    pub(super) fn since(&self) -> u64 {
        self.since
    }

    pub(super) fn received(&mut self, bytes: usize) {
        if let Some(called) = &mut self.called {
            called.received = bytes;
        }
    }

    pub(super) fn end(&mut self, ended: &Result<Finish, CallError>) {
        if let Some(heard) = &mut self.heard {
            heard.answer = match ended {
                Ok(Finish::Done(outcome)) => Answer::result(&outcome.result),
                Ok(Finish::Handed(_) | Finish::Tasked(_)) => Answer::None,
                Err(error) => Answer::Error(Box::new(error.clone())),
            };
        }
        match (ended, &mut self.called) {
            // It may never be made again, and its server was called.
            (Ok(Finish::Handed(_)), Some(called)) => called.ended = Ended::Asked,
            (Ok(Finish::Done(outcome)), Some(called)) => called.end(Ok(outcome)),
            // What comes of the task is asked for by calls of their own.
            (Ok(Finish::Tasked(_)), Some(called)) => called.ended = Ended::Result,
            (Err(error), Some(called)) => called.end(Err(error)),
            (_, None) => {}
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if let Some(mut called) = self.called.take() {
            called.took = self.away + self.began.elapsed();
            let called = match self.heard.take() {
                Some(heard) => self.engine.recent.keep(called, *heard),
                None => Arc::new(called),
            };
            self.engine.called(&self.standing.id, called);
        }
    }
}
