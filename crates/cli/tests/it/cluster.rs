//! Several `serve` as one switchboard over a real NATS: what a client begins at one replica goes on at another.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard_testkit::nats::NatsServer;
use switchboard_testkit::programs::program;

use crate::Home;
use crate::gateway::until;
use crate::guarding::session;

/// How long anything here may take.
const PATIENCE: Duration = Duration::from_secs(30);
pub(crate) const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"raw","version":"1"}}}"#;
const MODERN: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}"#;

const KEY_FILE: &str = "cluster.key";

/// Replicas with homes of their own, as on machines of their own.
pub(crate) struct Group {
    pub(crate) replicas: Vec<Replica>,
    pub(crate) nats: Option<NatsServer>,
    /// Where NATS is.
    url: String,
    entry: Value,
    flags: Vec<String>,
}

/// One `serve`, which is killed with the test.
pub(crate) struct Replica {
    child: Child,
    pub(crate) address: SocketAddr,
    output: BufReader<ChildStdout>,
    pub(crate) home: Home,
}

/// An answer that is read piece by piece.
pub(crate) struct Stream(BufReader<TcpStream>);

// === impl Group ===

impl Group {
    /// Starts so many replicas with this server.
    pub(crate) fn start(count: usize, entry: &Value, flags: &[&str]) -> Self {
        let nats = NatsServer::start();
        let mut group = Self::at(&nats.url(), count, entry, flags);
        group.nats = Some(nats);
        group
    }

    /// Starts so many replicas over the NATS at `url`.
    pub(crate) fn at(url: &str, count: usize, entry: &Value, flags: &[&str]) -> Self {
        let flags = flags.iter().map(|&flag| flag.to_owned()).collect();
        let (replicas, entry) = (Vec::new(), entry.clone());
        let mut group = Self { replicas, nats: None, url: url.to_owned(), entry, flags };
        let started: Vec<_> = (0..count).map(|_| group.spawn(Home::new(), url)).collect();
        group.replicas = started.into_iter().map(Replica::ready).collect();
        group
    }

    /// Starts one more replica.
    pub(crate) fn start_one(&self) -> Replica {
        self.start_one_at(Home::new(), &self.url)
    }

    /// Starts one more replica, in this home, which reaches NATS at this URL.
    pub(crate) fn start_one_at(&self, home: Home, url: &str) -> Replica {
        Replica::ready(self.spawn(home, url))
    }

    /// Starts one more replica of another build.
    pub(crate) fn start_build(&self, program: &Path) -> Replica {
        let home = Home::new();
        self.add_server(&home);
        let mut command = Command::new(program);
        command.env_clear().env("HOME", home.path()).env("PATH", "/usr/bin:/bin");
        command.current_dir(home.path()).stdin(Stdio::null()).args(self.args(&home, &self.url));
        let child = command.stdout(Stdio::piped()).spawn().unwrap();
        Replica::ready((home, child))
    }

    /// Starts the program of a replica.
    fn spawn(&self, home: Home, url: &str) -> (Home, Child) {
        self.add_server(&home);
        let args = self.args(&home, url);
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        let child = home.command(&args).stdout(Stdio::piped()).spawn().unwrap();
        (home, child)
    }

    fn add_server(&self, home: &Home) {
        let entry = self.entry.to_string();
        let added = home.command(&["add-json", "-s", "user", "one", &entry]).output();
        assert!(added.as_ref().unwrap().status.success(), "{added:?}");
    }

    fn args(&self, home: &Home, url: &str) -> Vec<String> {
        let key = key_file(home);
        let serve = ["serve", "--json", "--listen", "127.0.0.1:0", "--cluster", url];
        let team = ["--cluster-name", "team", "--cluster-key-file", key.to_str().unwrap()];
        let given = serve.into_iter().chain(team).map(str::to_owned);
        given.chain(self.flags.iter().cloned()).collect()
    }

    pub(crate) fn nats(&mut self) -> &mut NatsServer {
        self.nats.as_mut().unwrap()
    }

    pub(crate) fn status(&self, home: &Home) -> Value {
        let known = home.path().join(KEY_FILE);
        let key = if known.exists() { known } else { key_file(home) };
        let args = [
            "cluster",
            "status",
            "--json",
            "--nats",
            &self.url,
            "--cluster-name",
            "team",
            "--cluster-key-file",
        ];
        let output =
            home.command(&[&args[..], &[key.to_str().unwrap()]].concat()).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    }
}

impl std::ops::Index<usize> for Group {
    type Output = Replica;

    fn index(&self, number: usize) -> &Replica {
        &self.replicas[number]
    }
}

/// The file with the key of all tests.
fn key_file(home: &Home) -> PathBuf {
    write_keys(home, &["ab"])
}

/// The key file of a home, with a key for each text: the text 32 times.
pub(crate) fn write_keys(home: &Home, keys: &[&str]) -> PathBuf {
    let (path, new) = (home.path().join(KEY_FILE), home.path().join("new"));
    let lines: Vec<_> = keys.iter().map(|key| key.repeat(32)).collect();
    std::fs::write(&new, lines.join("\n")).unwrap();
    std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::rename(new, &path).unwrap();
    path
}

/// The fixture, in an era of its own or in both.
pub(crate) fn fixture(era: Option<&str>) -> Value {
    let tools =
        ["echo", "log", "announce", "ask", "ask_twice", "hang", "await_hanging", "await_dropped"];
    let mut entry = json!({ "command": program("fixture-server"), "args": tools });
    if let Some(era) = era {
        entry["era"] = era.into();
    }
    entry
}

// === impl Replica ===

impl Replica {
    fn ready((home, mut child): (Home, Child)) -> Self {
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        let address = ready["address"].as_str().unwrap().parse().unwrap();
        Self { child, address, output, home }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to end, as a service manager does. Its answers go on to their end.
    pub(crate) fn signal(&self, signal: nix::sys::signal::Signal) {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        nix::sys::signal::kill(pid, signal).unwrap();
    }

    /// Waits for its end. Whether it was a success.
    pub(crate) fn wait(&mut self) -> bool {
        self.child.wait().unwrap().success()
    }

    pub(crate) fn open(&self, what: &str, headers: &[(&str, &str)], body: &str) -> Stream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut text = format!(
            "{what} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: {}\r\n",
            self.address,
            body.len()
        );
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        stream.write_all(format!("{text}\r\n{body}").as_bytes()).unwrap();
        Stream(BufReader::new(stream))
    }

    pub(crate) fn send(&self, what: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        let answer = self.open(what, headers, body).rest();
        (answer.split(' ').nth(1).unwrap_or("0").parse().unwrap(), answer)
    }

    pub(crate) fn begin(&self) -> String {
        let (status, answer) = self.send("POST /mcp", &[], HELLO);
        assert_eq!(status, 200, "{answer}");
        session(&answer)
    }

    pub(crate) fn post(&self, id: &str, body: &str) -> (u16, String) {
        self.send("POST /mcp", &[("mcp-session-id", id)], body)
    }

    pub(crate) fn call(&self, id: &str, tool: &str, arguments: &str) -> String {
        let (status, answer) = self.post(id, &call(tool, arguments));
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// A modern request, with the headers that repeat its parts.
    fn modern(&self, name: &str, more: &str) -> Value {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{{"name":"{name}","arguments":{{}},{more}{MODERN}}}}}"#
        );
        let headers = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", name),
        ];
        let (_, answer) = self.send("POST /mcp", &headers, &body);
        let json = answer.lines().find_map(|line| {
            serde_json::from_str(line.strip_prefix("data: ").unwrap_or(line))
                .ok()
                .filter(Value::is_object)
        });
        json.unwrap_or_else(|| panic!("{answer}"))
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        // It may have been killed by its test.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.output.read_to_string(&mut String::new());
    }
}

// === impl Stream ===

impl Stream {
    /// The text up to the line with this part.
    pub(crate) fn until(&mut self, part: &str) -> String {
        let mut text = String::new();
        while !text.contains(part) {
            let read =
                self.0.read_line(&mut text).unwrap_or_else(|error| panic!("{error}: {text}"));
            assert!(read > 0, "no `{part}` in {text}");
        }
        text
    }

    pub(crate) fn rest(mut self) -> String {
        let mut text = Vec::new();
        // A connection may break off: what was read is the answer.
        let _ = self.0.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    }
}

pub(crate) fn call(tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":"{tool}","method":"tools/call","params":{{"name":"one__{tool}","arguments":{arguments}}}}}"#
    )
}

/// The id of the question in a stream.
pub(crate) fn question(text: &str) -> String {
    let line = text.lines().find(|line| line.contains("elicitation/create")).unwrap();
    let asked: Value = serde_json::from_str(line.strip_prefix("data: ").unwrap()).unwrap();
    asked["id"].to_string()
}

pub(crate) fn accept(question: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{question},"result":{{"action":"accept","content":{{}}}}}}"#)
}

/// The id of the last event in a text.
pub(crate) fn last_event(text: &str) -> &str {
    text.lines().filter_map(|line| line.strip_prefix("id: ")).next_back().unwrap()
}

#[test]
fn a_session_is_the_same_at_every_replica() {
    let group = Group::start(3, &fixture(None), &[]);
    let id = group[0].begin();
    assert!(id.len() <= 1024, "{id}");
    for replica in &group.replicas {
        let answer = replica.call(&id, "echo", r#"{"a":1}"#);
        assert!(answer.contains(r#""echo":{"a":1}"#), "{answer}");
    }
    let level =
        r#"{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"error"}}"#;
    assert_eq!(group[0].post(&id, level).0, 200);
    until("the level counts at B", || {
        let logged = group[1].call(&id, "log", "{}");
        logged.contains(r#""level":"error""#) && !logged.contains(r#""level":"info""#)
    });
    let subscribe =
        r#"{"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{"uri":"a:b"}}"#;
    let (status, answer) = group[0].post(&id, subscribe);
    assert!(status == 200 && !answer.contains("error"), "{answer}");
    let mut heard = group[1].open("GET /mcp", &[("mcp-session-id", &id)], "");
    heard.until("\r\n\r\n");
    let announce = || group[1].call(&id, "announce", r#"{"what":"a:b"}"#);
    announce();
    heard.until("notifications/resources/updated");
    assert_eq!(group[0].send("DELETE /mcp", &[("mcp-session-id", &id)], "").0, 200);
    until("it has ended at B", || group[1].post(&id, &call("echo", "{}")).0 == 404);
    assert_eq!(group[0].post(&id, &call("echo", "{}")).0, 404);
}

#[test]
fn what_is_set_at_one_counts_where_the_session_was_never_seen() {
    let group = Group::start(2, &fixture(None), &[]);
    let id = group[0].begin();
    let level =
        r#"{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"warning"}}"#;
    assert_eq!(group[0].post(&id, level).0, 200);
    let logged = group[1].call(&id, "log", "{}");
    assert!(
        logged.contains(r#""level":"warning""#) && !logged.contains(r#""level":"info""#),
        "{logged}"
    );
    let ended = group[0].begin();
    assert_eq!(group[0].send("DELETE /mcp", &[("mcp-session-id", &ended)], "").0, 200);
    assert_eq!(
        group[1].post(&ended, &call("echo", "{}")).0,
        404,
        "at once, where it was never seen"
    );
    let letter = if &id[60..61] == "A" { "B" } else { "A" };
    let changed = format!("{}{letter}{}", &id[..60], &id[61..]);
    for foreign in ["none", "", &changed] {
        assert_eq!(group[1].post(foreign, &call("echo", "{}")).0, 404, "{foreign}");
    }
}

#[test]
fn a_question_is_answered_a_call_cancelled_and_a_stream_resumed_elsewhere() {
    let group = Group::start(4, &fixture(Some("legacy")), &[]);
    let id = group[0].begin();
    let known = ("mcp-session-id", id.as_str());
    let mut asking = group[0].open("POST /mcp", &[known], &call("ask", "{}"));
    let asked = question(&asking.until("elicitation/create"));
    assert_eq!(group[1].post(&id, &accept(&asked)).0, 202);
    asking.until(r#""said":{"who":{"action":"accept""#);

    let _hanging = group[0].open("POST /mcp", &[known], &call("hang", "{}"));
    group[0].call(&id, "await_hanging", "{}");
    let cancel =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"hang"}}"#;
    assert_eq!(group[2].post(&id, cancel).0, 202);
    group[0].call(&id, "await_dropped", "{}");

    let mut asking = group[0].open("POST /mcp", &[known], &call("ask", "{}"));
    let text = asking.until("elicitation/create");
    drop(asking);
    assert_eq!(group[1].post(&id, &accept(&question(&text))).0, 202);
    let mut resumed = group[3].open("GET /mcp", &[known, ("last-event-id", last_event(&text))], "");
    let rest = resumed.until(r#""said":{"who":{"action":"accept""#);
    assert!(rest.contains(" 200 ") && !rest.contains("elicitation/create"), "{rest}");
}

#[test]
fn messages_of_the_older_transport_reach_the_replica_with_the_stream() {
    let group = Group::start(2, &fixture(None), &[]);
    let mut events = group[0].open("GET /sse", &[], "");
    let place = events.until("sessionId=");
    let place = place.lines().find_map(|line| line.strip_prefix("data: ")).unwrap().to_owned();
    assert_eq!(group[1].send(&format!("POST {place}"), &[], HELLO).0, 202);
    events.until(r#""protocolVersion""#);
    assert_eq!(group[1].send(&format!("POST {place}"), &[], &call("echo", r#"{"a":2}"#)).0, 202);
    events.until(r#""echo":{"a":2}"#);
    assert_eq!(group[1].send("POST /messages?sessionId=0123456789ab-x", &[], HELLO).0, 404);
}

/// A modern server keeps nothing, so any replica makes the call again. A call of an older server waits at the replica
/// that made it.
#[test]
fn a_modern_client_answers_at_any_replica() {
    for era in ["modern", "legacy"] {
        let mut group = Group::start(2, &fixture(Some(era)), &[]);
        let answers = r#""inputResponses":{"KEY":{"action":"accept","content":{}}},"#;
        let asked = group[0].modern("one__ask", "");
        let key = asked["result"]["inputRequests"].as_object().unwrap().keys().next().unwrap();
        let state = format!(r#""requestState":{},"#, asked["result"]["requestState"]);
        let more = format!("{state}{}", answers.replace("KEY", key));
        let done = group[1].modern("one__ask", &more);
        assert_eq!(done["result"]["said"]["who"]["action"], "accept", "{era}: {done}");
        let elsewhere = group[1].modern("one__ask_twice", &more);
        assert_eq!(elsewhere["error"]["data"]["reason"], "foreign", "{era}: {elsewhere}");
        if era == "modern" {
            continue;
        }
        let again = group[1].modern("one__ask", &more);
        assert_eq!(again["error"]["data"]["reason"], "used", "{again}");
        let asked = group[0].modern("one__ask", "");
        group.replicas[0].kill();
        let begun = Instant::now();
        let state = format!(r#""requestState":{},"#, asked["result"]["requestState"]);
        let lost = group[1].modern("one__ask", &format!("{state}{}", answers.replace("KEY", key)));
        let text = lost["error"]["message"].as_str().unwrap();
        assert!(text.contains("execution is unknown"), "{lost}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    }
}

#[test]
fn the_client_of_a_killed_replica_is_told_and_its_session_goes_on() {
    let mut group = Group::start(2, &fixture(Some("legacy")), &[]);
    let id = group[0].begin();
    let known = ("mcp-session-id", id.as_str());
    let mut asking = group[0].open("POST /mcp", &[known], &call("ask", "{}"));
    let text = asking.until("elicitation/create");
    group.replicas[0].kill();
    assert!(!asking.rest().contains("said"), "the connection breaks off");
    let begun = Instant::now();
    let last = last_event(&text).to_owned();
    let told = group[1].open("GET /mcp", &[known, ("last-event-id", &last)], "").until("unknown");
    assert!(told.contains(r#""id":"ask","error""#), "{told}");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let late = group[1].post(&id, &accept(&question(&text)));
    assert!(late.0 == 400 && late.1.contains("is gone"), "{late:?}");
    let answer = group[1].call(&id, "echo", r#"{"a":1}"#);
    assert!(answer.contains(r#""echo":{"a":1}"#), "{answer}");
}

#[test]
fn without_nats_known_sessions_go_on_until_the_replica_is_stale() {
    let mut group = Group::start(1, &fixture(None), &["--cluster-stale-after", "10"]);
    let id = group[0].begin();
    assert_eq!(group[0].send("GET /readyz", &[], "").0, 200);
    group.nats().kill();
    assert_eq!(group[0].post(&id, &call("echo", "{}")).0, 200);
    let level =
        r#"{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"error"}}"#;
    let (status, answer) = group[0].post(&id, level);
    assert!(status == 503 && answer.contains("needs the other replicas"), "{answer}");
    let logged = group[0].call(&id, "log", "{}");
    assert!(logged.contains(r#""level":"info""#), "the level is as it was: {logged}");
    let (status, answer) = group[0].send("POST /mcp", &[], HELLO);
    assert!(status == 503 && answer.contains("needs the other replicas"), "{answer}");
    until("it is not ready", || group[0].send("GET /readyz", &[], "").0 == 503);
    let (_, answer) = group[0].send("GET /readyz", &[], "");
    assert!(answer.contains("NATS has not answered"), "{answer}");
    assert_eq!(group[0].send("GET /healthz", &[], "").0, 200);
    assert_eq!(group[0].post(&id, &call("echo", "{}")).0, 200, "its own user is let in by itself");
    group.nats().restart();
    until("it is ready again", || group[0].send("GET /readyz", &[], "").0 == 200);
    group[0].begin();
}

#[test]
fn the_status_shows_every_replica() {
    let mut group = Group::start(2, &fixture(None), &[]);
    let home = Home::new();
    let configured = |status: &Value| {
        status["replicas"].as_array().unwrap().iter().all(|replica| replica["config"].is_string())
    };
    until("they tell their configuration", || configured(&group.status(&home)));
    let status = group.status(&home);
    let replicas = status["replicas"].as_array().unwrap();
    let mut listening: Vec<_> =
        replicas.iter().map(|one| one["listen"].as_str().unwrap()).collect();
    listening.sort_unstable();
    let mut expected: Vec<_> = group.replicas.iter().map(|one| one.address.to_string()).collect();
    expected.sort_unstable();
    assert_eq!(listening, expected);
    assert_eq!(replicas[0]["config"], replicas[1]["config"], "in another folder, and the same");
    let settings = group[1].home.path().join(".config/switchboard/settings.json");
    let before = std::fs::read_to_string(&settings).unwrap();
    let server = &before[before.find('{').unwrap() + 1..];
    for more in [
        r#""hooks":{"PreToolUse":[{"matcher":"x","hooks":[{"type":"command","command":"true"}]}]}"#,
        r#""limits":{"reconnectAttempts":3}"#,
    ] {
        std::fs::write(&settings, format!("{{{more},{server}")).unwrap();
        let drifts = |status: &Value| status["warnings"].to_string().contains("not the same");
        until("it drifts", || drifts(&group.status(&home)));
        std::fs::write(&settings, &before).unwrap();
        until("it is the same again", || !drifts(&group.status(&home)));
    }
    assert!(replicas.iter().all(|replica| replica["state"] == "alive"), "{status}");
    group[0].signal(nix::sys::signal::Signal::SIGINT);
    assert!(group.replicas[0].wait());
    assert_eq!(group.status(&home)["replicas"].as_array().unwrap().len(), 1, "it has left");
}

#[test]
fn a_cluster_that_cannot_be_joined_is_refused() {
    let home = Home::new();
    let key = key_file(&home);
    let key = key.to_str().unwrap();
    let serve = |url: &str, key: &str| {
        let cluster = ["--cluster", url, "--cluster-name", "team", "--cluster-key-file", key];
        home.run(&[&["serve", "--listen", "127.0.0.1:0"], &cluster[..]].concat())
    };
    for (url, key, expected) in [
        ("nats://127.0.0.1:9", key, "cannot connect to NATS at nats://127.0.0.1:9"),
        ("nats://nats.example", key, "tls://"),
        ("nats://127.0.0.1:9", "missing", "cannot read missing"),
    ] {
        let shown = serve(url, key);
        assert!(shown.starts_with("exit 1") && shown.contains(expected), "{shown}");
    }
    let shown = home.run(&["serve", "--cluster", "nats://127.0.0.1:9"]);
    assert!(shown.starts_with("exit 2") && shown.contains("--cluster-name"), "{shown}");
}

#[test]
fn a_change_at_one_replica_is_heard_on_the_stream_at_another() {
    let group = Group::start(2, &fixture(None), &[]);
    let id = group[0].begin();
    let subscribe =
        r#"{"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{"uri":"a:b"}}"#;
    assert_eq!(group[0].post(&id, subscribe).0, 200);
    let mut heard = group[0].open("GET /mcp", &[("mcp-session-id", &id)], "");
    heard.until("\r\n\r\n");
    group[1].call(&id, "announce", r#"{"what":"a:b"}"#);
    heard.until("notifications/resources/updated");
}
