//! Tests of `switchboard import`.

use crate::Story;

fn clients() -> Story {
    let story = Story::new();
    let here = story.path("").canonicalize().unwrap();
    story.write(
        "../.cursor/mcp.json",
        r#"{"mcpServers": {"one": {"command": "sh", "env": {"TOKEN": "abc", "HOST": "${env:HOST}"}}, "two words": {"url": "https://example.com/mcp"}, "bad": {"command": 5}}}"#,
    );
    story.write(
        "../.claude.json",
        &format!(
            r#"{{"mcpServers": {{"mine": {{"command": "sh", "args": ["1"]}}}}, "projects": {{"{}": {{"mcpServers": {{"here": {{"command": "sh", "args": ["2"]}}}}}}, "/elsewhere": {{"mcpServers": {{"there": {{"command": "x"}}}}}}}}}}"#,
            here.display()
        ),
    );
    story.write("../.codex/config.toml", "[mcp_servers.codex]\ncommand = \"sh\"\nargs = [\"3\"]\n");
    story
}

#[test]
fn copying_servers() {
    let mut story = clients();
    let before = std::fs::read(story.path("../.cursor/mcp.json")).unwrap();
    story
        .run(&["import", "cursor", "--dry-run"])
        .run(&["import", "cursor"])
        .run(&["import", "cursor", "--yes"])
        .run(&["import", "cursor", "--yes"])
        .run(&["import", "claude-code", "--yes"])
        .run(&["import", "codex", "-s", "project", "--yes", "--json"])
        .run(&["import", "zed"])
        .run(&["import", "emacs"])
        .run(&["list", "--no-check"])
        .cat("../.config/switchboard/settings.json");
    insta::assert_snapshot!("import", story.transcript());
    assert_eq!(std::fs::read(story.path("../.cursor/mcp.json")).unwrap(), before);
}

#[test]
fn one_that_fails_costs_no_other() {
    let mut story = clients();
    story.write(
        "../.config/switchboard/settings.json",
        "{\"deniedMcpServers\": [{\"serverName\": \"mine\"}]}",
    );
    story.run(&["import", "claude-code", "--yes"]).run(&["list", "--no-check"]);
    story.write("../.codex/config.toml", "[mcp_servers");
    story.run(&["import", "codex", "--yes"]);
    insta::assert_snapshot!("import_failing", story.transcript());
}
