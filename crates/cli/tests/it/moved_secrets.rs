//! Tests of `--move-secrets` of `setup` and `import`: values move to the secret store under names of their own, come
//! back, and stand in no output.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Output;

use serde_json::{Value, json};

use crate::Story;
use crate::import::copy_fixture;
use crate::setup::{home_files, run_json, text_of};
use crate::stored_secrets::{MARK, hides, set};

/// Texts that every token of the fixtures and of these tests has.
const MARKS: [&str; 3] = [MARK, "fake-work-token", "fake-private-token"];
const SETTINGS: &str = ".config/switchboard/settings.json";
const RECORD: &str = ".local/state/switchboard/setup.json";

/// Two accounts of one server in Cursor, and the first of them in Windsurf too.
fn two_accounts() -> Story {
    let story = Story::new();
    let entry = |value: &str| json!({ "command": "github-server", "args": ["server-github"], "env": { "GITHUB_TOKEN": format!("{MARK}-{value}") } });
    let cursor = json!({ "mcpServers": { "work": entry("1"), "home": entry("2") } });
    let windsurf = json!({ "mcpServers": { "github": entry("1") } });
    story.write("../.cursor/mcp.json", &cursor.to_string());
    story.write("../.codeium/windsurf/mcp_config.json", &windsurf.to_string());
    story
}

fn run(story: &Story, args: &[&str]) -> Output {
    let output = story.quietly(args);
    let said = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    for mark in MARKS {
        assert!(!said.contains(mark), "{args:?}: {said}");
    }
    output
}

fn succeed(story: &Story, args: &[&str]) -> String {
    let output = run(story, args);
    assert!(output.status.success(), "{}", story.home.shown(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The entries of our user settings.
fn entries(story: &Story) -> Value {
    let text = text_of(story, SETTINGS);
    for mark in MARKS {
        assert!(!text.contains(mark), "{text}");
    }
    serde_json::from_str::<Value>(&text).unwrap()["mcpServers"].clone()
}

/// The names of the stored secrets, each with the servers that name it.
fn secrets(story: &Story) -> BTreeMap<String, Value> {
    let shown: Value =
        serde_json::from_str(&succeed(story, &["secret", "list", "--json"])).unwrap();
    let each =
        |secret: &Value| (secret["name"].as_str().unwrap().to_owned(), secret["servers"].clone());
    shown["secrets"].as_array().unwrap().iter().map(each).collect()
}

/// The files of the person: everything but the sealed secrets and their key.
fn own_files(story: &Story) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = home_files(story);
    files.retain(|path, _| !path.starts_with(story.home.path().join(".local/state")));
    files
}

#[test]
fn the_fixtures_move_over_with_their_secrets_and_back() {
    let mut story = Story::new();
    story.put_stand_ins_on_path();
    copy_fixture(&story, "home", "..");
    copy_fixture(&story, "project", ".");
    let before = own_files(&story);
    story.run(&["setup", "--dry-run"]).run(&["setup", "--dry-run", "--move-secrets"]);
    assert_eq!(own_files(&story), before);
    assert_eq!(secrets(&story), BTreeMap::new());
    story.run(&["setup", "--move-secrets", "--yes"]);
    assert_eq!(
        entries(&story)["github"]["headers"]["Authorization"],
        "Bearer ${secret:GITHUB_AUTHORIZATION}"
    );
    assert_eq!(
        entries(&story)["github-2"]["headers"]["Authorization"],
        "Bearer ${secret:GITHUB_2_AUTHORIZATION}"
    );
    story.run(&["secret", "list"]).run(&["setup", "--move-secrets", "--yes"]);
    story.run(&["setup", "--undo", "--yes"]).run(&["secret", "list"]);
    for mark in MARKS {
        assert!(!story.transcript().contains(mark), "{}", story.transcript());
    }
    insta::assert_snapshot!("moved_secrets_fixtures", story.transcript());
    assert_eq!(own_files(&story), before);
    assert!(!story.home.path().join(RECORD).exists());
}

#[test]
fn two_accounts_of_one_server_get_two_names() {
    let story = two_accounts();
    let (code, value) = run_json(&story, &["setup", "--move-secrets", "--yes", "--json"]);
    assert_eq!(code, 0, "{value}");
    let moved = |name: &str, server: &str| json!({ "name": name, "server": server, "field": "env.GITHUB_TOKEN", "state": "moved" });
    assert_eq!(
        value["secrets"],
        json!([moved("GITHUB_TOKEN", "work"), moved("GITHUB_TOKEN_2", "home")])
    );
    assert_eq!(value["imported"], json!(["work", "home"]));
    let entries = entries(&story);
    assert_eq!(entries["work"]["env"]["GITHUB_TOKEN"], "${secret:GITHUB_TOKEN}");
    assert_eq!(entries["home"]["env"]["GITHUB_TOKEN"], "${secret:GITHUB_TOKEN_2}");
    // A server leaves a client's file only once ours gives it the same value.
    for file in [".cursor/mcp.json", ".codeium/windsurf/mcp_config.json"] {
        assert!(!text_of(&story, file).contains("server-github"), "{file}");
    }
    // Another client that has the account in plain text does not bring it a second time.
    let entry = json!({ "command": "github-server", "args": ["server-github"], "env": { "GITHUB_TOKEN": format!("{MARK}-2") } });
    story.write("../.gemini/settings.json", &json!({ "mcpServers": { "gh": entry } }).to_string());
    let (_, value) = run_json(&story, &["setup", "--yes", "--json"]);
    assert_eq!(value["imported"], json!([]), "{value}");
    assert!(!text_of(&story, ".gemini/settings.json").contains("server-github"));
}

#[test]
fn a_name_that_is_taken_is_shared_only_with_its_own_value() {
    for (value, name, state) in [("1", "GITHUB_TOKEN", true), ("other", "GITHUB_TOKEN_2", false)] {
        let story = two_accounts();
        set(&story, "GITHUB_TOKEN", &format!("{MARK}-{value}"));
        let shown = succeed(&story, &["setup", "windsurf", "--move-secrets", "--yes"]);
        assert_eq!(shown.contains("stored already"), state, "{shown}");
        let reference = format!("${{secret:{name}}}");
        assert_eq!(entries(&story)["github"]["env"]["GITHUB_TOKEN"], reference);
        assert!(secrets(&story).contains_key("GITHUB_TOKEN"));
        // Setup removes only what setup stored.
        succeed(&story, &["setup", "--undo", "--yes"]);
        assert_eq!(secrets(&story).into_keys().collect::<Vec<_>>(), ["GITHUB_TOKEN"]);
        succeed(&story, &["add", "-s", "user", "-e", "T=${secret:GITHUB_TOKEN}", "x", "sh"]);
        let revealed = story.quietly(&["get", "x", "--reveal"]);
        let revealed = String::from_utf8_lossy(&revealed.stdout).into_owned();
        assert!(!revealed.contains("-2"), "{revealed}");
    }
}

#[test]
fn names_of_providers_and_of_waiting_entries_are_not_taken() {
    let story = two_accounts();
    let waiting = json!({ "command": "sh", "env": { "T": "${secret:GITHUB_TOKEN_2}" } });
    let settings = json!({
        "secretProviders": { "GITHUB_TOKEN": "${file:/nowhere}" },
        "mcpServers": { "waiting": waiting },
    });
    story.write(&format!("../{SETTINGS}"), &settings.to_string());
    succeed(&story, &["setup", "windsurf", "--move-secrets", "--yes"]);
    assert_eq!(entries(&story)["github"]["env"]["GITHUB_TOKEN"], "${secret:GITHUB_TOKEN_3}");
}

/// The key of the store, or the store itself, cannot be used.
#[test]
fn a_store_that_cannot_be_used_changes_nothing() {
    let state = ".local/state/switchboard";
    for (folder, cause) in [("secrets.json", "cannot read"), ("sign-ins/key", "key")] {
        let story = two_accounts();
        fs::create_dir_all(story.home.path().join(state).join(folder)).unwrap();
        let before = own_files(&story);
        for args in [
            &["setup", "--move-secrets", "--yes"][..],
            &["import", "cursor", "--move-secrets", "--yes"],
        ] {
            let output = run(&story, args);
            let shown = story.home.shown(&output);
            assert_eq!(output.status.code(), Some(1), "{shown}");
            assert!(shown.contains("nothing was changed") && shown.contains(cause), "{shown}");
            assert_eq!(own_files(&story), before, "{args:?} {folder}");
            assert!(!story.home.path().join(RECORD).exists(), "{args:?} {folder}");
        }
        // Without the flag the store is not needed.
        succeed(&story, &["setup", "--yes"]);
    }
}

#[test]
fn secrets_of_servers_that_are_not_imported_are_not_stored() {
    let story = two_accounts();
    let denied = json!({ "deniedMcpServers": [{ "serverName": "home" }] });
    story.write(&format!("../{SETTINGS}"), &denied.to_string());
    assert_eq!(run(&story, &["setup", "--move-secrets", "--yes"]).status.code(), Some(1));
    assert_eq!(secrets(&story).into_keys().collect::<Vec<_>>(), ["GITHUB_TOKEN"]);
    let story = two_accounts();
    story.write(&format!("../{SETTINGS}"), &denied.to_string());
    let (code, value) =
        run_json(&story, &["import", "cursor", "--move-secrets", "--yes", "--json"]);
    assert_eq!(code, 1, "{value}");
    let states: Vec<_> =
        value["secrets"].as_array().unwrap().iter().map(|each| &each["state"]).collect();
    assert_eq!(states, ["moved", "planned"]);
    assert_eq!(secrets(&story).into_keys().collect::<Vec<_>>(), ["GITHUB_TOKEN"]);
}

#[test]
fn an_undo_keeps_secrets_that_are_needed_or_new() {
    let story = two_accounts();
    succeed(&story, &["setup", "--move-secrets", "--yes"]);
    succeed(&story, &["add", "-s", "user", "-e", "T=${secret:GITHUB_TOKEN}", "own", "sh"]);
    set(&story, "GITHUB_TOKEN_2", &format!("{MARK}-new"));
    let shown = succeed(&story, &["setup", "--undo", "--dry-run"]);
    assert!(shown.contains("the secret GITHUB_TOKEN stays, because an entry names it"), "{shown}");
    assert!(
        shown.contains("the secret GITHUB_TOKEN_2 stays, because it has another value since"),
        "{shown}"
    );
    let (code, value) = run_json(&story, &["setup", "--undo", "--yes", "--json"]);
    assert_eq!(code, 0, "{value}");
    let fate = |name: &str, fate: &str| json!({ "name": name, "fate": fate });
    assert_eq!(
        value["secrets"],
        json!([fate("GITHUB_TOKEN", "still-named"), fate("GITHUB_TOKEN_2", "replaced")])
    );
    assert_eq!(secrets(&story).len(), 2);
    assert!(succeed(&story, &["setup", "--undo", "--yes"]).is_empty());
    // An entry that a person approved in another project counts too.
    let story = two_accounts();
    succeed(&story, &["setup", "windsurf", "--move-secrets", "--yes"]);
    let entry = json!({ "command": "sh", "env": { "T": "${secret:GITHUB_TOKEN}" } });
    story
        .write("../elsewhere/.mcp.json", &json!({ "mcpServers": { "theirs": entry } }).to_string());
    let elsewhere = story.home.path().join("elsewhere");
    succeed(&story, &["--project", elsewhere.to_str().unwrap(), "approve", "theirs", "--yes"]);
    succeed(&story, &["setup", "--undo", "--yes"]);
    assert!(secrets(&story).contains_key("GITHUB_TOKEN"));
}

/// Values that an import, or a setup without the flag, left in our settings as plain text.
#[test]
fn secrets_of_entries_that_are_here_move_too_and_back() {
    let story = two_accounts();
    story.write(&format!("../{SETTINGS}"), "{\n  // mine\n  \"mcpServers\": {\n  }\n}\n");
    assert!(run(&story, &["import", "cursor", "--yes"]).status.success());
    let before = text_of(&story, SETTINGS);
    assert!(before.contains(MARK) && before.contains("// mine"), "{before}");
    let shown = succeed(&story, &["setup", "--dry-run"]);
    assert!(shown.contains("would move to the secret store with --move-secrets"), "{shown}");
    assert!(shown.contains("GITHUB_TOKEN    env.GITHUB_TOKEN of work"), "{shown}");
    let named = succeed(&story, &["setup", "windsurf", "--dry-run", "--move-secrets"]);
    assert!(!named.contains("GITHUB_TOKEN"), "{named}");
    let (code, value) = run_json(&story, &["setup", "--move-secrets", "--yes", "--json"]);
    assert_eq!(code, 0, "{value}");
    assert_eq!(value["imported"], json!([]));
    let states: Vec<_> =
        value["secrets"].as_array().unwrap().iter().map(|each| &each["state"]).collect();
    assert_eq!(states, ["moved", "moved"], "{value}");
    let after = text_of(&story, SETTINGS);
    assert!(after.contains("// mine") && !after.contains(MARK), "{after}");
    let entries: Value = serde_json::from_str(&after.replace("// mine", "")).unwrap();
    assert_eq!(entries["mcpServers"]["work"]["env"]["GITHUB_TOKEN"], "${secret:GITHUB_TOKEN}");
    assert_eq!(entries["mcpServers"]["home"]["env"]["GITHUB_TOKEN"], "${secret:GITHUB_TOKEN_2}");
    let (_, again) = run_json(&story, &["setup", "--move-secrets", "--yes", "--json"]);
    assert_eq!((&again["done"], &again["secrets"]), (&json!("unchanged"), &json!([])));
    succeed(&story, &["setup", "--undo", "--yes"]);
    assert_eq!(text_of(&story, SETTINGS), before);
    assert_eq!(secrets(&story), BTreeMap::new());
}

/// There may be nothing else to do: no client is on the machine.
#[test]
fn secrets_of_entries_that_are_here_move_without_a_client() {
    let story = Story::new();
    let token = format!("T_TOKEN={MARK}-1");
    succeed(&story, &["add", "-s", "user", "--no-secret", "-e", &token, "own", "sh"]);
    let shown = succeed(&story, &["setup", "--move-secrets", "--yes"]);
    assert!(shown.contains("T_TOKEN  env.T_TOKEN of own"), "{shown}");
    assert_eq!(entries(&story)["own"]["env"]["T_TOKEN"], "${secret:T_TOKEN}");
}

#[test]
fn an_import_moves_secrets_and_finds_its_servers_again() {
    let mut story = two_accounts();
    story.run(&["import", "cursor", "--dry-run"]);
    story.run(&["import", "cursor", "--move-secrets", "--yes"]);
    entries(&story);
    story.run(&["import", "cursor", "windsurf", "--yes"]).run(&["secret", "list"]);
    let transcript = story.transcript();
    assert!(!transcript.contains(MARK), "{transcript}");
    insta::assert_snapshot!("moved_secrets_import", transcript);
    for args in [&["list", "--no-check"][..], &["get", "work"], &["get", "work", "--json"]] {
        hides(&story.quietly(args));
    }
}

/// An OAuth client secret is never written as plain text; moved, it can be imported.
#[test]
fn a_client_secret_moves() {
    let story = Story::new();
    let oauth = json!({ "clientId": "me", "clientSecret": format!("{MARK}-1") });
    let entry = json!({ "httpUrl": "https://a.example/mcp", "oauth": oauth });
    story.write("../.gemini/settings.json", &json!({ "mcpServers": { "a": entry } }).to_string());
    let refused = run(&story, &["import", "gemini", "--yes"]);
    assert_eq!(refused.status.code(), Some(1));
    succeed(&story, &["import", "gemini", "--move-secrets", "--yes"]);
    assert_eq!(entries(&story)["a"]["oauth"]["clientSecret"], "${secret:A_CLIENT_SECRET}");
}

/// The password and a parameter of one URL become two secrets, and nothing of it is plain text any more.
#[test]
fn several_secrets_of_one_text_move() {
    let story = Story::new();
    let url = format!("https://me:{MARK}-1@db.example/mcp?page=2&api_key={MARK}-2");
    story.write(
        "../.cursor/mcp.json",
        &json!({ "mcpServers": { "db": { "url": url } } }).to_string(),
    );
    let output = run(&story, &["import", "cursor", "--move-secrets", "--yes"]);
    let shown = story.home.shown(&output);
    assert!(output.status.success() && !shown.contains("plain text"), "{shown}");
    assert_eq!(
        entries(&story)["db"]["url"],
        "https://me:${secret:DB_PASSWORD}@db.example/mcp?page=2&api_key=${secret:DB_API_KEY}"
    );
    assert!(succeed(&story, &["import", "cursor", "--yes"]).starts_with("skip db"));
}
