//! Tests of the secret store through the whole program: its commands, the servers that get a value, and that no
//! output and no file shows one.

use std::io::Write as _;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};
use switchboard_testkit::keychain::{LOCKED, UNLOCKED, session};

use crate::Story;
use crate::gateway::{Client, stop, until};

/// What every secret of these tests begins with.
pub(crate) const MARK: &str = "MARKER-s3cret";
/// The same, with each letter replaced by the thirteenth after it.
const ROTATED_MARK: &str = "ZNEXRE-f3perg";

/// Runs a command with `input` on its standard input.
fn pipe(story: &Story, args: &[&str], input: &str) -> Output {
    let mut command = story.command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

pub(crate) fn set(story: &Story, name: &str, value: &str) {
    let output = pipe(story, &["secret", "set", name, "--from-stdin"], value);
    assert!(output.status.success(), "{output:?}");
    hides(&output);
}

pub(crate) fn hides(output: &Output) {
    let said = [&output.stdout[..], &output.stderr].concat();
    assert!(!String::from_utf8_lossy(&said).contains(MARK), "{output:?}");
}

/// Fails if a file below a folder contains the mark.
fn files_hide(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_hide(&path);
        } else if path.is_file() {
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            assert!(!text.contains(MARK), "{}", path.display());
        }
    }
}

/// The arguments of a shell that writes its variable `TOKEN` to `~/token`, rotated, then serves.
fn server() -> [String; 2] {
    let program = env!("CARGO_BIN_EXE_switchboard");
    let rotate = "printf %s \"$TOKEN\" | tr A-Za-z N-ZA-Mn-za-m > \"$HOME/token\"";
    ["-c".to_owned(), format!("{rotate}; exec {program} builtin")]
}

/// The token that the server got last, rotated.
fn token(story: &Story) -> String {
    std::fs::read_to_string(story.home.path().join("token")).unwrap()
}

/// `switchboard list --json`: the state of a server.
fn state(story: &Story, name: &str) -> String {
    let output = story.quietly(&["list", "--json"]);
    hides(&output);
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    let servers = list["servers"].as_array().unwrap();
    let server = servers.iter().find(|server| server["name"] == name).unwrap();
    server["state"].as_str().unwrap().to_owned()
}

/// A pipe needs no flag; without a pipe and without a terminal there is no value.
#[test]
fn a_secret_comes_through_a_pipe() {
    let story = Story::new();
    assert!(pipe(&story, &["secret", "set", "PIPED"], MARK).status.success());
    let listed = story.quietly(&["secret", "list", "--json"]);
    assert!(String::from_utf8_lossy(&listed.stdout).contains("\"PIPED\""), "{listed:?}");
    let nothing = pipe(&story, &["secret", "set", "PIPED"], "");
    let said = String::from_utf8_lossy(&nothing.stderr).into_owned();
    assert!(said.contains("there is no terminal to type the value on"), "{said}");
}

#[test]
fn the_commands() {
    let mut story = Story::new();
    story.run(&["secret", "list"]).run(&["secret", "set", "GITHUB_TOKEN"]);
    story.run(&["secret", "set", "not a name", "--from-stdin"]);
    set(&story, "GITHUB_TOKEN", &format!("{MARK}-1\n"));
    story.write(".env", &format!("# mine\nexport DB_KEY='{MARK}-2'\nOTHER={MARK}-3\n"));
    story.write("more.json", &json!({ "MORE": format!("{MARK}-4") }).to_string());
    story.write("broken.env", &format!("A=1\n{MARK}\n"));
    story.run(&["secret", "import", ".env"]).run(&["secret", "import", "more.json", "--json"]);
    story.run(&["secret", "import", "broken.env"]);
    story.run(&["add", "-s", "user", "-e", "T=${secret:GITHUB_TOKEN}", "a", "switchboard"]);
    story.run(&["add", "-s", "user", "-e", "T=${secret:ABSENT}", "b", "switchboard"]);
    for mistake in ["T=${secret:no such}", "T=${cmd:cat ~/.netrc}"] {
        story.run(&["add", "-s", "user", "-e", mistake, "c", "switchboard"]);
    }
    story.run(&["secret", "list"]).run(&["secret", "list", "--json"]).run(&["get", "b"]);
    story.run(&["secret", "remove", "GITHUB_TOKEN"]).run(&["secret", "remove", "GITHUB_TOKEN"]);
    assert!(!story.transcript().contains(MARK), "{}", story.transcript());
    insta::assert_snapshot!(story.transcript());
}

#[test]
fn add_moves_values_to_the_store() {
    let mut story = Story::new();
    let header = format!("Authorization: Bearer {MARK}-1");
    let url = "https://h.example/mcp";
    let output = story.quietly(&["add", "-s", "user", "--secret", "web", url, "-H", &header]);
    hides(&output);
    story.run(&["get", "web"]).run(&["secret", "list"]);
    // The name is taken, so nothing is written, and no secret is left behind.
    let other = format!("X-Api-Key: {MARK}-2");
    let refused = story.quietly(&["add", "-s", "user", "--secret", "web", url, "-H", &other]);
    assert!(!refused.status.success());
    hides(&refused);
    story.run(&["secret", "list"]);
    insta::assert_snapshot!(story.transcript());
    files_hide(story.home.path());
}

#[test]
fn a_client_without_variables_gets_a_server_with_its_secret() {
    let story = Story::new();
    let [flag, script] = server();
    let add =
        ["add", "-s", "user", "-e", "TOKEN=${secret:TOKEN}", "own", "/bin/sh", &flag, &script];
    assert!(story.quietly(&add).status.success());
    assert_eq!(state(&story, "own"), "invalid");
    set(&story, "TOKEN", &format!("{MARK}-1"));
    // As a dock starts it: no variable but the home.
    let start = || {
        let mut command = story.command(&["connect"]);
        command.env_clear().env("HOME", story.home.path());
        Client::spawn(command)
    };
    let mut client = start();
    client
        .ask("tools/call", &json!({ "name": "own__echo", "arguments": { "text": "hi" } }))
        .unwrap();
    assert_eq!(token(&story), format!("{ROTATED_MARK}-1"));
    // Another value is another connection, in the same hub.
    set(&story, "TOKEN", &format!("{MARK}-2"));
    assert_eq!(state(&story, "own"), "connected");
    assert_eq!(token(&story), format!("{ROTATED_MARK}-2"));
    let removed = story.quietly(&["secret", "remove", "TOKEN"]);
    assert!(removed.status.success(), "{removed:?}");
    assert_eq!(state(&story, "own"), "invalid");
    for args in [&["get", "own"][..], &["doctor"], &["status", "--json"], &["logs", "own"]] {
        hides(&story.quietly(args));
    }
    let audit = story.quietly(&["logs", "--audit", "--json"]);
    hides(&audit);
    let audit = String::from_utf8_lossy(&audit.stdout).replace([' ', '\n'], "");
    assert!(audit.contains(r#""secrets":["TOKEN"]"#), "{audit}");
    client.leave();
    stop(&story.home);
    files_hide(story.home.path());
}

#[test]
fn a_project_gets_a_secret_when_a_person_agreed_to_it() {
    let story = Story::new();
    set(&story, "TOKEN", &format!("{MARK}-1"));
    let [flag, script] = server();
    let entry = json!({ "command": "/bin/sh", "args": [flag, script], "env": { "TOKEN": "${secret:TOKEN}" } });
    story.write(".mcp.json", &json!({ "mcpServers": { "own": entry } }).to_string());
    let settings = story.home.path().join(".config/switchboard");
    std::fs::create_dir_all(&settings).unwrap();
    std::fs::write(settings.join("settings.json"), r#"{"enableAllProjectMcpServers": true}"#)
        .unwrap();
    assert_eq!(state(&story, "own"), "awaiting-approval");
    let shown = story.quietly(&["approve", "own"]);
    hides(&shown);
    let said = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(said.contains("gets secrets: TOKEN"), "{said}");
    assert_eq!(state(&story, "own"), "connected");
    assert_eq!(token(&story), format!("{ROTATED_MARK}-1"));
}

/// A server that is refused somewhere may print its token. Its log keeps what it printed; no command repeats the value.
#[test]
fn a_failure_does_not_quote_the_secret_that_a_server_printed() {
    let story = Story::new();
    set(&story, "TOKEN", &format!("{MARK}-1"));
    let script = "echo \"token $TOKEN is refused\" >&2; exit 3";
    let entry = ["-e", "TOKEN=${secret:TOKEN}", "own", "--", "sh", "-c", script];
    assert!(story.quietly(&[&["add", "-s", "user"], &entry[..]].concat()).status.success());
    let all = [&["list"][..], &["list", "--json"], &["doctor"], &["tools"], &["call", "own/x"]];
    for args in all.into_iter().chain([&["reconnect", "own"][..]]) {
        let output = story.quietly(args);
        hides(&output);
        let said = [&output.stdout[..], &output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains("token ******** is refused"), "{args:?}: {said}");
    }
}

#[test]
fn providers_are_asked_and_never_quoted() {
    let story = Story::new();
    let [flag, script] = server();
    let entry = |name: &str| json!({ "command": "/bin/sh", "args": [flag, script], "env": { "TOKEN": format!("${{secret:{name}}}") } });
    let settings = json!({
        "secretProviders": { "GOOD": format!("${{cmd:echo {MARK}-1}}"), "BAD": "${cmd:echo $SHOWN; exit 3}" },
        "mcpServers": { "good": entry("GOOD"), "bad": entry("BAD") },
    });
    let folder = story.home.path().join(".config/switchboard");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("settings.json"), settings.to_string()).unwrap();
    let output = story.quietly(&["list"]);
    hides(&output);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("the secret `BAD` cannot be read: its command failed"), "{output:?}");
    assert_eq!(token(&story), format!("{ROTATED_MARK}-1"));
}

/// A password manager or a deployment replaces the file; the server of a running hub gets the new value.
#[test]
fn a_secret_in_a_file_counts_as_the_file_is() {
    let story = Story::new();
    let [flag, script] = server();
    let settings = json!({
        "secretProviders": { "TOKEN": "${file:~/key}" },
        "mcpServers": { "own": {
            "command": "/bin/sh", "args": [flag, script], "env": { "TOKEN": "${secret:TOKEN}" },
        } },
    });
    story.write("../.config/switchboard/settings.json", &settings.to_string());
    story.write("../key", &format!("{MARK}-1\n"));
    let mut client = Client::spawn(story.command(&["connect"]));
    let hello = json!({ "name": "own__echo", "arguments": { "text": "hi" } });
    client.ask("tools/call", &hello).unwrap();
    assert_eq!(token(&story), format!("{ROTATED_MARK}-1"));
    story.write("../key.new", &format!("{MARK}-2\n"));
    std::fs::rename(story.path("../key.new"), story.path("../key")).unwrap();
    // No call is made meanwhile: the process with the old value ends at any moment.
    until("the server does not get the new value", || {
        state(&story, "own") == "connected" && token(&story) == format!("{ROTATED_MARK}-2")
    });
    std::fs::remove_file(story.home.path().join("key")).unwrap();
    until("the server keeps a value that is gone", || state(&story, "own") == "invalid");
    client.leave();
    stop(&story.home);
}

/// The key is in the keychain. While that is locked nothing is lost, and it is said what to do.
#[test]
fn a_locked_keychain_loses_nothing() {
    let story = Story::new();
    let program = env!("CARGO_BIN_EXE_switchboard");
    let [flag, script] = server();
    let add =
        ["add", "-s", "user", "-e", "TOKEN=${secret:TOKEN}", "own", "/bin/sh", &flag, &script];
    assert!(story.quietly(&add).status.success());
    let script = format!(
        "{UNLOCKED}\nprintf {MARK}-1 | {program} secret set TOKEN --from-stdin --json\n{program} list\n\
         {LOCKED} > /dev/null\n{program} list\n{program} secret list"
    );
    let usual = story.command(&[]);
    let mut command = session(story.home.path(), &script);
    command.envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.current_dir(usual.get_current_dir().unwrap()).output().unwrap();
    hides(&output);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("\"key\": \"keychain\""), "{output:?}");
    assert!(said.contains("connected"), "{output:?}");
    assert!(said.contains("unlock the keychain"), "{output:?}");
    assert!(said.contains("TOKEN  store"), "{output:?}");
}

/// An entry whose token was moved is the client's entry that still has the token. While the keychain is locked that
/// cannot be told, and nothing is imported a second time.
#[test]
fn a_locked_keychain_imports_nothing_twice() {
    let story = Story::new();
    let program = env!("CARGO_BIN_EXE_switchboard");
    let entry = json!({ "command": "sh", "env": { "API_TOKEN": format!("{MARK}-1") } });
    let cursor = json!({ "mcpServers": { "own": entry } }).to_string();
    story.write("../.cursor/mcp.json", &cursor);
    let script = format!(
        "{UNLOCKED}\n{program} import cursor --move-secrets --yes\n{program} import cursor --yes\n\
         {LOCKED} > /dev/null\n\
         {program} import cursor --yes || echo import: $?\n{program} setup cursor --yes || echo setup: $?"
    );
    let usual = story.command(&[]);
    let mut command = session(story.home.path(), &script);
    command.envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.current_dir(usual.get_current_dir().unwrap()).output().unwrap();
    hides(&output);
    let said = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    assert!(said.contains("skip own: it is the same server as `own`"), "{said}");
    assert!(said.contains("skip own: it may be the same server as `own`"), "{said}");
    assert!(said.contains("whose secret `API_TOKEN` cannot be read"), "{said}");
    assert!(said.contains("1 server could not be compared with those that you have"), "{said}");
    assert!(said.contains("cannot import own of Cursor; it stays there"), "{said}");
    assert!(said.contains("import: 1") && said.contains("setup: 1"), "{said}");
    let listed = story.quietly(&["list", "--no-check", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed["servers"].as_array().unwrap().len(), 1, "{listed}");
    let left = std::fs::read_to_string(story.home.path().join(".cursor/mcp.json")).unwrap();
    let left: Value = serde_json::from_str(&left).unwrap();
    assert_eq!(left["mcpServers"]["own"], entry, "the client keeps its server");
}
