//! Tests of completions: what the program answers a shell, and bash, zsh and fish with the program's scripts.

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

/// Runs a script in a shell that knows the program by its name. Returns the lines that it prints.
fn run_script(story: &Story, shell: &str, script: &str) -> BTreeSet<String> {
    let bin = story.path("bin");
    if !bin.exists() {
        let program = env!("CARGO_BIN_EXE_switchboard");
        std::fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(program, bin.join("switchboard")).unwrap();
    }
    let mut command = std::process::Command::new(shell);
    command.args(["-c", script]).current_dir(story.path("")).env_clear();
    command.env("HOME", story.home.path());
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    let output = command.output().unwrap_or_else(|error| panic!("{shell}: {error}"));
    let shown = String::from_utf8(output.stdout).unwrap();
    let names = shown.lines().map(|line| line.split(['\t', ':']).next().unwrap().to_owned());
    names.collect()
}

#[test]
fn shells_ask_with_their_scripts() {
    let story = project();
    for (shell, script) in [
        (
            "bash",
            r#"source <(switchboard completions bash)
            COMP_WORDS=(switchboard remove hel) COMP_CWORD=2 COMP_TYPE=9
            _clap_complete_switchboard switchboard hel remove
            printf '%s\n' "${COMPREPLY[@]}""#,
        ),
        // What zsh would show is what its script hands to `_describe`.
        (
            "zsh",
            r#"compdef() { registered=$1 }
            _describe() { print -l -- "${(P@)3}" }
            source <(switchboard completions zsh)
            words=(switchboard remove hel) CURRENT=3
            $registered"#,
        ),
        ("fish", "switchboard completions fish | source; complete -C 'switchboard remove hel'"),
    ] {
        assert_eq!(run_script(&story, shell, script), set(&["hello", "help-desk"]), "{shell}");
    }
    for shell in ["elvish", "powershell"] {
        let script = story.quietly(&["completions", shell]).stdout;
        let script = String::from_utf8(script).unwrap();
        assert!(script.contains("SWITCHBOARD_COMPLETE"), "{shell}: {script}");
    }
}
