//! Tests that discovered servers obey the administrator's policy and the switches of settings.
//!
//! A native plugin writes a file when it is loaded, an editor's lock file leads to a port of the test, and the built-in
//! server has tools. Under every policy none may be visible, whatever the command.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::process::Command;

use serde_json::{Value, json};

use crate::Story;
use crate::managed::shown_under;

/// What an administrator may write that stops all of them, and the state in which they are shown.
const POLICIES: [(&str, &str, Option<&str>); 9] = [
    ("managed-settings.json", r#"{"allowedMcpServers": []}"#, Some("blocked")),
    ("managed-settings.json", r#"{"allowedMcpServers": [{"serverName": "x"}]}"#, Some("blocked")),
    (
        "managed-settings.json",
        r#"{"allowManagedMcpServersOnly": true, "allowedMcpServers": [{"serverUrl": "https://x/"}]}"#,
        Some("blocked"),
    ),
    (
        "managed-settings.json",
        r#"{"deniedMcpServers": [{"serverName": "plugins"}, {"serverName": "ide"}, {"serverName": "builtin"}]}"#,
        Some("blocked"),
    ),
    (
        "managed-settings.json",
        r#"{"disabledMcpServers": ["plugins", "ide", "builtin"]}"#,
        Some("disabled"),
    ),
    ("managed-settings.json", "{", Some("blocked")),
    ("managed-settings.d/10.json", "[]", Some("blocked")),
    ("managed-mcp.json", r#"{"mcpServers": {}}"#, None),
    ("managed-mcp.json", "{", None),
];

/// A project with an open editor, in a home with a native plugin.
struct Scene {
    story: Story,
    editor: TcpListener,
}

impl Scene {
    fn new() -> Self {
        let mut story = Story::new();
        let editor = TcpListener::bind("127.0.0.1:0").unwrap();
        editor.set_nonblocking(true).unwrap();
        let folder = story.path("").canonicalize().unwrap();
        let lock = json!({
            "pid": std::process::id(), "workspaceFolders": [folder], "ideName": "Ed", "transport": "ws",
        });
        let port = editor.local_addr().unwrap().port();
        story.write(&format!("../editors/{port}.lock"), &lock.to_string());
        let editors = story.path("../editors");
        story.set("SWITCHBOARD_IDE_DIR", editors.to_str().unwrap());
        story.replace(&port.to_string(), "PORT");
        // An editor that never answers is not waited for.
        story.set("MCP_TIMEOUT", "1000");
        story.quietly(&["plugin", "new", "canary", "--lang", "c"]);
        let source = std::fs::read_to_string(story.path("canary/plugin.c")).unwrap();
        let loaded = "#include <stdio.h>\n__attribute__((constructor)) static void loaded(void) { \
                      FILE *file = fopen(CANARY, \"w\"); if (file) fclose(file); }\n";
        story.write("canary/plugin.c", &(source + loaded));
        std::fs::create_dir_all(story.path("../.config/switchboard/native")).unwrap();
        let built = Command::new("gcc")
            .args(["-shared", "-fPIC", "-Iinclude", "plugin.c"])
            .arg(format!("-DCANARY=\"{}\"", story.path("../CANARY").display()))
            .args(["-o", "../../.config/switchboard/native/canary.so"])
            .current_dir(story.path("canary"))
            .status();
        assert!(built.unwrap().success());
        Self { story, editor }
    }

    /// Whether the plugin was loaded, and whether anybody spoke to the editor, since this was asked last.
    fn seen(&self) -> (bool, bool) {
        let was_loaded = std::fs::remove_file(self.story.path("../CANARY")).is_ok();
        let mut was_reached = false;
        loop {
            match self.editor.accept() {
                Ok(_) => was_reached = true,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            }
        }
        (was_loaded, was_reached)
    }
}

const PLUGIN: &str = "../.config/switchboard/native/canary.so";
/// Commands that would use what was found.
const COMMANDS: [&[&str]; 6] = [
    &["list"],
    &["tools"],
    &["call", "mcp__plugins__hello"],
    &["plugin", "list"],
    &["plugin", "serve"],
    &["plugin", "check", PLUGIN],
];

#[test]
fn nothing_that_is_found_runs_where_policy_forbids_it() {
    let scene = Scene::new();
    // The scene would show it.
    for args in COMMANDS {
        shown_under(&scene.story, &[], args);
        let is_plugin_command = args[0] == "plugin";
        assert_eq!(scene.seen(), (true, !is_plugin_command), "{args:?}");
    }
    for (file, text, state) in POLICIES {
        let files = [(file, text)];
        for args in COMMANDS {
            let shown = shown_under(&scene.story, &files, args);
            assert_eq!(scene.seen(), (false, false), "{args:?} under {text}: {shown}");
        }
        let listed = shown_under(&scene.story, &files, &["list", "--json"]);
        let json = listed.split("--- stdout\n").nth(1).unwrap();
        let json: Value = serde_json::from_str(json.split("--- stderr").next().unwrap()).unwrap();
        for name in ["plugins", "ide"] {
            let mut rows = json["servers"].as_array().unwrap().iter();
            let row = rows.find(|row| row["name"] == name);
            assert_eq!(row.and_then(|row| row["state"].as_str()), state, "{name}: {json}");
            let by = row.map_or("", |row| row["by"]["origin"].as_str().unwrap_or_default());
            assert!(state.is_none() || by.ends_with(file), "{name} by {by}: {json}");
        }
        std::fs::remove_file(scene.story.path("../managed").join(file)).unwrap();
    }
}

/// The user's own switches stop them too, and `disable` knows their names.
#[test]
fn what_is_found_can_be_switched_off() {
    let mut scene = Scene::new();
    for name in ["plugins", "ide"] {
        scene.story.run(&["disable", name]);
    }
    for args in [&["list"][..], &["get", "plugins"], &["plugin", "serve"]] {
        scene.story.run(args);
        assert_eq!(scene.seen(), (false, false), "{args:?}");
    }
    scene.story.run(&["enable", "plugins"]).run(&["tools"]);
    assert_eq!(scene.seen(), (true, false));
    insta::assert_snapshot!("policy_switched_off", scene.story.transcript());
}

#[test]
fn the_built_in_server_obeys_policy() {
    let story = Story::new();
    let has_tools = |files: &[(&str, &str)]| {
        let shown = shown_under(&story, files, &["tools"]);
        let listed = shown_under(&story, files, &["plugin", "list"]);
        (shown.contains("builtin"), listed.contains("part of this program"))
    };
    assert_eq!(has_tools(&[]), (true, true));
    for (file, text, _) in POLICIES {
        assert_eq!(has_tools(&[(file, text)]), (false, false), "{text}");
        std::fs::remove_file(story.path("../managed").join(file)).unwrap();
    }
}

/// What a person reads of it.
#[test]
fn a_found_server_that_is_blocked_says_by_what() {
    let scene = Scene::new();
    let policy =
        r#"{"deniedMcpServers": [{"serverName": "plugins"}, {"serverUrl": "ws://127.0.0.1:*"}]}"#;
    let files = [("managed-settings.json", policy)];
    let shown = [&["list"][..], &["get", "plugins"], &["plugin", "serve"], &["plugin", "list"]]
        .map(|args| {
            format!("$ switchboard {}\n{}", args.join(" "), shown_under(&scene.story, &files, args))
        });
    let port = scene.editor.local_addr().unwrap().port().to_string();
    insta::assert_snapshot!("policy_found_blocked", shown.join("\n").replace(&port, "PORT"));
}

/// A server that is typed is judged like a configured one.
#[test]
fn what_is_typed_obeys_policy() {
    let story = Story::new();
    let editor = TcpListener::bind("127.0.0.1:0").unwrap();
    editor.set_nonblocking(true).unwrap();
    let url = format!("http://{}/mcp", editor.local_addr().unwrap());
    let commands = [
        &["probe"][..],
        &["probe", "sh", "-c", "touch CANARY"],
        &["probe", "--timeout", "1", &url],
    ];
    let everything =
        r#"{"deniedMcpServers": [{"serverName": "builtin"}, {"serverName": "probe"}]}"#;
    let denied = r#"{"deniedMcpServers": [{"serverName": "builtin"}, {"serverUrl": "http://127.0.0.1:*"},
        {"serverCommand": ["sh", "-c", "touch*"]}]}"#;
    for text in [r#"{"allowedMcpServers": []}"#, everything, denied, "{"] {
        for args in commands {
            let shown = shown_under(&story, &[("managed-settings.json", text)], args);
            assert!(shown.starts_with("exit 4"), "{args:?} under {text}: {shown}");
        }
        assert!(!story.path("CANARY").exists(), "{text}");
        assert_eq!(editor.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "{text}");
    }
    for args in commands {
        shown_under(&story, &[("managed-settings.json", "{}")], args);
    }
    assert!(story.path("CANARY").exists());
    assert!(editor.accept().is_ok());
}
