//! Tests of servers and calls over the admin API: sign-in and sign-out, recent calls, leases in the event stream.

use std::io::{BufReader, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::Home;
use crate::admin::{Hub, event, home, object};
use crate::gateway::{Client, stop, until};
use crate::signing_in::{House, back_from};

/// A workspace that is held open, as its address and the session in it.
fn held(hub: &Hub, home: &Home) -> (BufReader<TcpStream>, String, String) {
    let whose = json!({ "cwd": home.path(), "env": { "HOME": home.path(), "PATH": "/usr/bin" } });
    let (_, mut lease) = hub.ask("POST", "/api/v1/workspaces", &whose.to_string());
    let (_, opened) = event(&mut lease);
    let (id, session) = (opened["id"].as_str().unwrap(), opened["session"].as_str().unwrap());
    (lease, format!("/api/v1/workspaces/{id}"), session.to_owned())
}

#[test]
fn somebody_signs_in_and_out() {
    let home = Home::new();
    let house = House::open();
    home.command(&["add", "-s", "user", "web", &house.server.url("/mcp")]).output().unwrap();
    let client = Client::start(&home, &["connect"]);
    let hub = Hub::of(&home);
    let (_lease, at, _) = held(&hub, &home);
    let state = || object(hub.ask("GET", &format!("{at}/servers"), "").1)["servers"][0].clone();
    until("nobody is asked to sign in", || state()["state"] == "needs-auth");
    let begun = object(hub.ask("POST", &format!("{at}/servers/web/sign-in"), "").1);
    let back = back_from(&begun["url"].as_str().unwrap().parse().unwrap(), &[("code", "c")]);
    let mut page = TcpStream::connect(("127.0.0.1", back.port().unwrap())).unwrap();
    let asked = format!("{}?{}", back.path(), back.query().unwrap());
    write!(page, "GET {asked} HTTP/1.1\r\nhost: {}\r\n\r\n", back.host_str().unwrap()).unwrap();
    until("the server is not connected to", || state()["state"] == "connected");
    let known = object(hub.ask("GET", &format!("{at}/servers/web/sign-in"), "").1);
    assert_eq!(known["signIn"]["issuer"], house.server.url(""), "{known}");
    assert!(known["signIn"]["signedInAt"].as_u64().is_some(), "{known}");
    assert!(!known.to_string().contains("s3cret"), "{known}");
    let out = format!("{at}/servers/web/sign-out");
    let ended = object(hub.ask("POST", &out, "").1);
    assert_eq!(ended, json!({ "signedOut": true, "problem": null }));
    let revoked = house.revoked.lock().unwrap().join("\n");
    assert!(revoked.find("s3cret-refresh") < revoked.find("s3cret-access"), "{revoked}");
    until("the server is still used", || state()["state"] == "needs-auth");
    let ended = object(hub.ask("POST", &out, "").1);
    assert_eq!(ended, json!({ "signedOut": false, "problem": null }));
    let known = object(hub.ask("GET", &format!("{at}/servers/web/sign-in"), "").1);
    assert_eq!(known, json!({ "signIn": null }));
    client.leave();
    stop(&home);
}

/// What cannot be signed in to, and what is not there.
#[test]
fn nobody_signs_in_to_what_has_no_page() {
    let home = home();
    let client = Client::start(&home, &["connect"]);
    let hub = Hub::of(&home);
    let (_lease, at, _) = held(&hub, &home);
    for (path, status, kind) in [
        ("servers/kiosk/sign-in", 409, "refused"),
        ("servers/nobody/sign-in", 404, "no-such-server"),
        ("servers/nobody/sign-out", 404, "no-such-server"),
        ("servers/nobody/processes", 404, "no-such-server"),
    ] {
        let method = if path.ends_with("processes") { "GET" } else { "POST" };
        let (found, answer) = hub.ask(method, &format!("{at}/{path}"), "");
        assert_eq!((found, object(answer)["kind"].as_str()), (status, Some(kind)), "{path}");
    }
    client.leave();
    stop(&home);
}

#[test]
fn what_calls_said_is_kept_while_somebody_looks_and_without_secrets() {
    let home = home();
    let mut client = Client::start(&home, &["connect"]);
    let hub = Hub::of(&home);
    let (_lease, at, _) = held(&hub, &home);
    let last = || {
        let told = object(hub.ask("GET", "/api/v1/activity?calls=1", "").1);
        told["calls"][0].clone()
    };
    let say = |client: &mut Client, text: &str| {
        let call = json!({ "name": "kiosk__say", "arguments": { "text": text } });
        client.ask("tools/call", &call).unwrap();
    };
    let log = home.path().join(".local/state/switchboard/logs/audit.jsonl");
    say(&mut client, "nobody looks");
    // Whoever reads the file has it written first.
    assert_eq!(hub.ask("POST", "/api/v1/activity/settle", "").0, 204);
    assert_eq!(std::fs::read_to_string(&log).unwrap_or_default().lines().count(), 1);
    say(&mut client, "nobody looks");
    assert_eq!(last()["method"], "tools/call", "it was answered, and is not on record");
    assert_eq!(last()["id"], Value::Null, "it is kept though nobody looks");
    let (_, mut events) = hub.ask("GET", "/api/v1/events", "");
    assert_eq!(event(&mut events).0, "ready");
    say(&mut client, "ghp_0123456789abcdef");
    let called = std::iter::repeat_with(|| event(&mut events)).find(|(name, _)| name == "called");
    let id = called.unwrap().1["id"].as_str().unwrap().to_owned();
    assert_eq!(last()["id"], *id);
    let path = format!("/api/v1/activity/{id}");
    let said = object(hub.ask("GET", &path, "").1);
    assert_eq!(said["params"]["arguments"]["text"], "********");
    assert!(!said.to_string().contains("ghp_"), "{said}");
    assert_eq!(said["result"]["content"][0]["text"], "********");
    // What is hidden is said again as it was, and what somebody changed as they changed it.
    let again = |text: &str, calls: &str| {
        let call = json!({ "method": "tools/call",
            "params": { "name": "mcp__kiosk__say", "arguments": { "text": text } } });
        let path = format!("{at}/call?repeats={calls}");
        let (status, mut answer) = hub.ask("POST", &path, &call.to_string());
        if status != 200 {
            return status.to_string();
        }
        event(&mut answer).1["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(again("********", &id), "ghp_0123456789abcdef");
    assert_eq!(again("other", &id), "other");
    assert_eq!(again("other", "777"), "404");
    drop(events);
    let mut unseen = false;
    until("calls are still kept", || {
        say(&mut client, "gone");
        unseen = unseen || last()["id"].is_null();
        unseen
    });
    assert_eq!(hub.ask("GET", &path, "").0, 200, "what was kept is gone");
    let log = std::fs::read_to_string(log).unwrap();
    assert!(!log.contains("nobody looks") && !log.contains("********"), "{log}");
    client.leave();
    stop(&home);
}

#[test]
fn workspaces_are_held_in_the_stream_of_events() {
    let home = home();
    let client = Client::start(&home, &["connect"]);
    let hub = Hub::of(&home);
    let (lease, at, _) = held(&hub, &home);
    let id = at.rsplit('/').next().unwrap();
    let path = format!("/api/v1/events?attend=1&hold={id}&hold=nowhere");
    let (_, mut events) = hub.ask("GET", &path, "");
    let mut opened = None;
    let mut heard = Vec::new();
    while !(opened.is_some() && heard.contains(&"gone".to_owned())) {
        let (name, data) = event(&mut events);
        if name == "opened" {
            opened = data["session"].as_str().map(str::to_owned);
        }
        heard.push(name);
    }
    drop(lease);
    let call = json!({ "method": "tools/call",
        "params": { "name": "mcp__kiosk__erase", "arguments": {} } });
    let path = format!("{at}/call?session={}", opened.unwrap());
    let (_, mut answer) = hub.ask("POST", &path, &call.to_string());
    assert_eq!(event(&mut answer).0, "done");
    drop(events);
    until("the session stays", || hub.ask("POST", &path, &call.to_string()).0 == 404);
    client.leave();
    stop(&home);
}
