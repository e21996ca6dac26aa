//! Tests of global flags, and of broken configuration files.

use crate::Story;

#[test]
fn configuration_for_one_run() {
    let mut story = Story::new();
    story.quietly(&["add", "local", "sh"]);
    story.write("extra.json", r#"{"mcpServers": {"file": {"command": "sh"}}}"#);
    let text = r#"{"mcpServers": {"text": {"command": "sh"}}}"#;
    story
        .run(&["--mcp-config", "extra.json", "list", "--no-check", "--mcp-config", text])
        .run(&["list", "--no-check", "--mcp-config", text, "--strict-mcp-config"])
        .run(&["list", "--no-check", "--mcp-config", "no-such.json"])
        .run(&["list", "--no-check", "--mcp-config", "{"]);
    insta::assert_snapshot!("mcp_config", story.transcript());
}

#[test]
fn other_folders() {
    let mut story = Story::new();
    story.write("sub/.mcp.json", r#"{"mcpServers": {"sub": {"command": "sh"}}}"#);
    story
        .run(&["--config-dir", "settings", "add", "-s", "user", "a", "sh"])
        .cat("settings/settings.json")
        .run(&["list", "--no-check"])
        .run(&["list", "--no-check", "--config-dir", "settings"])
        .run(&["--project", "sub", "list", "--no-check"])
        .run(&["--project", "nowhere", "list"]);
    let folder = story.path("settings").display().to_string();
    story.set("SWITCHBOARD_CONFIG_DIR", &folder);
    story.run(&["list", "--no-check"]);
    story.set("HOME", "relative");
    story.run(&["list"]).run(&["probe", "--json", "no-such-command"]);
    insta::assert_snapshot!("folders", story.transcript());
}

/// One bad file never stops the others, and each says where it is bad.
#[test]
fn broken_files() {
    let mut story = Story::new();
    story.quietly(&["add", "-s", "user", "good", "sh"]);
    story.write(".mcp.json", "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"sh\"\n  }\n}\n");
    story.write(
        ".switchboard/settings.local.json",
        r#"{"mcpServers": 5, "nonsense": 1, "connectors": {}}"#,
    );
    story.write(
        ".switchboard/settings.json",
        r#"{"permissions": {"allow": ["mcp__*", "Bash"]}, "env": {"PATH": "/tmp"}}"#,
    );
    story
        .run(&["list", "--no-check"])
        .run(&["get", "good"])
        .run(&["get", "a"])
        .run(&["approve"])
        .run(&["-q", "list", "--no-check"])
        .run(&["list", "--no-check", "--json"]);
    insta::assert_snapshot!("broken_files", story.transcript());
}

#[test]
fn colour_is_for_terminals() {
    let story = Story::new();
    story.quietly(&["add", "a", "sh"]);
    for (when, coloured) in [("always", true), ("never", false), ("auto", false)] {
        let output = story.quietly(&["list", "--no-check", "--color", when]);
        assert_eq!(output.stdout.contains(&0x1b), coloured, "{when}");
    }
}

/// Text from a file does nothing to the terminal.
#[test]
fn hostile_text_is_shown_as_text() {
    let mut story = Story::new();
    story.write(
        ".mcp.json",
        r#"{"mcpServers": {"\u001b[2Jevil\u202e": {"command": "s\u001b]0;x\u0007h", "args": ["\u001b[31m\u200b"]}, "b\nad": {"command": 1, "\u001b[5m": 2}}}"#,
    );
    story.run(&["list", "--no-check"]).run(&["approve"]).run(&["get", "\u{1b}[2Jevil\u{202e}"]);
    let shown = story.transcript();
    assert!(!shown.split('\n').any(|line| !line.starts_with('$') && line.contains(['\u{1b}', '\u{202e}', '\u{200b}'])), "{shown}");
    insta::assert_snapshot!(
        "hostile_text",
        shown.replace('\u{1b}', "<ESC>").replace('\u{202e}', "<RLO>")
    );
}
