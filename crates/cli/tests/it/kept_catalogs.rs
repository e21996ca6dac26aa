//! Tests of kept catalogs in the whole program: how often servers are started, for clients of a hub and for commands
//! without one. The server writes a line into a file at each start.

use std::fs;

use serde_json::{Value, json};
use switchboard_testkit::programs::program;

use crate::Story;
use crate::edit::editor;
use crate::gateway::{Client, stop, until};

/// A home with one server, which speaks the legacy era.
struct Scene {
    story: Story,
}

// === impl Scene ===

impl Scene {
    fn new() -> Self {
        let scene = Self { story: Story::new() };
        scene.install("notebook");
        let line = r#"echo started >> "$1"; exec "$(cat "$2")""#;
        let (starts, server) = (scene.story.path("starts"), scene.story.path("server"));
        let entry = json!({
            "command": "/bin/sh", "args": ["-c", line, "sh", starts, server], "era": "legacy",
        });
        let added = scene.story.quietly(&["add-json", "one", &entry.to_string()]);
        assert!(added.status.success(), "{added:?}");
        scene
    }

    /// Makes the server this program.
    fn install(&self, name: &str) {
        self.story.write("server", program(name).to_str().unwrap());
    }

    fn starts(&self) -> usize {
        fs::read_to_string(self.story.path("starts")).map_or(0, |text| text.lines().count())
    }

    fn client(&self, capabilities: &Value) -> Client {
        Client::able(self.story.command(&["connect"]), "2025-06-18", capabilities)
    }

    /// How many catalogs are kept.
    fn catalogs(&self) -> usize {
        let folder = self.story.home.path().join(".local/state/switchboard/catalogs");
        fs::read_dir(folder).map_or(0, Iterator::count)
    }

    /// Writes the person's settings.
    fn settings(&self, settings: &Value) {
        self.story.write("../.config/switchboard/settings.json", &settings.to_string());
    }

    /// Runs a command that succeeds.
    fn succeed(&self, args: &[&str]) {
        let output = self.story.quietly(args);
        assert!(output.status.success(), "{}", self.story.home.shown(&output));
    }

    fn json(&self, args: &[&str]) -> Value {
        let output = self.story.quietly(args);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    }
}

fn has_tool(client: &mut Client, tool: &str) -> bool {
    let listed = client.ask("tools/list", &json!({})).unwrap();
    listed["tools"].as_array().unwrap().iter().any(|listed| listed["name"] == tool)
}

#[test]
fn a_cold_hub_starts_a_server_once_for_each_kind_of_client() {
    let scene = Scene::new();
    let (form, sampling) = (json!({ "elicitation": {} }), json!({ "sampling": {} }));
    let mut clients = Vec::new();
    for (declares, starts) in [(&form, 1), (&form, 1), (&sampling, 2)] {
        let mut client = scene.client(declares);
        assert!(has_tool(&mut client, "one__read"));
        client.call("one__read").unwrap();
        assert_eq!(scene.starts(), starts, "{declares}");
        clients.push(client);
    }
    clients.into_iter().for_each(Client::leave);
    stop(&scene.story.home);

    // The next hub has a catalog for each kind, with which the first client begins.
    for declares in [&form, &sampling] {
        let mut client = scene.client(declares);
        let instructions = client.greeting["instructions"].as_str().unwrap_or_default();
        assert!(instructions.contains("write it down"), "{declares}: {}", client.greeting);
        assert!(has_tool(&mut client, "one__read"));
        assert_eq!(scene.starts(), 2, "{declares}");
        client.leave();
        stop(&scene.story.home);
    }
    let mut client = scene.client(&form);
    client.call("one__read").unwrap();
    assert_eq!(scene.starts(), 3);
    client.leave();
    stop(&scene.story.home);

    // Commands of a hub look whether the server works when they are asked to.
    let client = scene.client(&form);
    let state = |args: &[&str]| scene.json(args)["servers"][0]["state"].clone();
    assert_eq!((state(&["list", "--json"]), scene.starts()), (json!("idle"), 3));
    assert_eq!((state(&["list", "--check", "--json"]), scene.starts()), (json!("connected"), 4));
    client.leave();
    stop(&scene.story.home);
}

#[test]
fn a_client_hears_that_a_tool_is_gone_and_gets_the_new_list() {
    let scene = Scene::new();
    let mut client = scene.client(&json!({}));
    assert!(has_tool(&mut client, "one__read"));
    client.leave();
    stop(&scene.story.home);
    scene.install("echo-server");
    let mut client = scene.client(&json!({}));
    assert!(has_tool(&mut client, "one__read") && !has_tool(&mut client, "one__echo"));
    let id = client.send("tools/call", &json!({ "name": "one__read", "arguments": {} }));
    let (mut answer, mut is_told) = (Value::Null, false);
    while answer.is_null() || !is_told {
        let message = client.next();
        is_told |= message["method"] == "notifications/tools/list_changed";
        if message["id"] == id {
            answer = message;
        }
    }
    assert!(answer.to_string().contains("no longer has"), "{answer}");
    assert!(!has_tool(&mut client, "one__read") && has_tool(&mut client, "one__echo"));
    client.leave();
    stop(&scene.story.home);
}

/// A client keeps no tools of a server that is not there any more.
#[test]
fn a_client_hears_that_a_server_was_switched_off_removed_or_withheld() {
    let check = |what: &str, leave: &dyn Fn(&Scene)| {
        let scene = Scene::new();
        let mut client = scene.client(&json!({}));
        assert!(has_tool(&mut client, "one__read"), "{what}");
        leave(&scene);
        client.until("notifications/tools/list_changed");
        assert!(!has_tool(&mut client, "one__read"), "{what}");
        client.leave();
        stop(&scene.story.home);
    };
    check("disabled", &|scene| scene.succeed(&["disable", "one"]));
    check("removed", &|scene| scene.succeed(&["remove", "one"]));
    check("rejected", &|scene| scene.succeed(&["reject", "one"]));
    check("denied", &|scene| scene.settings(&json!({ "permissions": { "deny": ["mcp__one"] } })));
    let forbidden = json!({ "deniedMcpServers": [{ "serverName": "one" }] });
    check("forbidden", &|scene| scene.settings(&forbidden));
    check("awaiting approval again", &|scene| {
        let file = scene.story.path(".switchboard/settings.local.json");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace("legacy", "modern")).unwrap();
    });
}

#[test]
fn settings_say_when_a_server_starts_and_stops() {
    let scene = Scene::new();
    let state = |scene: &Scene| scene.json(&["list", "--json"])["servers"][0]["state"].clone();
    scene.settings(&json!({ "limits": { "serverIdleMs": 100 } }));
    let mut client = scene.client(&json!({}));
    assert!(has_tool(&mut client, "one__read"));
    until("the server is not stopped", || state(&scene) == "idle");
    client.leave();
    stop(&scene.story.home);
    scene.settings(&json!({ "start": "eager" }));
    let client = scene.client(&json!({}));
    until("the server is not started", || state(&scene) == "connected");
    // It starts before a client is known, and once more for a client that declares something else.
    assert!((2..=3).contains(&scene.starts()), "{}", scene.starts());
    client.leave();
    stop(&scene.story.home);
}

#[test]
fn commands_without_a_hub_start_only_servers_that_they_need() {
    let scene = Scene::new();
    let state = |args: &[&str]| scene.json(args)["servers"][0]["state"].clone();
    assert_eq!(state(&["list", "--json"]), "connected");
    assert_eq!(scene.starts(), 1, "its lists were not known");
    assert_eq!(state(&["list", "--json"]), "idle");
    let tools = scene.json(&["tools", "one", "--json"]);
    assert!(
        tools["tools"].as_array().unwrap().iter().any(|tool| tool["tool"] == "read"),
        "{tools}"
    );
    for args in [&["tools"][..], &["prompts"], &["resources"], &["list"]] {
        assert!(scene.story.quietly(args).status.success(), "{args:?}");
    }
    assert_eq!(scene.starts(), 1);
    // These need the server, or look whether it works.
    let real: [&[&str]; 4] =
        [&["call", "one/read"], &["list", "--check"], &["doctor"], &["reconnect", "one"]];
    for (number, args) in real.into_iter().enumerate() {
        let output = scene.story.quietly(args);
        assert_eq!(scene.starts(), number + 2, "{args:?} {output:?}");
    }
    assert_eq!(state(&["list", "--check", "--json"]), "connected");
}

/// The entry is gone, changed or rejected when no hub runs that would notice. Its catalogs were read in another
/// environment, so the command cannot compute their keys.
#[test]
fn commands_without_a_hub_delete_the_catalog_of_a_former_entry() {
    let check = |args: &[&str]| {
        let mut scene = Scene::new();
        scene.succeed(&["add", "-s", "user", "two", program("notebook").to_str().unwrap()]);
        for language in ["C", "C.UTF-8"] {
            let mut list = scene.story.command(&["list"]);
            let listed = list.env("LANG", language).output().unwrap();
            assert!(listed.status.success(), "{listed:?}");
        }
        assert_eq!(scene.catalogs(), 4, "{args:?}: two servers in two environments");
        editor(&mut scene.story, r#"sed -i s/legacy/modern/ "$1""#);
        scene.succeed(args);
        assert_eq!(scene.catalogs(), 2, "{args:?}");
    };
    check(&["remove", "one"]);
    check(&["reject", "one"]);
    check(&["edit", "one"]);
}

#[test]
fn an_undo_of_setup_deletes_the_catalogs_of_imported_servers() {
    let story = Story::new();
    let entry = json!({ "command": program("notebook") });
    story.write("../.cursor/mcp.json", &json!({ "mcpServers": { "notes": entry } }).to_string());
    let scene = Scene { story };
    scene.succeed(&["setup", "cursor", "--yes"]);
    scene.succeed(&["list"]);
    assert_eq!(scene.catalogs(), 1);
    scene.succeed(&["setup", "--undo", "--yes"]);
    assert_eq!(scene.catalogs(), 0);
}
