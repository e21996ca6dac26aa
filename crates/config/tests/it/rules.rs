//! Tests of adding and removing permission rules.

use std::fs;

use serde_json::{Value, json};
use switchboard_config::{Error, RuleList, Scope};

use crate::case::World;

/// Rules are added to and removed from the lists of the user's and the project's local settings; every other byte stays.
#[test]
fn rules_are_added_and_removed_and_all_else_stays() {
    let world = World::new();
    let before = "{\n  // mine\n  \"permissions\": {\n    \"deny\": [\n      \"mcp__a\", // first\n    ],\n  },\n  \"limits\": {\"spillDays\": 1},\n}\n";
    world.write("config/settings.json", before);
    let workspace = world.workspace();
    let rule = json!({ "rule": "mcp__b__*", "when": { "argument": "/x", "matches": "y" } });
    let add = |scope, list, rule: &Value| workspace.add_rule(scope, list, rule);
    let path = add(Scope::User, RuleList::Deny, &rule).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("// mine") && text.contains("\"mcp__a\", // first"), "{text}");
    assert!(
        text.contains(r#"{"rule":"mcp__b__*","when":{"argument":"/x","matches":"y"}}"#),
        "{text}"
    );
    let denied = |text: &str| world.desired().rules.deny.iter().any(|rule| rule.text == text);
    assert!(denied("mcp__a") && denied(r#"mcp__b__* when /x matches "y""#));
    // A rule stands there once.
    add(Scope::User, RuleList::Deny, &rule).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    workspace.remove_rule(Scope::User, RuleList::Deny, &rule).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
    let gone = workspace.remove_rule(Scope::User, RuleList::Deny, &rule).unwrap_err();
    assert!(matches!(gone, Error::NoRule { .. }), "{gone}");
    // What a person adds for a project needs no approval; nothing else in that file gets one.
    world.write(
        "project/.switchboard/settings.local.json",
        r#"{"permissions": {"allow": ["mcp__evil"]}}"#,
    );
    add(Scope::Local, RuleList::Allow, &json!("mcp__c")).unwrap();
    let allowed: Vec<_> = world.desired().rules.allow.into_iter().map(|rule| rule.text).collect();
    assert_eq!(allowed, ["mcp__c"]);
}

#[test]
fn a_rule_that_would_not_count_is_not_written() {
    let world = World::new();
    let workspace = world.workspace();
    let check = |scope, list, rule: Value, why: &str| {
        let error = workspace.add_rule(scope, list, &rule).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    };
    check(Scope::User, RuleList::Deny, json!("github"), "is not a rule");
    check(Scope::User, RuleList::Deny, json!(5), "neither a text nor an object");
    check(Scope::User, RuleList::Allow, json!("mcp__*"), "can deny and ask, not allow");
    check(
        Scope::User,
        RuleList::Deny,
        json!({ "rule": "mcp__a", "when": {} }),
        "has no `argument`",
    );
    check(
        Scope::User,
        RuleList::Ask,
        json!({ "rule": "mcp__a", "fro": {} }),
        "unknown member `fro`",
    );
    let conditional = json!({ "rule": "mcp__a", "for": { "group": "dev" } });
    check(Scope::Local, RuleList::Allow, conditional, "only your own settings can allow");
    check(Scope::Project, RuleList::Deny, json!("mcp__a"), "cannot be changed here");
    check(Scope::Enterprise, RuleList::Deny, json!("mcp__a"), "cannot be changed here");
    assert!(!world.path("config/settings.json").exists());
}
