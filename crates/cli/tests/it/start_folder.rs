//! Tests of the folder in which an entry starts and its program is looked up: never a clone that it was not approved
//! for.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::Story;

/// A folder `project` that a person trusts, a stranger's repository `project/clone`, and a folder in which each program
/// that runs leaves its name.
struct Clone {
    story: Story,
    canary: PathBuf,
}

impl Clone {
    fn new() -> Self {
        let mut story = Story::new();
        let canary = story.path("../canary");
        fs::create_dir(&canary).unwrap();
        story.set("CANARY", canary.to_str().unwrap());
        let world = Self { story, canary };
        world.story.write("clone/.git/HEAD", "ref: refs/heads/main\n");
        world
    }

    /// A program in the trusted folder, at home or in the clone that leaves the name `sign`.
    fn program(&self, name: &str, sign: &str) {
        let text = format!("#!/bin/sh\n/usr/bin/touch {}/{sign}\n", self.canary.display());
        self.story.write(name, &text);
        fs::set_permissions(self.story.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The same program in the trusted folder and in the clone.
    fn programs(&self, name: &str) {
        self.program(name, "trusted");
        self.program(&format!("clone/{name}"), "clone");
    }

    /// Which programs ran, and forgets them.
    fn ran(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.canary).unwrap().flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        for name in &names {
            fs::remove_file(self.canary.join(name)).unwrap();
        }
        names
    }

    fn approve(&self) {
        let output = self.story.quietly(&["approve", "--all", "--yes"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// What `list` shows in the clone.
    fn list(&self) -> String {
        let output =
            self.story.command(&["--project", "clone", "list", "--json"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    fn user_settings(&self, settings: &Value) {
        self.story.write("../.config/switchboard/settings.json", &settings.to_string());
    }
}

/// Each entry is approved in the folder above, and takes one thing from a relative place.
#[test]
fn an_entry_of_the_folder_above_takes_nothing_from_the_clone() {
    let sh = |script: &str| json!({"command": "sh", "args": ["-c", script]});
    let cases = [
        ("command", json!({"command": "./tools/server"})),
        ("argument", json!({"command": "sh", "args": ["tools/server"]})),
        ("folder", json!({"command": "./server", "cwd": "tools"})),
        ("variables", {
            let mut entry = sh("touch $CANARY_FOLDER/$SIGN");
            entry["envFile"] = json!("tools/env");
            entry
        }),
        (
            "helper",
            json!({"type": "http", "url": "http://127.0.0.1:1/", "headersHelper": "tools/server"}),
        ),
    ];
    for (what, entry) in cases {
        let world = Clone::new();
        world.programs("tools/server");
        for (folder, sign) in [("", "trusted"), ("clone/", "clone")] {
            let text = format!("CANARY_FOLDER={}\nSIGN={sign}\n", world.canary.display());
            world.story.write(&format!("{folder}tools/env"), &text);
        }
        world.story.write(".mcp.json", &json!({"mcpServers": {"a": entry}}).to_string());
        world.approve();
        world.list();
        assert_eq!(world.ran(), ["trusted"], "{what}");
    }
}

#[test]
fn a_linked_folder_of_settings_brings_no_approvals() {
    let world = Clone::new();
    world.programs("server");
    world.story.write(
        ".switchboard/settings.local.json",
        r#"{"mcpServers": {"a": {"command": "./server"}}}"#,
    );
    world.approve();
    symlink("../.switchboard", world.story.path("clone/.switchboard")).unwrap();
    let list = world.list();
    assert_eq!(world.ran(), [""; 0], "{list}");
    assert!(list.contains("link-not-followed"), "{list}");
}

/// A runner such as `npx`, which prefers what the folder it starts in has installed.
#[test]
fn an_agent_of_the_user_takes_nothing_from_the_clone() {
    let world = Clone::new();
    world.program("clone/node_modules/.bin/some-mcp", "clone");
    world.story.write("../bin/run-package", "#!/bin/sh\nexec node_modules/.bin/$1\n");
    fs::set_permissions(world.story.path("../bin/run-package"), fs::Permissions::from_mode(0o755))
        .unwrap();
    world.program("../node_modules/.bin/some-mcp", "home");
    world.story.write(
        "../.config/switchboard/agents/mine.md",
        "---\nmcpServers:\n  - inline: {command: run-package, args: [some-mcp]}\n---\nWork.\n",
    );
    let path = format!("{}:/usr/bin:/bin", world.story.path("../bin").display());
    let mut command = world.story.command(&["connect", "--standalone", "--agent", "mine"]);
    command.current_dir(world.story.path("clone")).env("PATH", path);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let client = json!({"name": "c", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
    ] {
        writeln!(input, "{message}").unwrap();
    }
    let answers = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let listed = answers.take(16).find(|line| line.contains("\"id\":2"));
    drop(input);
    child.wait().unwrap();
    assert!(listed.is_some());
    assert_eq!(world.ran(), ["home"]);
}

#[test]
fn a_bare_command_is_not_looked_up_in_the_clone() {
    let mut world = Clone::new();
    world.program("clone/bin/server", "clone");
    world.program("clone/relative/server", "clone");
    world.program("../bin/server", "home");
    // What `env` finds for a script is no other.
    world.program("clone/bin/interpreter", "clone-interpreter");
    world.program("../bin/interpreter", "home-interpreter");
    world.story.write("../bin/script", "#!/usr/bin/env interpreter\n");
    fs::set_permissions(world.story.path("../bin/script"), fs::Permissions::from_mode(0o755))
        .unwrap();
    world.user_settings(&json!({
        "mcpServers": {"plain": {"command": "server"}, "script": {"command": "script"}}
    }));
    let folder = |name: &str| world.story.path(name).canonicalize().unwrap().display().to_string();
    let path = format!("relative:{}:{}:/usr/bin:/bin", folder("clone/bin"), folder("../bin"));
    world.story.set("PATH", &path);
    world.list();
    assert_eq!(world.ran(), ["home", "home-interpreter"]);
    let doctor = world.story.quietly(&["--project", "clone", "doctor"]);
    let said = world.story.home.shown(&doctor);
    for folder in ["`relative`: it is not an absolute path", "clone/bin`: it lies in this project"]
    {
        assert!(said.contains(folder), "{said}");
    }
}

/// A shell looks up what helpers and hooks name, in the `PATH` that it gets.
#[test]
fn a_helper_of_the_user_is_not_looked_up_in_the_clone() {
    let mut world = Clone::new();
    world.program("clone/bin/helper", "clone");
    world.program("../bin/helper", "home");
    let folder = |name: &str| world.story.path(name).canonicalize().unwrap().display().to_string();
    let path = format!("{}:{}:/usr/bin:/bin", folder("clone/bin"), folder("../bin"));
    world.story.set("PATH", &path);
    let remote = "http://127.0.0.1:1/";
    for settings in [
        json!({"mcpServers": {"a": {"type": "http", "url": remote, "headersHelper": "helper"}}}),
        json!({"connectors": {"url": remote, "tokenHelper": "helper"}}),
    ] {
        world.user_settings(&settings);
        world.list();
        assert_eq!(world.ran(), ["home"], "{settings}");
    }
}

#[test]
fn a_changed_file_of_variables_does_not_choose_the_program() {
    for line in ["PATH", "LD_PRELOAD", "NODE_OPTIONS", "PYTHONPATH", "BASH_ENV", "Path"] {
        let world = Clone::new();
        world.program("bin/sh", "path");
        world.story.write(
            ".mcp.json",
            r#"{"mcpServers": {"a": {"command": "sh", "args": ["-c", "exit 3"], "envFile": ".env"}}}"#,
        );
        world.story.write(".env", "FINE=1\n");
        world.approve();
        let bin = world.story.path("bin").display().to_string();
        world.story.write(".env", &format!("FINE=1\n{line}={bin}\n"));
        let output = world.story.quietly(&["list"]);
        let said = world.story.home.shown(&output);
        assert!(said.contains(&format!("sets `{line}`, which decides what code runs")), "{said}");
        assert_eq!(world.ran(), [""; 0], "{line}");
    }
}

/// Hooks of the user start at home: in the clone a relative path would be the clone's.
#[test]
fn hooks_start_where_their_settings_belong() {
    let world = Clone::new();
    world.program("clone/hook", "clone");
    world.program("../hook", "home");
    let hook = json!([{"hooks": [{"type": "command", "command": "./hook"}]}]);
    let kiosk = switchboard_testkit::programs::program("kiosk");
    let servers = json!({"kiosk": {"command": kiosk}});
    world.user_settings(&json!({"mcpServers": servers, "hooks": {"PreToolUse": hook}}));
    let output = world.story.quietly(&["--project", "clone", "call", "mcp__kiosk__say", "text=x"]);
    let said = world.story.home.shown(&output);
    assert_eq!(world.ran(), ["home"], "{said}");
}
