//! Tests of the program's help, of the short names of commands, and of `console` and `connect` as a person types them.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::gateway::until;
use crate::terminal::{CTRL_D, Terminal};
use crate::{Home, Story};

#[test]
fn the_help_shows_commands_in_groups() {
    let home = Home::new();
    let help = home.run(&["help"]);
    assert_eq!(help, home.run(&["--help"]));
    insta::assert_snapshot!("help", help);
    // A person who types the name of the program alone wants to know what it can do, and made no mistake.
    assert_eq!(help, home.run(&[]));
    assert_eq!(home.run(&["help", "add"]), home.run(&["add", "--help"]));
    assert_eq!(home.run(&["help", "token", "create"]), home.run(&["token", "create", "--help"]));
    for (wrong, right) in [("lisst", "'list'"), ("secrt", "'secret'")] {
        let refused = home.run(&["help", wrong]);
        assert!(refused.starts_with("exit 2") && refused.contains(right), "{refused}");
        assert_eq!(refused, home.run(&[wrong]));
    }
    let refused = home.run(&["help", "token", "creat"]);
    assert!(refused.starts_with("exit 2") && refused.contains("'create'"), "{refused}");
}

#[test]
fn short_names_are_the_same_commands() {
    let story = Story::new();
    let same = |short: &[&str], long: &[&str]| {
        let (short, long) = (story.quietly(short), story.quietly(long));
        assert_eq!(story.home.shown(&short), story.home.shown(&long));
        assert!(short.status.success(), "{short:?}");
    };
    story.quietly(&["add", "a", "sh"]);
    same(&["ls", "--no-check"], &["list", "--no-check"]);
    same(&["version"], &["--version"]);
    assert!(story.quietly(&["rm", "a"]).status.success());
    assert!(!story.quietly(&["rm", "a"]).status.success());
    let version = story.quietly(&["version", "--json"]);
    let version: Value = serde_json::from_slice(&version.stdout).unwrap();
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn the_json_of_a_whole_file_is_taken_apart() {
    let mut story = Story::new();
    let two = r#"{"mcpServers": {"a": {"command": "sh"}, "b": {"command": "true"}}}"#;
    story
        .run(&["add-json", "one", r#"{"mcpServers": {"other": {"command": "sh"}}}"#])
        .run(&["add-json", "b", two])
        .run(&["add-json", "c", two])
        .run(&["add-json", "d", r#"{"servers": {}}"#])
        .run(&["list", "--no-check"]);
    insta::assert_snapshot!("add_json_wrapped", story.transcript());
}

#[test]
fn a_console_is_opened_in_the_browser() {
    let mut story = Story::new();
    let browser = story.path("browser");
    let script = "#!/bin/sh\nprintf %s \"$1\" > visited.part && mv visited.part visited\n";
    std::fs::write(&browser, script).unwrap();
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
    story.set("BROWSER", browser.to_str().unwrap());
    let opened = story.quietly(&["open"]);
    let shown = String::from_utf8(opened.stdout).unwrap();
    let url = shown.trim().strip_prefix("Console: ").expect(&shown);
    until("no browser was opened", || story.path("visited").exists());
    assert_eq!(std::fs::read_to_string(story.path("visited")).unwrap(), url);
    std::fs::remove_file(story.path("visited")).unwrap();
    let printed = story.quietly(&["console", "--json"]);
    let printed: Value = serde_json::from_slice(&printed.stdout).unwrap();
    assert_ne!(printed["url"], url, "a link works once");
    let printed = story.quietly(&["console", "--no-browser"]);
    assert!(String::from_utf8(printed.stdout).unwrap().starts_with("Console: http://127.0.0.1:"));
    assert!(!story.path("visited").exists());
    assert!(story.quietly(&["stop"]).status.success());
}

#[test]
fn a_person_who_types_connect_is_told_what_it_is() {
    let story = Story::new();
    for args in [&["connect"][..], &["connect", "--standalone"]] {
        let shown = Terminal::run(story.command(args), &[("to end it.", CTRL_D)]);
        assert!(
            shown.starts_with("exit 0") && shown.contains("`switchboard setup` adds it"),
            "{shown}"
        );
    }
    story.quietly(&["stop"]);
}
