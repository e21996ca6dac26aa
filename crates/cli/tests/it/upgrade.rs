//! Test of an upgrade with two builds: an older program whose hub serves a client, and this one in its place.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::gateway::{Client, stop, until};
use crate::story::cargo;
use crate::{Home, Story};

/// A server whose tool answers once the file `released` is there.
const SERVER: &str = r"
const { existsSync, writeFileSync } = require('node:fs');
const say = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));
const released = (then) => (existsSync('released') ? then() : setTimeout(released, 20, then));
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (method === 'initialize') {
    const { protocolVersion } = params;
    const serverInfo = { name: 'slow', version: '1.0.0' };
    say({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo } });
  } else if (method === 'tools/list') {
    say({ id, result: { tools: [{ name: 'wait', inputSchema: { type: 'object' } }] } });
  } else if (method === 'tools/call') {
    writeFileSync('called', '');
    released(() => say({ id, result: { content: [{ type: 'text', text: 'done' }] } }));
  } else if (method === 'ping') {
    say({ id, result: {} });
  } else {
    say({ id, error: { code: -32601, message: 'unknown method' } });
  }
});
";

/// This program, built as an older version. Only its own crate is compiled again; the result goes to a folder of its
/// own, so that the tests beside this one keep theirs.
pub(crate) fn older_program() -> PathBuf {
    let current = Path::new(env!("CARGO_BIN_EXE_switchboard"));
    let target = current.parent().and_then(Path::parent).unwrap();
    let built = cargo()
        .args(["build", "--quiet", "--locked", "--package=switchboard-cli", "--bin=switchboard"])
        .args(["--features=older-version", "--target-dir"])
        .arg(target.join("older"))
        .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])
        .env("CARGO_BUILD_BUILD_DIR", target)
        .status();
    assert!(built.unwrap().success());
    target.join("older/debug/switchboard")
}

/// Puts a program where the client's entry has it, as an upgrade does: by renaming.
fn install(program: &Path, place: &Path) {
    let new = place.with_extension("new");
    fs::copy(program, &new).unwrap();
    fs::rename(new, place).unwrap();
}

/// The version of the hub that runs.
fn hub_version(home: &Home) -> Option<String> {
    let status = home.command(&["status", "--json"]).output().unwrap();
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    status["version"].as_str().map(str::to_owned)
}

#[test]
fn a_hub_of_an_older_version_finishes_its_call_and_hands_over() {
    let story = Story::new();
    let installed = story.path("switchboard");
    install(&older_program(), &installed);
    story.write("slow.cjs", SERVER);
    story.quietly(&["add", "slow", "node", "slow.cjs"]);
    let connect = || {
        let mut command = Command::new(&installed);
        command.arg("connect").env_clear().current_dir(story.path(""));
        command.env("HOME", story.home.path()).env("PATH", std::env::var("PATH").unwrap());
        Client::spawn(command)
    };
    let mut early = connect();
    let running = early.send("tools/call", &json!({ "name": "slow__wait", "arguments": {} }));
    until("the call does not reach its server", || story.path("called").exists());
    assert_eq!(hub_version(&story.home).as_deref(), Some("0.0.1"));

    install(Path::new(env!("CARGO_BIN_EXE_switchboard")), &installed);
    let mut late = connect();
    let tools = late.ask("tools/list", &json!({})).unwrap();
    assert_eq!(tools["tools"][0]["name"], "slow__wait", "{tools}");
    assert_eq!(hub_version(&story.home).as_deref(), Some("0.0.1"), "a call is running");

    story.write("released", "");
    let answer = early.hear(running).unwrap();
    assert_eq!(answer["content"][0]["text"], "done", "the old hub finishes its call: {answer}");
    let new = Some(env!("CARGO_PKG_VERSION"));
    until("the old hub does not hand over", || hub_version(&story.home).as_deref() == new);
    for client in [&mut early, &mut late] {
        let answer = client.call("slow__wait").unwrap();
        assert_eq!(answer["content"][0]["text"], "done", "{answer}");
    }
    early.leave();
    late.leave();
    stop(&story.home);
}
