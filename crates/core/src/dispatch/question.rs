//! Questions that come up during a call, and who answers them.

use serde::{Deserialize, Serialize};
use switchboard_wire::{envelope::RpcError, json::Raw};
use tokio::sync::oneshot;

use crate::permission::{AnswerLifetime, DecisionReason, ToolAnnotations};

/// Something somebody has to decide before a call goes on. Dropped, it counts as cancelled.
#[derive(Debug)]
pub struct PendingQuestion {
    /// The server whose call it is about.
    pub server: String,
    /// The client whose call it is, as it calls itself; `None` where that is not known.
    pub client: Option<String>,
    /// What is asked.
    pub about: QuestionKind,
    reply: oneshot::Sender<QuestionAnswer>,
}

/// What is asked.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum QuestionKind {
    /// Whether a tool may be called.
    Permission(Box<PermissionQuestion>),
    /// What a server wants to know or have done: the parameters of `elicitation/create`.
    Elicitation {
        /// As the server sent them.
        params: Raw,
    },
    /// What a model would say: the parameters of `sampling/createMessage`.
    Sampling {
        /// As the server sent them.
        params: Raw,
    },
    /// Which folders the client works in: `roots/list`.
    Roots,
}

/// A call that waits for consent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PermissionQuestion {
    /// The tool's name: as the session calls it, or the full one where the queue answers.
    pub tool: String,
    /// What it would be called with.
    pub arguments: Raw,
    /// What the server says of the tool.
    pub annotations: ToolAnnotations,
    /// What asks for consent.
    pub because: DecisionReason,
    /// The rule that would make the question unnecessary.
    pub allow: String,
}

/// What was decided.
#[derive(Debug, Clone)]
pub enum QuestionAnswer {
    /// The call may happen.
    Allow(AnswerLifetime),
    /// It may not.
    Deny(AnswerLifetime),
    /// The result of an elicitation or of sampling, as the protocol has it; an error is a refusal to give one.
    Result(Result<Raw, RpcError>),
    /// Nobody decided.
    Cancel,
}

// === impl QuestionKind ===

impl QuestionKind {
    /// Reads what was written by [`Serialize`]; `None` where it is of a kind that is not known here.
    pub fn from_json(text: &Raw) -> Option<Self> {
        let kind = text.get("kind").ok()??.to_text()?;
        let params = || text.get("params").ok().flatten();
        Some(match kind.as_str() {
            "permission" => Self::Permission(Box::new(text.decode().ok()?)),
            "elicitation" => Self::Elicitation { params: params()? },
            "sampling" => Self::Sampling { params: params()? },
            "roots" => Self::Roots,
            _ => return None,
        })
    }
}

// === impl PendingQuestion ===

impl PendingQuestion {
    /// A question, and where its answer comes out.
    pub fn new(server: &str, about: QuestionKind) -> (Self, oneshot::Receiver<QuestionAnswer>) {
        let (reply, answer) = oneshot::channel();
        (Self { server: server.to_owned(), client: None, about, reply }, answer)
    }

    /// The same of a client's call.
    #[must_use]
    pub fn of_client(mut self, client: &str) -> Self {
        self.client = (!client.is_empty()).then(|| client.to_owned());
        self
    }

    /// Decides. A call that has ended meanwhile does not hear it.
    pub fn answer(self, reply: QuestionAnswer) {
        let _ = self.reply.send(reply);
    }

    /// Whether the call that asks has ended meanwhile.
    pub fn is_moot(&self) -> bool {
        self.reply.is_closed()
    }
}
