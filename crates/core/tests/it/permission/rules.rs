//! Tests of permission rules: which tools a rule matches.

use switchboard_config::PermissionMode;
use switchboard_core::EngineProblemKind;
use switchboard_core::permission::JudgedCall;
use switchboard_wire::json::Raw;

use super::{local, permissions};

/// Which kinds of rules reach a tool where one text stands as a rule of each kind.
fn reach(rule: &str, configured: &[&str], server: &str, tool: &str) -> String {
    let lines = [("deny", rule), ("ask", rule), ("allow", rule)];
    let (permissions, _) = permissions(&lines, PermissionMode::Default, configured);
    let (principal, arguments) = (local(), Raw::empty_object());
    let call = JudgedCall { principal: &principal, arguments: &arguments };
    let ruling = permissions.matching_rules(server, tool, call);
    let found = [("deny", ruling.deny), ("ask", ruling.ask), ("allow", ruling.allow)];
    let names: Vec<_> = found.iter().filter(|(_, rule)| rule.is_some()).map(|it| it.0).collect();
    names.join(" ")
}

#[test]
fn a_rule_with_one_reading_counts_whatever_its_kind() {
    let check = |rule, tool, expected| {
        let found = reach(rule, &["github", "git"], "github", tool);
        assert_eq!(found, expected, "{rule} {tool}");
    };
    check("mcp__github", "get_issue", "deny ask allow");
    check("mcp__github__*", "get_issue", "deny ask allow");
    check("mcp__github__get_*", "get_issue", "deny ask allow");
    check("mcp__github__*_issue", "get_issue", "deny ask allow");
    check("mcp__github__get_issue", "get_issue", "deny ask allow");
    check("mcp__github__get_*", "create_issue", "");
    check("mcp__github__get_issue", "get_issues", "");
    check("mcp__git", "get_issue", "");
    check("mcp__git__*", "get_issue", "");
    check("mcp__hub", "get_issue", "");
}

#[test]
fn what_takes_away_does_so_in_every_reading_and_what_permits_has_one() {
    let check = |rule, configured: &[&str], server, tool, expected| {
        assert_eq!(reach(rule, configured, server, tool), expected, "{rule} {server} {tool}");
    };
    let both = ["a", "a__b"];
    // A tool of one server, or all of the other.
    check("mcp__a__b", &both, "a", "b", "deny ask");
    check("mcp__a__b", &both, "a__b", "x", "deny ask");
    // A tool of either.
    check("mcp__a__b__c", &both, "a", "b__c", "deny ask");
    check("mcp__a__b__c", &both, "a__b", "c", "deny ask");
    // Only one server is meant; what takes away still matches the other as text.
    check("mcp__a__*", &both, "a", "x", "deny ask allow");
    check("mcp__a__*", &both, "a__b", "x", "deny ask");
    check("mcp__a__x", &both, "a", "x", "deny ask allow");
    check("mcp__a", &both, "a__b", "x", "");
    check("mcp__a__b", &["a"], "a", "b", "deny ask allow");
    check("mcp__a__b__c", &["a__b"], "a__b", "c", "deny ask allow");
    // Two servers of one name.
    check("mcp__a", &["a", "a"], "a", "x", "deny ask");
    // Everything can be taken away, and is never permitted.
    check("mcp__*", &["a"], "a", "x", "deny ask");
    check("mcp__*", &[], "unheard_of", "x", "deny ask");
}

#[test]
fn a_rule_that_could_mean_two_servers_is_a_problem() {
    let check = |rule, configured: &[&str], expected: &[&str]| {
        let (_, problems) = permissions(&[("allow", rule)], PermissionMode::Default, configured);
        assert!(problems.iter().all(|problem| problem.kind == EngineProblemKind::AmbiguousRule));
        assert!(problems.iter().all(|problem| problem.item.as_deref() == Some(rule)));
        let messages: Vec<_> = problems.iter().map(|problem| &*problem.message).collect();
        assert_eq!(messages, expected);
    };
    check("mcp__a", &["a", "b"], &[]);
    check("mcp__elsewhere", &["a", "b"], &[]);
    check(
        "mcp__a__b",
        &["a", "a__b"],
        &[
            "the rule `mcp__a__b` (settings.json:1:1) could mean server `a` or server `a__b`, and so \
           allows nothing",
        ],
    );
    check(
        "mcp__a__x",
        &["a", "a"],
        &[
            "the rule `mcp__a__x` (settings.json:1:1) could mean `a`, a name that two servers have, and \
           so allows nothing",
        ],
    );
}

#[test]
fn what_is_denied_is_hidden() {
    let check = |rule, server, tool, hides_server, hides_tool| {
        let (permissions, _) =
            permissions(&[("deny", rule)], PermissionMode::Default, &["a", "a__b"]);
        let hides_tool_now = permissions.hiding_rule(server, tool, &local()).is_some();
        let found = (permissions.hides_server(server, &local()), hides_tool_now);
        assert_eq!(found, (hides_server, hides_tool), "{rule} {server} {tool}");
    };
    check("mcp__*", "a", "x", true, true);
    check("mcp__a", "a", "x", true, true);
    check("mcp__a__*", "a", "x", true, true);
    check("mcp__a__**", "a", "x", true, true);
    check("mcp__a__*", "a__b", "x", true, true);
    check("mcp__a__b", "a__b", "x", true, true);
    check("mcp__a__x", "a", "x", false, true);
    check("mcp__a__x*", "a", "xy", false, true);
    check("mcp__a__*x", "a", "yx", false, true);
    check("mcp__a__x", "a", "y", false, false);
    check("mcp__b", "a", "x", false, false);
}

#[test]
fn the_rule_that_would_allow_a_tool_allows_exactly_that() {
    let check = |configured: &[&str], server, tool, expected: Option<&str>| {
        let (silent, _) = permissions(&[], PermissionMode::Default, configured);
        let rule = silent.allow_rule_for(server, tool);
        assert_eq!(rule.as_deref(), expected);
        if let Some(rule) = rule {
            let (talking, problems) =
                permissions(&[("allow", &rule)], PermissionMode::Default, configured);
            let (principal, arguments) = (local(), Raw::empty_object());
            let call = JudgedCall { principal: &principal, arguments: &arguments };
            assert!(
                talking.matching_rules(server, tool, call).allow.is_some() && problems.is_empty()
            );
        }
    };
    check(&["a", "a__b"], "a", "x", Some("mcp__a__x"));
    check(&["a"], "a", "b__c", Some("mcp__a__b__c"));
    check(&["a", "a__b"], "a", "b__c", None);
    check(&["a", "a__b"], "a", "b", None);
    check(&["a", "a"], "a", "x", None);
}
