//! An answer to a question, told.

use serde::{Deserialize, Serialize};
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::Raw;

use crate::dispatch::Reply;
use crate::permission::Remember;

/// What somebody answered. `action` says what the other members mean.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Answer {
    /// What is answered.
    pub action: Action,
    /// A form, filled in, of `accept`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Raw>,
    /// For how long it counts, of `allow` and `deny`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<Remember>,
    /// The whole result, of `result`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Raw>,
    /// Why there is no result, of `refuse`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Ways to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// A form is filled in, or a page visited.
    Accept,
    /// No.
    Decline,
    /// Nobody decided.
    Cancel,
    /// The call may happen.
    Allow,
    /// It may not.
    Deny,
    /// The result, as the protocol has it.
    Result,
    /// There is none.
    Refuse,
}

// === impl Answer ===

impl Answer {
    /// An action and nothing else.
    pub fn plain(action: Action) -> Self {
        Self { action, content: None, remember: None, result: None, message: None }
    }

    /// Tells a reply.
    pub fn of(reply: &Reply) -> Self {
        match reply {
            Reply::Allow(remember) => {
                Self { remember: Some(*remember), ..Self::plain(Action::Allow) }
            }
            Reply::Deny(remember) => {
                Self { remember: Some(*remember), ..Self::plain(Action::Deny) }
            }
            Reply::Result(Ok(result)) => {
                Self { result: Some(result.clone()), ..Self::plain(Action::Result) }
            }
            Reply::Result(Err(error)) => {
                Self { message: Some(error.message.clone()), ..Self::plain(Action::Refuse) }
            }
            Reply::Cancel => Self::plain(Action::Cancel),
        }
    }

    /// The reply that was told.
    pub fn reply(self) -> Reply {
        let elicited = |action: &str, content: Option<&Raw>| {
            let content = content.map(|content| format!(r#","content":{content}"#));
            let text = format!(r#"{{"action":"{action}"{}}}"#, content.unwrap_or_default());
            // Every part is JSON already.
            Reply::Result(Ok(Raw::parse(text).unwrap_or_else(|_| Raw::empty_object())))
        };
        match self.action {
            Action::Accept => elicited("accept", self.content.as_ref()),
            Action::Decline => elicited("decline", None),
            Action::Cancel => Reply::Cancel,
            Action::Allow => Reply::Allow(self.remember.unwrap_or(Remember::Once)),
            Action::Deny => Reply::Deny(self.remember.unwrap_or(Remember::Once)),
            Action::Result => match self.result {
                Some(result) => Reply::Result(Ok(result)),
                None => Reply::Cancel,
            },
            Action::Refuse => {
                let message = self.message.unwrap_or_else(|| "nobody answered".to_owned());
                Reply::Result(Err(RpcError::new(code::INTERNAL_ERROR, message)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let shown = |reply: &Reply| match reply {
                Reply::Result(Ok(result)) => result.to_string(),
                reply => format!("{reply:?}"),
            };
            let answer: Answer = serde_json::from_str(text).unwrap();
            let reply = answer.reply();
            assert_eq!(shown(&reply), expected, "{text}");
            assert_eq!(shown(&Answer::of(&reply).reply()), expected, "{text}");
        }
        assert!(serde_json::from_str::<Answer>(r#"{"action":"shrug"}"#).is_err());
    }
}
