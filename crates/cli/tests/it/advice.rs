//! Tests of hints: equal with and without a hub, and never a step that would not help.

use serde_json::{Value, json};
use switchboard_testkit::programs::program;

use crate::Story;
use crate::gateway::{Client, stop};

/// A project in which everything that can go wrong with a server does.
fn story() -> Story {
    let mut story = Story::new();
    let sh = |script: &str| json!({ "command": "sh", "args": ["-c", script] });
    let http = |more: Value| {
        let mut entry = json!({ "type": "http", "url": "http://127.0.0.1:1/mcp" });
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        entry
    };
    let servers = json!({
        "absent": { "command": "no-such-command" },
        "mute": sh("exit 3"),
        "chatty": sh("echo no key >&2; exit 3"),
        "down": http(json!({})),
        "helped": http(json!({ "headersHelper": "false" })),
        "off": { "command": "sh", "disabled": true },
        "unset": { "command": "${NOT_SET}" },
        "kiosk": { "command": "kiosk" },
    });
    let permissions = json!({ "deny": ["mcp__kiosk__fail"] });
    let settings = json!({ "mcpServers": servers, "permissions": permissions });
    let settings = serde_json::to_string_pretty(&settings).unwrap();
    story.write("../.config/switchboard/settings.json", &settings);
    let wants = json!({ "mcpServers": { "waiting": { "command": "sh" } } });
    story.write(".mcp.json", &wants.to_string());
    story.put_on_path(&program("kiosk"));
    story
}

const COMMANDS: [&[&str]; 16] = [
    &["list"],
    &["reconnect", "helped"],
    &["call", "absent/x"],
    &["call", "mute/x"],
    &["call", "chatty/x"],
    &["call", "down/x"],
    &["call", "helped/x"],
    &["call", "off/x"],
    &["call", "unset/x"],
    &["call", "waiting/x"],
    &["call", "nobody/x"],
    &["call", "kiosk/nothing"],
    &["call", "kiosk/fail"],
    &["call", "kiosk/order", "what=1"],
    &["read", "kiosk", "kiosk://nothing"],
    &["prompt", "kiosk/nothing"],
];

#[test]
fn hints_are_the_same_through_a_hub() {
    let told = |story: &mut Story| {
        for args in COMMANDS {
            story.run(args);
        }
        story.transcript().to_owned()
    };
    let alone = told(&mut story());
    insta::assert_snapshot!("advice", alone);
    let mut story = story();
    let client = Client::spawn(story.command(&["connect"]));
    similar_asserts(&told(&mut story), &alone);
    client.leave();
    stop(&story.home);
}

/// Command by command, so that a difference can be read.
fn similar_asserts(one: &str, other: &str) {
    let commands = |text: &str| text.split("$ switchboard ").map(str::to_owned).collect::<Vec<_>>();
    for (one, other) in commands(one).iter().zip(commands(other)) {
        assert_eq!(*one, other, "through the hub, and without it");
    }
}

/// Calls `kiosk__erase` as a client that cannot be asked, and gives what it is told.
fn refused(rules: &Value, mode: &str) -> String {
    refused_by(rules, &["connect", "--mode", mode])
}

/// The same by the program started so.
fn refused_by(rules: &Value, args: &[&str]) -> String {
    let story = Story::new();
    let kiosk = program("kiosk");
    story.quietly(&["add", "kiosk", "--", kiosk.to_str().unwrap()]);
    let settings = json!({ "permissions": rules });
    story.write("../.config/switchboard/settings.json", &settings.to_string());
    let mut client = Client::spawn(story.command(args));
    let error = client.call("kiosk__erase").unwrap_err();
    client.leave();
    stop(&story.home);
    error["message"].as_str().unwrap().to_owned()
}

#[test]
fn a_client_is_told_of_a_rule_only_where_it_would_help() {
    let ask = json!({ "ask": ["mcp__kiosk"] });
    for (rules, mode, helps) in [
        (json!({}), "default", "the rule `mcp__kiosk__erase` under `permissions.allow`"),
        (json!({}), "dontAsk", "the rule `mcp__kiosk__erase` under `permissions.allow`"),
        (json!({}), "plan", "mode `plan` lets only read-only tools run"),
        (ask.clone(), "default", "or change the rule `mcp__kiosk`"),
        (ask.clone(), "client", "or change the rule `mcp__kiosk`"),
        (ask.clone(), "bypassPermissions", "or change the rule `mcp__kiosk`"),
        (ask.clone(), "dontAsk", "choose a mode that asks"),
        (ask, "plan", "mode `plan` lets only read-only tools run"),
        (
            json!({ "deny": ["mcp__kiosk__erase"] }),
            "default",
            "rule `mcp__kiosk__erase` (user scope",
        ),
    ] {
        let said = refused(&rules, mode);
        assert!(said.contains(helps), "{rules} in mode {mode}: {said}");
        let advises = said.contains("would allow it");
        assert_eq!(
            advises,
            helps.ends_with("`permissions.allow`"),
            "{rules} in mode {mode}: {said}"
        );
    }
}

/// Without a hub there is neither a console nor a terminal UI, so a client is not told to open one.
#[test]
fn a_client_without_a_hub_is_not_sent_to_the_console() {
    let ask = json!({ "ask": ["mcp__kiosk"] });
    let said = refused_by(&ask, &["connect", "--standalone"]);
    assert!(said.contains("change the rule `mcp__kiosk`"), "{said}");
    assert!(!said.contains("console") && !said.contains("switchboard ui"), "{said}");
    let said = refused_by(&ask, &["connect"]);
    assert!(said.contains("open the console or `switchboard ui`"), "{said}");
}

/// A server that the program finds by itself has no entry to remove or edit, and can be switched off.
#[test]
fn a_server_that_is_found_is_switched_off_instead() {
    let home = crate::Home::new();
    for command in ["remove", "edit"] {
        let said = home.run(&[command, "ide"]);
        assert!(said.contains("`ide` is not in a configuration file"), "{said}");
        assert!(said.contains("hint: switch it off with `switchboard disable ide`"), "{said}");
    }
}

#[test]
fn entries_that_share_a_connection_have_their_own_problems() {
    let story = Story::new();
    // One of its tools is crooked.
    let entry = json!({ "command": program("kiosk") });
    let servers = json!({ "mcpServers": { "one": entry, "two": entry } });
    story.write("../.config/switchboard/settings.json", &servers.to_string());
    let doctor = story.quietly(&["doctor", "--json"]);
    let doctor: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let of = |name: &str| {
        let problems = doctor["problems"].as_array().unwrap().iter();
        problems.filter(|problem| problem["server"] == name).count()
    };
    assert!(of("one") > 0, "{doctor}");
    assert_eq!(of("one"), of("two"), "{doctor}");
}
