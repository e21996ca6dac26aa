//! Replicas that are killed one after another while clients call: what was executed, what clients were told, and
//! which sessions go on.
//!
//! It kills three times, or for `SWITCHBOARD_SOAK_SECONDS` (`cargo xtask soak`). Each call enters a text of its own in a
//! file at the server, so what the clients count is compared with what was executed.

#![allow(clippy::print_stderr, reason = "the figures, for a run by hand")]

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use serde_json::json;
use switchboard_testkit::programs::program;

use crate::cluster::Group;
use crate::guarding::session;

const REPLICAS: usize = 4;
const CLIENTS: usize = 8;
/// How long the replicas are left alone between two kills.
const PERIOD: Duration = Duration::from_secs(2);
/// How often one is killed, where no time is given.
const KILLS: usize = 3;
const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}"#;

/// What one client was told of its calls.
#[derive(Debug, Default)]
struct Told {
    /// Calls with a result.
    answered: Vec<String>,
    /// Calls that were refused in words.
    refused: Vec<String>,
    /// Calls whose connection broke, or could not be made.
    broken: Vec<String>,
    /// Answers that nothing explains.
    wrong: Vec<String>,
    /// Sessions that were begun.
    sessions: usize,
}

#[test]
fn no_call_is_executed_twice_and_sessions_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = folder.path().join("ledger");
    let entry = json!({ "command": program("ledger"), "args": [ledger] });
    let mut group = Group::start(REPLICAS, &entry, &[]);
    let alive = RwLock::new(group.replicas.iter().map(|one| one.address).collect::<Vec<_>>());
    let is_over = AtomicBool::new(false);
    let (mut told, killed) = std::thread::scope(|scope| {
        let client = |number| {
            let (alive, is_over) = (&alive, &is_over);
            scope.spawn(move || call_until(number, alive, is_over))
        };
        let clients: Vec<_> = (0..CLIENTS).map(client).collect();
        let killed = kill_in_turn(&mut group, &alive);
        is_over.store(true, Ordering::SeqCst);
        let all = clients.into_iter().map(|client| client.join().unwrap());
        (all.fold(Told::default(), Told::add), killed)
    });
    let text = std::fs::read_to_string(&ledger).unwrap();
    let mut executed: HashMap<&str, usize> = HashMap::new();
    for line in text.lines() {
        *executed.entry(line).or_default() += 1;
    }
    eprintln!(
        "{killed} kills; {} calls executed; {} answered, {} refused, {} broken; {} sessions",
        executed.len(),
        told.answered.len(),
        told.refused.len(),
        told.broken.len(),
        told.sessions,
    );
    assert_eq!(told.wrong, Vec::<String>::new());
    assert_eq!(told.sessions, CLIENTS, "a session ended with a replica");
    let twice: Vec<_> = executed.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "executed more than once: {twice:?}");
    told.answered.sort();
    assert!(told.answered.windows(2).all(|pair| pair[0] != pair[1]), "answered twice");
    for entry in &told.answered {
        assert!(executed.contains_key(&**entry), "{entry} was answered and not executed");
    }
    // A call that was executed without an answer is one whose connection broke.
    let ended = told.answered.len() + told.broken.len();
    assert!(executed.len() <= ended, "{} executed, {ended} accounted for", executed.len());
    for refused in &told.refused {
        let entry = refused.split(": ").next().unwrap_or_default();
        assert!(!executed.contains_key(entry), "refused and executed: {refused}");
    }
    assert!(told.answered.len() > CLIENTS * killed, "{told:?}");
}

/// Kills one replica after another and starts a new one in its place. Returns how many were killed.
fn kill_in_turn(group: &mut Group, alive: &RwLock<Vec<SocketAddr>>) -> usize {
    let seconds = std::env::var("SWITCHBOARD_SOAK_SECONDS").ok();
    let end = seconds.map(|text| Instant::now() + Duration::from_secs(text.parse().unwrap()));
    let mut killed = 0;
    while end.map_or(killed < KILLS, |end| Instant::now() < end) {
        std::thread::sleep(PERIOD);
        let number = killed % REPLICAS;
        group.replicas[number].kill();
        killed += 1;
        let new = group.start_one();
        alive.write()[number] = new.address;
        group.replicas[number] = new;
    }
    killed
}

/// One client, with one session for the whole time: each call goes to the next replica.
fn call_until(number: usize, alive: &RwLock<Vec<SocketAddr>>, is_over: &AtomicBool) -> Told {
    let mut told = Told::default();
    let mut turn = number;
    let mut next = || {
        turn += 1;
        alive.read()[turn % REPLICAS]
    };
    let mut id = None;
    for call in 0.. {
        if is_over.load(Ordering::SeqCst) {
            break;
        }
        let Some(id) = &id else {
            if let Ok((200, answer)) = post(next(), None, HELLO) {
                id = Some(session(&answer));
                told.sessions += 1;
            }
            continue;
        };
        let entry = format!("{number}-{call}");
        let body = json!({
            "jsonrpc": "2.0", "id": call, "method": "tools/call",
            "params": { "name": "one__enter", "arguments": { "entry": entry } },
        });
        match post(next(), Some(id), &body.to_string()) {
            Ok((200, answer)) if answer.contains(&format!("entered {entry}\"")) => {
                told.answered.push(entry);
            }
            // The answer had begun.
            Ok((200, answer)) if !answer.contains("\"error\"") => told.broken.push(entry),
            Ok((503, answer)) => told.refused.push(format!("{entry}: {answer}")),
            Ok((status, answer)) => told.wrong.push(format!("{entry}: {status} {answer}")),
            Err(_) => told.broken.push(entry),
        }
    }
    told
}

/// Sends a message. An answer that breaks off is an error.
fn post(to: SocketAddr, id: Option<&str>, body: &str) -> std::io::Result<(u16, String)> {
    let mut stream = TcpStream::connect(to)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let id = id.map(|id| format!("mcp-session-id: {id}\r\n")).unwrap_or_default();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {to}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n{id}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    let mut answer = BufReader::new(stream);
    let mut first = String::new();
    answer.read_line(&mut first)?;
    let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or(std::io::ErrorKind::UnexpectedEof)?;
    let mut rest = String::new();
    answer.read_to_string(&mut rest)?;
    Ok((status, rest))
}

// === impl Told ===

impl Told {
    fn add(mut self, other: Self) -> Self {
        self.answered.extend(other.answered);
        self.refused.extend(other.refused);
        self.broken.extend(other.broken);
        self.wrong.extend(other.wrong);
        self.sessions += other.sessions;
        self
    }
}
