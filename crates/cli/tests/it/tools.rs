//! Tests of `switchboard tools`.

use crate::Story;

/// A project with a kiosk, which has one of everything.
pub(crate) fn kiosk() -> Story {
    let mut story = Story::new();
    story.put_on_path(&switchboard_testkit::programs::program("kiosk"));
    std::fs::create_dir(story.path("tmp")).unwrap();
    let tmp = story.path("tmp");
    story.set("TMPDIR", tmp.to_str().unwrap());
    story.quietly(&["add", "kiosk", "kiosk"]);
    story
}

#[test]
fn what_there_is() {
    let mut story = kiosk();
    story
        .run(&["tools"])
        .run(&["tools", "kiosk", "--search", "orders"])
        .run(&["tools", "mcp__kiosk__order"])
        .run(&["tools", "kiosk/say"])
        .run(&["tools", "kiosk/say", "--json"])
        .run(&["tools", "order", "--json"])
        .run(&["tools", "--search", "nothing that fits"]);
    insta::assert_snapshot!("tools", story.transcript());
}

/// Servers that are not there are said to be, with why; what works is shown all the same.
#[test]
fn who_is_not_there() {
    let mut story = kiosk();
    story.set("MCP_TIMEOUT", "2000");
    story.quietly(&["add", "gone", "no-such-command"]);
    story.quietly(&["add", "off", "no-such-command"]);
    story.quietly(&["disable", "off"]);
    story.write(".mcp.json", r#"{"mcpServers": {"asks": {"command": "touch", "args": ["ran"]}}}"#);
    story
        .run(&["tools"])
        .run(&["tools", "--json", "--search", "erase"])
        .run(&["tools", "gone"])
        .run(&["tools", "off"])
        .run(&["tools", "asks"])
        .run(&["tools", "nobody"]);
    insta::assert_snapshot!("tools_absent", story.transcript());
    assert!(!story.path("ran").exists());
}

/// A tool for apps only is not listed. It is shown and called by its name.
#[test]
fn a_tool_for_apps() {
    let story = Story::new();
    let program = switchboard_testkit::programs::program("kiosk");
    story.quietly(&["add", "kiosk", "--", program.to_str().unwrap(), "--app"]);
    let said = |arguments: &[&str]| {
        let ended = story.quietly(arguments);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&ended.stdout), text(&ended.stderr))
    };
    let note = "Not listed: 1 tool for apps only, not for models. `switchboard tools mcp__kiosk__restock` shows one.";
    let (listed, told) = said(&["tools"]);
    assert!(listed.contains("mcp__kiosk__say") && !listed.contains("restock"), "{listed}");
    assert!(told.contains(note), "{told}");
    let (found, _) = said(&["tools", "--search", "restock", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["appTools"], serde_json::json!(["mcp__kiosk__restock"]));
    assert!(!found["tools"].to_string().contains("restock"), "{found}");
    let (shown, _) = said(&["tools", "mcp__kiosk__restock"]);
    assert!(shown.contains("mcp__kiosk__restock"), "{shown}");
    let (called, _) = said(&["call", "mcp__kiosk__restock"]);
    assert_eq!(called, "restocked\n");
}

/// With nothing configured there is the built-in server to try.
#[test]
fn nothing_is_configured() {
    let mut story = Story::new();
    story
        .run(&["tools"])
        .run(&["call", "echo", "text=hi"])
        .run(&["resources"])
        .run(&["prompts", "builtin"])
        .run(&["reconnect", "builtin"])
        .run(&["doctor"]);
    insta::assert_snapshot!("tools_builtin", story.transcript());
}
