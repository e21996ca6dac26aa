//! Tests of completions: what the program answers a shell, and bash with the program's script.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::Story;

/// A project with two servers, of which `hello` has a kept catalog.
fn project() -> Story {
    let story = Story::new();
    story.quietly(&["add", "hello", env!("CARGO_BIN_EXE_switchboard"), "builtin"]);
    assert!(story.quietly(&["list"]).status.success());
    story.quietly(&["add", "-s", "user", "help-desk", "touch", "ran"]);
    story
}

/// What the program answers a shell about the last of these words.
fn answered(story: &Story, shell: &str, words: &[&str]) -> BTreeSet<String> {
    let words = [&["--", "switchboard"], words].concat();
    let output = story
        .command(&words)
        .env("SWITCHBOARD_COMPLETE", shell)
        .env("_CLAP_IFS", "\n")
        .env("_CLAP_COMPLETE_INDEX", (words.len() - 2).to_string())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    // What a candidate means stands behind it.
    text.lines().map(|line| line.split(['\t', ':']).next().unwrap().to_owned()).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn servers_tools_and_scopes_are_completed_in_every_shell() {
    let story = project();
    let tools = story.quietly(&["tools", "hello", "--json"]);
    let tools: Value = serde_json::from_slice(&tools.stdout).unwrap();
    let name = |tool: &Value| format!("hello/{}", tool["tool"].as_str().unwrap());
    let tools: BTreeSet<_> = tools["tools"].as_array().unwrap().iter().map(name).collect();
    assert!(!tools.is_empty());
    for shell in ["bash", "zsh", "fish"] {
        let answered = |words: &[&str]| answered(&story, shell, words);
        for command in ["remove", "get", "edit", "enable", "reconnect", "login", "logs"] {
            assert_eq!(answered(&[command, "he"]), set(&["hello", "help-desk"]), "{command}");
        }
        assert_eq!(answered(&["remove", "help"]), set(&["help-desk"]));
        assert_eq!(answered(&["call", "hello/"]), tools, "{shell}");
        assert!(answered(&["tools", "h"]).is_superset(&tools));
        assert!(answered(&["tools", "h"]).contains("help-desk"));
        let scopes = answered(&["add", "--scope", ""]);
        assert_eq!(scopes, set(&["local", "project", "user"]), "{shell}");
        assert_eq!(answered(&["disa"]), set(&["disable"]));
    }
    assert!(!story.path("ran").exists(), "a completion started a server");
}

#[test]
fn bash_asks_with_the_script() {
    let story = project();
    let bin = story.path("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_switchboard"), bin.join("switchboard")).unwrap();
    let script = r#"source <(switchboard completions bash)
        COMP_WORDS=(switchboard remove hel) COMP_CWORD=2 COMP_TYPE=9
        _clap_complete_switchboard switchboard hel remove
        printf '%s\n' "${COMPREPLY[@]}""#;
    let mut bash = std::process::Command::new("bash");
    bash.args(["-c", script]).current_dir(story.path("")).env_clear();
    bash.env("HOME", story.home.path());
    bash.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    let output = bash.output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(shown.lines().collect::<BTreeSet<_>>(), BTreeSet::from(["hello", "help-desk"]));
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let script = story.quietly(&["completions", shell]).stdout;
        let script = String::from_utf8(script).unwrap();
        assert!(script.contains("SWITCHBOARD_COMPLETE"), "{shell}: {script}");
    }
}
