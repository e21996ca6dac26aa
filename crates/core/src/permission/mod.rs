//! Permission: whether a call may happen, from rules, mode, hooks, remembered answers and the classifier, in one
//! order.
//!
//! Used by `dispatch::consent`. [`WorkspacePermissions`] holds the rules of a workspace and its mode. `judge` makes
//! the whole decision, a pure function of its arguments. Where it returns [`PermissionVerdict::Classify`], the
//! [`CallClassifier`] decides. [`PermissionMemory`] keeps the answers of people.
//!
//! It does not ask people (`dispatch::consent`, `dispatch::question`), and makes no call.

mod classifier;
mod condition;
mod explain;
mod interaction;
mod judge;
mod memory;
mod reason;
mod rules;
mod store;
mod usable;
mod wording;

pub use classifier::{CallClassifier, ClassifierInput};
pub use condition::{JudgedCall, RuleEffect, RulePrincipal};
pub use explain::{CallToExplain, Explanation, UnknownTool, explain_call};
pub use interaction::ToolInteraction;
pub use judge::{
    HookVerdict, PermissionSubject, PermissionVerdict, ToolOrigin, UserConsent, judge_call,
};
pub use memory::{
    AnswerLifetime, AnswerStoreError, AnswerTarget, LastingAnswer, PermissionMemory, ToolMemory,
};
pub use reason::{AskReason, CitedRule, DecisionReason};
pub use rules::{ConsideredRule, RuleMatches, WorkspacePermissions};
pub use usable::ToolUseSubject;
pub use wording::{PermissionAnswer, describe_annotations, permission_sentence};

pub(crate) use usable::hides_by_mode;

pub use crate::catalog::ToolAnnotations;

/// The beginning of the name under which the method of an extension is judged, where a tool has its own name.
pub(crate) const METHOD_PREFIX: &str = "method:";
