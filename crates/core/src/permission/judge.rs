//! The permission decision about one call, as a pure function.
//!
//! Used by `dispatch::consent`. Deny (rule, hook, remembered) comes before ask, ask before allow, allow before the
//! mode. Five rules cut across: settings that cannot be understood refuse every call of a server's tool, arguments with a
//! repeated member are refused where a rule looks at arguments of the tool, whoever that rule is for, `plan` refuses every
//! tool that is not read-only, a tool that requires interaction always leads to a question, and a call that a person typed
//! is not asked about again.
//!
//! It does not ask, log or remember.

use std::fmt;

use serde::Serialize;
use switchboard_config::PermissionMode;

use super::{
    DecisionReason, JudgedCall, RuleMatches, ToolAnnotations, ToolInteraction, ToolMemory,
    WorkspacePermissions,
};

/// The facts about one call that matter for permission.
#[derive(Debug, Clone, Copy)]
pub struct PermissionSubject<'a> {
    /// The rules and the mode.
    pub permissions: &'a WorkspacePermissions,
    /// The server's name, normalised and not cut.
    pub server: &'a str,
    /// The tool's name, normalised and not cut.
    pub tool: &'a str,
    /// Who calls, and with which arguments.
    pub call: JudgedCall<'a>,
    /// The tool's annotations.
    pub annotations: ToolAnnotations,
    /// Whether the tool requires that a person looks at each call.
    pub interaction: ToolInteraction,
    /// Whether the tool is a server's or built in.
    pub origin: ToolOrigin,
    /// Whether a person typed exactly this call.
    pub consent: UserConsent,
}

/// The origin of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolOrigin {
    /// A tool of a server.
    Server,
    /// A tool of Switchboard: listing resources, signing in.
    BuiltIn,
}

/// Whether a person stands behind a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserConsent {
    /// A person typed the call.
    Typed,
    /// A model made the call, or the origin is not known.
    None,
}

/// The combined verdict of the hooks before a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum HookVerdict {
    /// The hooks decide nothing.
    #[default]
    None,
    /// The call may happen.
    Allow,
    /// The call must not happen.
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

/// The decision about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum PermissionVerdict {
    /// The call happens.
    Allow {
        /// The reason.
        because: DecisionReason,
    },
    /// The call does not happen.
    Deny {
        /// The reason.
        because: DecisionReason,
    },
    /// A person decides.
    Ask {
        /// The reason to ask.
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
    let ruling = subject.permissions.matching_rules(subject.server, subject.tool, subject.call);
    if let Some(because) = deny_reason(subject, &ruling, hook, remembered) {
        return PermissionVerdict::Deny { because };
    }
    if subject.origin == ToolOrigin::BuiltIn {
        return PermissionVerdict::Allow { because: DecisionReason::BuiltIn };
    }
    if let Some(ask) = ask_reason(subject, &ruling, hook) {
        return match ask.question().and_then(|question| remembered.lifetime_of_yes(&question)) {
            Some(answer) => {
                PermissionVerdict::Allow { because: DecisionReason::Remembered { answer } }
            }
            None => ask_or_deny(subject, ask),
        };
    }
    match allow_reason(&ruling, hook, remembered) {
        Some(because) => PermissionVerdict::Allow { because },
        None => decide_by_mode(subject),
    }
}

fn deny_reason(
    subject: &PermissionSubject<'_>,
    ruling: &RuleMatches<'_>,
    hook: &HookVerdict,
    remembered: &ToolMemory,
) -> Option<DecisionReason> {
    let mode = subject.permissions.mode();
    let writes = subject.origin == ToolOrigin::Server && !subject.annotations.is_read_only();
    let unclear = subject.permissions.unclear_settings();
    match hook {
        _ if ruling.deny.is_some() => ruling.deny.map(DecisionReason::rule),
        _ if ruling.repeated.is_some() => {
            ruling.repeated.as_ref().map(|(name, rule)| DecisionReason::repeated(name, rule))
        }
        _ if unclear.is_some() && subject.origin == ToolOrigin::Server => {
            unclear.cloned().map(|at| DecisionReason::UnclearSettings { at: Some(at) })
        }
        HookVerdict::Deny { reason } => Some(DecisionReason::hook(reason)),
        _ if remembered.has_no() => {
            Some(DecisionReason::Remembered { answer: super::AnswerLifetime::Never })
        }
        _ if mode == PermissionMode::Plan && writes => Some(DecisionReason::mode(mode)),
        _ => None,
    }
}

/// The strongest reason to ask. Reasons that no remembered answer settles come first.
fn ask_reason(
    subject: &PermissionSubject<'_>,
    ruling: &RuleMatches<'_>,
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
        (UserConsent::None, PermissionMode::DontAsk) => {
            PermissionVerdict::Deny { because: DecisionReason::NoPrompt { ask: Box::new(ask) } }
        }
        (UserConsent::None, _) => PermissionVerdict::Ask { because: ask },
    }
}

fn allow_reason(
    ruling: &RuleMatches<'_>,
    hook: &HookVerdict,
    remembered: &ToolMemory,
) -> Option<DecisionReason> {
    if let Some(rule) = ruling.allow {
        return Some(DecisionReason::rule(rule));
    }
    if *hook == HookVerdict::Allow {
        return Some(DecisionReason::hook(""));
    }
    let answer = remembered.lifetime_of_yes(&super::AskReason::Undecided)?;
    Some(DecisionReason::Remembered { answer })
}

fn decide_by_mode(subject: &PermissionSubject<'_>) -> PermissionVerdict {
    let mode = subject.permissions.mode();
    let because = DecisionReason::mode(mode);
    match (mode, subject.consent) {
        (PermissionMode::Client, _) => PermissionVerdict::Allow { because: DecisionReason::Client },
        // Tools that `plan` refuses were refused before this point.
        (PermissionMode::BypassPermissions | PermissionMode::Plan, _) => {
            PermissionVerdict::Allow { because }
        }
        (_, UserConsent::Typed) => PermissionVerdict::Allow { because: DecisionReason::Typed },
        (PermissionMode::Default, UserConsent::None) => PermissionVerdict::Ask { because },
        (PermissionMode::DontAsk, UserConsent::None) => PermissionVerdict::Deny { because },
        (PermissionMode::Auto, UserConsent::None) => PermissionVerdict::Classify,
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
