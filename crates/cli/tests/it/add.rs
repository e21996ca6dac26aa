//! Tests of `switchboard add` and `switchboard add-json`.

use std::os::unix::fs::PermissionsExt;

use crate::Story;

#[test]
fn every_way_to_add() {
    let mut story = Story::new();
    story
        .run(&["add", "files", "sh", "-c", "exit 1", "--token", "${X:-y}"])
        .run(&["add", "same", "--", "sh", "-e", "-H", "--json"])
        .run(&["add", "-s", "user", "-e", "HOME", "-e", "LEVEL=debug", "time", "sh"])
        .run(&["add", "--scope", "project", "team", "sh"])
        .run(&["add", "docs", "https://example.com/mcp"])
        .run(&["add", "docs2", "https://example.com/2", "-H", "X-Team: ${TEAM:-a}", "-s", "user"])
        .run(&["add", "live", "wss://example.com/ws"])
        .run(&["add", "-t", "ws", "live2", "wss://example.com/ws"])
        .run(&["add", "-t", "sse", "old", "https://example.com/sse"])
        .run(&["add", "-t", "streamable-http", "new", "https://example.com/x"])
        .run(&[
            "add",
            "--client-id",
            "me",
            "--client-secret",
            "${SECRET}",
            "--callback-port",
            "8123",
            "--xaa",
            "corp",
            "https://corp.example/mcp",
        ])
        .run(&[
            "add-json",
            "json",
            r#"{"command": "sh", "timeout": 5000, /* why */ "args": ["-c", "x"],}"#,
        ])
        .run(&["add-json", "-s", "user", "short", r#"{"url": "https://example.com/short"}"#])
        .cat(".switchboard/settings.local.json")
        .cat(".switchboard/.gitignore")
        .cat(".mcp.json")
        .cat("../.config/switchboard/settings.json");
    insta::assert_snapshot!("added", story.transcript());
    for file in ["../.config/switchboard/settings.json", ".switchboard/settings.local.json"] {
        let mode = std::fs::metadata(story.path(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
}

#[test]
fn slips_are_recognized() {
    let mut story = Story::new();
    story.write(".mcp.json", r#"{"servers": {"a": {"command": "sh"}}}"#);
    story.write(".switchboard/settings.local.json", r#"{"mcpServers": {"b": {"comand": "sh"}}}"#);
    story
        .run(&["add", "web", "example.com/mcp"])
        .run(&["add", "-t", "http", "web", "example.com/mcp"])
        .run(&["add", "web", "localhost:8000/mcp"])
        .run(&["add", "db", "npx", "-y", "server", "-s", "user"])
        .run(&["add", "db", "npx", "--scope=project"])
        .run(&["list", "--no-check"])
        .run(&["add", "other", "--", "sh", "-s", "user"]);
    insta::assert_snapshot!("add_slips", story.transcript());
}

#[test]
fn warnings_do_not_stop() {
    let mut story = Story::new();
    story
        .run(&["add", "gone", "no-such-command"])
        .run(&["add", "node", "npx-is-not-here/npx"])
        .run(&["add", "-e", "GITHUB_TOKEN=abc", "-e", "NOT_SET", "gh", "sh", "--api-key", "k"])
        .run(&["add", "-H", "Authorization: Bearer abc", "web", "https://u:p@example.com/?token=t"])
        .run(&["add", "-s", "user", "gone", "sh"])
        .run(&["add", "-q", "quiet", "no-such-command"])
        .run(&["add-json", "odd", r#"{"command": "sh", "colour": "blue"}"#]);
    insta::assert_snapshot!("add_warnings", story.transcript());
}

#[test]
fn mistakes_are_explained() {
    let mut story = Story::new();
    story.quietly(&["add", "taken", "sh"]);
    story
        .run(&["add", "taken", "sh"])
        .run(&["add", "two words", "sh"])
        .run(&["add", "alone"])
        .run(&["add", "a", "ftp://example.com/"])
        .run(&["add", "a", "https://"])
        .run(&["add", "-t", "http", "a", "npx"])
        .run(&["add", "-t", "ws", "a", "https://example.com/"])
        .run(&["add", "-t", "carrier-pigeon", "a", "x"])
        .run(&["add", "-s", "galaxy", "a", "x"])
        .run(&["add", "-e", "A=b", "a", "https://example.com/"])
        .run(&["add", "-e", "sk-secret-value", "a", "sh"])
        .run(&["add", "-e", "=b", "a", "sh"])
        .run(&["add", "-H", "A: b", "a", "sh"])
        .run(&["add", "-H", "secret", "a", "https://example.com/"])
        .run(&["add", "-H", "A B: c", "a", "https://example.com/"])
        .run(&["add", "--client-id", "x", "a", "sh"])
        .run(&["add", "--xaa", "a", "wss://example.com/"])
        .run(&[
            "add",
            "--client-id",
            "x",
            "--client-secret",
            "literal",
            "a",
            "https://example.com/",
        ])
        .run(&["add", "--callback-port", "0", "a", "https://example.com/"])
        .run(&["add", "a", "https://example.com/", "more"])
        .run(&["add", "a", "https://example.com/", "--nonsense"])
        .run(&["add", "--nonsense", "a", "sh"])
        .run(&["add", "a", "--nonsense", "sh"])
        .run(&["add-json", "a", "{"])
        .run(&["add-json", "a", "[]"])
        .run(&["add-json", "a", r#"{"type": "http"}"#])
        .run(&["add-json", "a", r#"{"type": "sdk"}"#])
        .run(&["add-json", "a", r#"{"command": "sh", "timeout": 5}"#])
        .run(&[
            "add-json",
            "a",
            r#"{"type": "http", "url": "https://x.example/", "oauth": {"clientSecret": "s3cret"}}"#,
        ]);
    insta::assert_snapshot!("add_mistakes", story.transcript());
}

#[test]
fn the_json_of_a_whole_file_needs_no_name() {
    let mut story = Story::new();
    let whole =
        r#"{"mcpServers": {"b": {"command": "sh"}, "a": {"url": "https://a.example/mcp"}}}"#;
    story
        .run(&["add-json", "-s", "user", whole])
        .run(&["add-json", whole])
        .run(&["add-json", "{\"command\": \"sh\"}"])
        .run(&["add-json", "{\"mcpServers\": {}}"])
        .run(&["add-json", "{"]);
    insta::assert_snapshot!("add_json_whole", story.transcript());
}

#[test]
fn files_that_cannot_be_changed_stay() {
    let mut story = Story::new();
    story.write(".mcp.json", "{\"mcpServers\": {\n  \"a\": }\n");
    story.run(&["add", "-s", "project", "x", "sh"]);
    story.write(".mcp.json", "{\"mcpServers\": []}");
    story.run(&["add", "-s", "project", "x", "sh"]);
    std::os::unix::fs::symlink("/etc", story.path(".switchboard")).unwrap();
    story.run(&["add", "x", "sh"]);
    insta::assert_snapshot!("add_refused", story.transcript());
}

#[test]
fn policy_is_obeyed() {
    let mut story = Story::new();
    story.write(
        "../.config/switchboard/settings.json",
        "{\"deniedMcpServers\": [\n  {\"serverName\": \"bad\"},\n  {\"serverUrl\": \"https://*.evil.example/*\"}\n]}",
    );
    story
        .run(&["add", "bad", "sh"])
        .run(&["add", "x", "https://a.evil.example/mcp"])
        .run(&["--json", "add", "bad", "sh"]);
    insta::assert_snapshot!("add_denied", story.transcript());
}

#[test]
fn for_machines() {
    let mut story = Story::new();
    story
        .run(&["--json", "add", "-e", "TOKEN=abc", "a", "no-such-command"])
        .run(&["add", "--json", "a", "sh"])
        .run(&["add", "--json"])
        .run(&["--json", "add-json", "b", "{"])
        .run(&["remove", "a", "--json"])
        .run(&["remove", "a", "--json"]);
    insta::assert_snapshot!("add_json_output", story.transcript());
}
