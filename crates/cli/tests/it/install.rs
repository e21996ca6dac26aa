//! Tests of `switchboard install` and `switchboard uninstall`.

use crate::Story;

#[test]
fn in_and_out() {
    let mut story = Story::new();
    let before = "{\n  // mine\n  \"mcpServers\": {\n    \"one\": {\"command\": \"sh\", \"env\": {\"TOKEN\": \"abc\"}}\n  }\n}\n";
    story.write("../.cursor/mcp.json", before);
    story
        .run(&["install", "cursor", "--dry-run"])
        .run(&["install", "cursor"])
        .run(&["install", "cursor", "--yes"])
        .run(&["install", "cursor", "--yes"])
        .cat("../.cursor/mcp.json")
        .run(&["import", "cursor", "--dry-run"])
        .run(&["install", "cursor", "--yes", "--", "--servers", "one"])
        .run(&["uninstall", "cursor", "--dry-run"])
        .run(&["uninstall", "cursor", "--yes"])
        .run(&["uninstall", "cursor", "--yes"]);
    insta::assert_snapshot!("install", story.transcript());
    assert_eq!(std::fs::read_to_string(story.path("../.cursor/mcp.json")).unwrap(), before);
}

#[test]
fn for_machines_and_with_flags() {
    let mut story = Story::new();
    story
        .run(&["install", "codex", "--yes", "--json", "--", "--tool-search", "auto"])
        .cat("../.codex/config.toml")
        .run(&["--config-dir", "elsewhere", "install", "zed", "--name", "all", "--yes", "--json"])
        .cat("../.config/zed/settings.json")
        .run(&["install", "vscode", "--json"])
        .run(&["uninstall", "codex", "--yes", "--json"])
        .run(&["uninstall", "codex", "--yes", "--json"]);
    insta::assert_snapshot!("install_json", story.transcript());
}

#[test]
fn what_cannot_be_done_is_said() {
    let mut story = Story::new();
    story.write(
        "../.gemini/settings.json",
        r#"{"mcpServers": {"switchboard": {"command": "theirs", "env": {"TOKEN": "abc"}}}}"#,
    );
    story.write("../.codex/config.toml", "[mcp_servers\n");
    story
        .run(&["install", "gemini", "--yes"])
        .run(&["uninstall", "gemini", "--yes"])
        .run(&["install", "codex", "--yes"])
        .run(&["install", "emacs"])
        .run(&["install", "goose"])
        .run(&["install", "cursor", "--yes", "--", "--nonsense"])
        .cat("../.codex/config.toml");
    insta::assert_snapshot!("install_failing", story.transcript());
}
