//! Load test: a thousand clients of one real hub, some of which disconnect or send garbage.
//!
//! It checks that no error is unexplained, no session sees another's data, and memory returns to its level after each
//! of several waves. It runs for ten seconds, or `SWITCHBOARD_SOAK_SECONDS` (`cargo xtask soak`); no check depends on
//! the clock.

#![allow(clippy::print_stderr, reason = "what was seen, for whoever runs it by hand")]

mod client;
mod dice;

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use switchboard_testkit::http1::Http;
use switchboard_testkit::programs::program;
use tokio::sync::Semaphore;
use tokio::task::LocalSet;

use crate::Home;
use client::Client;

const SESSIONS: usize = 1_000;
/// Clients that ask something at the same time. The others hold their sessions meanwhile.
const AT_ONCE: usize = 64;
/// How often the crowd comes.
const VISITS: u32 = 4;
/// What memory may differ by after a visit: what the allocator happens to keep.
const SLACK: usize = 8 << 20;
/// How often memory is looked at before it counts as kept. It is given back within seconds.
const LOOKS: usize = 1_000;

/// The hub, which ends with its handle.
struct Hub {
    child: Child,
    address: SocketAddr,
    _home: Home,
}

/// What clients saw.
#[derive(Debug, Default)]
struct Seen {
    calls: usize,
    malformed: usize,
    disconnects: usize,
    sessions: usize,
    /// What nothing explains.
    wrong: Vec<String>,
}

#[test]
fn a_thousand_sessions() {
    run(1);
}

/// The same with four threads, whatever the number of processors: calls of one session, one server and one connection
/// then meet on several threads.
#[test]
fn a_thousand_sessions_on_four_threads() {
    run(4);
}

fn run(threads: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, load(threads));
}

async fn load(threads: usize) {
    let seconds = std::env::var("SWITCHBOARD_SOAK_SECONDS").ok();
    let time = Duration::from_secs(seconds.map_or(10, |seconds| seconds.parse().unwrap()));
    let hub = Hub::start(threads);
    assert_eq!(hub.call_threads(), threads);
    // Two visits before memory is compared: after them, what is made once exists, and the arena of each thread holds
    // what the allocator keeps of so many sessions. A visit that only opens sessions does not reach every arena.
    let (mut seen, mut first) = (Seen::default(), 0);
    for _ in 0..2 {
        seen.add(hub.crowd(time / VISITS).await);
        // A client that something went wrong for leaves its session behind.
        assert_eq!(seen.wrong, Vec::<String>::new());
        first = first.max(hub.settled(0).await);
    }
    assert!(seen.sessions >= SESSIONS);
    let mut left = vec![first];
    for _ in 0..VISITS {
        seen.add(hub.crowd(time / VISITS).await);
        assert_eq!(seen.wrong, Vec::<String>::new());
        left.push(hub.settled(first + SLACK).await);
    }
    let kibibytes: Vec<_> = left.iter().map(|bytes| bytes / 1024).collect();
    let Seen { calls, malformed, disconnects, sessions, wrong } = seen;
    eprintln!(
        "{calls} calls, {malformed} malformed, {disconnects} disconnects, {sessions} sessions; \
         KiB in memory after each visit: {kibibytes:?}"
    );
    assert_eq!(wrong, Vec::<String>::new());
    assert!(calls > SESSIONS && malformed > 0);
    assert!(disconnects > 0, "nobody went away");
    let kept = left.iter().any(|left| *left > first + SLACK);
    assert!(!kept, "memory is kept: {kibibytes:?} KiB after each visit");
}

// === impl Hub ===

impl Hub {
    fn start(threads: usize) -> Self {
        let home = Home::new();
        let server = program("echo-server");
        home.command(&["add", "-s", "user", "one", "--", server.to_str().unwrap()])
            .output()
            .unwrap();
        let mut child = home
            .command(&["serve", "--json", "--listen", "127.0.0.1:0"])
            .args(["--threads", &threads.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        // It must never wait for a reader of what it says later.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        let said: Value = serde_json::from_str(&line).unwrap();
        let address = said["address"].as_str().unwrap().parse().unwrap();
        Self { child, address, _home: home }
    }

    /// Sends in everybody, until the time is over and each has asked at least once; then everybody leaves.
    async fn crowd(&self, time: Duration) -> Seen {
        let (turns, until) = (Arc::new(Semaphore::new(AT_ONCE)), Instant::now() + time);
        let clients = (0..SESSIONS).map(|number| {
            let client = Client::new(self.address, number, Arc::clone(&turns));
            tokio::task::spawn_local(client.run(until))
        });
        let mut all = Seen::default();
        for client in clients.collect::<Vec<_>>() {
            all.add(client.await.unwrap());
        }
        all
    }

    /// The fewest bytes in memory once no session is left. It is looked for until they are `enough`.
    async fn settled(&self, enough: usize) -> usize {
        let (mut lowest, mut looks) = (usize::MAX, 0);
        while lowest > enough && looks < LOOKS {
            let page = self.get("/metrics").await;
            let open = |what: &str| {
                let line = page.lines().find_map(|line| line.strip_prefix(what));
                line.unwrap_or_else(|| panic!("no {what} in {page}")).trim().to_owned()
            };
            let sessions = open(r#"switchboard_face_sessions{transport="http"}"#);
            // This one asks.
            let connections = open("switchboard_face_connections");
            if sessions == "0" && connections == "1" {
                lowest = lowest.min(self.anonymous_bytes());
                looks += 1;
            }
            tokio::task::yield_now().await;
        }
        lowest
    }

    async fn get(&self, path: &str) -> String {
        let mut http = Http::connect(self.address).await.unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nhost: {}\r\n", self.address);
        http.send(&head, &[]).await.unwrap();
        let answer = http.receive().await.unwrap().unwrap();
        assert_eq!(answer.status(), 200);
        String::from_utf8(answer.body.to_vec()).unwrap()
    }

    /// How many threads carry out calls. With one it is the main thread.
    fn call_threads(&self) -> usize {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm"));
        let names = tasks.flatten().filter_map(|task| name(task).ok());
        names.filter(|name| name.starts_with("calls-")).count().max(1)
    }

    /// Anonymous memory. Pages of the program's file come and go with the code that runs.
    fn anonymous_bytes(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

// === impl Seen ===

impl Seen {
    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.malformed += other.malformed;
        self.disconnects += other.disconnects;
        self.sessions += other.sessions;
        // A fault that shows in one place shows in many; the first ones tell enough.
        let room = 10usize.saturating_sub(self.wrong.len());
        self.wrong.extend(other.wrong.into_iter().take(room));
    }
}
