//! Tests of permissions: rules, modes, classifier, remembered answers.

#![cfg(target_os = "linux")]
mod classifier;
mod judge;
mod memory;
mod rules;

use switchboard_config::{Mode, PermissionRule, PermissionRules, Scope, SourceOrigin, ToolPattern};
use switchboard_core::EngineProblem;
use switchboard_core::permission::WorkspacePermissions;

/// Rules of a user's file, in which each stands on a line of its own.
fn rules_of(lines: &[(&str, &str)]) -> PermissionRules {
    let mut rules = PermissionRules::default();
    let mut at = SourceOrigin::file("settings.json").start();
    for (kind, text) in lines {
        let rule = ToolPattern::parse(text).unwrap();
        let rule =
            PermissionRule { text: (*text).to_owned(), rule, scope: Scope::User, at: at.clone() };
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

fn permissions(
    lines: &[(&str, &str)],
    mode: Mode,
    configured: &[&str],
) -> (WorkspacePermissions, Vec<EngineProblem>) {
    let configured: Vec<String> = configured.iter().map(|name| (*name).to_owned()).collect();
    WorkspacePermissions::new(&rules_of(lines), mode, &configured)
}
