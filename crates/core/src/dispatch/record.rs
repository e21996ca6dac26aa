//! One line for every call, however it ends; even one that its caller dropped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::handed::now;
use super::{CallError, Finish, Request};
use crate::engine::{Called, Caller, Ended, Event, Happened, Inner, WorkspaceId};
use crate::permission::Because;

/// What is known of a call so far. Told when the call ends.
pub(super) struct Record {
    engine: Arc<Inner>,
    workspace: WorkspaceId,
    server: String,
    called: Called,
    began: Instant,
    since: u64,
    /// How long it was away, with whoever it was handed to.
    away: Duration,
    state: Telling,
}

/// Whether there is something to tell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Telling {
    WhenDropped,
    /// It goes on when it is made again, and is told of then.
    Later,
}

// === impl Record ===

impl Record {
    pub(super) fn new(engine: Arc<Inner>, caller: &Caller, request: &Request) -> Self {
        let params = request.params();
        let named = |key| params.get(key).ok().flatten().and_then(|value| value.to_text());
        let session = caller.session();
        Self {
            engine,
            workspace: caller.workspace().id.clone(),
            server: request.server.clone().unwrap_or_default(),
            called: Called {
                session: session.id.clone(),
                principal: session.principal.clone(),
                method: request.envelope.method().into_owned(),
                name: named("name").or_else(|| named("uri")).unwrap_or_default(),
                decision: None,
                ended: Ended::Dropped,
                took: Duration::ZERO,
                sent: params.as_str().len(),
                received: 0,
            },
            began: Instant::now(),
            away: request.again.as_ref().map(|again| again.waited()).unwrap_or_default(),
            since: request.again.as_ref().map_or_else(now, |again| again.since()),
            state: Telling::WhenDropped,
        }
    }

    pub(super) fn server(&mut self, server: &str) {
        server.clone_into(&mut self.server);
    }

    pub(super) fn decided(&mut self, because: &Because) {
        self.called.decision = Some(because.clone());
    }

    /// When it was first made, in milliseconds since 1970.
    pub(super) fn since(&self) -> u64 {
        self.since
    }

    pub(super) fn received(&mut self, bytes: usize) {
        self.called.received = bytes;
    }

    pub(super) fn end(&mut self, ended: &Result<Finish, CallError>) {
        self.called.ended = match ended {
            Ok(Finish::Done(outcome)) if outcome.is_error() => Ended::ToolError,
            Ok(Finish::Done(_) | Finish::Tasked(_)) => Ended::Result,
            Ok(Finish::Handed(_)) => {
                self.state = Telling::Later;
                return;
            }
            Err(error) => Ended::Error(error.to_string()),
        };
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if self.state == Telling::Later {
            return;
        }
        self.called.took = self.away + self.began.elapsed();
        self.engine.happened(Event {
            workspaces: vec![self.workspace.clone()],
            server: std::mem::take(&mut self.server),
            what: Happened::Called(Box::new(self.called.clone())),
        });
    }
}
