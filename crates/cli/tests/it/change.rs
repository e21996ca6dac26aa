//! Tests of `remove`, `get`, `enable` and `disable`.

use crate::{Home, Story};

#[test]
fn removing() {
    let mut story = Story::new();
    story.quietly(&["add", "a", "sh"]);
    story.quietly(&["add", "-s", "user", "a", "sh"]);
    story
        .run(&["remove", "a"])
        .run(&["remove", "-s", "project", "a"])
        .run(&["remove", "-s", "local", "a"])
        .run(&["remove", "a"])
        .run(&["remove", "a"])
        .run(&["--mcp-config", r#"{"mcpServers": {"d": {"command": "sh"}}}"#, "remove", "d"])
        .cat(".switchboard/settings.local.json");
    insta::assert_snapshot!("remove", story.transcript());
}

/// What comes from elsewhere is shown, and can only be switched off here.
#[test]
fn servers_of_others() {
    let mut story = Story::new();
    story.write("../.config/switchboard/settings.json", r#"{"inherit": ["claude-code"]}"#);
    story.write("../.claude.json", r#"{"mcpServers": {"theirs": {"command": "sh"}}}"#);
    story.write(
        "../.config/switchboard/plugins/kit/.mcp.json",
        r#"{"mcpServers": {"x": {"command": "sh", "args": ["1"]}}}"#,
    );
    story
        .run(&["list", "--no-check"])
        .run(&["remove", "theirs"])
        .run(&["edit", "plugin:kit:x"])
        .run(&["disable", "plugin:kit:x"])
        .run(&["list", "--no-check"]);
    insta::assert_snapshot!("others", story.transcript());
}

#[test]
fn looking_at_one() {
    let mut story = Story::new();
    story.quietly(&["add", "-e", "TOKEN=abc", "-e", "LANG", "a", "sh", "--password", "x"]);
    story.quietly(&["add", "-s", "user", "a", "sh"]);
    story.quietly(&[
        "add",
        "web",
        "https://u:p@example.com/?key=k",
        "-H",
        "Authorization: Bearer ${T:-abc}",
    ]);
    story.write(".mcp.json", "{\"mcpServers\": {\n  \"p\": {\"command\": \"sh\"},\n  \"v\": {\"command\": \"${NOT_SET}\"},\n  \"broken\": {\"command\": 5, \"x\": 1}\n}}");
    story.quietly(&["approve", "v"]);
    story
        .run(&["get", "a"])
        .run(&["get", "--reveal", "a"])
        .run(&["get", "web"])
        .run(&["get", "--json", "web"])
        .run(&["get", "p"])
        .run(&["get", "v"])
        .run(&["get", "broken"])
        .run(&["get", "nobody"])
        .run(&["get", "--json", "nobody"]);
    insta::assert_snapshot!("get", story.transcript());
}

#[test]
fn switching() {
    let mut story = Story::new();
    story.quietly(&["add", "-s", "user", "a", "sh"]);
    story.write(".mcp.json", r#"{"mcpServers": {"p": {"command": "sh"}}}"#);
    story
        .run(&["disable", "a"])
        .run(&["list", "--no-check"])
        .run(&["get", "a"])
        .run(&["enable", "a"])
        .run(&["disable", "-s", "user", "a"])
        .run(&["enable", "--json", "a"])
        .run(&["disable", "p"])
        .run(&["enable", "p"])
        .run(&["enable", "nobody"])
        .run(&["disable", "-s", "project", "a"])
        .cat(".switchboard/settings.local.json");
    insta::assert_snapshot!("switch", story.transcript());
}

/// Another program that keeps writing the file without our lock: nothing of its is lost, and we say so.
#[test]
fn a_server_that_was_disabled_is_added_again() {
    let mut story = Story::new();
    story
        .run(&["add", "a", "cat"])
        .run(&["disable", "a"])
        .run(&["remove", "a"])
        .run(&["add", "a", "cat"])
        .run(&["disable", "-s", "user", "a"])
        .run(&["remove", "a"])
        .run(&["add", "a", "cat"])
        .run(&["get", "a"])
        .run(&["enable", "a"]);
    insta::assert_snapshot!("added_again", story.transcript());
}

#[test]
fn a_file_that_does_not_hold_still_is_left_alone() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let home = Home::new();
    let settings = home.path().join(".config/switchboard/settings.json");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    std::fs::write(&settings, "{}").unwrap();
    let is_over = AtomicBool::new(false);
    let shown = std::thread::scope(|scope| {
        for writer in 0..4 {
            let (settings, is_over) = (&settings, &is_over);
            let staged = settings.with_extension(format!("writer-{writer}"));
            scope.spawn(move || {
                let mut number = 0_u64;
                while !is_over.load(Ordering::Relaxed) {
                    number += 1;
                    let text = format!(r#"{{"x-writer":[{writer},{number}]}}"#);
                    std::fs::write(&staged, text).unwrap();
                    std::fs::rename(&staged, settings).unwrap();
                }
            });
        }
        // A machine that is busy elsewhere may let us through once.
        let refused = (0..50).find_map(|_| {
            let output =
                home.command(&["add", "-s", "user", "one", "--", "true"]).output().unwrap();
            (!output.status.success()).then(|| home.shown(&output))
        });
        is_over.store(true, Ordering::Relaxed);
        refused.expect("it was let through every time")
    });
    insta::assert_snapshot!("does_not_hold_still", shown);
}
