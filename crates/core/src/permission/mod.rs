//! Whether a call may happen: rules, modes, hooks, remembered answers and the classifier, in one order.
//!
//! [`WorkspacePermissions`] are the rules of a workspace and its mode; `judge` is the whole decision, a pure
//! function of what is known about one call. Where it says [`PermissionVerdict::Classify`] the [`CallClassifier`] has
//! the word. [`PermissionMemory`] keeps what people answered.
//!
//! This module refuses to know who is asked and how, and it places no call.

mod classifier;
mod interaction;
mod judge;
mod memory;
mod reason;
mod rules;
mod store;

pub use classifier::{CallClassifier, ClassifierInput};
pub use interaction::ToolInteraction;
pub use judge::{
    HookVerdict, PermissionSubject, PermissionVerdict, ToolOrigin, UserConsent, judge_call,
};
pub use memory::{
    AnswerLifetime, AnswerStoreError, AnswerTarget, LastingAnswer, PermissionMemory, ToolMemory,
};
pub use reason::{AskReason, CitedRule, DecisionReason};
pub use rules::{RuleMatches, WorkspacePermissions};

pub use crate::catalog::ToolAnnotations;
