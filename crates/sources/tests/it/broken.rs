//! Tests of broken files: the last good state stays, and restrictions take effect all the same.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use switchboard_config::{ConfigProblemKind, Scope};
use switchboard_sources::{DesiredSnapshot, SourceProblem};

use crate::fixture::{
    Home, add, has_kind, is_held, is_narrowed, ready, replace, servers, soon, state, write,
};

const BROKEN: &str = r#"{ "mcpServers": { "a": { "command": "#;

/// A bundle with one server, `plugin:kit:<name>`.
fn bundle(home: &Home, name: &str) {
    let text = format!(r#"{{"mcpServers": {{"{name}": {{"command": "kit-{name}"}}}}}}"#);
    write(home.path(".config/switchboard/plugins/kit/.mcp.json"), text);
}

fn denies(snapshot: &DesiredSnapshot, rule: &str) -> bool {
    let rules = &snapshot.desired.rules;
    rules.deny.iter().any(|deny| deny.text == rule)
}

fn allows(snapshot: &DesiredSnapshot, rule: &str) -> bool {
    let rules = &snapshot.desired.rules;
    rules.allow.iter().any(|allow| allow.text == rule)
}

#[tokio::test]
async fn the_last_good_state_stays_until_the_file_is_repaired() {
    let home = Home::new();
    write(home.settings(), servers(&["a", "b"]));
    let mut followed = home.follow().await;
    write(home.settings(), BROKEN);
    let snapshot = followed.until(is_held).await;
    assert_eq!(ready(&snapshot), ["a", "b"]);
    assert!(has_kind(&snapshot, ConfigProblemKind::Malformed));
    let at = snapshot.problems.iter().find_map(|problem| match problem {
        SourceProblem::BrokenFile { file } => Some(file.clone()),
        _ => None,
    });
    assert_eq!(at, Some(home.settings()));
    // Another broken text is another problem with an unchanged state.
    replace(home.settings(), "\n\n]");
    let again = followed.until(|now| now.generation > snapshot.generation).await;
    assert!(is_held(&again) && ready(&again) == ["a", "b"]);
    replace(home.settings(), servers(&["c"]));
    let snapshot = followed.ready(&["c"]).await;
    assert!(snapshot.problems.is_empty(), "{:?}", snapshot.problems);
    soon(followed.sources.shutdown()).await;
}

#[tokio::test]
async fn a_broken_file_that_is_deleted_is_gone() {
    let home = Home::new();
    write(home.settings(), servers(&["a"]));
    let mut followed = home.follow().await;
    write(home.settings(), BROKEN);
    followed.until(is_held).await;
    fs::remove_file(home.settings()).unwrap();
    let snapshot = followed.ready(&[]).await;
    assert!(snapshot.problems.is_empty(), "{:?}", snapshot.problems);
    soon(followed.sources.shutdown()).await;
}

#[tokio::test]
async fn a_link_to_nothing_is_broken_too() {
    let home = Home::new();
    write(home.settings(), servers(&["a"]));
    let mut followed = home.follow().await;
    fs::remove_file(home.settings()).unwrap();
    std::os::unix::fs::symlink("nowhere.json", home.settings()).unwrap();
    // Replaced in two steps, so the file may be seen as missing in between; the final state counts.
    let snapshot =
        followed.until(|snapshot| has_kind(snapshot, ConfigProblemKind::Unreadable)).await;
    assert!(is_held(&snapshot) || ready(&snapshot).is_empty());
    write(home.path(".config/switchboard/nowhere.json"), servers(&["b"]));
    followed.ready(&["b"]).await;
    soon(followed.sources.shutdown()).await;
}

#[tokio::test]
async fn a_file_that_was_never_good_is_not_waited_for() {
    let home = Home::new();
    write(home.settings(), BROKEN);
    bundle(&home, "x");
    let mut followed = home.follow().await;
    let snapshot = followed.now();
    assert!(has_kind(&snapshot, ConfigProblemKind::Malformed) && !is_held(&snapshot));
    bundle(&home, "y");
    let snapshot = followed.ready(&["plugin:kit:y"]).await;
    assert!(!is_narrowed(&snapshot));
    soon(followed.sources.shutdown()).await;
}

#[tokio::test]
async fn a_deny_rule_elsewhere_counts_at_once() {
    let home = Home::new();
    write(home.settings(), servers(&["a"]));
    bundle(&home, "x");
    let mut followed = home.follow().await;
    write(home.settings(), BROKEN);
    let snapshot = followed.until(is_held).await;
    assert_eq!(ready(&snapshot), ["a", "plugin:kit:x"]);
    let text = r#"{
        "deniedMcpServers": [{"serverName": "plugin:kit:x"}, {"serverName": "a"}],
        "permissions": {"deny": ["mcp__a__danger"]}
    }"#;
    write(home.path("project/.switchboard/settings.json"), text);
    let snapshot = followed.until(is_narrowed).await;
    assert!(ready(&snapshot).is_empty());
    assert_eq!(state(&snapshot, "plugin:kit:x"), "blocked");
    assert_eq!(state(&snapshot, "a"), "invalid");
    assert!(denies(&snapshot, "mcp__a__danger"));
    // After the repair, only the present rules count.
    write(home.settings(), servers(&["a", "b"]));
    let snapshot = followed.ready(&["b"]).await;
    assert_eq!(state(&snapshot, "a"), "blocked");
    soon(followed.sources.shutdown()).await;
}

#[tokio::test]
async fn what_the_broken_file_denied_stays_denied() {
    let home = Home::new();
    let settings = r#"{
        "deniedMcpServers": [{"serverName": "plugin:kit:x"}, {"serverName": "plugin:kit:y"}],
        "permissions": {"deny": ["mcp__p__danger"], "allow": ["mcp__p__read"], "defaultMode": "plan"}
    }"#;
    write(home.settings(), settings);
    bundle(&home, "x");
    add(&home, Scope::Project, "p");
    let mut followed = home.follow().await;
    write(home.settings(), BROKEN);
    let snapshot = followed.until(is_held).await;
    assert_eq!(ready(&snapshot), ["p"]);
    bundle(&home, "y");
    let snapshot = followed.until(is_narrowed).await;
    // The old server was removed, and the unreadable file denies the new one.
    assert_eq!(ready(&snapshot), ["p"]);
    assert_eq!(state(&snapshot, "plugin:kit:x"), "absent");
    assert_eq!(state(&snapshot, "plugin:kit:y"), "invalid");
    assert!(denies(&snapshot, "mcp__p__danger") && !allows(&snapshot, "mcp__p__read"));
    let mode = snapshot.desired.rules.mode.as_ref().unwrap();
    assert_eq!(mode.value, switchboard_config::PermissionMode::Plan);
    soon(followed.sources.shutdown()).await;
}

#[tokio::test]
async fn a_withdrawn_approval_and_a_rejection_count_at_once() {
    for reject in [false, true] {
        let home = Home::new();
        write(home.settings(), servers(&["a"]));
        add(&home, Scope::Project, "p");
        let mut followed = home.follow().await;
        assert_eq!(ready(&followed.now()), ["a", "p"]);
        write(home.settings(), BROKEN);
        followed.until(is_held).await;
        let items: Vec<_> = followed
            .now()
            .desired
            .servers_named("p")
            .filter_map(|server| server.item.clone())
            .collect();
        if reject {
            home.workspace().reject(&items).unwrap();
        } else {
            home.workspace().forget_approvals().unwrap();
        }
        let snapshot = followed.until(is_narrowed).await;
        assert!(ready(&snapshot).is_empty());
        let expected = if reject { "rejected" } else { "awaiting-approval" };
        assert_eq!(state(&snapshot, "p"), expected);
        soon(followed.sources.shutdown()).await;
    }
}

/// Even if the broken file defines the server: its approval cannot be checked, so it does not count.
#[tokio::test]
async fn a_server_of_the_broken_file_does_not_outlive_its_approval() {
    let home = Home::new();
    add(&home, Scope::Project, "p");
    let mut followed = home.follow().await;
    write(home.path("project/.mcp.json"), BROKEN);
    let snapshot = followed.until(is_held).await;
    assert_eq!(ready(&snapshot), ["p"]);
    home.workspace().forget_approvals().unwrap();
    let snapshot = followed.ready(&[]).await;
    assert_eq!(state(&snapshot, "p"), "invalid");
    let is_said = |problem: &SourceProblem| matches!(problem, SourceProblem::Waiting { .. });
    assert!(snapshot.problems.iter().any(is_said));
    // A file of servers holds no rules, so servers of other files may start; a merge conflict in it stops no
    // other work.
    write(home.settings(), servers(&["new"]));
    followed.ready(&["new"]).await;
    soon(followed.sources.shutdown()).await;
}

#[tokio::test]
async fn nothing_new_starts_while_a_file_is_broken() {
    let home = Home::new();
    write(home.settings(), servers(&["a"]));
    add(&home, Scope::Project, "p");
    let mut followed = home.follow().await;
    write(home.settings(), BROKEN);
    followed.until(is_held).await;
    add(&home, Scope::Local, "new");
    let snapshot = followed.until(|snapshot| state(snapshot, "new") == "invalid").await;
    assert_eq!(ready(&snapshot), ["p"]);
    write(home.settings(), servers(&["a"]));
    followed.ready(&["a", "new", "p"]).await;
    soon(followed.sources.shutdown()).await;
}

#[tokio::test]
async fn a_damaged_record_of_approvals_is_not_held() {
    let home = Home::new();
    write(home.settings(), servers(&["a"]));
    add(&home, Scope::Project, "p");
    let mut followed = home.follow().await;
    write(home.path(".local/state/switchboard/approvals.json"), "{");
    let snapshot = followed.ready(&["a"]).await;
    assert!(has_kind(&snapshot, ConfigProblemKind::ApprovalsUnreadable));
    soon(followed.sources.shutdown()).await;
}

#[tokio::test]
async fn a_file_that_cannot_be_opened_is_broken() {
    let home = Home::new();
    write(home.settings(), servers(&["a"]));
    let mut followed = home.follow().await;
    fs::set_permissions(home.settings(), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(home.settings()).is_err() {
        let snapshot = followed.until(is_held).await;
        assert_eq!(ready(&snapshot), ["a"]);
    }
    fs::set_permissions(home.settings(), fs::Permissions::from_mode(0o600)).unwrap();
    write(home.settings(), servers(&["b"]));
    followed.ready(&["b"]).await;
    soon(followed.sources.shutdown()).await;
}

/// Temporary files of an editor are ignored.
#[tokio::test]
async fn leavings_of_an_editor_do_not_narrow() {
    let home = Home::new();
    let agent = home.path(".config/switchboard/agents/helper.md");
    write(&agent, "---\nmcpServers: [a]\n---\nHelp.");
    write(home.settings(), servers(&["a", "b"]));
    let asked = switchboard_config::ResolveOptions {
        agent: Some("helper".to_owned()),
        ..switchboard_config::ResolveOptions::default()
    };
    let mut followed = home.follow_asked(asked, crate::fixture::options()).await;
    assert_eq!(ready(&followed.now()), ["a"]);
    fs::copy(&agent, home.path(".config/switchboard/agents/helper.md~")).unwrap();
    write(&agent, "---\nmcpServers: [a\n---\nHelp.");
    let snapshot =
        followed.until(|snapshot| has_kind(snapshot, ConfigProblemKind::Malformed)).await;
    assert!(is_held(&snapshot) && ready(&snapshot) == ["a"]);
    write(&agent, "---\nmcpServers: [b]\n---\nHelp.");
    followed.ready(&["b"]).await;
    soon(followed.sources.shutdown()).await;
}

/// A server that the broken file disabled does not start from a lower scope.
#[tokio::test]
async fn a_name_that_was_taken_stays_taken() {
    let home = Home::new();
    let off = r#"{"mcpServers": {"a": {"command": "true", "disabled": true}}}"#;
    write(home.path("project/.mcp.json"), off);
    write(home.settings(), servers(&["a", "b"]));
    let mut followed = home.follow().await;
    assert_eq!(ready(&followed.now()), ["b"]);
    write(home.path("project/.mcp.json"), BROKEN);
    followed.until(is_held).await;
    write(home.settings(), servers(&["a", "b", "c"]));
    let snapshot = followed.ready(&["b", "c"]).await;
    assert_eq!(state(&snapshot, "a"), "invalid");
    soon(followed.sources.shutdown()).await;
}
