//! Tests of `switchboard self uninstall`: its list is what many commands have created, and nothing else is removed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::Story;
use crate::docs::check_json_members;
use crate::gateway::Client;

const CURSOR: &str = "{\n  // mine\n  \"mcpServers\": {}\n}\n";

/// Every file below a folder.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.insert(entry.path());
        }
    }
    found
}

/// Runs many commands, a hub among them, and puts completions and a unit where people put them.
fn use_it(story: &Story) -> Client {
    let kiosk = switchboard_testkit::programs::program("kiosk");
    let kiosk = kiosk.to_str().unwrap();
    for args in [
        &["add", "-s", "user", "kiosk", kiosk][..],
        &["list"],
        &["call", "kiosk/say", "text=hi"],
        &["call", "kiosk/fail"],
        &["token", "create", "--name", "laptop"],
        &["install", "cursor", "--yes"],
        &["approve"],
        &["reject", "kiosk"],
        &["logs", "kiosk"],
        &["doctor"],
        &["permissions", "list"],
        &["disable", "kiosk"],
        &["enable", "kiosk"],
    ] {
        story.quietly(args);
    }
    for (path, shell) in [
        (".local/share/bash-completion/completions/switchboard", "bash"),
        (".local/share/zsh/site-functions/_switchboard", "zsh"),
        (".config/fish/completions/switchboard.fish", "fish"),
    ] {
        let script = story.quietly(&["completions", shell]).stdout;
        story.write(&format!("../{path}"), &String::from_utf8(script).unwrap());
    }
    let unit = include_str!("../../../../packaging/systemd/user/switchboard.service");
    story.write("../.config/systemd/user/switchboard.service", unit);
    let mut client = Client::spawn(story.command(&["connect"]));
    client.call("kiosk__erase").unwrap();
    client
}

#[test]
fn everything_of_ours_is_listed_and_removed() {
    let story = Story::new();
    let home = story.home.path().canonicalize().unwrap();
    story.write("../.cursor/mcp.json", CURSOR);
    story.write("notes.txt", "mine");
    story.write("../.config/switchboard/agents/mine.md", "---\nname: mine\n---\n");
    story.write("../.config/fish/completions/other.fish", "complete -c other");
    let before = files(&home);
    let client = use_it(&story);

    let listed = story.quietly(&["self", "uninstall", "--dry-run", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    check_json_members(&listed, "self uninstall");
    let items = listed["items"].as_array().unwrap();
    let paths: Vec<_> = items.iter().map(|item| item["path"].as_str().unwrap()).collect();
    let is_listed = |file: &PathBuf| paths.iter().any(|path| file.starts_with(path));
    let of_project: BTreeSet<_> = files(&home.join("project/.switchboard"));
    let stays = listed["stays"].to_string();
    assert!(
        stays.contains("project/.switchboard") && stays.contains("switchboard/agents"),
        "{stays}"
    );
    let ours: Vec<_> = files(&home).difference(&before).cloned().collect();
    assert!(ours.len() > 10, "{ours:?}");
    let is_unlisted = |file: &&PathBuf| !is_listed(file) && !of_project.contains(*file);
    let unlisted: Vec<_> = ours.iter().filter(is_unlisted).collect();
    assert!(unlisted.is_empty(), "{unlisted:?} of {listed:#}");
    let foreign: Vec<_> = before.iter().filter(|file| is_listed(file)).collect();
    assert_eq!(foreign, [&home.join(".cursor/mcp.json")], "an entry is taken out of it");

    client.leave();
    let removed = story.quietly(&["self", "uninstall", "--yes"]);
    assert!(removed.status.success(), "{}", story.home.shown(&removed));
    let left: BTreeSet<_> = files(&home).difference(&of_project).cloned().collect();
    assert_eq!(left, before);
    assert_eq!(fs::read_to_string(home.join(".cursor/mcp.json")).unwrap(), CURSOR);
    assert!(!home.join(".local/state/switchboard").exists());
    assert!(home.join(".config/switchboard/agents/mine.md").exists());
}

#[test]
fn what_is_removed_is_shown_first() {
    let mut story = Story::new();
    story.write("../.config/systemd/user/switchboard.service", "[Service]\nExecStart=mine\n");
    story.write("../.config/switchboard/native/mine.so", "");
    story.run(&["self", "uninstall", "--dry-run"]);
    story.quietly(&["add", "-s", "user", "one", "sh"]);
    story.quietly(&["install", "cursor", "--yes"]);
    let record = "../.local/state/switchboard/setup.json";
    story.write(record, r#"{"changes": [{"file": "/x"}]}"#);
    story.run(&["self", "uninstall", "--dry-run"]).run(&["self", "uninstall", "--yes"]);
    story.write(record, r#"{"changes": []}"#);
    story
        .run(&["self", "uninstall", "--dry-run"])
        .run(&["self", "uninstall"])
        .run(&["self", "uninstall", "--yes"])
        .run(&["self", "uninstall", "--yes", "--json"]);
    insta::assert_snapshot!("self_uninstall", story.transcript());
}

/// An entry is ours by what it starts, whatever its name.
#[test]
fn entries_of_ours_are_found_under_any_name() {
    let story = Story::new();
    let cursor = "{\n  \"mcpServers\": {\n    \"switchboard\": {\"command\": \"theirs\"},\n    \"other\": {\"command\": \"other\", \"args\": [\"connect\"]}\n  }\n}\n";
    let codex = "model = \"x\"\n\n[mcp_servers.other]\ncommand = \"other\"\n";
    story.write("../.cursor/mcp.json", cursor);
    story.write("../.codex/config.toml", codex);
    for args in [
        &["install", "cursor", "--name", "tools", "--yes"][..],
        &["install", "cursor", "--name", "all", "--yes"],
        &["install", "codex", "--name", "tools", "--yes"],
    ] {
        assert!(story.quietly(args).status.success());
    }
    let listed = story.quietly(&["self", "uninstall", "--dry-run", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let items = listed["items"].as_array().unwrap().iter();
    let mut entries: Vec<_> = items
        .filter(|item| item["kind"] == "client-entry")
        .filter_map(|item| item["detail"].as_str())
        .collect();
    entries.sort_unstable();
    assert_eq!(
        entries,
        ["the entry `all` of Cursor", "the entry `tools` of Codex", "the entry `tools` of Cursor"]
    );
    assert!(story.quietly(&["self", "uninstall", "--yes"]).status.success());
    let text = |file: &str| fs::read_to_string(story.home.path().join(file)).unwrap();
    assert_eq!(text(".cursor/mcp.json"), cursor);
    assert_eq!(text(".codex/config.toml"), codex);
}

/// Claude Code keeps servers of single projects in its user file.
#[test]
fn entries_for_single_projects_are_listed_and_removed() {
    let story = Story::new();
    let ours = r#""switchboard": {"type": "stdio", "command": "switchboard", "args": ["connect"]}"#;
    let text = |of_a: &str, of_b: &str| {
        format!(
            "{{\n\t\"numStartups\": 7,\n\t\"mcpServers\": {{}},\n\t\"projects\": {{\n\t\t\"/work/a\": {{\"mcpServers\":              {{{of_a}}}, \"history\": [1,  2]}},\n\t\t\"/work/b c\": {{\"mcpServers\": {{{of_b}}}}},\n\t\t\"/work/d\": {{}}\n\t}}\n}}"
        )
    };
    let theirs = r#""other": {"command": "other", "args": ["connect"]}"#;
    story.write("../.claude.json", &text(&format!("{theirs}, {ours}"), ours));
    let listed = story.quietly(&["self", "uninstall", "--dry-run", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let items = listed["items"].as_array().unwrap().iter();
    let details: Vec<_> = items.filter_map(|item| item["detail"].as_str()).collect();
    assert_eq!(
        details,
        [
            "the entry `switchboard` of Claude Code, for /work/a",
            "the entry `switchboard` of Claude Code, for /work/b c",
        ]
    );
    assert!(story.quietly(&["self", "uninstall", "--yes"]).status.success());
    let left = fs::read_to_string(story.home.path().join(".claude.json")).unwrap();
    assert_eq!(left, text(theirs, ""));
}
