//! Which servers an administrator, or the user, lets run.
//!
//! Deny wins. Where an allow list holds a URL, remote servers have to match by URL (a name is chosen by whoever
//! writes the entry), and where it holds a command, local ones by command. A server inside this process, native plugins
//! among them, has neither and is meant by its name.

mod admitted_entry;
mod glob;
mod rule;
mod url_pattern;

use crate::entry::{Entry, Transport};
use crate::problem::{ConfigProblem, ConfigProblemKind};
use crate::scope::Scope;
use crate::source::{Located, SourceLocation};

pub use admitted_entry::AdmittedEntry;
pub use glob::glob_matches;
pub use rule::ServerRule;
pub(crate) use rule::decode_server_rule;
pub use url_pattern::{InvalidUrlPattern, UrlPattern};

/// Everything that limits which servers run, from all scopes that may say so.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    allow: Option<Vec<Located<ServerRule>>>,
    deny: Vec<Located<ServerRule>>,
    /// Where the list of allowed servers stands, for messages.
    allow_at: Option<SourceLocation>,
    /// Why nothing may run at all.
    closed: Option<ConfigProblem>,
}

/// Why a server may not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyDenial {
    /// One sentence.
    pub why: String,
    /// The rule, or the file, that says so.
    pub by: Option<SourceLocation>,
}

impl Policy {
    /// Nothing may run, because of `problem`.
    pub(crate) fn close(&mut self, problem: ConfigProblem) {
        self.closed.get_or_insert(problem);
    }

    pub(crate) fn deny(&mut self, rules: &[Located<ServerRule>]) {
        self.deny.extend_from_slice(rules);
    }

    pub(crate) fn allow(&mut self, rules: &[Located<ServerRule>], at: &SourceLocation) {
        self.allow.get_or_insert_default().extend_from_slice(rules);
        // The last to speak is the highest, and the one to turn to.
        self.allow_at = Some(at.clone());
    }

    /// Whether a server may run. `entry` is absent where its variables have no values; then only names are judged.
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

fn allows(rules: &[Located<ServerRule>], name: &str, entry: Option<&Entry>) -> bool {
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

/// Says that an administrator's file cannot be used, and that nothing runs because of it.
pub(crate) fn failed_closed_problem(cause: &ConfigProblem, scope: Scope) -> ConfigProblem {
    let message = format!("no server is started: {} ({scope} scope)", cause.message);
    let mut problem = ConfigProblem::error(ConfigProblemKind::FailedClosed, message);
    problem.at.clone_from(&cause.at);
    problem.hint(crate::problem::ProblemHint::AskAdministrator)
}
