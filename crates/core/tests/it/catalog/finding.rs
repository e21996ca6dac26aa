//! Tests of tool search by words, and of suggestions for misspelled names.

use serde_json::{Value, json};
use switchboard_core::catalog::Catalog;

use super::{compose, member, named, with_tools};

fn described(name: &str, description: &str, more: Value) -> Value {
    let mut tool = more;
    tool["name"] = json!(name);
    tool["description"] = json!(description);
    if tool["inputSchema"].is_null() {
        tool["inputSchema"] = json!({ "type": "object" });
    }
    tool
}

fn catalog() -> Catalog {
    let github = with_tools(&[
        described("create_issue", "Opens a new issue in a repository", json!({})),
        described("listPullRequests", "Lists pull requests of a repository", json!({})),
        described("search", "Searches code", json!({ "title": "Code search" })),
        described(
            "act",
            "Does things",
            json!({ "inputSchema": { "type": "object", "properties": { "workflowRun": {} } } }),
        ),
    ]);
    let weather = with_tools(&[
        described(
            "forecast",
            "Tomorrow",
            json!({ "_meta": { "anthropic/searchHint": "rain sun" } }),
        ),
        described("search", "Searches places", json!({})),
    ]);
    compose(&[member("github", github), member("weather", weather)])
}

fn hits(catalog: &Catalog, query: &str) -> Vec<String> {
    catalog.search(query, 10).into_iter().map(|hit| hit.name).collect()
}

#[test]
fn the_best_comes_first() {
    let catalog = catalog();
    for (query, first) in [
        ("issue", "mcp__github__create_issue"),
        ("open Issues", "mcp__github__create_issue"),
        ("pull request", "mcp__github__listPullRequests"),
        ("code", "mcp__github__search"),
        ("workflow", "mcp__github__act"),
        ("will it rain", "mcp__weather__forecast"),
        ("search places", "mcp__weather__search"),
        ("mcp__weather__search", "mcp__weather__search"),
        ("github__act", "mcp__github__act"),
        (" act ", "mcp__github__act"),
    ] {
        assert_eq!(hits(&catalog, query).first().map(String::as_str), Some(first), "{query}");
    }
    for query in ["", "  ", "nothing", "…"] {
        assert_eq!(hits(&catalog, query), [""; 0], "{query}");
    }
    assert_eq!(catalog.search("repository", 1).len(), 1);
    assert_eq!(catalog.search("repository", 0).len(), 0);
}

#[test]
fn equal_tools_come_by_name_and_scores_fall() {
    let catalog = compose(&[
        member("b", named(&["find_x"])),
        member("a", named(&["find_x"])),
        member("c", named(&["other", "find_x_and_y"])),
    ]);
    assert_eq!(
        hits(&catalog, "find"),
        ["mcp__a__find_x", "mcp__b__find_x", "mcp__c__find_x_and_y"]
    );
    // Both are called so; both come before whatever else fits.
    assert_eq!(hits(&catalog, "find_x")[..2], ["mcp__a__find_x", "mcp__b__find_x"]);
    let scores: Vec<_> = catalog.search("find", 9).into_iter().map(|hit| hit.score).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    assert_eq!(catalog.search("find y", 9), catalog.search("y find", 9));
}

#[test]
fn almost_right_names() {
    let catalog = catalog();
    for (typed, expected) in [
        ("mcp__github__create_isue", &["mcp__github__create_issue"][..]),
        ("github__create_issue", &["mcp__github__create_issue"]),
        ("Create_Issue", &["mcp__github__create_issue"]),
        ("serach", &["mcp__github__search", "mcp__weather__search"]),
        ("mcp__github__issue_create", &["mcp__github__create_issue"]),
        ("forcast", &["mcp__weather__forecast"]),
        ("zzz", &[]),
        ("", &[]),
    ] {
        assert_eq!(catalog.suggest(typed), expected, "{typed}");
    }
    assert_eq!(compose(&[]).suggest("x"), [""; 0]);
    let many = compose(&[member("s", named(&["tool1", "tool2", "tool3", "tool4"]))]);
    assert_eq!(many.suggest("tool9"), ["mcp__s__tool1", "mcp__s__tool2", "mcp__s__tool3"]);
}
