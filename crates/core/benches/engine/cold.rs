//! From nothing to every tool listed, beside the same processes started by hand; and what the servers cost this process
//! in memory once they are there.

use std::process::Stdio;
use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, stream};
use switchboard_testkit::programs::program;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::Effort;
use crate::bench::Bench;
use crate::bytes::resident;

/// What was seen of so many servers.
pub(crate) struct Row {
    pub(crate) servers: usize,
    pub(crate) by_hand: Duration,
    pub(crate) engine: Duration,
    /// Bytes that this process grew by for each server.
    pub(crate) memory: usize,
}

/// Processes started at once, as the engine does.
const AT_ONCE: usize = 3;

pub(crate) async fn rows(effort: Effort) -> Vec<Row> {
    // Whatever is made once for all servers is no server's cost.
    engine(1).await;
    let mut rows = Vec::new();
    for servers in [1, 20, 200] {
        let (mut hand, mut ours, mut memory) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..effort.starts {
            hand.push(by_hand(servers).await);
            let (took, grew) = engine(servers).await;
            ours.push(took);
            memory.push(grew);
        }
        let (by_hand, engine) = (median(hand), median(ours));
        // The first run has the least left over from others.
        rows.push(Row { servers, by_hand, engine, memory: memory[0] / servers });
    }
    rows
}

fn median(mut seen: Vec<Duration>) -> Duration {
    seen.sort_unstable();
    seen[seen.len() / 2]
}

async fn engine(servers: usize) -> (Duration, usize) {
    let bench = Bench::start().await;
    let program = program("echo-server");
    // Equal entries would share one process.
    let entry = |number| {
        let program = program.display();
        format!(r#""s{number}":{{"command":"{program}","args":["{number}"]}}"#)
    };
    let entries: Vec<String> = (0..servers).map(entry).collect();
    let configuration = format!(r#"{{"mcpServers":{{{}}}}}"#, entries.join(","));
    let before = resident();
    let began = Instant::now();
    bench.apply(&configuration);
    bench.until(servers).await;
    let took = began.elapsed();
    let grew = resident().saturating_sub(before);
    bench.end().await;
    (took, grew)
}

async fn by_hand(servers: usize) -> Duration {
    let program = program("echo-server");
    let began = Instant::now();
    let starting = (0..servers).map(|_| greet(&program));
    let started: Vec<Child> = stream::iter(starting).buffer_unordered(AT_ONCE).collect().await;
    let took = began.elapsed();
    for mut child in started {
        child.kill().await.unwrap();
    }
    took
}

/// Starts a server, greets it, and reads its tools.
async fn greet(program: &std::path::Path) -> Child {
    let mut command = Command::new(program);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).env_clear();
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    for (text, is_answered) in [(INITIALIZE, true), (INITIALIZED, false), (LIST, true)] {
        input.write_all(text.as_bytes()).await.unwrap();
        if is_answered {
            line.clear();
            output.read_line(&mut line).await.unwrap();
        }
    }
    assert!(line.contains(r#""name":"echo""#), "{line}");
    child.stdin = Some(input);
    child
}

const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
    "\n"
);
const INITIALIZED: &str = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
const LIST: &str = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n";
