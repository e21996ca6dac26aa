//! Tests of an administrator's policy, as users and commands meet it.
//!
//! The administrator's folder cannot be moved, on purpose. So each command runs in a mount namespace of its own in
//! which `/etc` holds only that folder.

use std::process::Command;

use crate::Story;

/// Puts the files in `$1` where the administrator's are.
const PREPARE: &str = "mount -t tmpfs none /etc && mkdir /etc/switchboard \
                       && cp -r \"$1\"/. /etc/switchboard";

/// Runs a command where these files stand in the administrator's folder, and writes down what it shows.
fn run(story: &mut Story, files: &[(&str, &str)], args: &[&str]) {
    for (name, text) in files {
        story.write(&format!("../managed/{name}"), text);
    }
    run_where(story, PREPARE, args);
}

/// Runs a command in a mount namespace that `prepare` has changed; `$1` there is the folder `managed` of the home.
fn run_where(story: &mut Story, prepare: &str, args: &[&str]) {
    let shown = shown_where(story, prepare, args);
    story.tell(args, &format!("\n{}", shown.trim_end()));
}

/// Runs a command where these files stand in the administrator's folder; what it shows.
pub(crate) fn shown_under(story: &Story, files: &[(&str, &str)], args: &[&str]) -> String {
    std::fs::create_dir_all(story.path("../managed")).unwrap();
    for (name, text) in files {
        story.write(&format!("../managed/{name}"), text);
    }
    shown_where(story, PREPARE, args)
}

fn shown_where(story: &Story, prepare: &str, args: &[&str]) -> String {
    let script = format!("{prepare} && shift && exec \"$@\"");
    let typed = story.command(args);
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", &script, "sh"]);
    command.arg(story.path("../managed")).arg(typed.get_program()).args(typed.get_args());
    command.current_dir(story.path("")).env_clear();
    command.envs(typed.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.output().unwrap();
    let shown = story.home.shown(&output);
    assert!(!shown.contains("unshare: "), "mount namespaces are needed: {shown}");
    shown
}

fn check(name: &str, files: &[(&str, &str)], lines: &[&[&str]]) {
    let mut story = Story::new();
    story.quietly(&["add", "mine", "sh"]);
    story.quietly(&["add", "web", "https://tools.example/mcp"]);
    for args in lines {
        run(&mut story, files, args);
    }
    insta::assert_snapshot!(name, story.transcript());
}

const LINES: &[&[&str]] = &[
    &["list", "--no-check"],
    &["get", "mine"],
    &["add", "other", "cat"],
    &["add", "site", "https://other.example/mcp"],
    &["--mcp-config", r#"{"mcpServers": {"now": {"command": "cat"}}}"#, "list", "--no-check"],
];

#[test]
fn the_administrators_servers_are_the_only_ones() {
    let servers = r#"{"mcpServers": {"corp": {"command": "cat"}}}"#;
    check("managed_exclusive", &[("managed-mcp.json", servers)], LINES);
}

#[test]
fn what_cannot_be_read_lets_nothing_run() {
    check("managed_broken", &[("managed-mcp.json", "{\"mcpServers\": {")], LINES);
    check("managed_broken_policy", &[("managed-settings.d/10.json", "[]")], LINES);
}

#[test]
fn policy_says_which_rule_and_where() {
    let deny =
        r#"{"deniedMcpServers": [{"serverUrl": "https://*.example/*"}, {"serverName": "mine"}]}"#;
    check("managed_denied", &[("managed-settings.json", deny)], LINES);
    let allow = r#"{"allowedMcpServers": [{"serverCommand": ["sh"]}]}"#;
    check("managed_allowed", &[("managed-settings.json", allow)], LINES);
}

/// A change that cannot be written says so, and changes nothing.
#[test]
fn a_disk_that_takes_no_writing() {
    let mut story = Story::new();
    story.quietly(&["add", "mine", "sh"]);
    story.quietly(&["add", "-s", "project", "shared", "sh"]);
    let read_only =
        "mount --bind \"$PWD\" \"$PWD\" && mount -o remount,bind,ro \"$PWD\" && cd \"$PWD\"";
    let changes: &[&[&str]] = &[
        &["add", "other", "sh"],
        &["add", "-s", "project", "other", "sh"],
        &["remove", "mine"],
        &["disable", "mine"],
        &["list", "--no-check"],
    ];
    for args in changes {
        run_where(&mut story, read_only, args);
    }
    story.cat(".switchboard/settings.local.json").cat(".mcp.json");
    insta::assert_snapshot!("read_only", story.transcript());
}
