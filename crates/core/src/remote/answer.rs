//! An answer to a question, as JSON ([`QuestionAnswer`]).
//!
//! Used by `switchboard answer` and by the hub's admin interface.

use serde::{Deserialize, Serialize};
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::Raw;

use crate::dispatch::QuestionAnswer;
use crate::permission::AnswerLifetime;

/// An answer to a question. `action` says which other members count.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RemoteAnswer {
    /// The action.
    pub action: RemoteAnswerAction,
    /// The filled-in form, with `accept`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Raw>,
    /// For how long the answer counts, with `allow` and `deny`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<AnswerLifetime>,
    /// The whole result, with `result`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Raw>,
    /// Why there is no result, with `refuse`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The action of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RemoteAnswerAction {
    /// A form is filled in, or a page visited.
    Accept,
    /// The person declines.
    Decline,
    /// The question is cancelled without a decision.
    Cancel,
    /// The call may happen.
    Allow,
    /// The call may not happen.
    Deny,
    /// The result of the server's request, in the form of MCP.
    Result,
    /// The server's request is refused.
    Refuse,
}

// === impl RemoteAnswer ===

impl RemoteAnswer {
    /// Makes an answer with an action alone.
    pub fn from_action(action: RemoteAnswerAction) -> Self {
        Self { action, content: None, remember: None, result: None, message: None }
    }

    /// Converts an answer of the engine.
    pub fn from_answer(reply: &QuestionAnswer) -> Self {
        match reply {
            QuestionAnswer::Allow(remember) => {
                Self { remember: Some(*remember), ..Self::from_action(RemoteAnswerAction::Allow) }
            }
            QuestionAnswer::Deny(remember) => {
                Self { remember: Some(*remember), ..Self::from_action(RemoteAnswerAction::Deny) }
            }
            QuestionAnswer::Result(Ok(result)) => Self {
                result: Some(result.clone()),
                ..Self::from_action(RemoteAnswerAction::Result)
            },
            QuestionAnswer::Result(Err(error)) => Self {
                message: Some(error.message.clone()),
                ..Self::from_action(RemoteAnswerAction::Refuse)
            },
            QuestionAnswer::Cancel => Self::from_action(RemoteAnswerAction::Cancel),
        }
    }

    /// Converts to an answer of the engine.
    pub fn into_answer(self) -> QuestionAnswer {
        let elicited = |action: &str, content: Option<&Raw>| {
            let content = content.map(|content| ("content", content));
            let action = Raw::string(action);
            let members = [("action", &action)].into_iter().chain(content);
            QuestionAnswer::Result(Ok(Raw::object(members)))
        };
        match self.action {
            RemoteAnswerAction::Accept => elicited("accept", self.content.as_ref()),
            RemoteAnswerAction::Decline => elicited("decline", None),
            RemoteAnswerAction::Cancel => QuestionAnswer::Cancel,
            RemoteAnswerAction::Allow => {
                QuestionAnswer::Allow(self.remember.unwrap_or(AnswerLifetime::Once))
            }
            RemoteAnswerAction::Deny => {
                QuestionAnswer::Deny(self.remember.unwrap_or(AnswerLifetime::Once))
            }
            RemoteAnswerAction::Result => match self.result {
                Some(result) => QuestionAnswer::Result(Ok(result)),
                None => QuestionAnswer::Cancel,
            },
            RemoteAnswerAction::Refuse => {
                let message =
                    self.message.unwrap_or_else(|| "the question was not answered".to_owned());
                QuestionAnswer::Result(Err(RpcError::new(code::INTERNAL_ERROR, message)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use switchboard_wire::json::MAX_JSON_DEPTH;

    use super::*;

    #[test]
    fn content_as_deep_as_allowed_stays_in_the_answer() {
        let deep = Raw::parse("[".repeat(MAX_JSON_DEPTH) + &"]".repeat(MAX_JSON_DEPTH)).unwrap();
        let accepted = RemoteAnswerAction::Accept;
        let told =
            RemoteAnswer { content: Some(deep.clone()), ..RemoteAnswer::from_action(accepted) };
        let QuestionAnswer::Result(Ok(result)) = told.into_answer() else { panic!("not a result") };
        assert_eq!(result.get("content").unwrap(), Some(deep));
    }

    #[test]
    fn what_answers_mean() {
        for (text, expected) in [
            (
                r#"{"action":"accept","content":{"a": 1}}"#,
                r#"{"action":"accept","content":{"a": 1}}"#,
            ),
            (r#"{"action":"decline"}"#, r#"{"action":"decline"}"#),
            (r#"{"action":"cancel"}"#, "Cancel"),
            (r#"{"action":"allow"}"#, "Allow(Once)"),
            (r#"{"action":"allow","remember":"always"}"#, "Allow(Always)"),
            (r#"{"action":"deny","remember":"never"}"#, "Deny(Never)"),
            (r#"{"action":"result","result":{"x":[]}}"#, r#"{"x":[]}"#),
            (r#"{"action":"result"}"#, "Cancel"),
        ] {
            let shown = |reply: &QuestionAnswer| match reply {
                QuestionAnswer::Result(Ok(result)) => result.to_string(),
                reply => format!("{reply:?}"),
            };
            let answer: RemoteAnswer = serde_json::from_str(text).unwrap();
            let reply = answer.into_answer();
            assert_eq!(shown(&reply), expected, "{text}");
            assert_eq!(shown(&RemoteAnswer::from_answer(&reply).into_answer()), expected, "{text}");
        }
        assert!(serde_json::from_str::<RemoteAnswer>(r#"{"action":"shrug"}"#).is_err());
    }
}
