//! The numbers that a client's environment sets: `MCP_TOOL_TIMEOUT` and `MAX_MCP_OUTPUT_TOKENS`.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::Story;
use crate::gateway::{Client, stop};
use crate::tools::kiosk;

/// The line that `serve` prints beside a hub.
fn serve_line(story: &Story) -> Value {
    let mut serving = story
        .command(&["serve", "--listen", "127.0.0.1:0", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(serving.stdout.take().unwrap()).lines().map(Result::unwrap);
    let line = said.find(|line| line.starts_with('{')).unwrap();
    kill(Pid::from_raw(i32::try_from(serving.id()).unwrap()), Signal::SIGINT).unwrap();
    assert!(serving.wait().unwrap().success());
    serde_json::from_str(&line).unwrap()
}

/// Nonsense is not used, and the command that was started with it says so.
#[test]
fn nonsense_is_noticed_by_every_command() {
    let mut story = kiosk();
    let client = Client::spawn(story.command(&["connect"]));
    let check = |said: &str, expected: bool, which: &str| {
        let timeout = "`MCP_TOOL_TIMEOUT` is `5 min`, which is not a usable number of milliseconds";
        let tokens = "`MAX_MCP_OUTPUT_TOKENS` is `many`, which is not a usable number of tokens";
        for message in [timeout, tokens] {
            assert_eq!(said.contains(message), expected, "{which}: {said}");
        }
    };
    for is_nonsense in [false, true] {
        if is_nonsense {
            story.set("MCP_TOOL_TIMEOUT", "5 min");
            story.set("MAX_MCP_OUTPUT_TOKENS", "many");
        }
        let connected = story.command(&["connect"]).stdin(Stdio::null()).output().unwrap();
        check(&String::from_utf8_lossy(&connected.stderr), is_nonsense, "connect");
        let called = story.quietly(&["call", "say", "text=hi"]);
        assert!(called.status.success());
        check(&String::from_utf8_lossy(&called.stderr), is_nonsense, "call");
        check(&serve_line(&story)["problems"].to_string(), is_nonsense, "serve");
    }
    client.leave();
    stop(&story.home);
}

/// Two clients of one project and one hub: each has the numbers that it was started with.
#[test]
fn each_client_has_its_own_numbers() {
    let story = kiosk();
    let start = |millis: &str, tokens: &str| {
        let mut command = story.command(&["connect"]);
        command.env("MCP_TOOL_TIMEOUT", millis).env("MAX_MCP_OUTPUT_TOKENS", tokens);
        Client::spawn(command)
    };
    let (mut first, mut second) = (start("301", "10"), start("702", "20000"));
    for (client, timeout, is_whole) in [(&mut first, "301ms", false), (&mut second, "702ms", true)]
    {
        let hung = client.call("kiosk__hang");
        let hung = hung.unwrap_or_else(|error| error).to_string();
        assert!(hung.contains(timeout), "{timeout}: {hung}");
        let book = json!({ "name": "kiosk__book", "arguments": { "lines": 500 } });
        let book = client.ask("tools/call", &book).unwrap().to_string();
        assert_eq!(book.contains("line 250\\n"), is_whole, "{timeout}: {book}");
    }
    first.leave();
    second.leave();
    stop(&story.home);
}
