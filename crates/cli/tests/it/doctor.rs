//! Tests of `switchboard doctor`, `reconnect` and `logs`.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use crate::Story;
use crate::tools::kiosk;

#[test]
fn everything_on_one_page() {
    let mut story = kiosk();
    story.run(&["doctor"]).run(&["doctor", "--json"]).run(&["reconnect", "kiosk"]);
    story.run(&["reconnect", "kiosk", "--json"]).run(&["reconnect", "nobody"]);
    insta::assert_snapshot!("doctor", story.transcript());
}

#[test]
fn what_is_wrong() {
    let mut story = Story::new();
    story.set("MCP_TIMEOUT", "2000");
    story.quietly(&["add", "gone", "no-such-command"]);
    story.quietly(&["add", "dies", "sh", "-c", "echo out of paper >&2; exit 3"]);
    story.write(
        ".mcp.json",
        r#"{"mcpServers": {"typo": {"comand": "sh"}, "asks": {"command": "sh"}}}"#,
    );
    story.run(&["doctor"]).run(&["reconnect", "gone"]).run(&["reconnect", "asks"]);
    insta::assert_snapshot!("doctor_wrong", story.transcript());
}

#[test]
fn the_password_of_a_proxy_stays_here() {
    let mut story = Story::new();
    story.set("HTTPS_PROXY", "http://ann:hush@proxy.invalid:3128");
    story.set("http_proxy", "http://proxy.invalid:3128");
    let print = "env | grep -i _proxy= | sort >&2; exit 3";
    story.quietly(&["add", "plain", "sh", "-c", print]);
    let named = serde_json::json!({ "command": "sh", "args": ["-c", print], "inheritEnv": ["HTTPS_PROXY"] });
    story.quietly(&["add-json", "named", &named.to_string()]);
    story.run(&["doctor"]).run(&["reconnect", "plain"]).run(&["reconnect", "named"]);
    insta::assert_snapshot!("doctor_proxies", story.transcript());
}

/// `get` shows every variable of a server with its source, and `doctor` those that no server gets.
#[test]
fn what_a_server_receives() {
    let mut story = Story::new();
    for (name, value) in [
        ("AWS_PROFILE", "work"),
        ("BRAVE_API_KEY", "hush"),
        ("GITHUB_TOKEN", "ghp_0123456789abcdef"),
        ("HTTPS_PROXY", "http://ann:hush@proxy.invalid:3128"),
        ("LANG", "C"),
        ("NODE_EXTRA_CA_CERTS", "/etc/ssl/company.pem"),
        ("NIX_SSL_CERT_FILE", "/etc/ssl/company.pem"),
        ("NPM_CONFIG_REGISTRY", "https://ann:hush@npm.invalid/"),
        ("SLACK_BOT_TOKEN", "hush"),
        ("UV_INDEX_ACME_PASSWORD", "hush"),
        ("UV_PUBLISH_TOKEN", "hush"),
    ] {
        story.set(name, value);
    }
    story.write(
        "../.config/switchboard/settings.json",
        r#"{"env": {"LANG": "de_DE.UTF-8", "OTHER": "hush"}}"#,
    );
    story.write("variables", "FROM_FILE=hush\n");
    let entry = serde_json::json!({
        "command": "sh", "args": ["-c", "env | cut -d= -f1 | sort >&2; exit 3"], "inheritEnv": ["GITHUB_*"],
        "envFile": "variables", "env": { "PLAIN": "hush" },
    });
    story.quietly(&["add-json", "named", &entry.to_string()]);
    story.run(&["get", "named"]).run(&["get", "named", "--json"]);
    let shown = story.transcript().to_owned();
    assert!(!shown.contains("hush") && !shown.contains("ghp_"), "{shown}");
    story.run(&["get", "--reveal", "named"]).run(&["doctor"]);
    insta::assert_snapshot!("received", story.transcript());
}

/// An editor in which the project is open is a server like any other, unless there is one of that name.
#[test]
fn an_editor_that_is_open() {
    let mut story = Story::new();
    let folder = story.path("").canonicalize().unwrap();
    let us = std::process::id();
    let lock = serde_json::json!({
        "pid": us, "workspaceFolders": [folder], "ideName": "Ed", "transport": "ws",
        "authToken": "sk-secret",
    });
    story.write("editors/1.lock", &lock.to_string());
    story.write("editors/2.lock", "not JSON");
    story.run(&["list"]);
    let editors = story.path("editors");
    story.set("SWITCHBOARD_IDE_DIR", editors.to_str().unwrap());
    story.run(&["list"]).run(&["doctor"]).run(&["call", "ide/getDiagnostics"]);
    story.quietly(&["add", "ide", "no-such-command"]);
    story.run(&["list"]);
    insta::assert_snapshot!("editor", story.transcript());
    assert!(!story.transcript().contains("sk-secret"));
}

/// Times differ from run to run.
fn undated(text: &str) -> String {
    let line = |line: &str| match line.split_once("Z ") {
        Some((time, said)) if time.starts_with("20") => format!("TIME {said}\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

#[test]
fn what_a_server_wrote() {
    let mut story = kiosk();
    story.run(&["logs", "kiosk"]).run(&["logs", "nobody"]);
    story.quietly(&["call", "erase"]);
    story.quietly(&["call", "erase"]);
    story.run(&["logs", "kiosk"]).run(&["logs", "kiosk", "-n", "1"]);
    insta::assert_snapshot!("logs", undated(story.transcript()));
}

#[test]
fn a_log_is_followed_until_ctrl_c() {
    let story = kiosk();
    story.quietly(&["call", "erase"]);
    let mut child = story.command(&["logs", "kiosk", "-f"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().ends_with("the kiosk is open"));
    story.quietly(&["call", "erase"]);
    assert!(lines.next().unwrap().unwrap().ends_with("the kiosk is open"));
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.unwrap().success());
    let status = child.wait().unwrap();
    assert_eq!((status.code(), status.signal()), (Some(130), None));
}

/// A plugin that cannot be loaded, and a file of `nativePlugins` that does not exist, are wrong in `doctor`, and `list`
/// shows the broken one below the row of `plugins`.
#[test]
fn plugins_that_cannot_be_loaded_are_wrong() {
    let home = crate::Home::new();
    let config = home.path().join(".config/switchboard");
    std::fs::create_dir_all(config.join("native")).unwrap();
    std::fs::write(config.join("native/libbroken.so"), "no shared object").unwrap();
    let settings = r#"{"nativePlugins": ["/nonexistent/libx.so"]}"#;
    std::fs::write(config.join("settings.json"), settings).unwrap();
    let doctor = home.run(&["doctor"]);
    assert!(doctor.starts_with("exit 1"), "{doctor}");
    assert!(
        doctor.contains("plugin `libbroken` (~/.config/switchboard/native/libbroken.so): "),
        "{doctor}"
    );
    assert!(
        doctor.contains("`nativePlugins` names `/nonexistent/libx.so`, which does not exist"),
        "{doctor}"
    );
    let list = home.run(&["list"]);
    assert!(list.contains("! plugins"), "{list}");
    assert!(list.contains("plugin `libbroken`"), "{list}");
    assert!(list.contains("which does not exist"), "{list}");
}
