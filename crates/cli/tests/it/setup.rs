//! Tests of `switchboard setup` and `switchboard clients`: eight clients over and back, and everything in between.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::Story;
use crate::gateway::{Client, stop};
use crate::import::copy_fixture;

/// The configuration files of eight clients, as people have them: comments, tabs, one line, TOML, servers that several
/// clients have, and two accounts of one server.
const CLIENT_FILES: [(&str, &str); 8] = [
    (
        ".claude.json",
        "{\n  \"numStartups\": 7,\n  \"mcpServers\": {\n    \"github\": {\n      \"type\": \"stdio\",\n      \"command\": \"npx\",\n      \"args\": [\n        \"-y\",\n        \"server-github\"\n      ],\n      \"env\": {\n        \"GITHUB_TOKEN\": \"${GITHUB_TOKEN}\"\n      }\n    },\n    \"time\": {\n      \"command\": \"uvx\",\n      \"args\": [\n        \"mcp-server-time\"\n      ]\n    }\n  },\n  \"projects\": {\n    \"/elsewhere\": {\n      \"mcpServers\": {}\n    }\n  }\n}",
    ),
    (
        ".config/Claude/claude_desktop_config.json",
        "{\"mcpServers\":{\"time\":{\"command\":\"uvx\",\"args\":[\"mcp-server-time\"]},\"notes\":{\"command\":\"notes-server\",\"args\":[]}},\"globalShortcut\":\"\"}",
    ),
    (
        ".cursor/mcp.json",
        "{\n\t// work\n\t\"mcpServers\": {\n\t\t\"tracker\": {\n\t\t\t\"url\": \"https://tracker.example/mcp\",\n\t\t\t\"headers\": {\"Authorization\": \"Bearer ${env:WORK_TOKEN}\"}\n\t\t},\n\t\t\"tracker-home\": {\n\t\t\t\"url\": \"https://tracker.example/mcp\",\n\t\t\t\"headers\": {\"Authorization\": \"Bearer ${env:HOME_TOKEN}\"}\n\t\t},\n\t},\n}\n",
    ),
    (
        ".config/Code/User/mcp.json",
        "{\r\n  \"inputs\": [],\r\n  \"servers\": {\r\n    \"docs\": {\"type\": \"http\", \"url\": \"https://docs.example/mcp\"}\r\n  }\r\n}\r\n",
    ),
    (
        ".codex/config.toml",
        "model = \"x\"\n\n# the clock\n[mcp_servers.time]\ncommand = \"uvx\"\nargs = [\"mcp-server-time\"]\n\n[mcp_servers.files]\ncommand = \"files-server\"\ntool_timeout_sec = 30\n\n[mcp_servers.files.env]\nROOT = \"/srv\"\n\n[tui]\ntheme = \"dark\"\n",
    ),
    (
        ".gemini/settings.json",
        "{\n    \"theme\": \"Default\",\n    \"mcpServers\": {\n        \"search\": {\n            \"httpUrl\": \"https://search.example/mcp\",\n            \"headers\": {\"X-Key\": \"$SEARCH_KEY\"}\n        }\n    }\n}\n",
    ),
    (
        ".codeium/windsurf/mcp_config.json",
        "{\n  \"mcpServers\": {\n    \"github\": {\n      \"command\": \"npx\",\n      \"args\": [\"-y\", \"server-github\"],\n      \"env\": {\"GITHUB_TOKEN\": \"sk-0123456789abcdef\"}\n    }\n  }\n}\n",
    ),
    (
        ".config/zed/settings.json",
        "// Zed settings\n{\n  \"ui_font_size\": 16,\n  \"context_servers\": {\n    // old form\n    \"linter\": {\n      \"command\": {\n        \"path\": \"lint-server\",\n        \"args\": [\"--mcp\"]\n      }\n    }\n  }\n}\n",
    ),
];

/// A home with all eight clients.
pub(crate) fn eight_clients() -> Story {
    let mut story = Story::new();
    story.put_stand_ins_on_path();
    for (file, text) in CLIENT_FILES {
        story.write(&format!("../{file}"), text);
    }
    story
}

pub(crate) fn text_of(story: &Story, file: &str) -> String {
    fs::read_to_string(story.home.path().join(file)).unwrap()
}

/// Every file under the home with its content, besides the state of this program and the programs on the `PATH`.
pub(crate) fn home_files(story: &Story) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![story.home.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if !path.is_dir() {
                files.insert(path.clone(), fs::read(&path).unwrap());
            } else if !path.ends_with(".local") && !path.ends_with("bin") {
                folders.push(path);
            }
        }
    }
    files
}

pub(crate) fn run_json(story: &Story, args: &[&str]) -> (i32, Value) {
    let output = story.quietly(args);
    let shown = story.home.shown(&output);
    let value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{shown}"));
    crate::docs::check_json_members(&value, &args.join(" "));
    (output.status.code().unwrap(), value)
}

/// The names of the servers in our user settings.
fn imported(story: &Story) -> Vec<String> {
    let text = text_of(story, ".config/switchboard/settings.json");
    let settings: Value = serde_json::from_str(&text).unwrap();
    settings["mcpServers"].as_object().unwrap().keys().cloned().collect()
}

fn assert_files_are_original(story: &Story) {
    for (file, text) in CLIENT_FILES {
        assert_eq!(text_of(story, file), text, "{file}");
    }
}

#[test]
fn eight_clients_move_over_and_back() {
    let story = eight_clients();
    let said = |args: &[&str]| story.home.shown(&story.quietly(args));
    story.write("../.config/switchboard/settings.json", "{}\n");
    let before = home_files(&story);
    assert!(said(&["setup", "--dry-run"]).starts_with("exit 0"));
    assert!(said(&["setup"]).contains("agree with `--yes`"));
    assert_eq!(home_files(&story), before, "nothing is written before somebody agrees");
    assert!(said(&["setup", "--yes"]).contains("imported 10 servers, changed 8 files"));
    for (file, _) in CLIENT_FILES {
        let text = text_of(&story, file);
        assert!(text.contains("switchboard"), "{file}: {text}");
        for server in ["server-github", "mcp-server-time", "tracker", "notes", "docs.example"] {
            assert!(!text.contains(server), "{file} still has {server}: {text}");
        }
    }
    assert_eq!(
        imported(&story),
        [
            "github",
            "time",
            "notes",
            "tracker",
            "tracker-home",
            "docs",
            "files",
            "search",
            "github-2",
            "linter"
        ]
    );
    let after = home_files(&story);
    assert!(said(&["setup", "--yes"]).contains("nothing to do"));
    assert_eq!(home_files(&story), after);
    assert!(said(&["setup", "--undo", "--yes"]).contains("Restored 9 files"));
    assert_eq!(home_files(&story), before);
    assert!(said(&["setup", "--undo", "--yes"]).contains("Nothing to undo"));
}

/// The fixtures that `import` is tested with, the project's files among them.
#[test]
fn the_fixtures_move_over_and_back() {
    let mut story = Story::new();
    story.put_stand_ins_on_path();
    copy_fixture(&story, "home", "..");
    copy_fixture(&story, "project", ".");
    let before = home_files(&story);
    story.run(&["setup", "--yes"]);
    let after = home_files(&story);
    let in_project = |path: &Path| path.starts_with(story.path(""));
    for (path, text) in &after {
        assert_eq!(in_project(path), before.get(path) == Some(text), "{}", path.display());
    }
    story.run(&["setup", "--yes"]);
    assert_eq!(home_files(&story), after);
    assert!(story.quietly(&["setup", "--undo", "--yes"]).status.success());
    assert_eq!(home_files(&story), before);
    insta::assert_snapshot!("setup_fixtures", story.transcript());
}

#[test]
fn copies_are_private_and_nothing_is_printed_that_is_secret() {
    use std::os::unix::fs::PermissionsExt as _;
    let story = eight_clients();
    let output = story.quietly(&["setup", "--yes"]);
    assert!(!story.home.shown(&output).contains("sk-0123456789abcdef"));
    let record = story.home.path().join(".local/state/switchboard/setup.json");
    assert_eq!(fs::metadata(&record).unwrap().permissions().mode() & 0o777, 0o600);
    let shown = story.quietly(&["setup", "--undo", "--yes"]);
    assert!(!story.home.shown(&shown).contains("sk-0123456789abcdef"));
    assert!(!record.exists());
    assert_files_are_original(&story);
}

#[test]
fn a_server_that_is_added_later_is_picked_up_and_comes_back() {
    let story = eight_clients();
    assert!(story.quietly(&["setup", "--yes"]).status.success());
    let gemini = text_of(&story, ".gemini/settings.json");
    let added = gemini.replace(
        "\"mcpServers\": {",
        "\"mcpServers\": {\n        \"late\": {\"command\": \"late-server\"},",
    );
    story.write("../.gemini/settings.json", &added);
    let (code, value) = run_json(&story, &["setup", "--yes", "--json"]);
    assert_eq!((code, &value["imported"]), (0, &json!(["late"])));
    assert!(!text_of(&story, ".gemini/settings.json").contains("late-server"));
    assert!(imported(&story).contains(&"late".to_owned()));
    assert!(story.quietly(&["setup", "--undo", "--yes"]).status.success());
    let gemini = text_of(&story, ".gemini/settings.json");
    assert!(gemini.contains("late-server") && gemini.contains("search.example"), "{gemini}");
    assert!(!gemini.contains("\"switchboard\""), "{gemini}");
    for (file, text) in CLIENT_FILES.iter().filter(|(file, _)| !file.contains("gemini")) {
        assert_eq!(&text_of(&story, file), text, "{file}");
    }
}

#[test]
fn a_second_setup_after_only_our_changes_still_goes_back_to_the_first_text() {
    let story = eight_clients();
    assert!(story.quietly(&["setup", "--yes"]).status.success());
    // The entry of an older version, with another folder of settings.
    let other = story.home.path().join("other");
    let other = other.to_str().unwrap();
    assert!(story.quietly(&["--config-dir", other, "setup", "--yes"]).status.success());
    assert!(text_of(&story, ".cursor/mcp.json").contains("--config-dir"));
    assert!(story.quietly(&["setup", "--undo", "--yes"]).status.success());
    assert_files_are_original(&story);
}

/// A plan names servers that will not start, once for each reason.
#[test]
fn servers_that_will_not_start_are_named() {
    let story = Story::new();
    let servers = serde_json::json!({ "mcpServers": {
        "a": { "command": "no-such-server" }, "b": { "command": "neither-this", "args": ["${NOT_SET}"] },
        "c": { "command": "true", "args": ["${workspaceFolder}"] }, "d": { "command": "true" },
    } });
    story.write("../.cursor/mcp.json", &servers.to_string());
    let output = story.quietly(&["setup", "--dry-run"]);
    let said = String::from_utf8(output.stderr).unwrap();
    for expected in [
        "the commands `neither-this`, `no-such-server` were not found, so these cannot start: a, b",
        "the variable `NOT_SET` is not set, so these cannot start: b",
        "only in a project, because of `${workspaceFolder}`: c",
    ] {
        assert!(said.contains(expected), "{said}");
    }
    let output = story.quietly(&["setup", "--dry-run", "--json"]);
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(plan["problems"].as_array().unwrap().len(), 3, "{plan:#}");
}

#[test]
fn an_edited_file_keeps_the_edits() {
    let mut story = eight_clients();
    story.quietly(&["setup", "--yes"]);
    let cursor = text_of(&story, ".cursor/mcp.json");
    let edited = cursor.replace("// work", "// work, edited").replace(
        "\"mcpServers\": {",
        "\"mcpServers\": {\n\t\t\"tracker-home\": {\"command\": \"mine\"},",
    );
    story.write("../.cursor/mcp.json", &edited);
    fs::remove_file(story.home.path().join(".codeium/windsurf/mcp_config.json")).unwrap();
    story.quietly(&["remove", "notes", "-s", "user"]);
    story.quietly(&["add", "own", "sh", "-s", "user"]);
    story.run(&["setup", "--undo", "--dry-run"]).run(&["setup", "--undo"]);
    assert_eq!(text_of(&story, ".cursor/mcp.json"), edited);
    story.run(&["setup", "--undo", "--yes"]).cat("../.cursor/mcp.json");
    insta::assert_snapshot!("setup_edited", story.transcript());
    let claude = CLIENT_FILES[0];
    assert_eq!(text_of(&story, claude.0), claude.1);
    assert_eq!(text_of(&story, ".codex/config.toml"), CLIENT_FILES[4].1);
}

#[test]
fn a_broken_file_costs_its_own_client_only() {
    let mut story = eight_clients();
    story.write("../.gemini/settings.json", "{\n  \"mcpServers\": {\n");
    story.write(
        "../.config/zed/settings.json",
        r#"{"context_servers": {"switchboard": {"command": "theirs"}, "linter": {"command": "x"}}}"#,
    );
    let broken = home_files(&story);
    story.run(&["setup", "--yes"]);
    insta::assert_snapshot!("setup_broken", story.transcript());
    let after = home_files(&story);
    for file in [".gemini/settings.json", ".config/zed/settings.json"] {
        let path = story.home.path().join(file);
        assert_eq!(after[&path], broken[&path], "{file}");
    }
    assert!(text_of(&story, ".cursor/mcp.json").contains("switchboard"));
    assert!(story.quietly(&["setup", "--undo", "--yes"]).status.success());
    assert_eq!(
        home_files(&story)
            .into_iter()
            .filter(|(path, _)| !path.starts_with(story.path("")))
            .collect::<BTreeMap<_, _>>(),
        broken
    );
}

#[test]
fn an_undo_that_fails_for_one_client_keeps_its_servers_and_goes_on_later() {
    let story = eight_clients();
    story.quietly(&["setup", "--yes"]);
    let cursor = text_of(&story, ".cursor/mcp.json");
    story.write("../.cursor/mcp.json", "{");
    let (code, value) = run_json(&story, &["setup", "--undo", "--yes", "--json"]);
    assert_eq!((code, value["failed"].as_array().unwrap().len()), (1, 1), "{value}");
    assert!(imported(&story).contains(&"tracker".to_owned()));
    assert_eq!(text_of(&story, ".codex/config.toml"), CLIENT_FILES[4].1);
    story.write("../.cursor/mcp.json", &cursor);
    assert!(story.quietly(&["setup", "--undo", "--yes"]).status.success());
    assert_files_are_original(&story);
    assert!(!story.home.path().join(".config/switchboard/settings.json").exists());
}

#[test]
fn a_server_that_policy_forbids_stays_where_it_is() {
    let story = eight_clients();
    story.write(
        "../.config/switchboard/settings.json",
        "{\"deniedMcpServers\": [{\"serverName\": \"search\"}]}\n",
    );
    let (code, value) = run_json(&story, &["setup", "--yes", "--json"]);
    assert_eq!(code, 1);
    assert_eq!(value["failed"].as_array().unwrap().len(), 1, "{value}");
    let gemini = text_of(&story, ".gemini/settings.json");
    assert!(gemini.contains("search.example") && gemini.contains("\"switchboard\""), "{gemini}");
}

#[test]
fn a_client_that_cannot_be_installed_in_is_copied_from() {
    let story = Story::new();
    let goose = "extensions:\n  weather:\n    type: stdio\n    cmd: weather-server\n";
    story.write("../.config/goose/config.yaml", goose);
    story.write("../.continue/config.yaml", "name: mine\n");
    let shown = story.home.shown(&story.quietly(&["setup", "--yes"]));
    assert!(shown.contains("~/.config/goose/config.yaml  1 server, only copied"), "{shown}");
    assert!(shown.contains("imported 1 server, changed 0 files"), "{shown}");
    assert!(!shown.contains(".continue"), "it has nothing to copy: {shown}");
    assert_eq!(imported(&story), ["weather"]);
    assert_eq!(text_of(&story, ".config/goose/config.yaml"), goose);
    let again = story.home.shown(&story.quietly(&["setup", "--yes"]));
    assert!(again.contains("nothing to do"), "{again}");
}

#[test]
fn single_clients_and_those_that_are_only_copied() {
    let story = eight_clients();
    story.write(
        "../.config/goose/config.yaml",
        "extensions:\n  weather:\n    type: stdio\n    cmd: weather-server\n    enabled: true\n",
    );
    story.write(".cursor/mcp.json", r#"{"mcpServers": {"db": {"command": "db-server"}}}"#);
    let before = home_files(&story);
    let (code, value) = run_json(&story, &["setup", "cursor", "goose", "--yes", "--json"]);
    assert_eq!(code, 0, "{value}");
    assert_eq!(imported(&story), ["tracker", "tracker-home", "weather"]);
    assert_eq!(value["projectServers"][0]["name"], "db");
    let changed: Vec<_> = home_files(&story)
        .into_iter()
        .filter(|(path, text)| before.get(path).is_some_and(|old| old != text))
        .map(|(path, _)| path)
        .collect();
    assert_eq!(changed, [story.home.path().join(".cursor/mcp.json")]);
    let (code, value) = run_json(&story, &["setup", "--undo", "--yes", "--json"]);
    assert_eq!((code, &value["done"]), (0, &json!("written")));
    assert_eq!(home_files(&story), before);
}

#[test]
fn a_client_without_a_file_gets_one_and_loses_it_again() {
    let mut story = Story::new();
    let bin = story.home.path().join("bin");
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("windsurf"), "").unwrap();
    story.set("PATH", &format!("{}:/usr/bin:/bin", bin.display()));
    let file = story.home.path().join(".codeium/windsurf/mcp_config.json");
    assert!(story.quietly(&["setup", "--yes"]).status.success());
    assert!(fs::read_to_string(&file).unwrap().contains("connect"));
    assert!(story.quietly(&["setup", "--undo", "--yes"]).status.success());
    assert!(!story.home.path().join(".codeium").exists());
}

#[test]
fn clients_say_whether_they_have_us() {
    let mut story = eight_clients();
    story.quietly(&["install", "cursor", "--yes"]);
    let entry = |program: &Path| {
        json!({"mcpServers": {"switchboard": {"command": program, "args": ["connect"]}}})
            .to_string()
    };
    let other = story.home.path().join("old/switchboard");
    story.write("../.gemini/settings.json", &entry(&other));
    story.write("../old2/switchboard", "");
    story.write(
        "../.codeium/windsurf/mcp_config.json",
        &entry(&story.home.path().join("old2/switchboard")),
    );
    story.run(&["clients"]);
    insta::assert_snapshot!("clients", story.transcript());
    let (_, value) = run_json(&story, &["clients", "--json"]);
    let matches = |client: &str| {
        let all = value["clients"].as_array().unwrap();
        all.iter().find(|each| each["client"] == client).unwrap()["entries"][0]["match"].clone()
    };
    assert_eq!(matches("cursor"), "this-program");
    assert_eq!(matches("gemini"), "missing");
    assert_eq!(matches("windsurf"), "another-program");
}

#[test]
fn clients_say_who_is_connected() {
    let story = two_kiosks();
    let connect = || story.command(&["connect"]);
    let mut clients: Vec<_> = ["cursor-vscode", "cursor-vscode", "claude-code", "unknown"]
        .into_iter()
        .map(|name| Client::named(connect(), name))
        .collect();
    for client in &mut clients {
        servers_of(client);
    }
    let (_, value) = run_json(&story, &["clients", "--json"]);
    let connected =
        value["clients"].as_array().unwrap().iter().map(|client| {
            (client["client"].as_str().unwrap(), client["connected"].as_u64().unwrap())
        });
    let connected: Vec<_> = connected.filter(|(_, count)| *count > 0).collect();
    assert_eq!(connected, [("claude-code", 1), ("cursor", 2)]);
    clients.into_iter().for_each(Client::leave);
    stop(&story.home);
}

/// What is inherited from a client's file comes back to that client through us.
#[test]
fn status_and_doctor_mention_servers_that_a_client_has_twice_by_inheritance() {
    let story = eight_clients();
    story.write("../.config/switchboard/settings.json", "{\"inherit\": [\"windsurf\"]}\n");
    let status = || String::from_utf8(story.quietly(&["status", "--json"]).stdout).unwrap();
    assert!(!status().contains("twice"));
    story.quietly(&["install", "windsurf", "--yes"]);
    assert!(status().contains("Windsurf has github twice"));
    assert!(story.quietly(&["setup", "windsurf", "--yes"]).status.success());
    assert!(!status().contains("twice"));
}

/// A copy of a project's servers doubles them for the client that reads them itself. `setup` leaves project files alone.
#[test]
fn status_and_doctor_mention_servers_of_the_project_that_a_client_has_twice() {
    let story = Story::new();
    story.write(".cursor/mcp.json", r#"{"mcpServers": {"app": {"command": "sh"}}}"#);
    story.quietly(&["install", "cursor", "--yes"]);
    let shown = |args: &[&str]| String::from_utf8(story.quietly(args).stdout).unwrap();
    assert!(!shown(&["status", "--json"]).contains("twice"));
    assert!(story.quietly(&["import", "cursor", "--project-files", "--yes"]).status.success());
    for args in [&["doctor", "--json"][..], &["status", "--json"]] {
        let shown = shown(args);
        assert!(shown.contains("Cursor has app twice"), "{args:?}: {shown}");
        assert!(shown.contains("`switchboard remove app`"), "{args:?}: {shown}");
    }
    assert!(story.quietly(&["remove", "app"]).status.success());
    assert!(!shown(&["status", "--json"]).contains("twice"));
}

/// A project whose `.mcp.json` has a kiosk; another one is the user's.
fn two_kiosks() -> Story {
    let story = Story::new();
    let program = switchboard_testkit::programs::program("kiosk");
    let entry = json!({"mcpServers": {"shared": {"command": program}}});
    story.write(".mcp.json", &entry.to_string());
    story.quietly(&["approve", "--all", "--yes"]);
    story.quietly(&["add", "-s", "user", "mine", program.to_str().unwrap()]);
    story
}

fn servers_of(client: &mut Client) -> Vec<String> {
    let tools = client.ask("tools/list", &json!({})).unwrap();
    let names = tools["tools"].as_array().unwrap().iter();
    let mut names: Vec<_> = names
        .filter_map(|tool| tool["name"].as_str()?.split_once("__"))
        .map(|(server, _)| server.to_owned())
        .collect();
    names.dedup();
    names.sort();
    names.dedup();
    names
}

#[test]
fn a_client_that_reads_the_projects_file_does_not_get_its_servers_twice() {
    let story = two_kiosks();
    let mut claude = Client::spawn(story.command(&["connect", "--client", "claude-code"]));
    let mut cursor = Client::spawn(story.command(&["connect", "--client", "cursor"]));
    let mut both = Client::spawn(story.command(&[
        "connect",
        "--client",
        "claude-code",
        "--include-project-servers",
    ]));
    assert_eq!(servers_of(&mut claude), ["mine"]);
    assert_eq!(servers_of(&mut cursor), ["mine", "shared"]);
    assert_eq!(servers_of(&mut both), ["mine", "shared"]);
    let (_, value) = run_json(&story, &["clients", "--json"]);
    assert!(value["clients"].as_array().unwrap().iter().all(|client| client["connected"] == 0));
    for client in [claude, cursor, both] {
        client.leave();
    }
    stop(&story.home);
}

#[test]
fn status_and_doctor_mention_servers_that_a_client_has_twice() {
    let story = eight_clients();
    story.quietly(&["import", "windsurf", "--yes"]);
    story.quietly(&["install", "windsurf", "--yes"]);
    for args in [&["doctor", "--json"][..], &["status", "--json"]] {
        let shown = String::from_utf8(story.quietly(args).stdout).unwrap();
        assert!(shown.contains("Windsurf has github twice"), "{args:?}: {shown}");
    }
    story.quietly(&["setup", "windsurf", "--yes"]);
    for args in [&["doctor", "--json"][..], &["status", "--json"]] {
        let shown = String::from_utf8(story.quietly(args).stdout).unwrap();
        assert!(!shown.contains("twice"), "{args:?}: {shown}");
    }
}
