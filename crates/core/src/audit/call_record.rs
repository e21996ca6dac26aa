//! One call that has ended.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::line;
use crate::dispatch::{CallError, CallOutcome};
use crate::permission::DecisionReason;

/// A call that has ended, for the record.
#[derive(Debug, Clone)]
pub struct CallRecord {
    /// When it began.
    pub at: SystemTime,
    /// Who made it.
    pub who: Arc<CallerIdentity>,
    /// The server it was for, as configured; empty where that was never known.
    pub server: String,
    /// The method.
    pub method: Cow<'static, str>,
    /// What was called, by its full name, or the URI that was read.
    pub name: String,
    /// What was decided about it, where anything was.
    pub decision: Option<CallDecision>,
    /// How it ended.
    pub ended: CallEnd,
    /// How long it took, waiting for people included.
    pub took: Duration,
    /// Bytes of the parameters.
    pub sent: usize,
    /// Bytes of the server's result.
    pub received: usize,
    /// The number under which it is kept what it said, where that is; see [`crate::Engine::recent_call`].
    pub kept: Option<u64>,
}

/// Who made a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerIdentity {
    /// The folder of the workspace.
    pub workspace: PathBuf,
    /// The session.
    pub session: String,
    /// The client's name, as it gives it.
    pub client: String,
    /// Whom the session speaks for.
    pub principal: String,
    /// How the client is reached, for people.
    pub transport: &'static str,
}

/// What was decided about a call, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallDecision {
    /// It may happen.
    Allowed(DecisionReason),
    /// It must not happen.
    Denied(DecisionReason),
    /// Somebody had to decide, and nobody did.
    Unanswered(DecisionReason),
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnd {
    /// With a result.
    Result,
    /// With questions: it goes on when its caller makes it again with the answers, if that ever happens.
    Asked,
    /// With a result that says it is an error.
    ToolError,
    /// It was not allowed.
    Refused,
    /// With an error of this kind, one of [`CallError::kind`]'s words.
    Failed(&'static str),
    /// Its caller gave up on it.
    Dropped,
}

// === impl CallRecord ===

impl CallRecord {
    pub(crate) fn set_end(&mut self, ended: Result<&CallOutcome, &CallError>) {
        self.ended = match ended {
            Ok(outcome) => {
                // Our own tools decide for themselves, past the stage that would have said so.
                let own = || outcome.decision.clone().map(CallDecision::Allowed);
                self.decision = self.decision.take().or_else(own);
                if outcome.is_error() { CallEnd::ToolError } else { CallEnd::Result }
            }
            Err(CallError::Denied { because, .. }) => {
                self.decision = Some(CallDecision::Denied((**because).clone()));
                CallEnd::Refused
            }
            Err(CallError::Unanswered { because, .. }) => {
                self.decision = Some(CallDecision::Unanswered((**because).clone()));
                CallEnd::Refused
            }
            Err(error) => CallEnd::Failed(error.kind()),
        };
    }
}

// === impl CallerIdentity ===

impl CallerIdentity {
    /// Tells its session from others, and opens none.
    pub fn session_mark(&self) -> String {
        line::session_mark(self.transport, &self.session)
    }
}

// === impl CallDecision ===

impl CallDecision {
    /// `allow`, `deny` or `unanswered`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Allowed(_) => "allow",
            Self::Denied(_) => "deny",
            Self::Unanswered(_) => "unanswered",
        }
    }

    /// Why.
    pub fn because(&self) -> &DecisionReason {
        let (Self::Allowed(because) | Self::Denied(because) | Self::Unanswered(because)) = self;
        because
    }
}

// === impl CallEnd ===

impl CallEnd {
    /// `ok`, `asked`, `tool-error`, `refused`, `failed` or `cancelled`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Result => "ok",
            Self::Asked => "asked",
            Self::ToolError => "tool-error",
            Self::Refused => "refused",
            Self::Failed(_) => "failed",
            Self::Dropped => "cancelled",
        }
    }
}
