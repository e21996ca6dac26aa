//! Tests that a project cannot hide a part of what it wants to run: every page that asks for approval shows all of it.
//!
//! One case is a text in every field of everything that can await approval. The pages are `approve`, its JSON, the
//! admin API and the console; the terminal UI has these texts in its own tests.

use serde_json::{Value, json};

use crate::Story;
use crate::admin::{Hub, event, object};
use crate::console::Scene;
use crate::gateway::{Client, stop};

/// Texts that hide `touch CANARY` from masking or from the eye.
fn hostile() -> Vec<String> {
    vec![
        "GITHUB_TOKEN=x; touch CANARY; true".to_owned(),
        "--token=x; touch CANARY".to_owned(),
        "Authorization: x; touch CANARY".to_owned(),
        "curl -s https://ci.example/status;touch CANARY;: user@ci.example".to_owned(),
        "curl https://ci.example/?token=x;touch CANARY".to_owned(),
        "\u{1b}[2K\u{1b}[1A\u{9b}2Jtouch CANARY\u{7}".to_owned(),
        "touch CANARY\recho harmless\r\n\t\u{b}".to_owned(),
        "echo \u{202e}\u{2066}\u{200b}\u{3164}; touch CANARY".to_owned(),
        format!("echo harmless{}; touch CANARY", " ".repeat(4_000)),
        format!("echo harmless{}; touch CANARY", "\u{a0}".repeat(400)),
        format!("echo {}; touch CANARY", "a".repeat(9_000)),
        "ghp_0123456789abcdef; touch CANARY".to_owned(),
        "${X:-touch CANARY}".to_owned(),
    ]
}

/// The fields that a text stands in, each with a canary of its own.
const FIELDS: [&str; 14] = [
    "command",
    "args",
    "after-flag",
    "env",
    "envFile",
    "cwd",
    "headers",
    "headersHelper",
    "hook",
    "matcher",
    "classifier",
    "agent",
    "agent-env",
    "prompt",
];

/// The text for one field. A header with a control character is invalid, and never asked about.
fn text(hostile: &str, field: &str) -> String {
    let text = hostile.replace("CANARY", &format!("CANARY-{field}"));
    if field == "headers" { text.replace(char::is_control, "") } else { text }
}

/// Writes a project that has the text everywhere.
fn write(story: &Story, hostile: &str) {
    let at = |field: &str| text(hostile, field);
    let servers = json!({ "mcpServers": {
        "local": {
            "command": at("command"), "args": ["-c", at("args"), "--password", at("after-flag")],
            "env": { "API_TOKEN": at("env") }, "envFile": at("envFile"), "cwd": at("cwd"),
        },
        "remote": {
            "type": "http", "url": "https://user:CANARY-url@ci.example/?access_token=CANARY-query",
            "headers": { "Authorization": at("headers") }, "headersHelper": at("headersHelper"),
        },
    } });
    story.write(".mcp.json", &servers.to_string());
    let hook = json!({ "type": "command", "command": at("hook") });
    let settings = json!({
        "permissions": { "classifier": at("classifier") },
        "hooks": { "PreToolUse": [{ "matcher": at("matcher"), "hooks": [hook] }] },
    });
    story.write(".switchboard/settings.json", &settings.to_string());
    let inner =
        json!({ "command": "sh", "args": [at("agent")], "env": { "TOKEN": at("agent-env") } });
    let front = json!({ "mcpServers": [{ "inner": inner }] });
    let agent = format!("---\n{front}\n---\n{}", at("prompt"));
    story.write(".switchboard/agents/helper.md", &agent);
}

/// Every text in a value.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(elements) => elements.iter().for_each(|element| texts(element, found)),
        Value::Object(members) => members.values().for_each(|member| texts(member, found)),
        _ => {}
    }
}

/// Everything in what is pending stands there exactly.
#[track_caller]
fn is_exact(pending: &Value, hostile: &str) {
    let mut found = Vec::new();
    texts(pending, &mut found);
    for field in FIELDS {
        let text = text(hostile, field);
        assert!(found.contains(&text), "{field} of {hostile:.200?}: {found:.200?}");
    }
    let url = "https://user:CANARY-url@ci.example/?access_token=CANARY-query";
    assert!(found.iter().any(|text| text == url), "{pending:#}");
}

/// Everything can be read, and nothing acts on the screen or is left out.
#[track_caller]
fn is_readable(shown: &str, hostile: &str) {
    for field in FIELDS {
        let is_shown = shown.contains(&format!("touch CANARY-{field}"));
        assert!(is_shown, "{field} of {hostile:.200?}: {shown:.4000}");
    }
    assert!(shown.contains("https://user:CANARY-url@ci.example/?access_token=CANARY-query"));
    assert!(!shown.contains("****"), "{shown:.4000}");
    let acts = |c: char| c.is_control() && c != '\n' || "\u{202e}\u{2066}\u{200b}".contains(c);
    assert!(!shown.contains(acts), "{shown:.4000?}");
    let escapes = [("\u{1b}", "1b}"), ("\r", "\\r"), ("\u{202e}", "202e"), ("\u{3164}", "3164")];
    for (hidden, escape) in escapes.into_iter().filter(|(hidden, _)| hostile.contains(hidden)) {
        let is_escaped = shown.contains(escape) || shown.contains("u{d}");
        assert!(is_escaped, "{hidden:?} was left out: {shown:.4000}");
    }
    assert!(!shown.contains(&" ".repeat(400)), "what follows is out of sight");
}

fn stdout(story: &Story, args: &[&str]) -> String {
    String::from_utf8(story.quietly(args).stdout).unwrap()
}

#[test]
fn the_command_shows_all_of_it() {
    for hostile in hostile() {
        let story = Story::new();
        write(&story, &hostile);
        is_readable(&stdout(&story, &["approve"]), &hostile);
        let told: Value = serde_json::from_str(&stdout(&story, &["approve", "--json"])).unwrap();
        is_exact(&told["pending"], &hostile);
        let one = stdout(&story, &["approve", "local"]);
        assert!(one.contains("touch CANARY-after-flag") && !one.contains("****"), "{one}");
    }
}

/// Both sides of a change, as they stood and stand in the file; elsewhere secrets stay hidden, and it is said where not.
#[test]
fn a_change_shows_both_sides() {
    for hostile in hostile() {
        let story = Story::new();
        write(&story, &hostile);
        story.quietly(&["approve", "--all", "--yes"]);
        let (before, after) = (hostile.as_str(), hostile.replace("touch", "rm"));
        write(&story, &after);
        let shown = stdout(&story, &["approve"]);
        // A classifier is called what it runs, so another one is no change of it.
        for field in FIELDS.iter().filter(|field| **field != "classifier") {
            for command in ["touch", "rm"] {
                let is_shown = shown.contains(&format!("{command} CANARY-{field}"));
                assert!(is_shown, "{command} in {field}: {shown:.4000}");
            }
        }
        let told: Value = serde_json::from_str(&stdout(&story, &["approve", "--json"])).unwrap();
        let mut pending = told["pending"].as_array().unwrap().iter();
        let local = pending.find(|case| case["name"] == "local").unwrap();
        let changes = local["changes"].as_array().unwrap();
        let of = |field: &str| changes.iter().find(|change| change["field"] == field).unwrap();
        for (field, name) in
            [("command", "command"), ("args[3]", "after-flag"), ("env.API_TOKEN", "env")]
        {
            let change = of(field);
            assert_eq!(change["before"], text(before, name), "{change}");
            assert_eq!(change["after"], text(&after, name), "{change}");
        }
    }
    let story = Story::new();
    write(&story, "s3cret");
    story.quietly(&["approve", "local"]);
    write(&story, "s3cret too");
    for args in [&["list", "--no-check"][..], &["list", "--no-check", "--json"], &["get", "local"]]
    {
        let shown = stdout(&story, args);
        let is_said = shown.contains("env.API_TOKEN; `switchboard approve` shows how");
        assert!(is_said || args.contains(&"--json"), "{shown}");
        assert!(!shown.contains("API_TOKEN=s3cret"), "{shown}");
    }
}

#[test]
fn the_admin_api_gives_all_of_it() {
    let story = Story::new();
    write(&story, &hostile()[0]);
    let client = Client::spawn(story.command(&["connect"]));
    let hub = Hub::of(&story.home);
    let folder = story.path("").canonicalize().unwrap();
    let whose = json!({ "cwd": folder, "env": { "HOME": story.home.path(), "PATH": "/usr/bin" } });
    for hostile in hostile() {
        write(&story, &hostile);
        let (_, mut lease) = hub.ask("POST", "/api/v1/workspaces", &whose.to_string());
        let (_, opened) = event(&mut lease);
        let at = format!("/api/v1/workspaces/{}/approvals", opened["id"].as_str().unwrap());
        let told = object(hub.ask("GET", &at, "").1);
        is_exact(&told["pending"], &hostile);
        assert!(!told.to_string().contains("****"), "{told}");
    }
    client.leave();
    stop(&story.home);
}

/// A project whose server names two secrets.
fn write_with_secrets(story: &Story) {
    let env = json!({ "A": "${secret:DEPLOY_KEY}", "B": "x-${secret:DB_PASSWORD}" });
    let servers = json!({ "mcpServers": { "deploy": { "command": "sh", "env": env } } });
    story.write(".mcp.json", &servers.to_string());
}

#[test]
fn the_admin_api_names_the_secrets_that_an_entry_gets() {
    let story = Story::new();
    write_with_secrets(&story);
    let client = Client::spawn(story.command(&["connect"]));
    let hub = Hub::of(&story.home);
    let folder = story.path("").canonicalize().unwrap();
    let whose = json!({ "cwd": folder, "env": { "HOME": story.home.path(), "PATH": "/usr/bin" } });
    let (_, mut lease) = hub.ask("POST", "/api/v1/workspaces", &whose.to_string());
    let (_, opened) = event(&mut lease);
    let at = format!("/api/v1/workspaces/{}/approvals", opened["id"].as_str().unwrap());
    let told = object(hub.ask("GET", &at, "").1);
    assert_eq!(told["pending"][0]["secrets"], json!(["DB_PASSWORD", "DEPLOY_KEY"]), "{told}");
    client.leave();
    stop(&story.home);
}

#[test]
fn the_console_names_the_secrets_that_an_entry_gets() {
    let story = Story::new();
    write_with_secrets(&story);
    let mut scene = Scene::new(story);
    let page = scene.does("reviews", json!({ "count": 1 }));
    let page = page.as_str().unwrap();
    assert!(page.contains("Gets secrets") && page.contains("DB_PASSWORD, DEPLOY_KEY"), "{page}");
}

#[test]
fn the_console_shows_all_of_it() {
    // A browser takes its time: one text for each way to hide something.
    let hostile = hostile();
    for hostile in [0, 3, 5, 6, 7, 8].map(|case| &hostile[case]) {
        let story = Story::new();
        write(&story, hostile);
        let mut scene = Scene::new(story);
        // Two servers, a hook, a classifier, an agent.
        let page = scene.does("reviews", json!({ "count": 5 }));
        is_readable(page.as_str().unwrap(), hostile);
    }
}
