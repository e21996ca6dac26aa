//! Tests of the admin API against a running hub: every example of `docs/reference/admin.md` is executed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_hub::admin::client::{AdminClient as AdminApi, HubLookup};
use switchboard_hub::socket::{HubFolders, HubPaths};
use switchboard_testkit::programs::program;

use crate::Home;
use crate::gateway::{Client, stop, until};
use crate::signing_in::House;

/// One example: what is sent, and what is answered.
struct Example {
    method: String,
    path: String,
    body: String,
    answer: Option<(String, String)>,
}

/// A hub, as somebody who has its token sees it.
pub(crate) struct Hub {
    address: String,
    token: String,
}

/// The examples of the page, in order.
fn examples() -> Vec<Example> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/admin.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut blocks = page.split("```").skip(1).step_by(2).map(|block| {
        let (kind, text) = block.split_once('\n').unwrap();
        (kind.to_owned(), text.trim().to_owned())
    });
    let mut examples: Vec<Example> = Vec::new();
    for (kind, text) in &mut blocks {
        if kind == "http" {
            let (line, body) = text.split_once("\n\n").unwrap_or((&text, ""));
            let (method, path) = line.split_once(' ').unwrap();
            let (method, path, body) = (method.into(), path.into(), body.into());
            examples.push(Example { method, path, body, answer: None });
        } else {
            examples.last_mut().unwrap().answer = Some((kind, text));
        }
    }
    examples
}

/// Where the hub of a home is.
pub(crate) fn place(home: &Home) -> HubPaths {
    let folders = HubFolders {
        config: home.path().join(".config/switchboard"),
        state: home.path().join(".local/state/switchboard"),
        runtime: None,
        short: "/tmp".into(),
    };
    HubPaths::find(&folders).unwrap()
}

// === impl Hub ===

impl Hub {
    pub(crate) fn of(home: &Home) -> Self {
        let place = place(home);
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let url = runtime.block_on(async {
            let HubLookup::Hub(hub) = AdminApi::find(&place, "0").await.unwrap() else {
                panic!("no hub")
            };
            loop {
                if let Some(url) = hub.status().await.unwrap().url {
                    return url;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        let token = home.path().join(".local/state/switchboard/admin-token");
        let token = std::fs::read_to_string(token).unwrap().trim().to_owned();
        Self { address: url.strip_prefix("http://").unwrap().to_owned(), token }
    }

    /// Where its own console is.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    fn send(&self, method: &str, path: &str, body: &str, extra: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {}\r\n{extra}\r\n{body}",
            self.address,
            body.len()
        )
        .unwrap();
        BufReader::new(stream)
    }

    /// The same for a page of `origin` that has the token.
    pub(crate) fn ask_from(
        &self,
        method: &str,
        path: &str,
        body: &str,
        origin: &str,
    ) -> (u16, BufReader<TcpStream>) {
        let extra = format!("authorization: Bearer {}\r\norigin: {origin}\r\n", self.token);
        let mut answer = self.send(method, path, body, &extra);
        (head(&mut answer), answer)
    }

    /// The status, with what follows the head still to be read.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &str) -> (u16, BufReader<TcpStream>) {
        let token = format!("authorization: Bearer {}\r\n", self.token);
        let mut answer = self.send(method, path, body, &token);
        (head(&mut answer), answer)
    }
}

fn head(answer: &mut BufReader<TcpStream>) -> u16 {
    let mut status = 0;
    loop {
        let mut line = String::new();
        assert!(answer.read_line(&mut line).unwrap() > 0, "no answer");
        if status == 0 {
            status = line.split(' ').nth(1).unwrap().parse().unwrap();
        }
        if line.trim().is_empty() {
            return status;
        }
    }
}

/// All of a body that is one object, however it was cut into chunks.
pub(crate) fn object(mut answer: BufReader<TcpStream>) -> Value {
    let mut text = String::new();
    answer.read_to_string(&mut text).unwrap();
    let (Some(from), Some(to)) = (text.find('{'), text.rfind('}')) else { return Value::Null };
    serde_json::from_str(&text[from..=to]).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The next event.
pub(crate) fn event(answer: &mut BufReader<TcpStream>) -> (String, Value) {
    let mut name = String::new();
    loop {
        let mut line = String::new();
        assert!(answer.read_line(&mut line).unwrap() > 0, "the stream has ended");
        if let Some(said) = line.strip_prefix("event: ") {
            said.trim().clone_into(&mut name);
        }
        if let Some(data) = line.strip_prefix("data: ") {
            return (name, serde_json::from_str(data).unwrap());
        }
    }
}

/// The paths of all members, without those inside what servers wrote.
fn shape(value: &Value, path: &str) -> Vec<String> {
    let mut paths: Vec<String> = match value {
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, member)| {
                let path = format!("{path}.{name}");
                let foreign = ["item", "params", "result"].contains(&name.as_str());
                let inner = if foreign { Vec::new() } else { shape(member, &path) };
                std::iter::once(path).chain(inner)
            })
            .collect(),
        Value::Array(items) => {
            items.iter().flat_map(|item| shape(item, &format!("{path}[]"))).collect()
        }
        _ => Vec::new(),
    };
    paths.sort();
    paths.dedup();
    paths
}

fn same(shown: &str, found: &Value, of: &str) {
    let shown: Value = serde_json::from_str(shown).unwrap_or_else(|error| panic!("{of}: {error}"));
    assert_eq!(shape(&shown, ""), shape(found, ""), "{of}");
}

pub(crate) fn home() -> Home {
    let home = Home::new();
    let kiosk = program("kiosk");
    let entry = json!({ "command": kiosk, "args": ["--skills"], "era": "modern" }).to_string();
    home.command(&["add-json", "-s", "user", "kiosk", &entry]).output().unwrap();
    home
}

#[test]
fn every_example_is_what_happens() {
    let home = home();
    let wants = r#"{"mcpServers": {"shelf": {"command": "shelf"}}}"#;
    std::fs::write(home.path().join(".mcp.json"), wants).unwrap();
    let mut client = Client::start(&home, &["connect"]);
    client.call("kiosk__erase").unwrap();
    let hub = Hub::of(&home);
    let mut open = Vec::new();
    let mut known = vec![("/home/ada/app".to_owned(), home.path().display().to_string())];
    known.push(("/home/ada".to_owned(), home.path().display().to_string()));
    let house = House::open();
    known.push(("https://notes.example/mcp".to_owned(), house.server.url("/mcp")));
    let mut asked = None;
    for example in examples() {
        let filled = |text: &str| {
            known.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
        };
        let of = format!("{} {}", example.method, example.path);
        if example.path == "/api/v1/questions" {
            // A client that cannot be asked: the question waits for whoever attends.
            asked = Some(
                client.send("tools/call", &json!({ "name": "kiosk__register", "arguments": {} })),
            );
            until("No questions are waiting.", || {
                object(hub.ask("GET", "/api/v1/questions", "").1)["questions"][0].is_object()
            });
        }
        if example.path.starts_with("/api/v1/activity?") {
            // Records are gathered for a moment before they are written.
            until("the call is not on record", || {
                let told = object(hub.ask("GET", &example.path, "").1);
                told["calls"][0]["name"] == "mcp__kiosk__count"
            });
        }
        let (status, mut answer) =
            hub.ask(&example.method, &filled(&example.path), &filled(&example.body));
        let is_problem = example.path.contains("nowhere");
        assert_eq!(status >= 400, is_problem, "{of}: {status}");
        match &example.answer {
            None if example.path.ends_with("/catalog") => {
                assert!(object(answer)["tools"].is_array(), "{of}");
            }
            None => assert_eq!(object(answer), Value::Null, "{of}"),
            Some((kind, shown)) if kind == "json" => {
                let found = object(answer);
                same(shown, &found, &of);
                if let Some(digest) = found["pending"][0]["digest"].as_str() {
                    known.push(("{digest}".to_owned(), digest.to_owned()));
                }
                if let Some(id) = found["calls"][0]["id"].as_str() {
                    known.push(("{call}".to_owned(), id.to_owned()));
                }
                if let Some(id) = found["questions"][0]["id"].as_str() {
                    known.push(("{question}".to_owned(), id.to_owned()));
                }
            }
            Some((_, shown)) => {
                for line in shown.lines() {
                    let (name, data) = line.split_once(' ').unwrap();
                    let found = event(&mut answer);
                    assert_eq!(found.0, name, "{of}: {}", found.1);
                    same(data, &found.1, &format!("{of}: {name}"));
                    if name == "opened" {
                        let text = |key: &str| found.1[key].as_str().unwrap().to_owned();
                        known.push(("{workspace}".to_owned(), text("id")));
                        known.push(("{session}".to_owned(), text("session")));
                    }
                }
                open.push(answer);
            }
        }
        if let Some(id) = asked.filter(|_| example.path.ends_with("{question}")) {
            let answered = client.hear(id).unwrap().to_string();
            assert!(answered.contains("Ada"), "{answered}");
        }
    }
    until("the hub goes on", || stop(&home).is_none());
}

#[test]
fn what_is_closed_is_let_go() {
    let home = home();
    let client = Client::start(&home, &["connect"]);
    let hub = Hub::of(&home);
    let status = || object(hub.ask("GET", "/api/v1/status", "").1);
    let whose = json!({ "cwd": home.path(), "env": { "HOME": home.path(), "PATH": "/usr/bin" } });
    let (_, mut lease) = hub.ask("POST", "/api/v1/workspaces", &whose.to_string());
    let (_, opened) = event(&mut lease);
    let (id, session) = (opened["id"].as_str().unwrap(), opened["session"].as_str().unwrap());
    let path = format!("/api/v1/workspaces/{id}/call?session={session}");
    let call = json!({ "method": "tools/call",
        "params": { "name": "mcp__kiosk__hang", "arguments": {} } });
    let (_, calling) = hub.ask("POST", &path, &call.to_string());
    until("the call is not made", || status()["calls"] == 1);
    drop(calling);
    until("the call goes on", || status()["calls"] == 0);
    drop(lease);
    until("the session stays", || hub.ask("POST", &path, &call.to_string()).0 == 404);
    client.leave();
    stop(&home);
}

#[test]
fn whoever_is_not_ours_learns_nothing() {
    let home = home();
    let client = Client::start(&home, &["connect"]);
    let hub = Hub::of(&home);
    let good = format!("authorization: Bearer {}\r\n", hub.token);
    for (extra, expected) in [
        (good.clone(), 200),
        (String::new(), 401),
        ("authorization: Bearer nothing\r\n".to_owned(), 401),
        (format!("{good}origin: http://evil.example\r\n"), 403),
        (format!("{good}origin: http://localhost:1\r\n"), 403),
        (format!("{good}origin: http://{}\r\n", hub.address), 200),
    ] {
        let mut answer = hub.send("GET", "/api/v1/status", "", &extra);
        assert_eq!(head(&mut answer), expected, "{extra}");
    }
    let mut answer = TcpStream::connect(&hub.address).unwrap();
    write!(answer, "GET /api/v1/status HTTP/1.1\r\nhost: evil.example\r\n{good}\r\n").unwrap();
    assert_eq!(head(&mut BufReader::new(answer)), 403, "a name that is not ours");
    client.leave();
    stop(&home);
}

#[test]
fn a_page_comes_in_once_and_needs_both_halves_of_its_pass() {
    let home = home();
    let client = Client::start(&home, &["connect"]);
    let hub = Hub::of(&home);
    let url = object(hub.ask("POST", "/api/v1/console", "").1)["url"].clone();
    let (at, word) = url.as_str().unwrap().split_once("/#").unwrap();
    assert_eq!(at, format!("http://{}", hub.address));
    let said = |method: &str, path: &str, body: &str, extra: &str| {
        let mut text = String::new();
        hub.send(method, path, body, extra).read_to_string(&mut text).unwrap();
        text
    };
    let page = said("GET", "/", "", "");
    assert!(page.contains("default-src 'none'") && page.contains("/console/app.js"), "{page}");
    let invitation = json!({ "invitation": word }).to_string();
    let foreign = said("POST", "/console/enter", &invitation, "origin: http://evil.example\r\n");
    assert!(foreign.starts_with("HTTP/1.1 403"), "{foreign}");
    let entered = said("POST", "/console/enter", &invitation, "");
    let (head, body) = entered.split_once("\r\n\r\n").unwrap();
    let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let cookie = format!("cookie: other=1; {}\r\n", cookie.split_once(';').unwrap().0);
    let pass: Value = serde_json::from_str(body).unwrap();
    let proof = format!("x-switchboard-pass: {}\r\n", pass["pass"].as_str().unwrap());
    let long = json!({ "invitation": "x".repeat(600) }).to_string();
    let long = said("POST", "/console/enter", &long, "");
    assert!(long.starts_with("HTTP/1.1 400"), "a long body was read: {long}");
    let again = said("POST", "/console/enter", &invitation, "");
    assert!(again.starts_with("HTTP/1.1 401"), "an invitation was taken twice: {again}");
    let foreign = format!("{cookie}{proof}origin: http://evil.example\r\n");
    let elsewhere = format!("{cookie}{proof}origin: http://localhost:1\r\n");
    let own = format!("{cookie}{proof}origin: http://{}\r\n", hub.address);
    for (extra, expected) in [
        (&format!("{cookie}{proof}"), 200),
        (&own, 200),
        (&cookie, 401),
        (&proof, 401),
        (&format!("{proof}{}", cookie.replace("switchboard-", "switchboard-1")), 401),
        (&foreign, 403),
        (&elsewhere, 403),
    ] {
        let status = head_of(&said("GET", "/api/v1/status", "", extra));
        assert_eq!(status, expected, "{extra}");
    }
    client.leave();
    stop(&home);
}

fn head_of(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}
