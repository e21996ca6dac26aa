//! Tests of access control: tokens, `serve` flags, TLS, the audit log, `status`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};

use serde_json::{Value, json};
use switchboard_testkit::http::Authority;
use switchboard_testkit::programs::program;
use switchboard_wire::client::{
    CallRequest, Client, ClientOptions, HttpTarget, ListKind, ServerTarget,
};
use switchboard_wire::http::{EndpointOptions, HttpPool, HttpPoolOptions, TlsOptions};
use switchboard_wire::json::Raw;

use crate::admin::Hub;
use crate::gateway::{self, stop, until};
use crate::{Home, Story};

pub(crate) const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}"#;
pub(crate) const TOOLS: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

/// `serve`, ended with the test.
pub(crate) struct Serving {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) url: String,
    console: Option<String>,
}

impl Serving {
    pub(crate) fn start(home: &Home, flags: &[&str]) -> Self {
        let listen: &[&str] =
            if flags.contains(&"--listen") { &[] } else { &["--listen", "127.0.0.1:0"] };
        let args = [&["serve", "--json"], listen, flags].concat();
        let mut child = home.command(&args).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        let text = |key: &str| ready[key].as_str().unwrap().to_owned();
        let console = ready["console"].as_str().map(str::to_owned);
        Self { child, address: text("address").parse().unwrap(), url: text("url"), console }
    }

    /// The status of an answer, and the answer.
    pub(crate) fn post(&self, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        self.send("POST /mcp", headers, body)
    }

    /// The same for any method and path.
    pub(crate) fn send(&self, what: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        let port = self.address.port();
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let mut text = format!(
            "{what} HTTP/1.1\r\nconnection: close\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: {}\r\n",
            body.len()
        );
        if !headers.iter().any(|(name, _)| *name == "host") {
            text += &format!("host: 127.0.0.1:{port}\r\n");
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        // Whoever is refused may not be read to its end.
        let _ = stream.write_all(format!("{text}\r\n{body}").as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        (answer.split(' ').nth(1).unwrap_or("0").parse().unwrap(), answer)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

/// A home with one server.
pub(crate) fn home() -> Home {
    let home = Home::new();
    let server = program("fixture-server");
    home.command(&["add", "-s", "user", "one", "--", server.to_str().unwrap()]).output().unwrap();
    home
}

pub(crate) fn json(home: &Home, args: &[&str]) -> Value {
    let output = home.command(&[args, &["--json"]].concat()).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{args:?}: {output:?}"))
}

pub(crate) fn token(home: &Home, name: &str) -> String {
    json(home, &["token", "create", "--name", name])["token"].as_str().unwrap().to_owned()
}

pub(crate) fn session(answer: &str) -> String {
    let is_it = |line: &&str| line.to_ascii_lowercase().starts_with("mcp-session-id:");
    answer.lines().find(is_it).unwrap().split_once(':').unwrap().1.trim().to_owned()
}

#[test]
fn tokens_are_made_shown_and_revoked() {
    let mut story = Story::new();
    story.run(&["token", "list"]).run(&["token", "list", "--json"]);
    let made = story.quietly(&["token", "create", "--name", "laptop", "--expires", "30d"]);
    let secret = String::from_utf8(made.stdout.clone()).unwrap().trim().to_owned();
    assert!(secret.starts_with("sb_") && secret.len() == 46, "{secret}");
    let known = json(&story.home, &["token", "list"])["tokens"][0].clone();
    assert_eq!(known["expires"].as_u64().unwrap() - known["created"].as_u64().unwrap(), 2_592_000);
    let row = String::from_utf8(story.quietly(&["token", "list"]).stdout).unwrap();
    let minutes = row.match_indices(':').map(|(at, _)| row[at - 13..at + 4].to_owned());
    let minutes: Vec<_> = minutes.collect();
    let [created, expires] = &minutes[..] else { panic!("{row}") };
    story.replace(&secret, "sb_SECRET");
    story.replace(known["id"].as_str().unwrap(), "01234567");
    story.replace(created, "2026-01-01 00:00Z");
    story.replace(expires, "2026-01-31 00:00Z");
    let args = ["token", "create", "--name", "laptop", "--expires", "30d"];
    let shown = story.home.shown(&made);
    story.tell(&args, &shown);
    story
        .run(&["token", "list"])
        .run(&["token", "create", "--name", "laptop"])
        .run(&["token", "create", "--name", "two words"])
        .run(&["token", "create", "--expires", "30"])
        .run(&["token", "revoke", "desktop"])
        .run(&["token", "revoke", "laptop"])
        .run(&["token", "revoke", "laptop"]);
    let file = story.home.path().join(".local/state/switchboard/tokens.json");
    std::fs::write(&file, "{\"version\":").unwrap();
    story.run(&["token", "list"]).run(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "{\"version\":");
    insta::assert_snapshot!("tokens", story.transcript());
}

#[test]
fn what_would_let_strangers_in_is_refused() {
    let mut story = Story::new();
    story
        .run(&["serve", "--auth", "token", "--listen", "127.0.0.1:0"])
        .run(&["serve", "--auth", "user", "--listen", "0.0.0.0:0"])
        .run(&["serve", "--listen", "127.0.0.1:0", "--allow-host", "hub.example"])
        .run(&["serve", "--listen", "127.0.0.1:0", "--allow-host", "hub.example", "--auth", "user"])
        .run(&["serve", "--tls-cert", "hub.pem"])
        .run(&["serve", "--tls-cert", "hub.pem", "--tls-key", "hub.key"]);
    story.write("hub.pem", "nothing");
    story.write("hub.key", "nothing");
    story.run(&["serve", "--tls-cert", "hub.pem", "--tls-key", "hub.key"]);
    insta::assert_snapshot!("serve_refused", story.transcript());
}

#[test]
fn a_token_opens_the_door_until_it_is_revoked() {
    let home = home();
    let (ann, bob) = (token(&home, "ann"), token(&home, "bob"));
    let (ann, bob) = (format!("Bearer {ann}"), format!("Bearer {bob}"));
    let serving = Serving::start(&home, &["--auth", "token"]);
    assert_eq!(serving.post(&[], HELLO).0, 401);
    assert_eq!(serving.post(&[("authorization", "Bearer sb_wrong")], HELLO).0, 401);
    let begin = |who: &str| {
        let (status, answer) = serving.post(&[("authorization", who)], HELLO);
        assert_eq!(status, 200, "{answer}");
        session(&answer)
    };
    let (anns, bobs) = (begin(&ann), begin(&bob));
    let list = |who: &str, id: &str| {
        serving.post(&[("authorization", who), ("mcp-session-id", id)], TOOLS).0
    };
    assert_eq!((list(&ann, &anns), list(&bob, &bobs), list(&bob, &anns)), (200, 200, 404));
    json(&home, &["token", "revoke", "ann"]);
    assert_eq!((list(&ann, &anns), list(&bob, &bobs)), (401, 200));
    // On loopback one's own programs need none, and a token that is sent is looked at all the same.
    let open = Serving::start(&home, &[]);
    assert_eq!(open.post(&[], HELLO).0, 200);
    assert_eq!(open.post(&[("authorization", &bob)], HELLO).0, 200);
    assert_eq!(open.post(&[("authorization", &ann)], HELLO).0, 401);
}

/// Headers, a body, and the status they bring.
type Tries<'a> = &'a [(&'a [(&'a str, &'a str)], &'a str, u16)];

#[test]
fn every_limit_has_its_flag() {
    let home = home();
    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","x":"{}"}}"#, "x".repeat(2000));
    let bearer = format!("Bearer {}", token(&home, "ann"));
    let ann = ("authorization", bearer.as_str());
    let cases: [(&[&str], Tries<'_>); 5] = [
        (&["--max-message", "1000"], &[(&[], HELLO, 200), (&[], &long, 413)]),
        (&["--rate", "1"], &[(&[], HELLO, 200), (&[], HELLO, 200), (&[], HELLO, 429)]),
        (
            &["--allow-host", "hub.example"],
            &[
                (&[("host", "hub.example"), ann], HELLO, 200),
                (&[("host", "hub.example")], HELLO, 401),
                (&[], HELLO, 401),
                (&[("host", "evil.example"), ann], HELLO, 403),
            ],
        ),
        (
            &["--allow-host", "hub.localhost"],
            &[
                (&[("host", "hub.localhost")], HELLO, 200),
                (&[("x-forwarded-for", "192.0.2.1")], HELLO, 401),
                (&[("x-forwarded-for", "192.0.2.1"), ann], HELLO, 200),
            ],
        ),
        (
            &["--allow-origin", "https://app.example"],
            &[
                (&[("origin", "https://app.example")], HELLO, 200),
                (&[("origin", "http://localhost:3000")], HELLO, 403),
                (&[("origin", "http://127.0.0.1:3000")], HELLO, 403),
                (&[("origin", "https://evil.example")], HELLO, 403),
            ],
        ),
    ];
    for (flags, tries) in cases {
        let serving = Serving::start(&home, flags);
        for (headers, body, expected) in tries {
            let (status, answer) = serving.post(headers, body);
            assert_eq!(status, *expected, "{flags:?} {headers:?}: {answer}");
        }
    }
    // The idle session makes room for the next.
    let serving = Serving::start(&home, &["--max-sessions", "1"]);
    let ids = [(); 2].map(|()| session(&serving.post(&[], HELLO).1));
    let statuses = ids.map(|id| serving.post(&[("mcp-session-id", &id)], TOOLS).0);
    assert_eq!(statuses, [404, 200]);
    drop(serving);
    let serving = Serving::start(&home, &["--idle", "1s"]);
    let id = session(&serving.post(&[], HELLO).1);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    // Looking at a session is using it, so it is left alone for longer each time.
    let mut pause = std::time::Duration::from_millis(1500);
    while serving.post(&[("mcp-session-id", &id)], TOOLS).0 != 404 {
        assert!(std::time::Instant::now() < deadline, "it never ends");
        std::thread::sleep(pause);
        pause *= 2;
    }
}

#[test]
fn served_beyond_this_machine_with_tls_and_a_token() {
    let home = home();
    let authority = Authority::new();
    std::fs::write(home.path().join("hub.pem"), authority.server_pem()).unwrap();
    let bearer = format!("Bearer {}", token(&home, "laptop"));
    let flags = ["--listen", "0.0.0.0:0", "--tls-cert", "hub.pem", "--tls-key", "hub.pem"];
    let serving = Serving::start(&home, &flags);
    assert_eq!(serving.url, format!("https://127.0.0.1:{}/mcp", serving.address.port()));
    let tls = TlsOptions {
        extra_ca_pem: vec![authority.ca_pem()],
        platform_roots: false,
        ..TlsOptions::default()
    };
    let pool = HttpPool::new(&HttpPoolOptions { tls, ..HttpPoolOptions::default() }).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let connect = async |options: EndpointOptions| {
            let url = serving.url.parse().unwrap();
            let target = ServerTarget::Http(HttpTarget { url, pool: pool.clone(), options });
            Client::connect(target, ClientOptions::new("test", "1")).await
        };
        assert!(connect(EndpointOptions::default()).await.is_err(), "nobody asked for a token");
        let mut options = EndpointOptions::default();
        options.headers.insert("authorization", bearer.parse().unwrap());
        let (client, _inbox) = connect(options).await.unwrap();
        assert!(!client.list(ListKind::Tools).await.unwrap().items.is_empty());
        let arguments = Raw::empty_object();
        client.call(CallRequest::call_tool("one__echo", &arguments)).result().await.unwrap();
        client.close().await;
    });
    drop(serving);
    let calls = json(&home, &["logs", "--audit"])["calls"].clone();
    assert_eq!(calls[0]["transport"], "http");
    assert!(calls[0]["principal"].as_str().unwrap().starts_with("laptop@"), "{calls}");
}

/// What a person is told: where it is, how to add it, and what is dangerous about it.
#[test]
fn beyond_this_machine_without_tls_is_warned_of() {
    let home = home();
    token(&home, "laptop");
    let mut child = home
        .command(&["serve", "--listen", "0.0.0.0:0", "--allow-host", "hub.example"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    while !said.contains("Ctrl-C") {
        assert!(lines.read_line(&mut said).unwrap() > 0, "{said}");
    }
    let port = said.split("hub.example:").nth(1).unwrap().split('/').next().unwrap().to_owned();
    // Once it answers it can be ended.
    let mut stream = TcpStream::connect(("127.0.0.1", port.parse().unwrap())).unwrap();
    write!(stream, "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .unwrap();
    stream.read_to_string(&mut String::new()).unwrap();
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    assert!(child.wait().unwrap().success());
    insta::assert_snapshot!("serve_beyond", said.replace(&port, "PORT"));
}

/// A balancer has no token. It is told when clients are served, and after Ctrl-C that no more are.
#[test]
fn balancers_are_told_whether_clients_are_served() {
    let home = home();
    token(&home, "laptop");
    let by_token = Serving::start(&home, &["--auth", "token"]);
    assert_eq!(by_token.post(&[], HELLO).0, 401);
    let (status, answer) = by_token.send("GET /readyz", &[], "");
    assert!(status == 200 && answer.ends_with("\r\n\r\nready\n"), "{answer}");
    drop(by_token);

    let serving = Serving::start(&home, &[]);
    let (_, hello) = serving.post(&[], HELLO);
    let session = session(&hello);
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one__echo"}}"#;
    let mut calling = TcpStream::connect(("127.0.0.1", serving.address.port())).unwrap();
    write!(
        calling,
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nmcp-session-id: {session}\r\naccept: application/json\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nexpect: 100-continue\r\n\r\n",
        call.len()
    )
    .unwrap();
    // The call is under way: its body is wanted.
    calling.read_exact(&mut [0; b"HTTP/1.1 100 Continue\r\n\r\n".len()]).unwrap();
    let pid = nix::unistd::Pid::from_raw(i32::try_from(serving.child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    let (mut status, mut answer) = (200, String::new());
    // A connection that was accepted just before is closed without an answer, as any idle one.
    while matches!(status, 200 | 0) {
        (status, answer) = serving.send("GET /readyz", &[], "");
    }
    assert!(status == 503 && answer.contains("shutting down"), "{answer}");
    assert_eq!(serving.send("GET /healthz", &[], "").0, 200);
    assert_eq!(serving.post(&[], HELLO).0, 503);
    calling.write_all(call.as_bytes()).unwrap();
    let mut answer = String::new();
    calling.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(r#""result":"#), "{answer}");
}

#[test]
fn calls_are_written_down() {
    let mut story = Story::new();
    let server = program("fixture-server");
    story.quietly(&["add", "-s", "user", "one", "--", server.to_str().unwrap()]);
    story.run(&["logs", "--audit"]).run(&["logs"]);
    story.quietly(&["call", "one/echo", "token=SECRET"]);
    story.quietly(&["call", "one/nothing"]);
    story.quietly(&["call", "mcp__two__nothing"]);
    let all = json(&story.home, &["logs", "--audit"]);
    let calls = all["calls"].as_array().unwrap();
    assert_eq!(
        calls.len(),
        1 + calls.iter().filter(|call| call["error"] == "not-found").count(),
        "{all:#}"
    );
    let call = &calls[0];
    for (key, expected) in [
        ("principal", "local"),
        ("client", "switchboard"),
        ("transport", "cli"),
        ("server", "one"),
        ("method", "tools/call"),
        ("name", "mcp__one__echo"),
        ("decision", "allow"),
        ("by", "typed"),
        ("outcome", "ok"),
    ] {
        assert_eq!(call[key], expected, "{key}");
    }
    let file = std::fs::read_to_string(all["file"].as_str().unwrap()).unwrap();
    assert!(!file.contains("SECRET"), "{file}");
    let of = |args: &[&str]| {
        let calls = json(&story.home, &[&["logs", "--audit"], args].concat())["calls"].clone();
        calls.as_array().unwrap().len()
    };
    assert_eq!(of(&["--server", "one"]), of(&["one"]));
    assert_eq!((of(&["--server", "three"]), of(&["--since", "1h"])), (0, calls.len()));
    assert_eq!(of(&["-n", "1"]), 1);
    let shown = String::from_utf8(story.quietly(&["logs", "--audit"]).stdout).unwrap();
    let mut rows = shown.lines();
    assert!(rows.next().unwrap().starts_with("TIME"), "{shown}");
    let row = rows.next().unwrap();
    assert!(row.contains("local (switchboard)") && row.contains("mcp__one__echo"), "{shown}");
    assert!(row.contains("allow typed") && row.contains(" ok "), "{shown}");
    insta::assert_snapshot!("audit_nothing", story.transcript());
}

/// Where a console is, without what lets a page in.
fn place(console: &str) -> String {
    console.split('#').next().unwrap().to_owned()
}

#[test]
fn the_console_is_where_it_was_said_to_be() {
    let home = home();
    let status = || place(json(&home, &["status"])["console"].as_str().unwrap());
    // As the hub itself, which has its own port besides.
    let serving = Serving::start(&home, &[]);
    assert_eq!(status(), place(serving.console.as_ref().unwrap()));
    assert_eq!(status(), format!("http://{}/", serving.address));
    drop(serving);
    // Through a hub that others started, and only for so long.
    let client = gateway::Client::start(&home, &["connect"]);
    let own = Hub::of(&home).url();
    assert_eq!(status(), own);
    let serving = Serving::start(&home, &[]);
    let second = Serving::start(&home, &[]);
    assert_eq!(status(), place(serving.console.as_ref().unwrap()));
    drop(serving);
    until("it is shown where it was", || status() == place(second.console.as_ref().unwrap()));
    drop(second);
    until("it is shown where it was", || status() == own);
    client.leave();
    stop(&home);
}

/// A process that does nothing, for as long as this lives.
struct Frozen(nix::unistd::Pid);

impl Frozen {
    fn new(pid: u32) -> Self {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(pid).unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGSTOP).unwrap();
        Self(pid)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        nix::sys::signal::kill(self.0, nix::sys::signal::Signal::SIGCONT).unwrap();
    }
}

/// It is asked to write down what it knows, and what it does not write is said to be missing.
#[test]
fn a_hub_that_hangs_does_not_keep_the_audit_log_from_anybody() {
    let home = home();
    let mut client = gateway::Client::start(&home, &["connect"]);
    client.call("one__echo").unwrap();
    let calls = || json(&home, &["logs", "--audit"])["calls"].as_array().unwrap().len();
    assert_eq!(calls(), 1);
    let pid = json(&home, &["status"])["pid"].as_u64().unwrap();
    let frozen = Frozen::new(u32::try_from(pid).unwrap());
    let output = home.command(&["logs", "--audit"]).output().unwrap();
    let (shown, said) = (String::from_utf8(output.stdout), String::from_utf8(output.stderr));
    assert!(shown.unwrap().contains("mcp__one__echo"));
    let said = said.unwrap();
    assert!(said.contains("its latest calls may be missing"), "{said}");
    drop(frozen);
    client.leave();
    stop(&home);
}

#[test]
fn who_uses_the_hub_is_shown() {
    let home = home();
    assert_eq!(json(&home, &["status"]), json!({ "running": false }));
    let mut child = home
        .command(&["connect"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut ask = |id: u32, text: &str| {
        let mut message: Value = serde_json::from_str(text).unwrap();
        message["id"] = id.into();
        writeln!(input, "{message}").unwrap();
        let is_it = |line: &String| serde_json::from_str::<Value>(line).unwrap()["id"] == id;
        output.by_ref().map(Result::unwrap).find(is_it).unwrap()
    };
    ask(1, &HELLO.replace("raw", "claude-\\u0007code"));
    let there = json(&home, &["status"])["clients"][0].clone();
    assert_eq!((&there["name"], &there["version"]), (&"claude-code".into(), &"1".into()));
    assert_eq!(there["servers"], json!([]));
    let call = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"one__echo","arguments":{}}}"#;
    ask(2, call);
    assert_eq!(json(&home, &["logs", "--audit"])["calls"].as_array().unwrap().len(), 1);
    ask(3, call);
    ask(4, &call.replace("one__echo", "one__nothing"));
    let status = json(&home, &["status"]);
    let there = &status["clients"][0];
    assert_eq!(there["servers"], json!([{ "name": "one", "calls": 2 }]));
    assert_eq!(there["folder"], home.path().to_str().unwrap());
    let shown = home.run(&["status"]);
    assert!(shown.contains("1 client, 0 calls running"), "{shown}");
    assert!(shown.contains("claude-code 1") && shown.contains("one (2)"), "{shown}");
    let calls = json(&home, &["logs", "--audit"])["calls"].clone();
    assert_eq!(
        (&calls[0]["client"], &calls[0]["transport"]),
        (&"claude-code".into(), &"socket".into())
    );
    assert_eq!(
        (&calls[2]["name"], &calls[2]["error"]),
        (&"one__nothing".into(), &"not-found".into())
    );
    // A client that comes over the network is there too, and its key to the session is not told.
    let serving = Serving::start(&home, &[]);
    let (_, opened) = serving.post(&[], &HELLO.replace("raw", "over-http"));
    let session = session(&opened);
    let headers = [("mcp-session-id", session.as_str())];
    serving.post(&headers, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!(serving.post(&headers, call).0, 200);
    let status = json(&home, &["status"]);
    let there = &status["clients"][1];
    assert_eq!(
        (&there["name"], &there["transport"], &there["servers"][0]["name"]),
        (&"over-http".into(), &"http".into(), &"one".into()),
        "{status}"
    );
    assert!(!status.to_string().contains(&session), "{status}");
    // A session counts whether or not its client calls, and until it is ended.
    assert_eq!(status["sessions"], 1, "{status}");
    let (_, idle) = serving.post(&[], HELLO);
    assert!(!idle.is_empty());
    assert_eq!(json(&home, &["status"])["sessions"], 2);
    let shown = home.run(&["status"]);
    assert!(shown.contains("3 clients, 0 calls running"), "{shown}");
    assert!(shown.contains("2 sessions are open over the network"), "{shown}");
    drop(serving);
    drop(input);
    assert!(child.wait().unwrap().success());
    json(&home, &["stop"]);
}
