//! Questions that come up during a call, and their answers.
//!
//! Used by `dispatch::consent`, `dispatch::elicit` and `engine::supervisor::listener`, which ask, and by callers, the
//! gateway's clients and the queue (`engine::questions`), which answer. It does not know the JSON form of an answer
//! (`remote::answer`).

use serde::{Deserialize, Serialize};
use switchboard_wire::{envelope::RpcError, json::Raw};
use tokio::sync::oneshot;

use crate::permission::{AnswerLifetime, DecisionReason, PermissionAnswer, ToolAnnotations};

/// A question that must be answered before a call goes on. Dropping it cancels it.
#[derive(Debug)]
pub struct PendingQuestion {
    /// The server that the call is for.
    pub server: String,
    /// The client that made the call, by its own name; `None` where it is not known.
    pub client: Option<String>,
    /// The question itself.
    pub about: QuestionKind,
    reply: oneshot::Sender<QuestionAnswer>,
}

/// The kind of a question, with its content.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum QuestionKind {
    /// Whether a tool may be called.
    Permission(Box<PermissionQuestion>),
    /// A form or a page: the parameters of `elicitation/create`.
    Elicitation {
        /// The parameters as the server sent them.
        params: Raw,
    },
    /// A request to the client's model: the parameters of `sampling/createMessage`.
    Sampling {
        /// The parameters as the server sent them.
        params: Raw,
    },
    /// The folders that the client works in: `roots/list`.
    Roots,
    /// A request of an extension, which only a client that declared the extension can answer.
    Extension {
        /// The method.
        method: String,
        /// The parameters as the server sent them.
        params: Raw,
    },
}

/// A call that needs permission.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PermissionQuestion {
    /// The tool's name: in the session's style, or the full one where the queue answers.
    pub tool: String,
    /// The arguments of the call.
    pub arguments: Raw,
    /// The server's annotations of the tool.
    pub annotations: ToolAnnotations,
    /// The reason to ask.
    pub because: DecisionReason,
    /// The rule that would make the question unnecessary.
    pub allow: String,
}

/// An answer to a question.
#[derive(Debug, Clone)]
pub enum QuestionAnswer {
    /// The call may happen.
    Allow(AnswerLifetime),
    /// The call may not happen.
    Deny(AnswerLifetime),
    /// The result of an elicitation or of sampling, in the form of MCP; an error refuses it.
    Result(Result<Raw, RpcError>),
    /// The question is cancelled without a decision.
    Cancel,
}

// === impl QuestionKind ===

impl QuestionKind {
    /// Parses the JSON that [`Serialize`] wrote; `None` for a kind that this version does not know.
    pub fn from_json(text: &Raw) -> Option<Self> {
        let kind = text.get("kind").ok()??.to_text()?;
        let params = || text.get("params").ok().flatten();
        Some(match kind.as_str() {
            "permission" => Self::Permission(Box::new(text.decode().ok()?)),
            "elicitation" => Self::Elicitation { params: params()? },
            "sampling" => Self::Sampling { params: params()? },
            "roots" => Self::Roots,
            "extension" => {
                let method = text.get("method").ok()??.to_text()?;
                Self::Extension { method, params: params()? }
            }
            _ => return None,
        })
    }
}

// === impl QuestionAnswer ===

impl From<PermissionAnswer> for QuestionAnswer {
    fn from(answer: PermissionAnswer) -> Self {
        if answer.allows() { Self::Allow(answer.lifetime()) } else { Self::Deny(answer.lifetime()) }
    }
}

// === impl PendingQuestion ===

impl PendingQuestion {
    /// Makes a question, and the receiver of its answer.
    pub fn new(server: &str, about: QuestionKind) -> (Self, oneshot::Receiver<QuestionAnswer>) {
        let (reply, answer) = oneshot::channel();
        (Self { server: server.to_owned(), client: None, about, reply }, answer)
    }

    /// Sets the client that made the call.
    #[must_use]
    pub fn of_client(mut self, client: &str) -> Self {
        self.client = (!client.is_empty()).then(|| client.to_owned());
        self
    }

    /// Answers the question. Does nothing if the call has ended.
    pub fn answer(self, reply: QuestionAnswer) {
        let _ = self.reply.send(reply);
    }

    /// Whether the call that asks has ended.
    pub fn is_moot(&self) -> bool {
        self.reply.is_closed()
    }
}
