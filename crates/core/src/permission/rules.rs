//! The permission rules of a workspace, and which rules match a tool.
//!
//! Used by `permission::judge`, by `engine::snapshot::build` (hidden servers and tools) and by the commands. A rule
//! is a tool's name, `mcp__<server>__<tool>`, with `*` as wildcard. Server names may contain `__`, so one rule can
//! have several readings. A rule that restricts (deny, ask) applies in every reading; a rule that permits must have
//! exactly one.

use std::sync::Arc;

use switchboard_config::{Mode, PermissionRule, PermissionRules, glob_matches};

use super::CitedRule;
use crate::{EngineProblem, EngineProblemKind};

/// The rules of a workspace, and its mode for calls that no rule decides. Clones share the rules.
#[derive(Debug, Clone)]
pub struct WorkspacePermissions {
    mode: Mode,
    written: Arc<CompiledRules>,
}

/// The compiled rules, for any mode.
#[derive(Debug)]
struct CompiledRules {
    deny: Vec<Restriction>,
    ask: Vec<Restriction>,
    allow: Vec<Allowance>,
    configured: Vec<String>,
}

/// The first rule of each kind that matches one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleMatches<'a> {
    /// The first rule that denies the tool.
    pub deny: Option<&'a CitedRule>,
    /// The first rule that asks about the tool.
    pub ask: Option<&'a CitedRule>,
    /// The first rule that allows the tool.
    pub allow: Option<&'a CitedRule>,
}

/// A rule that restricts (deny, ask): it matches tool names as text.
#[derive(Debug, Clone)]
struct Restriction {
    pattern: String,
    rule: CitedRule,
}

/// A rule that permits: one server, and a glob for its tools.
#[derive(Debug, Clone)]
struct Allowance {
    server: String,
    tools: String,
    rule: CitedRule,
}

// === impl WorkspacePermissions ===

impl WorkspacePermissions {
    /// Compiles the rules for these configured servers. `mode` is the mode in effect. `configured` holds the
    /// normalised name of each configured server once: two equal names there are two servers, and no allow rule can
    /// tell them apart.
    pub fn new(
        rules: &PermissionRules,
        mode: Mode,
        configured: &[String],
    ) -> (Self, Vec<EngineProblem>) {
        let mut problems = Vec::new();
        let mut allow = Vec::new();
        for rule in &rules.allow {
            match readings(pattern(&rule.text), configured).as_slice() {
                // A rule for a server that is configured elsewhere.
                [] => {}
                [(server, tools)] => allow.push(Allowance::new(server, tools, rule)),
                [(one, _), .., (other, _)] => {
                    problems.push(ambiguous_rule_problem(rule, one, other));
                }
            }
        }
        let deny = rules.deny.iter().map(Restriction::from).collect();
        let ask = rules.ask.iter().map(Restriction::from).collect();
        let written = CompiledRules { deny, ask, allow, configured: configured.to_vec() };
        (Self { mode, written: Arc::new(written) }, problems)
    }

    /// Returns these rules under another mode.
    #[must_use]
    pub fn with_mode(&self, mode: Mode) -> Self {
        Self { mode, written: Arc::clone(&self.written) }
    }

    /// Returns the mode for calls that no rule decides.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns the rules that match a tool. Both names are normalised and not cut.
    pub fn ruling(&self, server: &str, tool: &str) -> RuleMatches<'_> {
        let name = [server, "__", tool].concat();
        let written = &*self.written;
        let allow = written.allow.iter().find(|rule| rule.reaches(server, tool));
        RuleMatches {
            deny: first(&written.deny, server, &name),
            ask: first(&written.ask, server, &name),
            allow: allow.map(|found| &found.rule),
        }
    }

    /// Whether a server is hidden: a rule denies every tool that it has or may get.
    pub fn hides_server(&self, server: &str) -> bool {
        self.written.deny.iter().any(|rule| rule.covers(server))
    }

    /// Whether a tool is denied, and so not listed.
    pub fn hides_tool(&self, server: &str, tool: &str) -> bool {
        first(&self.written.deny, server, &format!("{server}__{tool}")).is_some()
    }

    /// Returns the rule that would allow exactly this tool; `None` where its name could mean another server's tool.
    pub fn allow_rule_for(&self, server: &str, tool: &str) -> Option<String> {
        let name = format!("{server}__{tool}");
        match readings(&name, &self.written.configured).as_slice() {
            [(only, _)] if *only == server => Some(format!("mcp__{name}")),
            _ => None,
        }
    }
}

fn first<'a>(rules: &'a [Restriction], server: &str, name: &str) -> Option<&'a CitedRule> {
    rules.iter().find(|rule| rule.reaches(server, name)).map(|found| &found.rule)
}

/// Removes the prefix that all rules have.
fn pattern(text: &str) -> &str {
    text.strip_prefix("mcp__").unwrap_or(text)
}

/// Returns every server and tool glob that a rule can mean. A server that is configured twice occurs twice.
fn readings<'a>(pattern: &'a str, configured: &'a [String]) -> Vec<(&'a str, &'a str)> {
    let read = |server: &'a String| {
        let rest = pattern.strip_prefix(server.as_str())?;
        match rest.strip_prefix("__") {
            _ if rest.is_empty() => Some((server.as_str(), "*")),
            Some(tools) if !tools.is_empty() => Some((server.as_str(), tools)),
            _ => None,
        }
    };
    configured.iter().filter_map(read).collect()
}

fn ambiguous_rule_problem(rule: &PermissionRule, one: &str, other: &str) -> EngineProblem {
    let what = if one == other {
        format!("`{one}`, a name that two servers have")
    } else {
        format!("server `{one}` or server `{other}`")
    };
    let message =
        format!("the rule `{}` ({}) could mean {what}, and so allows nothing", rule.text, rule.at);
    EngineProblem::new(EngineProblemKind::AmbiguousRule, message).of_item(&rule.text)
}

// === impl Restriction ===

impl From<&PermissionRule> for Restriction {
    fn from(rule: &PermissionRule) -> Self {
        Self { pattern: pattern(&rule.text).to_owned(), rule: rule.into() }
    }
}

impl Restriction {
    /// Whether the rule matches a tool. As text, a rule matches every tool that one of its readings matches.
    fn reaches(&self, server: &str, name: &str) -> bool {
        self.pattern == server || glob_matches(&self.pattern, name)
    }

    /// Whether the rule matches every possible tool of a server.
    fn covers(&self, server: &str) -> bool {
        let open_ended = self.pattern.ends_with('*');
        self.pattern == server
            || (open_ended && glob_matches(&self.pattern, &format!("{server}__")))
    }
}

// === impl Allowance ===

impl Allowance {
    fn new(server: &str, tools: &str, rule: &PermissionRule) -> Self {
        Self { server: server.to_owned(), tools: tools.to_owned(), rule: rule.into() }
    }

    fn reaches(&self, server: &str, tool: &str) -> bool {
        self.server == server && glob_matches(&self.tools, tool)
    }
}
