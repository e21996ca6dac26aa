//! What a client on standard streams pays: for the gateway in its own process, and for the way to a hub that others
//! share.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Effort;
use crate::contender::{Setup, home, program, upstream_command};

/// The median of one call: to the upstream itself, through `connect --standalone`, through `connect`.
pub(crate) struct Medians {
    pub(crate) direct: Duration,
    pub(crate) standalone: Duration,
    pub(crate) attached: Duration,
}

struct Talk {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    call: String,
    line: String,
}

pub(crate) fn medians(effort: Effort) -> Medians {
    let home = home(Setup::USUAL);
    let command = upstream_command(Setup::USUAL.upstream);
    let mut talks = [
        Talk::start(Command::new(&command[0]).args(&command[1..]), "echo"),
        Talk::start(program(&home).args(["connect", "--standalone"]), "up__echo"),
        Talk::start(program(&home).arg("connect"), "up__echo"),
    ];
    let mut seen = [const { Vec::new() }; 3];
    for _ in 0..effort.talk {
        for (talk, seen) in talks.iter_mut().zip(&mut seen) {
            seen.push(talk.call());
        }
    }
    for talk in talks {
        talk.end();
    }
    // The hub that `connect` started.
    assert!(program(&home).arg("stop").stdout(Stdio::null()).status().unwrap().success());
    let [direct, standalone, attached] = seen.map(|mut seen| {
        seen.sort_unstable();
        seen[seen.len() / 2]
    });
    Medians { direct, standalone, attached }
}

// === impl Talk ===

impl Talk {
    fn start(command: &mut Command, tool: &str) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let text = "x".repeat(64);
        let call = format!(
            "{}\n",
            serde_json::json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
                "params": { "name": tool, "arguments": { "text": text } } })
        );
        let mut talk = Self { child, input, output, call, line: String::new() };
        talk.say(concat!(
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
            r#""capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
            "\n"
        ));
        talk.hear();
        talk.say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        // The first waits for the server to start.
        talk.call();
        talk
    }

    fn say(&mut self, text: &str) {
        self.input.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// The next answer; news may come before it.
    fn hear(&mut self) {
        loop {
            self.line.clear();
            let read = self.output.read_line(&mut self.line).unwrap();
            assert!(read > 0, "it has ended");
            if !self.line.contains(r#""method":"#) {
                break;
            }
        }
        assert!(self.line.contains(r#""result":"#), "{}", self.line);
    }

    fn call(&mut self) -> Duration {
        let call = std::mem::take(&mut self.call);
        let began = Instant::now();
        self.say(&call);
        self.hear();
        self.call = call;
        began.elapsed()
    }

    fn end(mut self) {
        drop(self.input.take());
        self.child.wait().unwrap();
    }
}
