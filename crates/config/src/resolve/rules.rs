//! The permission rules, the mode and the classifier of all scopes, each as far as its scope or approval permits.
//!
//! Used by `resolve`. Rules are decoded in `settings`, and calls are matched in `core::permission`. A rule that denies or
//! asks and cannot be understood never counts for less than its author meant: a condition that is not understood is left
//! out, and where the tools are not understood, no call is made at all.

use serde_json::json;

use super::approval_gate::ApprovalGate;
use super::desired::{ClassifierCommand, PermissionRule, PermissionRules};
use super::settings::is_honoured;
use crate::approval::ApprovalItemKind;
use crate::load::{LoadedConfig, SettingsLayer};
use crate::problem::{ConfigProblem, ConfigProblemKind, ProblemHint};
use crate::scope::Scope;
use crate::settings::{ConditionalRule, ToolPattern, WrittenRule};
use crate::source::LocatedValue;

/// The rules of all layers, as they are collected.
struct RuleCollector<'a> {
    gate: &'a mut ApprovalGate,
    problems: &'a mut Vec<ConfigProblem>,
    rules: PermissionRules,
}

pub(super) fn collect_rules(
    loaded: &LoadedConfig,
    gate: &mut ApprovalGate,
    problems: &mut Vec<ConfigProblem>,
) -> PermissionRules {
    let rules = PermissionRules {
        unclear: loaded.unclear_restrictions.clone(),
        ..PermissionRules::default()
    };
    let mut collector = RuleCollector { gate, problems, rules };
    for layer in &loaded.layers {
        collector.add_rules(layer);
        collector.add_mode(layer);
        collector.add_classifier(layer);
    }
    collector.rules
}

// === impl RuleCollector ===

impl RuleCollector<'_> {
    fn add_rules(&mut self, layer: &SettingsLayer) {
        let permissions = &layer.settings.permissions;
        let unclear = &layer.settings.unclear_restrictions;
        self.rules.unclear = self.rules.unclear.take().or_else(|| unclear.clone());
        let deny = self.restrictions(&permissions.deny, layer.scope);
        self.rules.deny.extend(deny);
        let ask = self.restrictions(&permissions.ask, layer.scope);
        self.rules.ask.extend(ask);
        for allow in &permissions.allow {
            if let Some(allow) = self.allowance(allow, layer) {
                self.rules.allow.push(allow);
            }
        }
    }

    /// The rules of a list that denies or asks.
    fn restrictions(
        &mut self,
        list: &[LocatedValue<WrittenRule>],
        scope: Scope,
    ) -> Vec<PermissionRule> {
        let mut understood = Vec::new();
        for written in list {
            self.report(written);
            let rule = &written.value.rule;
            match ToolPattern::parse(&rule.rule) {
                Ok(tools) => {
                    let rule = if written.value.is_broken() {
                        ConditionalRule { rule: rule.rule.clone(), ..ConditionalRule::default() }
                    } else {
                        rule.clone()
                    };
                    understood.push(PermissionRule::new(rule, tools, scope, written.at.clone()));
                }
                Err(error) => {
                    self.reject(written, error.to_string());
                    if written.value.is_conditional() || !names_built_in_tool(&rule.rule) {
                        self.rules.unclear.get_or_insert_with(|| written.at.clone());
                    }
                }
            }
        }
        understood
    }

    /// A rule that allows, if it takes effect.
    fn allowance(
        &mut self,
        written: &LocatedValue<WrittenRule>,
        layer: &SettingsLayer,
    ) -> Option<PermissionRule> {
        self.report(written);
        let rule = &written.value.rule;
        let tools = match ToolPattern::parse(&rule.rule) {
            Ok(ToolPattern::Everything) => {
                self.reject(written, "`mcp__*` can deny and ask, not allow".to_owned());
                return None;
            }
            Ok(tools) => tools,
            Err(error) => {
                self.reject(written, error.to_string());
                return None;
            }
        };
        if written.value.is_broken() {
            return None;
        }
        let allow = PermissionRule::new(rule.clone(), tools, layer.scope, written.at.clone());
        if written.value.is_conditional() && !layer.scope.is_trusted() {
            let message = format!("a project cannot allow with conditions: `{}`", allow.text);
            let problem = ConfigProblem::error(ConfigProblemKind::NotHonoured, message);
            let problem = problem.at(written.at.clone()).hint(ProblemHint::MoveToUserSettings);
            self.problems.push(problem);
            return None;
        }
        let (kind, content) = (ApprovalItemKind::AllowRule, json!(allow.text));
        is_honoured(layer, self.gate, kind, &allow.text, content, &allow.at).then_some(allow)
    }

    fn add_mode(&mut self, layer: &SettingsLayer) {
        let Some(mode) = &layer.settings.permissions.default_mode else { return };
        let word = mode.value.word();
        if is_honoured(layer, self.gate, ApprovalItemKind::Mode, word, json!(word), &mode.at) {
            self.rules.mode = Some(mode.clone());
            if layer.scope == Scope::Enterprise {
                self.rules.managed_mode = Some(mode.value);
            }
        }
    }

    fn add_classifier(&mut self, layer: &SettingsLayer) {
        let Some(command) = &layer.settings.permissions.classifier else { return };
        let (kind, text) = (ApprovalItemKind::Classifier, &command.value);
        if is_honoured(layer, self.gate, kind, text, json!(text), &command.at) {
            self.rules.classifier = Some(ClassifierCommand {
                command: text.clone(),
                start_folder: layer.start_folder.clone(),
                at: command.at.clone(),
            });
        }
    }

    /// Reports why conditions cannot be understood.
    fn report(&mut self, written: &LocatedValue<WrittenRule>) {
        self.problems.extend(written.value.problems.iter().cloned());
    }

    fn reject(&mut self, written: &LocatedValue<WrittenRule>, message: String) {
        // Without `rule` there is a problem already.
        if !written.value.rule.rule.is_empty() || !written.value.is_broken() {
            let problem = ConfigProblem::error(ConfigProblemKind::BadRule, message);
            self.problems.push(problem.at(written.at.clone()));
        }
    }
}

/// Whether a rule is about a tool that another client has built in, such as `Bash(ls)` or `WebFetch`, which is not called
/// here. Everything else, such as `github/delete` or `github`, was meant for a tool of a server.
fn names_built_in_tool(rule: &str) -> bool {
    let name = rule.split_once('(').map_or(rule, |(name, _)| name);
    name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric())
}
