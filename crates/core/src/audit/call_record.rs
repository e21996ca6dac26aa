//! The record of one call that has ended, with the identity of its caller.
//!
//! Made by `dispatch::call_recorder` and `engine::session::local_call`. Used by the audit log, which writes it, and
//! by `engine::snapshot::recent_calls`, which keeps it in memory. It does not know its JSON form (`audit::line`).

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::{StageTimes, line};
use crate::dispatch::{CallError, CallOutcome};
use crate::permission::DecisionReason;
use crate::principal::Principal;

/// A call that has ended, for the audit log.
#[derive(Debug, Clone)]
pub struct CallRecord {
    /// When the call began.
    pub at: SystemTime,
    /// The caller.
    pub caller: Arc<CallerIdentity>,
    /// The server that the call was for, as configured; empty where it was never known.
    pub server: String,
    /// The names of the secrets that the server got.
    pub secrets: Arc<[String]>,
    /// The MCP method.
    pub method: Cow<'static, str>,
    /// The full name of the tool or prompt, or the URI of the resource that was read.
    pub name: String,
    /// The permission decision, if the call got as far as one.
    pub decision: Option<CallDecision>,
    /// How the call ended.
    pub end: CallEnd,
    /// How long the call took, waiting for people included.
    pub duration: Duration,
    /// How long each stage took; nothing for a call that was dropped, or that no server got.
    pub stages: StageTimes,
    /// Bytes of the parameters.
    pub sent: usize,
    /// Bytes of the server's result.
    pub received: usize,
    /// The number under which the call's arguments and result are kept, if they are; see
    /// [`crate::Engine::recent_call`].
    pub recent_id: Option<u64>,
}

/// The caller of a call: workspace, session, client, principal and transport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerIdentity {
    /// The folder of the workspace.
    pub workspace: PathBuf,
    /// The id of the session.
    pub session: String,
    /// The client's name, as it gives it.
    pub client: String,
    /// The principal that the session acts for.
    pub principal: Principal,
    /// How the client is reached, for people.
    pub transport: &'static str,
}

/// The permission decision about a call, and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallDecision {
    /// The call may happen.
    Allowed(DecisionReason),
    /// The call must not happen.
    Denied(DecisionReason),
    /// A person had to decide, and no answer came.
    Unanswered(DecisionReason),
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnd {
    /// The server gave a result.
    Result,
    /// The server answered with questions. The call goes on when its caller makes it again with the answers.
    NeedsInput,
    /// The server gave a result that is marked as an error.
    ToolError,
    /// Permission refused the call.
    Refused,
    /// The call failed with an error of this kind, one of the words of [`CallError::kind`].
    Failed(&'static str),
    /// The caller dropped the call.
    Dropped,
}

// === impl CallRecord ===

impl CallRecord {
    pub(crate) fn set_end(&mut self, ended: Result<&CallOutcome, &CallError>) {
        self.end = match ended {
            Ok(outcome) => {
                // The engine's own tools bring their decision with the outcome: they do not pass the permission
                // stage.
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
    /// Returns a text that tells this session from others. It cannot be used to enter the session.
    pub fn session_mark(&self) -> String {
        line::session_mark(self.transport, &self.session)
    }
}

// === impl CallDecision ===

impl CallDecision {
    /// Returns `allow`, `deny` or `unanswered`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Allowed(_) => "allow",
            Self::Denied(_) => "deny",
            Self::Unanswered(_) => "unanswered",
        }
    }

    /// Returns the reason of the decision.
    pub fn reason(&self) -> &DecisionReason {
        let (Self::Allowed(because) | Self::Denied(because) | Self::Unanswered(because)) = self;
        because
    }
}

// === impl CallEnd ===

impl CallEnd {
    /// Returns `ok`, `asked`, `tool-error`, `refused`, `failed` or `cancelled`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Result => "ok",
            Self::NeedsInput => "asked",
            Self::ToolError => "tool-error",
            Self::Refused => "refused",
            Self::Failed(_) => "failed",
            Self::Dropped => "cancelled",
        }
    }
}
