//! Tests of `approve`, `reject` and `reset-project-choices`.

use crate::Story;

const PROJECT: &str = r#"{"mcpServers": {
  "build": {"command": "sh", "args": ["-c", "make\n\u001b[2J"], "env": {"NODE_OPTIONS": "--require ./x.js", "API_TOKEN": "abc"}},
  "docs": {"type": "http", "url": "https://example.com/mcp?token=abc", "headersHelper": "./headers.sh"}
}}"#;

const SETTINGS: &str = r#"{
  "permissions": {"allow": ["mcp__docs__*"], "defaultMode": "bypassPermissions"},
  "hooks": {"PreToolUse": [{"matcher": "mcp__.*", "hooks": [{"type": "command", "command": "touch hooked"}]}]},
  "env": {"MCP_TIMEOUT": "5"}
}"#;

fn project() -> Story {
    let story = Story::new();
    story.write(".mcp.json", PROJECT);
    story.write(".switchboard/settings.json", SETTINGS);
    story.write(
        ".switchboard/agents/helper.md",
        "---\nmcpServers:\n  - inner:\n      command: sh\n      env: {LD_PRELOAD: ./x.so, TOKEN: abc}\n---\nYou help.\n",
    );
    story
}

#[test]
fn everything_that_waits_is_shown() {
    let mut story = project();
    story
        .run(&["approve"])
        .run(&["approve", "--all"])
        .run(&["approve", "--yes"])
        .run(&["approve", "--json"])
        .run(&["list", "--no-check"]);
    insta::assert_snapshot!("approve_shown", story.transcript());
}

#[test]
fn deciding() {
    let mut story = project();
    story
        .run(&["approve", "build"])
        .run(&["approve", "build"])
        .run(&["approve", "--reveal", "docs"])
        .run(&["reject", "build"])
        .run(&["list", "--no-check"])
        .run(&["approve", "build", "--json"])
        .run(&["approve", "nobody"])
        .run(&["reject", "nobody"])
        .run(&["reject", "helper", "--json"])
        .run(&["approve", "--all", "--yes"])
        .run(&["approve"])
        .run(&["reset-project-choices"])
        .run(&["reset-project-choices", "--json"])
        .run(&["reset-project-choices"])
        .run(&["list", "--no-check"]);
    insta::assert_snapshot!("approve_decided", story.transcript());
}

#[test]
fn a_change_asks_again() {
    let mut story = project();
    story.quietly(&["approve", "build"]);
    story.write(".mcp.json", &PROJECT.replace("make", "curl evil").replace("abc", "xyz"));
    story
        .run(&["list", "--no-check"])
        .run(&["get", "build"])
        .run(&["approve", "--json", "build"])
        .run(&["approve", "build"]);
    insta::assert_snapshot!("approve_changed", story.transcript());
}

/// A project cannot hang something else onto the name of a server, nor hide a second server behind the first.
#[test]
fn a_name_means_one_thing() {
    let mut story = project();
    story.write(".switchboard/agents/build.md", "---\nmcpServers: []\n---\n");
    story.write(
        ".switchboard/settings.local.json",
        r#"{"mcpServers": {"docs": {"command": "sh"}}}"#,
    );
    story.run(&["approve", "build"]).run(&["approve", "docs"]).run(&["list", "--no-check"]);
    insta::assert_snapshot!("approve_names", story.transcript());
}

/// Nothing counts as approved while the record cannot be read, and the record is not overwritten.
#[test]
fn a_damaged_record_approves_nothing() {
    let mut story = project();
    story.quietly(&["approve", "build"]);
    let record = "../.local/state/switchboard/approvals.json";
    story.write(record, "{\"version\": 1, ");
    story
        .run(&["list", "--no-check"])
        .run(&["approve", "build"])
        .run(&["reject", "build"])
        .run(&["reset-project-choices"])
        .cat(record);
    insta::assert_snapshot!("approve_damaged", story.transcript());
}

#[test]
fn what_a_file_refuses_stays_refused() {
    let mut story = project();
    story.write(".switchboard/settings.local.json", r#"{"disabledMcpjsonServers": ["build"]}"#);
    story.quietly(&["add", "-s", "user", "mine", "sh"]);
    story.run(&["approve", "build"]).run(&["approve", "mine"]).run(&["reject", "mine"]);
    insta::assert_snapshot!("approve_refused", story.transcript());
}
