//! Tests of permissions: rules, modes, classifier, remembered answers.

#![cfg(target_os = "linux")]
mod classifier;
mod conditions;
mod explain;
mod judge;
mod memory;
mod rules;

use switchboard_config::{
    ArgumentCondition, ConditionalRule, PermissionMode, PermissionRule, PermissionRules,
    RuleAudience, Scope, SourceOrigin, ToolPattern,
};
use switchboard_core::EngineProblem;
use switchboard_core::permission::{RulePrincipal, WorkspacePermissions};
use switchboard_core::principal::LOCAL_PRINCIPAL;

/// Rules of a user's file, in which each stands on a line of its own.
fn rules_of(lines: &[(&str, &str)]) -> PermissionRules {
    let mut rules = PermissionRules::default();
    let mut at = SourceOrigin::file("settings.json").start();
    for (kind, text) in lines {
        let written = written_rule(text);
        let tools = ToolPattern::parse(&written.rule).unwrap();
        let rule = PermissionRule::new(written, tools, Scope::User, at.clone());
        at.line += 1;
        match *kind {
            "allow" => rules.allow.push(rule),
            "deny" => rules.deny.push(rule),
            "ask" => rules.ask.push(rule),
            other => panic!("no rules are called {other}"),
        }
    }
    rules
}

/// A rule from its text, or from its object as JSON.
fn written_rule(text: &str) -> ConditionalRule {
    let Ok(object) = serde_json::from_str::<serde_json::Value>(text) else {
        return ConditionalRule { rule: text.to_owned(), ..ConditionalRule::default() };
    };
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let audience = object
        .get("for")
        .map(|it| RuleAudience { group: text(&it["group"]), principal: text(&it["principal"]) });
    let when = object.get("when").map(|it| ArgumentCondition {
        argument: text(&it["argument"]).unwrap().parse().unwrap(),
        matches: text(&it["matches"]).unwrap(),
    });
    ConditionalRule { rule: text(&object["rule"]).unwrap(), audience, when }
}

/// The person who runs the engine.
fn local() -> RulePrincipal {
    RulePrincipal::new(LOCAL_PRINCIPAL)
}

fn permissions(
    lines: &[(&str, &str)],
    mode: PermissionMode,
    configured: &[&str],
) -> (WorkspacePermissions, Vec<EngineProblem>) {
    let configured: Vec<String> = configured.iter().map(|name| (*name).to_owned()).collect();
    WorkspacePermissions::new(&rules_of(lines), mode, &configured)
}
