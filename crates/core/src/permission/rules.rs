//! The permission rules of a workspace, and which rules match a tool.
//!
//! Used by `permission::judge`, by `engine::snapshot::build` (hidden servers and tools) and by the commands. A rule
//! is a tool's name, `mcp__<server>__<tool>`, with `*` as wildcard. Server names may contain `__`, so one rule can
//! have several readings. A rule that restricts (deny, ask) applies in every reading; a rule that permits must have
//! exactly one. Rules are compiled once; `permission::condition` judges their conditions.

use std::sync::Arc;

use switchboard_config::{
    PermissionMode, PermissionRule, PermissionRules, RuleList, SourceLocation, glob_matches,
};

use super::CitedRule;
use super::condition::{
    JudgedCall, RuleCondition, RuleEffect, RuleForce, RulePrincipal, repeated_member,
};
use crate::{EngineProblem, EngineProblemKind};

/// The rules of a workspace, and its mode for calls that no rule decides. Clones share the rules.
#[derive(Debug, Clone)]
pub struct WorkspacePermissions {
    mode: PermissionMode,
    written: Arc<CompiledRules>,
}

/// The compiled rules, for any mode.
#[derive(Debug)]
struct CompiledRules {
    deny: Vec<Restriction>,
    ask: Vec<Restriction>,
    allow: Vec<Allowance>,
    configured: Vec<String>,
    /// Whether some rule looks at arguments.
    judges_arguments: bool,
    /// Where settings with rules cannot be understood.
    unclear: Option<SourceLocation>,
}

/// The first rule of each kind that matches one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleMatches<'a> {
    /// The first rule that denies the call.
    pub deny: Option<&'a CitedRule>,
    /// The first rule that asks about the call.
    pub ask: Option<&'a CitedRule>,
    /// The first rule that allows the call.
    pub allow: Option<&'a CitedRule>,
    /// A member that occurs twice in the arguments, and a rule that looks at arguments of this tool.
    pub repeated: Option<(String, &'a CitedRule)>,
}

/// A rule about a tool, and whether it counts for a call.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ConsideredRule {
    /// The list.
    pub list: RuleList,
    /// The rule.
    #[serde(flatten)]
    pub rule: CitedRule,
    /// Whether the rule counts.
    pub effect: RuleEffect,
}

/// A rule that restricts (deny, ask): it matches tool names as text.
#[derive(Debug, Clone)]
struct Restriction {
    pattern: String,
    condition: Option<Box<RuleCondition>>,
    rule: CitedRule,
}

/// A rule that permits: one server, and a glob for its tools.
#[derive(Debug, Clone)]
struct Allowance {
    server: String,
    tools: String,
    condition: Option<Box<RuleCondition>>,
    rule: CitedRule,
}

// === impl WorkspacePermissions ===

impl WorkspacePermissions {
    /// Compiles the rules for these configured servers. `mode` is the mode in effect. `configured` holds the
    /// normalised name of each configured server once: two equal names there are two servers, and no allow rule can
    /// tell them apart.
    pub fn new(
        rules: &PermissionRules,
        mode: PermissionMode,
        configured: &[String],
    ) -> (Self, Vec<EngineProblem>) {
        let mut problems = Vec::new();
        let mut allow = Vec::new();
        for rule in &rules.allow {
            match readings(pattern(&rule.written.rule), configured).as_slice() {
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
        let (configured, unclear) = (configured.to_vec(), rules.unclear.clone());
        let mut all = rules.deny.iter().chain(&rules.ask).chain(&rules.allow);
        let judges_arguments = all.any(|rule| rule.written.when.is_some());
        let written = CompiledRules { deny, ask, allow, configured, judges_arguments, unclear };
        (Self { mode, written: Arc::new(written) }, problems)
    }

    /// Returns these rules under another mode.
    #[must_use]
    pub fn with_mode(&self, mode: PermissionMode) -> Self {
        Self { mode, written: Arc::clone(&self.written) }
    }

    /// Returns the mode for calls that no rule decides.
    pub fn mode(&self) -> PermissionMode {
        self.mode
    }

    /// Returns the rules that match a call of a tool. Both names are normalised and not cut.
    pub fn matching_rules(
        &self,
        server: &str,
        tool: &str,
        call: JudgedCall<'_>,
    ) -> RuleMatches<'_> {
        let name = [server, "__", tool].concat();
        let written = &*self.written;
        let deny = first_that_counts(&written.deny, server, &name, call);
        let ask = first_that_counts(&written.ask, server, &name, call);
        let allow = written
            .allow
            .iter()
            .find(|rule| rule.reaches(server, tool) && rule.effect(call).counts());
        let repeated = written.judges_arguments.then(|| {
            let rule = self.argument_rule(server, tool)?;
            Some((repeated_member(call.arguments.as_str())?, rule))
        });
        RuleMatches {
            deny,
            ask,
            allow: allow.map(|found| &found.rule),
            repeated: repeated.flatten(),
        }
    }

    /// Returns every rule about a tool, in the order of their strength, and whether it counts for a call.
    pub fn considered_rules(
        &self,
        server: &str,
        tool: &str,
        call: JudgedCall<'_>,
    ) -> Vec<ConsideredRule> {
        let name = [server, "__", tool].concat();
        let written = &*self.written;
        let restricting = [(RuleList::Deny, &written.deny), (RuleList::Ask, &written.ask)];
        let restricting = restricting.into_iter().flat_map(|(list, rules)| {
            let reaching = rules.iter().filter(|rule| rule.reaches(server, &name));
            reaching.map(move |rule| (list, &rule.rule, rule.effect(call)))
        });
        let permitting = written.allow.iter().filter(|rule| rule.reaches(server, tool));
        let permitting = permitting.map(|rule| (RuleList::Allow, &rule.rule, rule.effect(call)));
        let all = restricting.chain(permitting);
        let considered = |(list, rule, effect): (_, &CitedRule, _)| ConsideredRule {
            list,
            rule: rule.clone(),
            effect,
        };
        all.map(considered).collect()
    }

    /// Returns a rule that looks at the arguments of calls of a tool, whoever makes them.
    fn argument_rule(&self, server: &str, tool: &str) -> Option<&CitedRule> {
        let name = [server, "__", tool].concat();
        let judges = |condition: &Option<Box<RuleCondition>>| {
            condition.as_deref().is_some_and(RuleCondition::judges_arguments)
        };
        let mut restricting = self.written.deny.iter().chain(&self.written.ask);
        let restricting = restricting
            .find(|rule| judges(&rule.condition) && rule.reaches(server, &name))
            .map(|found| &found.rule);
        restricting.or_else(|| {
            let mut permitting = self.written.allow.iter();
            let found = permitting.find(|it| judges(&it.condition) && it.reaches(server, tool));
            found.map(|found| &found.rule)
        })
    }

    /// Returns where settings with rules or hooks cannot be understood, so that no call may be made.
    pub fn unclear_settings(&self) -> Option<&SourceLocation> {
        self.written.unclear.as_ref()
    }

    /// Whether a server is hidden: a rule denies a principal every tool that it has or may get.
    pub fn hides_server(&self, server: &str, principal: &RulePrincipal) -> bool {
        let mut deny = self.written.deny.iter();
        deny.any(|rule| rule.covers(server) && rule.restricts_every_call(principal))
    }

    /// Whether lists differ between members of different groups. Where the mode refuses what no rule allows, they do so
    /// by every rule.
    pub(crate) fn hides_by_group(&self) -> bool {
        let is_for_group = |condition: &Option<Box<RuleCondition>>| {
            condition.as_deref().is_some_and(RuleCondition::is_for_group)
        };
        let written = &*self.written;
        let in_mode = || {
            let mut ask = written.ask.iter().map(|rule| &rule.condition);
            let mut allow = written.allow.iter().map(|rule| &rule.condition);
            ask.any(is_for_group) || allow.any(is_for_group)
        };
        written.deny.iter().any(|rule| is_for_group(&rule.condition))
            || self.mode == PermissionMode::DontAsk && in_mode()
    }

    /// Whether a rule asks about every call of a tool by a principal, whatever the arguments are.
    pub(super) fn always_asks(&self, server: &str, tool: &str, principal: &RulePrincipal) -> bool {
        let name = [server, "__", tool].concat();
        let mut ask = self.written.ask.iter();
        ask.any(|rule| rule.reaches(server, &name) && rule.restricts_every_call(principal))
    }

    /// Whether a rule allows some calls of a tool by a principal.
    pub(super) fn could_allow(&self, server: &str, tool: &str, principal: &RulePrincipal) -> bool {
        let is_for = |rule: &Allowance| {
            rule.condition.as_deref().is_none_or(|condition| condition.is_for(principal))
        };
        self.written.allow.iter().any(|rule| rule.reaches(server, tool) && is_for(rule))
    }

    /// Returns the rule that denies a principal every call of a tool, so that it is not listed.
    pub fn hiding_rule(
        &self,
        server: &str,
        tool: &str,
        principal: &RulePrincipal,
    ) -> Option<&CitedRule> {
        let name = [server, "__", tool].concat();
        let mut deny = self.written.deny.iter();
        let found =
            deny.find(|rule| rule.reaches(server, &name) && rule.restricts_every_call(principal));
        found.map(|found| &found.rule)
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

fn first_that_counts<'a>(
    rules: &'a [Restriction],
    server: &str,
    name: &str,
    call: JudgedCall<'_>,
) -> Option<&'a CitedRule> {
    let mut rules = rules.iter();
    let found = rules.find(|rule| rule.reaches(server, name) && rule.effect(call).counts());
    found.map(|found| &found.rule)
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
        Self {
            pattern: pattern(&rule.written.rule).to_owned(),
            condition: RuleCondition::of(&rule.written),
            rule: rule.into(),
        }
    }
}

impl Restriction {
    /// Whether the rule matches a tool. As text, a rule matches every tool that one of its readings matches.
    fn reaches(&self, server: &str, name: &str) -> bool {
        self.pattern == server || glob_matches(&self.pattern, name)
    }

    fn effect(&self, call: JudgedCall<'_>) -> RuleEffect {
        let judge = |condition: &RuleCondition| condition.effect(call, RuleForce::Restrict);
        self.condition.as_deref().map_or(RuleEffect::Counts, judge)
    }

    /// Whether the rule restricts a principal whatever the arguments are.
    fn restricts_every_call(&self, principal: &RulePrincipal) -> bool {
        let judge = |it: &RuleCondition| !it.judges_arguments() && it.is_for(principal);
        self.condition.as_deref().is_none_or(judge)
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
        Self {
            server: server.to_owned(),
            tools: tools.to_owned(),
            condition: RuleCondition::of(&rule.written),
            rule: rule.into(),
        }
    }

    fn effect(&self, call: JudgedCall<'_>) -> RuleEffect {
        let judge = |condition: &RuleCondition| condition.effect(call, RuleForce::Permit);
        self.condition.as_deref().map_or(RuleEffect::Counts, judge)
    }

    fn reaches(&self, server: &str, tool: &str) -> bool {
        self.server == server && glob_matches(&self.tools, tool)
    }
}
