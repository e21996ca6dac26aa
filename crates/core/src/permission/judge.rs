//! The decision about one call, in one place and without side effects.
//!
//! Deny (rule, hook, remembered) comes before ask, ask before allow, allow before the mode. Three things
//! cut across: `plan` refuses what is not read-only whatever allows it, a tool that wants a person to look
//! is always asked about, and what a person typed is not asked about again.

use std::fmt;

use serde::Serialize;
use switchboard_config::Mode;

use super::{
    DecisionReason, RuleMatches, ToolAnnotations, ToolInteraction, ToolMemory, WorkspacePermissions,
};

/// One call, as far as permission cares.
#[derive(Debug, Clone, Copy)]
pub struct PermissionSubject<'a> {
    /// The rules and the mode.
    pub permissions: &'a WorkspacePermissions,
    /// The server, normalised and not cut.
    pub server: &'a str,
    /// The tool, normalised and not cut.
    pub tool: &'a str,
    /// What the tool says about itself.
    pub annotations: ToolAnnotations,
    /// Whether it wants a person to look.
    pub interaction: ToolInteraction,
    /// Whose tool it is.
    pub origin: ToolOrigin,
    /// Whether a person stands behind exactly this call.
    pub consent: UserConsent,
}

/// Whose tool is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolOrigin {
    /// A server's.
    Server,
    /// Ours: listing resources, signing in.
    BuiltIn,
}

/// Whether a person stands behind a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserConsent {
    /// A person typed it.
    Typed,
    /// A model made it, or nobody knows.
    None,
}

/// What the hooks before a call say together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum HookVerdict {
    /// Nothing.
    #[default]
    None,
    /// It may happen.
    Allow,
    /// It must not happen.
    Deny {
        /// Why, safe to show.
        reason: String,
    },
    /// A person should decide.
    Ask {
        /// Why, safe to show.
        reason: String,
    },
}

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum PermissionVerdict {
    /// It happens.
    Allow {
        /// Why.
        because: DecisionReason,
    },
    /// It does not happen.
    Deny {
        /// Why.
        because: DecisionReason,
    },
    /// A person decides.
    Ask {
        /// Why.
        because: DecisionReason,
    },
    /// The classifier decides.
    Classify,
}

/// Decides about a call.
pub fn judge_call(
    subject: &PermissionSubject<'_>,
    hook: &HookVerdict,
    remembered: &ToolMemory,
) -> PermissionVerdict {
    let ruling = subject.permissions.ruling(subject.server, subject.tool);
    if let Some(because) = deny_reason(subject, ruling, hook, remembered) {
        return PermissionVerdict::Deny { because };
    }
    if subject.origin == ToolOrigin::BuiltIn {
        return PermissionVerdict::Allow { because: DecisionReason::BuiltIn };
    }
    if let Some(ask) = ask_reason(subject, ruling, hook) {
        return match ask.question().and_then(|question| remembered.yes_to(&question)) {
            Some(answer) => {
                PermissionVerdict::Allow { because: DecisionReason::Remembered { answer } }
            }
            None => ask_or_deny(subject, ask),
        };
    }
    match allow_reason(ruling, hook, remembered) {
        Some(because) => PermissionVerdict::Allow { because },
        None => decide_by_mode(subject),
    }
}

fn deny_reason(
    subject: &PermissionSubject<'_>,
    ruling: RuleMatches<'_>,
    hook: &HookVerdict,
    remembered: &ToolMemory,
) -> Option<DecisionReason> {
    let mode = subject.permissions.mode();
    let writes = subject.origin == ToolOrigin::Server && !subject.annotations.is_read_only();
    match hook {
        _ if ruling.deny.is_some() => ruling.deny.map(DecisionReason::rule),
        HookVerdict::Deny { reason } => Some(DecisionReason::hook(reason)),
        _ if remembered.is_no() => {
            Some(DecisionReason::Remembered { answer: super::AnswerLifetime::Never })
        }
        _ if mode == Mode::Plan && writes => Some(DecisionReason::mode(mode)),
        _ => None,
    }
}

/// The strongest reason to ask first: those that no remembered answer settles.
fn ask_reason(
    subject: &PermissionSubject<'_>,
    ruling: RuleMatches<'_>,
    hook: &HookVerdict,
) -> Option<DecisionReason> {
    match hook {
        _ if subject.interaction == ToolInteraction::Required => Some(DecisionReason::Interaction),
        HookVerdict::Ask { reason } => Some(DecisionReason::hook(reason)),
        _ => ruling.ask.map(DecisionReason::rule),
    }
}

fn ask_or_deny(subject: &PermissionSubject<'_>, ask: DecisionReason) -> PermissionVerdict {
    match (subject.consent, subject.permissions.mode()) {
        (UserConsent::Typed, _) => PermissionVerdict::Allow { because: DecisionReason::Typed },
        (UserConsent::None, Mode::DontAsk) => {
            PermissionVerdict::Deny { because: DecisionReason::NobodyAsked { ask: Box::new(ask) } }
        }
        (UserConsent::None, _) => PermissionVerdict::Ask { because: ask },
    }
}

fn allow_reason(
    ruling: RuleMatches<'_>,
    hook: &HookVerdict,
    remembered: &ToolMemory,
) -> Option<DecisionReason> {
    if let Some(rule) = ruling.allow {
        return Some(DecisionReason::rule(rule));
    }
    if *hook == HookVerdict::Allow {
        return Some(DecisionReason::hook(""));
    }
    let answer = remembered.yes_to(&super::AskReason::Undecided)?;
    Some(DecisionReason::Remembered { answer })
}

fn decide_by_mode(subject: &PermissionSubject<'_>) -> PermissionVerdict {
    let mode = subject.permissions.mode();
    let because = DecisionReason::mode(mode);
    match (mode, subject.consent) {
        (Mode::Client, _) => PermissionVerdict::Allow { because: DecisionReason::Client },
        // What plan refuses was refused long before.
        (Mode::BypassPermissions | Mode::Plan, _) => PermissionVerdict::Allow { because },
        (_, UserConsent::Typed) => PermissionVerdict::Allow { because: DecisionReason::Typed },
        (Mode::Default, UserConsent::None) => PermissionVerdict::Ask { because },
        (Mode::DontAsk, UserConsent::None) => PermissionVerdict::Deny { because },
        (Mode::Auto, UserConsent::None) => PermissionVerdict::Classify,
    }
}

// === impl PermissionVerdict ===

impl fmt::Display for PermissionVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allow { because } => write!(f, "allow: {because}"),
            Self::Deny { because } => write!(f, "deny: {because}"),
            Self::Ask { because } => write!(f, "ask: {because}"),
            Self::Classify => f.write_str("classify"),
        }
    }
}
