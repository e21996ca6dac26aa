//! The reason of a permission decision, as a value that logs keep, people read and code matches on.
//!
//! Used by `dispatch`, the audit log, `remote`, the commands and the terminal UI. No code parses the text of a
//! reason.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use switchboard_config::{PermissionMode, PermissionRule, Scope, SourceLocation};

use super::{AnswerLifetime, PermissionAnswer};
use crate::engine::QueueAccess;

/// The reason of a permission decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum DecisionReason {
    /// A rule decided.
    Rule(CitedRule),
    /// A hook decided.
    Hook {
        /// The hook's reason, safe to show; may be empty.
        reason: String,
    },
    /// No rule or hook decides, so the mode does; or the mode forbids the call.
    Mode {
        /// The mode.
        mode: PermissionMode,
    },
    /// The client asks the person itself.
    Client,
    /// A person answered this question before.
    Remembered {
        /// For how long the answer counts.
        answer: AnswerLifetime,
    },
    /// A person answered just now.
    Person,
    /// A person typed the call.
    Typed,
    /// The tool requires that a person looks at each call.
    Interaction,
    /// The tool is built into Switchboard.
    BuiltIn,
    /// The classifier of the `auto` mode decided.
    Classifier {
        /// The classifier's reason, safe to show.
        reason: String,
    },
    /// Settings with rules or hooks cannot be understood, and an unreadable rule may refuse the call.
    UnclearSettings {
        /// The file, line and column of the mistake; `None` for other principals than the local one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<SourceLocation>,
    },
    /// The arguments have a member twice, and a rule looks at the arguments of this tool.
    RepeatedArgument {
        /// The member's name, safe to show.
        name: String,
        /// The rule.
        rule: CitedRule,
    },
    /// The method is called by an agent whose file does not name it among its tools.
    Agent {
        /// The agent's name.
        agent: String,
    },
    /// The tool's server offers the tool to apps only, and a model called it.
    NotForModels,
    /// The tool's server does not offer the tool to apps, and an app called it.
    NotForApps,
    /// The server is reached with something of the person who runs the engine, and its entry does not lend it.
    NotLent {
        /// What the server is reached with, and what would lend it; safe to show.
        why: String,
    },
    /// There was a reason to ask, and the mode asks no one.
    #[serde(rename = "nobody-asked")]
    NoPrompt {
        /// The reason to ask.
        ask: Box<DecisionReason>,
    },
}

/// A permission rule, and its location.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CitedRule {
    /// The rule as written.
    #[serde(with = "shared")]
    pub text: Arc<str>,
    /// The scope that the rule comes from.
    pub scope: Scope,
    /// The file, line and column of the rule; `None` for other principals than the local one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<SourceLocation>,
}

/// The question that a remembered answer belongs to. An answer counts for exactly one question: a yes to "no rule
/// decides" does not silence an ask rule that is added later.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AskReason {
    /// No rule or hook decides.
    Undecided,
    /// This rule asks, as written.
    Rule(String),
}

/// Serializes a shared text as a plain string.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<str>, D::Error> {
        String::deserialize(from).map(Arc::from)
    }
}

// === impl DecisionReason ===

impl DecisionReason {
    /// Returns the question of this reason, if an answer to it can be remembered. A hook judges each call anew, and
    /// a tool that requires interaction means each call: neither can be answered in advance.
    pub fn question(&self) -> Option<AskReason> {
        match self {
            Self::Rule(rule) => Some(AskReason::Rule(rule.text.to_string())),
            Self::Mode { .. } | Self::Classifier { .. } => Some(AskReason::Undecided),
            Self::NoPrompt { ask } => ask.question(),
            Self::Hook { .. }
            | Self::Client
            | Self::Remembered { .. }
            | Self::Person
            | Self::Typed
            | Self::Interaction
            | Self::UnclearSettings { .. }
            | Self::RepeatedArgument { .. }
            | Self::Agent { .. }
            | Self::NotForModels
            | Self::NotForApps
            | Self::NotLent { .. }
            | Self::BuiltIn => None,
        }
    }

    /// Whether a rule under `permissions.allow` would have let the call pass. Deny and ask rules, hooks, people,
    /// tools that require interaction, and the mode `plan` come before an allow rule.
    pub fn yields_to_allow_rule(&self) -> bool {
        match self {
            Self::Mode { mode } => *mode != PermissionMode::Plan,
            Self::Classifier { .. } => true,
            Self::Rule(_)
            | Self::Hook { .. }
            | Self::Client
            | Self::Remembered { .. }
            | Self::Person
            | Self::Typed
            | Self::Interaction
            | Self::BuiltIn
            | Self::UnclearSettings { .. }
            | Self::RepeatedArgument { .. }
            | Self::Agent { .. }
            | Self::NotForModels
            | Self::NotForApps
            | Self::NotLent { .. }
            | Self::NoPrompt { .. } => false,
        }
    }

    /// Advice for a person about a call that was refused for this reason, where no allow rule would help. `queue`
    /// says whether a person can open the queue of questions.
    pub fn advice(&self, queue: QueueAccess) -> Option<String> {
        let asking = "open the console or `switchboard ui` to be asked";
        let can_be_asked = queue == QueueAccess::Open;
        Some(match self {
            Self::Mode { mode: PermissionMode::Plan } => {
                "mode `plan` lets only read-only tools run, whatever rules allow; choose another with `--mode` or \
                 `permissions.defaultMode`"
                    .to_owned()
            }
            Self::Rule(rule) if can_be_asked => {
                format!("{asking}, or change the rule `{}`", rule.text)
            }
            Self::Rule(rule) => format!("change the rule `{}`", rule.text),
            Self::Mode { .. } | Self::Classifier { .. } | Self::Interaction if can_be_asked => {
                asking.to_owned()
            }
            Self::Remembered { .. } => {
                "`switchboard permissions list` shows that answer, and `forget` takes it back".to_owned()
            }
            Self::UnclearSettings { at: Some(_) } => {
                "correct that file; `switchboard doctor` shows what is wrong in it".to_owned()
            }
            Self::RepeatedArgument { name, .. } => {
                format!("send each member of the arguments once; `{name}` is there twice")
            }
            Self::Agent { agent } => {
                format!("name it under `tools` in the file of agent `{agent}`")
            }
            Self::NoPrompt { .. } => {
                "choose a mode that asks with `--mode` or `permissions.defaultMode`".to_owned()
            }
            Self::Mode { .. }
            | Self::Classifier { .. }
            | Self::Interaction
            | Self::Hook { .. }
            | Self::Client
            | Self::Person
            | Self::Typed
            | Self::NotForModels
            | Self::NotForApps
            | Self::NotLent { .. }
            | Self::UnclearSettings { at: None }
            | Self::BuiltIn => return None,
        })
    }

    /// Returns the reason without places in files, for other principals than the local one: where the files of the
    /// person who runs the engine are is nobody else's business.
    pub(crate) fn without_places(self) -> Self {
        match self {
            Self::Rule(rule) => Self::Rule(CitedRule { at: None, ..rule }),
            Self::UnclearSettings { .. } => Self::UnclearSettings { at: None },
            Self::RepeatedArgument { name, rule } => {
                Self::RepeatedArgument { name, rule: CitedRule { at: None, ..rule } }
            }
            Self::NoPrompt { ask } => Self::NoPrompt { ask: Box::new(ask.without_places()) },
            other => other,
        }
    }

    pub(super) fn mode(mode: PermissionMode) -> Self {
        Self::Mode { mode }
    }

    pub(crate) fn hook(reason: &str) -> Self {
        Self::Hook { reason: reason.to_owned() }
    }

    pub(super) fn repeated(name: &str, rule: &CitedRule) -> Self {
        Self::RepeatedArgument { name: name.to_owned(), rule: rule.clone() }
    }

    pub(super) fn rule(rule: &CitedRule) -> Self {
        Self::Rule(rule.clone())
    }
}

impl fmt::Display for DecisionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(rule) => rule.fmt(f),
            Self::Hook { reason } if reason.is_empty() => f.write_str("a hook says so"),
            Self::Hook { reason } => write!(f, "a hook says: {reason}"),
            Self::Mode { mode } => write!(f, "mode `{}`", mode.word()),
            Self::Client => f.write_str("the client's own prompt decides"),
            Self::Remembered { answer } => {
                write!(f, "answered before: {}", PermissionAnswer::from(*answer).label())
            }
            Self::Person => f.write_str("a person answered"),
            Self::Typed => f.write_str("a person typed it"),
            Self::Interaction => f.write_str("the tool wants a person to look at each call"),
            Self::BuiltIn => f.write_str("the tool is built in"),
            Self::Classifier { reason } => write!(f, "the classifier says: {reason}"),
            Self::UnclearSettings { at } => {
                f.write_str("no call is made while the settings ")?;
                if let Some(at) = at {
                    write!(f, "at {at} ")?;
                }
                f.write_str("cannot be understood: they may forbid it")
            }
            Self::RepeatedArgument { name, rule } => {
                write!(
                    f,
                    "its arguments have `{name}` more than once, and the {rule} depends on them"
                )
            }
            Self::Agent { agent } => write!(f, "it is not among the tools of agent `{agent}`"),
            Self::NotForModels => f.write_str("its server offers it to apps only, not to models"),
            Self::NotForApps => f.write_str("its server offers it to models only, not to apps"),
            Self::NotLent { why } => f.write_str(why),
            Self::NoPrompt { ask } => write!(f, "{ask}; mode `dontAsk` does not ask"),
        }
    }
}

// === impl CitedRule ===

impl From<&PermissionRule> for CitedRule {
    fn from(rule: &PermissionRule) -> Self {
        Self { text: rule.text.as_str().into(), scope: rule.scope, at: Some(rule.at.clone()) }
    }
}

impl fmt::Display for CitedRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule `{}` ({} scope", self.text, self.scope)?;
        if let Some(at) = &self.at {
            write!(f, ", {at}")?;
        }
        f.write_str(")")
    }
}
