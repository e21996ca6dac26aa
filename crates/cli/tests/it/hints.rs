//! Tests that a command copied from a hint works for every server name.

use std::process::Command;

use serde_json::json;

use crate::Home;

/// Names that are an option, a command, a file or several words, where they are not kept together.
const NAMES: [&str; 7] =
    ["--all", "-s", "$(touch ran)", "a;touch ran", "two words", "`touch ran`", "*"];

/// A home with a server of that name: disabled, failing, broken and waiting for approval.
fn home(name: &str, kind: &str) -> Home {
    let home = Home::new();
    let entry = match kind {
        "disabled" => json!({ "command": "sh", "disabled": true }),
        "failing" => json!({ "command": "no-such-command" }),
        "unset" => json!({ "command": "${NOT_SET}" }),
        "broken" => json!({ "comand": "sh" }),
        "refusing" => json!({ "type": "http", "url": "http://127.0.0.1:1/mcp" }),
        _ => json!({ "command": "sh" }),
    };
    let servers = json!({ "mcpServers": { name: entry } }).to_string();
    if kind == "waiting" {
        std::fs::write(home.path().join(".mcp.json"), servers).unwrap();
    } else {
        let config = home.path().join(".config/switchboard");
        std::fs::create_dir_all(&config).unwrap();
        std::fs::write(config.join("settings.json"), servers).unwrap();
    }
    home
}

/// What is shown as a command in a text.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("`switchboard ") {
        rest = &rest[at + 1..];
        // A name may have such marks in it, between quotes.
        let is_end = |(at, _): &(usize, &str)| rest[..*at].matches('\'').count().is_multiple_of(2);
        let Some((end, _)) = rest.match_indices('`').find(is_end) else { break };
        found.push(rest[..end].to_owned());
        rest = &rest[end..];
    }
    found
}

/// The arguments that a shell makes of a command, and nothing else that it does.
fn read_by_a_shell(home: &Home, command: &str) -> Vec<String> {
    let script = format!("switchboard() {{ printf '%s\\0' \"$@\"; }}; {command}");
    let output = Command::new("bash").args(["-c", &script]).current_dir(home.path()).output();
    let said = String::from_utf8(output.unwrap().stdout).unwrap();
    assert!(!home.path().join("ran").exists(), "{command} ran something");
    said.split_terminator('\0').map(str::to_owned).collect()
}

#[test]
fn what_is_copied_out_of_a_hint_names_the_server() {
    let mut seen = std::collections::BTreeSet::new();
    for name in NAMES {
        for kind in ["disabled", "failing", "unset", "broken", "refusing", "waiting"] {
            let home = home(name, kind);
            let call = format!("{name}/tool");
            for args in [
                &["list"][..],
                &["doctor"],
                &["tools"],
                &["reconnect", "--", name],
                &["call", "--", &call],
                &["login", "--no-browser", "--", name],
                &["reject", "--", name],
            ] {
                let said = home.run(args);
                for command in commands(&said).iter().filter(|command| command.contains(' ')) {
                    let words = read_by_a_shell(&home, command);
                    let Some(at) = words.iter().position(|word| word == name) else {
                        let is_general = !command.contains(name);
                        assert!(
                            is_general,
                            "{args:?} with {kind} {name:?}: {command} is {words:?}"
                        );
                        continue;
                    };
                    let is_option =
                        name.starts_with('-') && !words[..at].contains(&"--".to_owned());
                    assert!(!is_option, "{args:?} with {kind} {name:?}: {command}");
                    seen.insert(words[0].clone());
                }
            }
        }
    }
    let expected = ["approve", "disable", "edit", "enable", "get"];
    assert!(expected.iter().all(|command| seen.contains(*command)), "{seen:?}");
}

#[test]
fn commands_take_a_name_that_looks_like_an_option() {
    let home = home("--all", "disabled");
    for args in [
        &["get", "--", "--all"][..],
        &["enable", "--", "--all"],
        &["disable", "--", "--all"],
        &["approve", "--", "--all"],
        &["reject", "--", "--all"],
        &["reconnect", "--", "--all"],
        &["login", "--no-browser", "--", "--all"],
        &["logout", "--", "--all"],
        &["doctor", "auth", "--", "--all"],
        &["tools", "--", "--all"],
        &["call", "--", "--all/tool"],
        &["prompt", "--", "--all/prompt"],
        &["plugin", "check", "--", "--all"],
        &["remove", "-s", "user", "--", "--all"],
    ] {
        let output = home.command(args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !said.contains("unexpected argument") && !said.contains("Usage"),
            "{args:?}: {said}"
        );
    }
    let settings = home.path().join(".config/switchboard/settings.json");
    let left = std::fs::read_to_string(settings).unwrap();
    assert!(!left.contains("no-such") && !left.contains("\"command\""), "it was removed: {left}");
}
