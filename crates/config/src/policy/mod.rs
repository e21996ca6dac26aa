//! Policy: which servers the administrator or the user allows.
//!
//! Used by `resolve`, which collects the rules (`resolve::policy`). Deny wins. If an allow list holds a URL,
//! remote servers have to match by URL, because the author of an entry chooses its name; if it holds a
//! command, local servers have to match by command. An in-process server, native plugins included, has
//! neither and is matched by its name.

mod admitted_entry;
mod glob;
mod rule;
mod url_pattern;

use crate::entry::{Entry, Transport};
use crate::problem::{ConfigProblem, ConfigProblemKind};
use crate::scope::Scope;
use crate::source::{LocatedValue, SourceLocation};

pub use admitted_entry::AdmittedEntry;
pub use glob::glob_matches;
pub use rule::ServerRule;
pub(crate) use rule::decode_server_rule;
pub use url_pattern::{InvalidUrlPattern, UrlPattern};

/// All rules on which servers may run, from all scopes that may set them.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    allow: Option<Vec<LocatedValue<ServerRule>>>,
    deny: Vec<LocatedValue<ServerRule>>,
    /// Where the allow list stands, for messages.
    allow_at: Option<SourceLocation>,
    /// The problem because of which nothing may run.
    closed: Option<ConfigProblem>,
}

/// Why a server may not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyDenial {
    /// The reason, in one sentence.
    pub why: String,
    /// The rule, or the file, that denies it.
    pub by: Option<SourceLocation>,
}

impl Policy {
    /// Denies every server, because of `problem`.
    pub(crate) fn close(&mut self, problem: ConfigProblem) {
        self.closed.get_or_insert(problem);
    }

    pub(crate) fn deny(&mut self, rules: &[LocatedValue<ServerRule>]) {
        self.deny.extend_from_slice(rules);
    }

    pub(crate) fn allow(&mut self, rules: &[LocatedValue<ServerRule>], at: &SourceLocation) {
        self.allow.get_or_insert_default().extend_from_slice(rules);
        // The last allow list is of the highest scope, and messages name it.
        self.allow_at = Some(at.clone());
    }

    /// Whether a server may run. `entry` is absent if its variables have no values; then only names are
    /// matched.
    pub fn judge(&self, name: &str, entry: Option<&Entry>) -> Result<(), PolicyDenial> {
        if let Some(problem) = &self.closed {
            return Err(PolicyDenial { why: problem.message.clone(), by: problem.at.clone() });
        }
        if let Some(rule) = self.deny.iter().find(|rule| rule.value.denies(name, entry)) {
            let why = format!("denied by the rule {}", rule.value);
            return Err(PolicyDenial { why, by: Some(rule.at.clone()) });
        }
        match &self.allow {
            Some(rules) if !allows(rules, name, entry) => Err(PolicyDenial {
                why: "not among the allowed servers".to_owned(),
                by: self.allow_at.clone(),
            }),
            _ => Ok(()),
        }
    }
}

fn allows(rules: &[LocatedValue<ServerRule>], name: &str, entry: Option<&Entry>) -> bool {
    let rules = || rules.iter().map(|rule| &rule.value);
    let Some(entry) = entry else {
        return rules().any(|rule| rule.names(name)) || rules().next().is_some();
    };
    let decisive: fn(&ServerRule) -> bool = match entry.transport {
        Transport::Stdio(_) => |rule| matches!(rule, ServerRule::ServerCommand(_)),
        Transport::Sdk => |_| false,
        _ => |rule| matches!(rule, ServerRule::ServerUrl(_)),
    };
    if rules().any(decisive) {
        rules().any(|rule| decisive(rule) && rule.allows(name, entry))
    } else {
        rules().any(|rule| rule.names(name))
    }
}

/// The problem that an administrator's file is unreadable, so that nothing runs.
pub(crate) fn failed_closed_problem(cause: &ConfigProblem, scope: Scope) -> ConfigProblem {
    let message = format!("no server is started: {} ({scope} scope)", cause.message);
    let mut problem = ConfigProblem::error(ConfigProblemKind::FailedClosed, message);
    problem.at.clone_from(&cause.at);
    problem.hint(crate::problem::ProblemHint::AskAdministrator)
}
