//! One call that has ended.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::line;
use crate::dispatch::{CallError, Outcome};
use crate::permission::Because;

/// A call that has ended, for the record.
#[derive(Debug, Clone)]
pub struct Called {
    /// When it began.
    pub at: SystemTime,
    /// Who made it.
    pub who: Arc<Who>,
    /// The server it was for, as configured; empty where that was never known.
    pub server: String,
    /// The method.
    pub method: Cow<'static, str>,
    /// What was called, by its full name, or the URI that was read.
    pub name: String,
    /// What was decided about it, where anything was.
    pub decision: Option<Decision>,
    /// How it ended.
    pub ended: Ended,
    /// How long it took, waiting for people included.
    pub took: Duration,
    /// Bytes of the parameters.
    pub sent: usize,
    /// Bytes of the server's result.
    pub received: usize,
    /// The number under which it is kept what it said, where that is; see [`crate::Engine::said`].
    pub kept: Option<u64>,
}

/// Who made a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Who {
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
pub enum Decision {
    /// It may happen.
    Allowed(Because),
    /// It must not happen.
    Denied(Because),
    /// Somebody had to decide, and nobody did.
    Unanswered(Because),
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
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

// === impl Called ===

impl Called {
    pub(crate) fn end(&mut self, ended: Result<&Outcome, &CallError>) {
        self.ended = match ended {
            Ok(outcome) => {
                // Our own tools decide for themselves, past the stage that would have said so.
                let own = || outcome.decision.clone().map(Decision::Allowed);
                self.decision = self.decision.take().or_else(own);
                if outcome.is_error() { Ended::ToolError } else { Ended::Result }
            }
            Err(CallError::Denied { because, .. }) => {
                self.decision = Some(Decision::Denied((**because).clone()));
                Ended::Refused
            }
            Err(CallError::Unanswered { because, .. }) => {
                self.decision = Some(Decision::Unanswered((**because).clone()));
                Ended::Refused
            }
            Err(error) => Ended::Failed(error.kind()),
        };
    }
}

// === impl Who ===

impl Who {
    /// Tells its session from others, and opens none.
    pub fn session_mark(&self) -> String {
        line::session_mark(self.transport, &self.session)
    }
}

// === impl Decision ===

impl Decision {
    /// `allow`, `deny` or `unanswered`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Allowed(_) => "allow",
            Self::Denied(_) => "deny",
            Self::Unanswered(_) => "unanswered",
        }
    }

    /// Why.
    pub fn because(&self) -> &Because {
        let (Self::Allowed(because) | Self::Denied(because) | Self::Unanswered(because)) = self;
        because
    }
}

// === impl Ended ===

impl Ended {
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
