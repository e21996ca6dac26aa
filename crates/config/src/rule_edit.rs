//! Adding and removing permission rules in the user's settings and in the project's local ones.
//!
//! Used by `hub::admin::rules`. Every byte of the file but the rule stays. It does not decide whether a rule takes effect
//! (`resolve::rules`).

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::approval::{ApprovalItem, ApprovalItemKind};
use crate::edit;
use crate::error::Error;
use crate::scope::Scope;
use crate::settings::{ToolPattern, WrittenRule};
use crate::source::{ConfigNode, SourceOrigin};
use crate::workspace::ConfigWorkspace;

/// The lists of permission rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleList {
    /// `permissions.deny`.
    Deny,
    /// `permissions.ask`.
    Ask,
    /// `permissions.allow`.
    Allow,
}

// === impl RuleList ===

impl RuleList {
    /// The list's name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
        }
    }
}

// === impl ConfigWorkspace ===

impl ConfigWorkspace {
    /// Adds a rule to a list, unless it is there already, and approves exactly that rule. Returns the file.
    pub fn add_rule(&self, scope: Scope, list: RuleList, rule: &Value) -> Result<PathBuf, Error> {
        let path = self.rule_file(scope)?;
        let at = SourceOrigin::file(&path).start();
        let written = WrittenRule::decode(&ConfigNode::from_json(rule, &at));
        let refuse = |why: String| Error::Rule { rule: rule.to_string(), why };
        let written = written.ok_or_else(|| refuse("it is neither a text nor an object".into()))?;
        if let Some(problem) = written.problems.first() {
            return Err(refuse(problem.message.clone()));
        }
        let tools = ToolPattern::parse(&written.rule.rule);
        let tools = tools.map_err(|error| refuse(error.to_string()))?;
        if list == RuleList::Allow && tools == ToolPattern::Everything {
            return Err(refuse("`mcp__*` can deny and ask, not allow".into()));
        }
        if list == RuleList::Allow && written.is_conditional() && !scope.is_trusted() {
            return Err(refuse("with conditions, only your own settings can allow".into()));
        }
        let member = ["permissions", list.name()];
        self.change_file(scope, &path, |text| {
            edit::add_to_list(text, &member, rule.clone()).map(Some)
        })?;
        if list == RuleList::Allow {
            let text = written.rule.to_string();
            let kind = ApprovalItemKind::AllowRule;
            let item = ApprovalItem::new(kind, text.clone(), json!(text), at);
            self.approve_written(scope, &[item])?;
        }
        Ok(path)
    }

    /// Removes a rule from a list, and returns the file.
    pub fn remove_rule(
        &self,
        scope: Scope,
        list: RuleList,
        rule: &Value,
    ) -> Result<PathBuf, Error> {
        let path = self.rule_file(scope)?;
        let member = ["permissions", list.name()];
        let is_removed = self.change_file(scope, &path, |text| {
            let shorter = edit::remove_from_list(text, &member, rule.clone())?;
            Ok((shorter != text).then_some(shorter))
        })?;
        if is_removed { Ok(path) } else { Err(Error::NoRule { rule: rule.to_string(), path }) }
    }

    fn rule_file(&self, scope: Scope) -> Result<PathBuf, Error> {
        match scope {
            Scope::User | Scope::Local => self.file_of_scope(scope),
            // The project's file of servers holds no rules.
            scope => Err(Error::ReadOnly { scope }),
        }
    }
}
