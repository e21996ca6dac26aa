//! Tests of `switchboard import`.

use std::path::Path;

use crate::Story;
use crate::gateway::{Client, stop};

/// Copies a folder of `tests/fixtures/clients` into a folder of the story.
pub(crate) fn copy_fixture(story: &Story, fixture: &str, to: &str) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/clients").join(fixture);
    let mut folders = vec![from.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = format!("{to}/{}", path.strip_prefix(&from).unwrap().display());
                story.write(&name, &std::fs::read_to_string(&path).unwrap());
            }
        }
    }
}

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

const EIGHT_CLIENTS: [&str; 8] =
    ["claude-code", "claude-desktop", "cursor", "vscode", "codex", "gemini", "windsurf", "zed"];

#[test]
fn eight_clients_at_once() {
    let mut story = Story::new();
    copy_fixture(&story, "home", "..");
    let with = |flags: &[&'static str]| [&["import"], &EIGHT_CLIENTS[..], flags].concat();
    story
        .run(&with(&["--dry-run"]))
        .run(&with(&["--yes", "--quiet"]))
        .cat("../.config/switchboard/settings.json")
        .run(&with(&["--yes"]));
    insta::assert_snapshot!("import_eight_clients", story.transcript());
}

/// A file that cannot be read is an error, and the other files are read all the same.
#[test]
fn a_broken_file_is_a_failure() {
    let mut story = Story::new();
    copy_fixture(&story, "home", "..");
    copy_fixture(&story, "broken", "..");
    story
        .run(&["import", "windsurf", "claude-desktop", "--yes"])
        .run(&["import", "windsurf", "--dry-run", "--json"])
        .run(&["list", "--no-check"]);
    insta::assert_snapshot!("import_broken", story.transcript());
}

#[test]
fn files_of_a_project() {
    let mut story = Story::new();
    copy_fixture(&story, "project", ".");
    story
        .run(&["import", "cursor", "vscode"])
        .run(&["import", "vscode", "--project-files", "-s", "user", "--yes"])
        .run(&["import", "claude-code", "cursor", "vscode", "gemini", "--project-files", "--yes"])
        .run(&["import", "codex", "zed", "windsurf", "--project-files", "-s", "project", "--yes"])
        .run(&["list", "--no-check"])
        .run(&["import", "cursor", "vscode", "codex", "--project-files", "--yes", "--json"]);
    insta::assert_snapshot!("import_project_files", story.transcript());
}

/// An entry with `${workspaceFolder}` starts in a project only, and never in a home.
#[test]
fn the_folder_of_the_workspace() {
    let mut story = Story::new();
    copy_fixture(&story, "home", "..");
    story.run(&["import", "vscode", "--yes", "--quiet"]).run(&["list", "--no-check"]).run(&[
        "--project",
        "..",
        "get",
        "builder",
    ]);
    story.write(".git/HEAD", "ref: refs/heads/main\n");
    story.run(&["list", "--no-check"]);
    insta::assert_snapshot!("import_workspace_folder", story.transcript());
}

/// Each project has a process of its own; a folder in no project has none.
#[test]
fn the_folder_of_the_workspace_is_each_projects_own() {
    let story = Story::new();
    let args = ["-c", "touch \"$0/started\"; exit 1", "${workspaceFolder}"];
    let settings = serde_json::json!({ "mcpServers": { "s": { "command": "sh", "args": args } } });
    story.write("../.config/switchboard/settings.json", &settings.to_string());
    story.write("one/.git/HEAD", "ref: refs/heads/main\n");
    story.write("two/.mcp.json", "{\"mcpServers\": {}}");
    for (folder, is_project) in [("one", true), ("two", true), (".", false), ("..", false)] {
        let output = story.quietly(&["--project", folder, "list", "--json"]);
        assert_eq!(story.path(folder).join("started").exists(), is_project, "{folder}");
        let shown = String::from_utf8(output.stdout).unwrap();
        let reason = "`${workspaceFolder}` needs a project, and this folder is in none";
        assert_eq!(shown.contains(reason), !is_project, "{shown}");
    }
    // A client that calls it all the same is told the reason, too.
    let mut client = Client::spawn(story.command(&["--project", "..", "connect"]));
    let refused = client.call("s__any").unwrap_err().to_string();
    assert!(refused.contains("`${workspaceFolder}` needs a project"), "{refused}");
    client.leave();
    stop(&story.home);
}
