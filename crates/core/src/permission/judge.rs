//! The decision about one call, in one place and without side effects.
//!
//! Deny (rule, hook, remembered) comes before ask, ask before allow, allow before the mode. Three things
//! cut across: `plan` refuses what is not read-only whatever allows it, a tool that wants a person to look
//! is always asked about, and what a person typed is not asked about again.

use std::fmt;

use serde::Serialize;
use switchboard_config::Mode;

use super::{Annotations, Because, Interaction, Permissions, Remembered, Ruling};

/// One call, as far as permission cares.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The rules and the mode.
    pub permissions: &'a Permissions,
    /// The server, normalised and not cut.
    pub server: &'a str,
    /// The tool, normalised and not cut.
    pub tool: &'a str,
    /// What the tool says about itself.
    pub annotations: Annotations,
    /// Whether it wants a person to look.
    pub interaction: Interaction,
    /// Whose tool it is.
    pub origin: Origin,
    /// Whether a person stands behind exactly this call.
    pub consent: Consent,
}

/// Whose tool is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A server's.
    Server,
    /// Ours: listing resources, signing in.
    BuiltIn,
}

/// Whether a person stands behind a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
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
pub enum Verdict {
    /// It happens.
    Allow {
        /// Why.
        because: Because,
    },
    /// It does not happen.
    Deny {
        /// Why.
        because: Because,
    },
    /// A person decides.
    Ask {
        /// Why.
        because: Because,
    },
    /// The classifier decides.
    Classify,
}

/// Decides about a call.
pub fn judge(subject: &Subject<'_>, hook: &HookVerdict, remembered: &Remembered) -> Verdict {
    let ruling = subject.permissions.ruling(subject.server, subject.tool);
    if let Some(because) = denied(subject, ruling, hook, remembered) {
        return Verdict::Deny { because };
    }
    if subject.origin == Origin::BuiltIn {
        return Verdict::Allow { because: Because::BuiltIn };
    }
    if let Some(ask) = asked(subject, ruling, hook) {
        return match ask.question().and_then(|question| remembered.yes_to(&question)) {
            Some(answer) => Verdict::Allow { because: Because::Remembered { answer } },
            None => ask_of(subject, ask),
        };
    }
    match allowed(ruling, hook, remembered) {
        Some(because) => Verdict::Allow { because },
        None => undecided(subject),
    }
}

fn denied(
    subject: &Subject<'_>,
    ruling: Ruling<'_>,
    hook: &HookVerdict,
    remembered: &Remembered,
) -> Option<Because> {
    let mode = subject.permissions.mode();
    let writes = subject.origin == Origin::Server && !subject.annotations.is_read_only();
    match hook {
        _ if ruling.deny.is_some() => ruling.deny.map(Because::rule),
        HookVerdict::Deny { reason } => Some(Because::hook(reason)),
        _ if remembered.is_no() => Some(Because::Remembered { answer: super::Remember::Never }),
        _ if mode == Mode::Plan && writes => Some(Because::mode(mode)),
        _ => None,
    }
}

/// The strongest reason to ask first: those that no remembered answer settles.
fn asked(subject: &Subject<'_>, ruling: Ruling<'_>, hook: &HookVerdict) -> Option<Because> {
    match hook {
        _ if subject.interaction == Interaction::Required => Some(Because::Interaction),
        HookVerdict::Ask { reason } => Some(Because::hook(reason)),
        _ => ruling.ask.map(Because::rule),
    }
}

fn ask_of(subject: &Subject<'_>, ask: Because) -> Verdict {
    match (subject.consent, subject.permissions.mode()) {
        (Consent::Typed, _) => Verdict::Allow { because: Because::Typed },
        (Consent::None, Mode::DontAsk) => {
            Verdict::Deny { because: Because::NobodyAsked { ask: Box::new(ask) } }
        }
        (Consent::None, _) => Verdict::Ask { because: ask },
    }
}

fn allowed(ruling: Ruling<'_>, hook: &HookVerdict, remembered: &Remembered) -> Option<Because> {
    if let Some(rule) = ruling.allow {
        return Some(Because::rule(rule));
    }
    if *hook == HookVerdict::Allow {
        return Some(Because::hook(""));
    }
    let answer = remembered.yes_to(&super::Question::Undecided)?;
    Some(Because::Remembered { answer })
}

fn undecided(subject: &Subject<'_>) -> Verdict {
    let mode = subject.permissions.mode();
    let because = Because::mode(mode);
    match (mode, subject.consent) {
        (Mode::Client, _) => Verdict::Allow { because: Because::Client },
        // What plan refuses was refused long before.
        (Mode::BypassPermissions | Mode::Plan, _) => Verdict::Allow { because },
        (_, Consent::Typed) => Verdict::Allow { because: Because::Typed },
        (Mode::Default, Consent::None) => Verdict::Ask { because },
        (Mode::DontAsk, Consent::None) => Verdict::Deny { because },
        (Mode::Auto, Consent::None) => Verdict::Classify,
    }
}

// === impl Verdict ===

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allow { because } => write!(f, "allow: {because}"),
            Self::Deny { because } => write!(f, "deny: {because}"),
            Self::Ask { because } => write!(f, "ask: {because}"),
            Self::Classify => f.write_str("classify"),
        }
    }
}
