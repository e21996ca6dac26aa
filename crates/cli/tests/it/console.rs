//! Tests of the console in a real browser, against a hub with real clients.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};
use switchboard_testkit::openid::{OpenId, Tokens, node};
use switchboard_testkit::programs::program;

use crate::Story;
use crate::gateway::Client;

/// Every view there is.
const VIEWS: [&str; 11] = [
    "Overview",
    "Clients",
    "Servers",
    "Accounts",
    "Tools",
    "Prompts",
    "Resources",
    "Calls",
    "Permissions",
    "Questions",
    "Problems",
];
/// The widths of a phone, a tablet, a laptop and a large screen.
const WIDTHS: [u32; 4] = [360, 768, 1440, 2200];

/// `serve`, and somebody who looks at its console.
pub(crate) struct Scene {
    story: Story,
    serving: Child,
    page: Child,
    /// Nothing more to do is the end of it.
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    /// The origin of the console.
    origin: String,
}

impl Scene {
    pub(crate) fn new(story: Story) -> Self {
        // Before anything runs that would be left behind: it may not be installed.
        let mut browser = node("console.mjs");
        let serve = ["serve", "--listen", "127.0.0.1:0", "--json"];
        let mut serving = story.command(&serve).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(serving.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        let console = ready["console"].as_str().expect(&line);
        let origin = console.split_once("/#").unwrap().0.to_owned();
        browser.arg(console);
        let mut page = browser.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let to = page.stdin.take();
        let from = BufReader::new(page.stdout.take().unwrap());
        let mut scene = Self { story, serving, page, to, from, origin };
        scene.hear(&json!({ "do": "open" }));
        scene
    }

    /// Does something at the page; what came of it.
    pub(crate) fn does(&mut self, step: &str, mut how: Value) -> Value {
        how["do"] = step.into();
        writeln!(self.to.as_mut().unwrap(), "{how}").unwrap();
        self.hear(&how)
    }

    /// The answer to a step; a step that fails ends the test with its name.
    fn hear(&mut self, step: &Value) -> Value {
        let mut line = String::new();
        assert!(self.from.read_line(&mut line).unwrap() > 0, "{step}: the browser has ended");
        let said: Value = serde_json::from_str(&line).unwrap();
        assert!(said["error"].is_null(), "{step}: {}", said["error"].as_str().unwrap_or_default());
        said["ok"].clone()
    }

    /// The origin of the console.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    pub(crate) fn story(&self) -> &Story {
        &self.story
    }

    /// Has the browser take a picture of the app that is open, where somebody wants new ones.
    pub(crate) fn picture_of_app(&mut self, name: &str) {
        let path = pictures().join(name);
        if std::env::var_os("SWITCHBOARD_PICTURES").is_some() {
            self.does("appPicture", json!({ "path": path.to_str() }));
        }
        assert!(path.exists(), "{}: run with SWITCHBOARD_PICTURES=1", path.display());
    }

    /// A client that cannot be asked anything.
    fn client(&self) -> Client {
        Client::spawn(self.story.command(&["connect"]))
    }

    /// Has the browser take a picture for the documentation, where somebody wants new ones.
    fn picture(&mut self, name: &str, mut of: Value) {
        let path = pictures().join(name);
        if std::env::var_os("SWITCHBOARD_PICTURES").is_some() {
            of["path"] = path.to_str().into();
            self.does("picture", of);
        }
        assert!(path.exists(), "{}: run with SWITCHBOARD_PICTURES=1", path.display());
    }

    /// Presses Ctrl-C where `serve` runs.
    fn interrupt(&self) {
        let process = nix::unistd::Pid::from_raw(self.serving.id().cast_signed());
        nix::sys::signal::kill(process, nix::sys::signal::Signal::SIGINT).unwrap();
    }

    /// Starts `serve` again at the address it had.
    fn serve_again(&mut self) {
        let port = self.origin.rsplit(':').next().unwrap();
        let serve = ["serve", "--listen", port, "--json"];
        let mut serving = self.story.command(&serve).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(serving.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("console"), "{line}");
        self.serving = serving;
    }

    pub(crate) fn nobody_complained(&mut self) {
        assert_eq!(self.does("complaints", json!({})), json!([]));
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // The driver closes its browser, which would outlive it if it were killed.
        drop(self.to.take());
        let _ = self.page.wait();
        self.story.quietly(&["stop"]);
        let _ = self.serving.kill();
        let _ = self.serving.wait();
    }
}

/// Where the pictures of the documentation are.
fn pictures() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/pictures"))
}

/// Adds a server whose questions the queue answers for clients that cannot.
fn add_asking(story: &Story, name: &str, command: &str) {
    let entry = json!({ "command": command, "questions": { "elicitation": "queue" } });
    story.quietly(&["add-json", "-s", "user", name, &entry.to_string()]);
}

fn kiosk() -> String {
    program("kiosk").to_str().unwrap().to_owned()
}

#[test]
fn a_person_looks_after_servers() {
    let story = Story::new();
    let wants = json!({ "mcpServers": { "shelf": { "command": kiosk(), "args": ["--shelf", "--skills"] } } });
    story.write(".mcp.json", &wants.to_string());
    let mut scene = Scene::new(story);
    scene.does("strangers", json!({}));
    scene.does("add", json!({ "what": kiosk(), "name": "kiosk" }));
    scene.does("state", json!({ "server": "kiosk", "is": "connected" }));
    let snippet = json!({ "mcpServers": { "pasted": { "command": kiosk(), "env": { "API_TOKEN": "s3cret" } } } });
    scene.does("add", json!({ "what": snippet.to_string(), "scope": "user" }));
    scene.does("state", json!({ "server": "pasted", "is": "connected" }));
    // What is edited with its secret hidden keeps it.
    scene.does("edit", json!({ "server": "pasted", "from": "}", "to": ", \"X\": \"1\"}" }));
    let settings = scene.story.home.path().join(".config/switchboard/settings.json");
    let settings = std::fs::read_to_string(settings).unwrap();
    assert!(settings.contains("s3cret") && settings.contains("\"X\""), "{settings}");
    scene.does("server", json!({ "server": "pasted", "button": "Disable" }));
    scene.does("state", json!({ "server": "pasted", "is": "disabled" }));
    scene.does("server", json!({ "server": "pasted", "button": "Enable" }));
    scene.does("state", json!({ "server": "pasted", "is": "connected" }));
    scene.does("remove", json!({ "server": "pasted" }));
    // A project's own server runs once somebody has seen what it is.
    scene.does("problem", json!({ "shows": "shelf: awaiting approval" }));
    scene.does("approve", json!({ "server": "shelf", "shows": "--shelf" }));
    scene.does("state", json!({ "server": "shelf", "is": "connected" }));
    scene.does("log", json!({ "server": "kiosk", "shows": "the kiosk is open" }));
    scene.does("processes", json!({ "server": "kiosk", "shows": "kiosk" }));
    let shows = ["How to take an order", "sha256:", "dynamic"];
    let skills = json!({ "server": "shelf", "shows": shows, "leavesOut": "skill://crooked" });
    scene.does("skills", skills);
    scene.does("keyboard", json!({ "kind": "Servers" }));
    let rule = "mcp__kiosk__erase";
    let denied = json!({ "decision": "Deny", "tools": rule, "scope": "All my projects" });
    scene.does("addRule", denied);
    let views = json!([
        { "view": "overview", "shows": "Who calls what", "never": "Look for servers" },
        { "view": "clients", "shows": "cursor", "never": "No client matches." },
        { "view": "servers", "shows": "kiosk", "never": "No servers yet" },
        { "view": "tools", "shows": "Order", "never": "No server offers" },
        { "view": "prompts", "shows": "letter", "never": "No server offers" },
        { "view": "resources", "shows": "Leaflet", "never": "No server offers" },
        { "view": "permissions", "shows": rule, "never": "No rules." },
        { "view": "problems", "shows": "crooked", "never": "No problems." },
    ]);
    scene.does("addresses", json!({ "server": "kiosk", "views": views }));
    scene.does("accessibleWindows", json!({ "server": "kiosk" }));
    scene.picture("console-servers.png", json!({ "view": "Servers" }));
    scene.nobody_complained();
}

#[test]
fn a_person_calls_and_is_asked() {
    let story = Story::new();
    add_asking(&story, "kiosk", &kiosk());
    let settings = story.home.path().join(".config/switchboard/settings.json");
    let text = std::fs::read_to_string(&settings).unwrap();
    let mut value: Value = serde_json::from_str(&text).unwrap();
    value["permissions"] = json!({ "ask": ["mcp__kiosk__erase"] });
    std::fs::write(&settings, value.to_string()).unwrap();
    let mut scene = Scene::new(story);
    scene.does("state", json!({ "server": "kiosk", "is": "connected" }));
    let count = json!({ "tool": "count", "fields": { "to": 3 }, "progress": "3 of 3", "shows": "counted to 3" });
    scene.does("call", count);
    let order = json!({ "tool": "order", "fields": { "what": "pens", "count": 2 }, "shows": "\"count\": 2" });
    scene.does("call", order);
    scene.does("call", json!({ "tool": "fail", "shows": "out of paper" }));
    results_are_shown_as_they_are(&mut scene);
    scene.does(
        "prompt",
        json!({ "prompt": "letter", "fields": { "to": "Ada" }, "offers": "Ada", "shows": "Write to Ada." }),
    );
    scene.does("read", json!({ "resource": "leaflet", "shows": "take one" }));
    let page = json!({ "resource": "kiosk://page", "field": "number", "value": "7", "offers": "Ada",
        "reads": "kiosk://page/7", "shows": "kiosk://page/7" });
    scene.does("template", page);
    scene.does(
        "repeat",
        json!({ "filter": "count ok", "request": "\"to\": 3", "result": "counted to 3" }),
    );
    let changed = json!({ "filter": "count ok", "fields": { "to": 2 }, "shows": "counted to 2" });
    scene.does("change", changed);
    let command = r#"switchboard call mcp__kiosk__count '{"to":2}'"#;
    scene.does("raw", json!({ "filter": "count ok", "request": "\"to\":2", "command": command }));
    scene.does("notify", json!({}));
    // A client that cannot be asked calls; the console is asked in its place.
    let mut client = scene.client();
    let erase = client.send("tools/call", &json!({ "name": "kiosk__erase", "arguments": {} }));
    scene.does(
        "answer",
        json!({ "shows": "mcp__kiosk__erase", "by": "test", "button": "Allow once" }),
    );
    let told = scene.does("notified", json!({}));
    assert_eq!(told, json!(["kiosk asks: test wants to call mcp__kiosk__erase on kiosk."]));
    assert_eq!(client.hear(erase).unwrap()["content"][0]["text"], "erased");
    let erase = client.send("tools/call", &json!({ "name": "kiosk__erase", "arguments": {} }));
    scene.does("answer", json!({ "shows": "mcp__kiosk__erase", "button": "Deny" }));
    let denied = client.hear(erase);
    assert!(denied.is_err() || denied.as_ref().unwrap()["isError"] == true, "{denied:?}");
    // An answer that lasts is taken back, and the question is put again.
    let erase = client.send("tools/call", &json!({ "name": "kiosk__erase", "arguments": {} }));
    scene.does("answer", json!({ "shows": "mcp__kiosk__erase", "button": "Always deny" }));
    client.hear(erase).unwrap_err();
    client.call("kiosk__erase").unwrap_err();
    scene.does("forget", json!({ "shows": "erase" }));
    let erase = client.send("tools/call", &json!({ "name": "kiosk__erase", "arguments": {} }));
    scene.does("answer", json!({ "shows": "mcp__kiosk__erase", "button": "Allow once" }));
    client.hear(erase).unwrap();
    let register =
        client.send("tools/call", &json!({ "name": "kiosk__register", "arguments": {} }));
    let short = json!({ "shows": "Who are you?", "fields": { "Name": "A", "colour": "Green" }, "button": "Send" });
    scene.does("refused", short);
    scene.picture("console-questions.png", json!({ "view": "Questions" }));
    let whole = json!({ "shows": "Who are you?", "fields": { "Name": "Ada", "colour": "Green" }, "button": "Send" });
    scene.does("answer", whole);
    let answered = client.hear(register).unwrap().to_string();
    assert!(answered.contains("Ada") && answered.contains("\\\"g\\\""), "{answered}");
    let page = json!({ "name": "kiosk__sign", "arguments": { "url": "https://sign.example/x" } });
    let sign = client.send("tools/call", &page);
    scene.does("answer", json!({ "shows": "sign.example", "by": "test", "button": "Decline" }));
    assert!(client.hear(sign).unwrap().to_string().contains("decline"));
    let page = json!({ "name": "kiosk__sign", "arguments": { "url": "http://127.0.0.1:1/x" } });
    let sign = client.send("tools/call", &page);
    scene.does("answer", json!({ "shows": "not encrypted", "button": "Open 127.0.0.1:1" }));
    assert!(client.hear(sign).unwrap().to_string().contains("accept"));
    scene.does("activity", json!({ "filter": "register", "shows": "kiosk__register" }));
    // A server dies, and comes back by itself.
    let before = pid(&scene);
    let process = nix::unistd::Pid::from_raw(before);
    nix::sys::signal::kill(process, nix::sys::signal::Signal::SIGKILL).unwrap();
    scene.does("state", json!({ "server": "kiosk", "is": "1 restart" }));
    scene.does("state", json!({ "server": "kiosk", "is": "connected" }));
    assert_ne!(pid(&scene), before);
    scene.picture("console-tool.png", json!({ "tool": "order", "dark": true }));
    scene.picture("console-call.png", json!({ "call": "register ok" }));
    for (name, view) in [
        ("console-calls.png", "Calls"),
        ("console-clients.png", "Clients"),
        ("console-tools.png", "Tools"),
        ("console-permissions.png", "Permissions"),
        ("console-problems.png", "Problems"),
        ("console-prompts.png", "Prompts"),
        ("console-resources.png", "Resources"),
        ("console-overview.png", "Overview"),
    ] {
        scene.picture(name, json!({ "view": view }));
    }
    scene.picture("console-server.png", json!({ "server": "kiosk", "part": "State" }));
    let wide = json!({ "view": "Overview", "width": 2200, "height": 1100 });
    scene.picture("console-wide.png", wide);
    let phone = json!({ "view": "Overview", "dark": true, "width": 360, "height": 740 });
    scene.picture("console-phone.png", phone);
    scene.nobody_complained();
    client.leave();
}

/// A structured result is shown once, a list of texts has a line for each, and a small picture stays small.
fn results_are_shown_as_they_are(scene: &mut Scene) {
    let fields = json!({ "what": "pens", "gift": true, "names": "Ada\nBob" });
    let shown = scene.does("result", json!({ "tool": "order", "fields": fields }));
    let texts = shown["texts"].as_array().unwrap();
    assert_eq!(texts.len(), 1, "{shown}");
    let ordered: Value = serde_json::from_str(texts[0].as_str().unwrap()).unwrap();
    assert_eq!(ordered["ordered"]["names"], json!(["Ada", "Bob"]), "{shown}");
    let shown = scene.does("result", json!({ "tool": "picture" }));
    let sides = shown["pictures"][0].as_array().unwrap();
    assert!(sides.iter().all(|side| side.as_f64().unwrap() < 4.0), "{shown}");
}

#[test]
fn a_person_changes_rules() {
    let story = Story::new();
    add_asking(&story, "kiosk", &kiosk());
    let settings = story.home.path().join(".config/switchboard/settings.json");
    let mut written: Value =
        std::fs::read(&settings).map_or(json!({}), |text| serde_json::from_slice(&text).unwrap());
    let for_interns = json!({ "rule": "mcp__kiosk__count", "for": { "group": "interns" } });
    written["permissions"]["deny"] = json!([for_interns]);
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    std::fs::write(&settings, written.to_string()).unwrap();
    let mut scene = Scene::new(story);
    scene.does("state", json!({ "server": "kiosk", "is": "connected" }));
    // A call of another principal, whom a rule is for by its groups.
    for (groups, shows) in [("interns, ops", "Denied"), ("ops", "Allowed")] {
        let count = "mcp__kiosk__count";
        let of =
            json!({ "tool": count, "principal": "user:bob", "groups": groups, "shows": shows });
        scene.does("tryCall", of);
    }
    let erase = "mcp__kiosk__erase";
    let denied = json!({ "decision": "Deny", "tools": erase, "scope": "All my projects" });
    scene.does("addRule", denied);
    let text = std::fs::read_to_string(&settings).unwrap();
    assert!(text.contains(erase), "{text}");
    let mut client = scene.client();
    client.call("kiosk__erase").unwrap_err();
    scene.does("tryCall", json!({ "tool": erase, "shows": "Denied" }));
    scene.does("removeRule", json!({ "rule": format!("deny {erase}") }));
    let text = std::fs::read_to_string(&settings).unwrap();
    assert!(!text.contains(erase), "{text}");
    // A tool that is off is denied by a rule of this project.
    let count = "mcp__kiosk__count";
    let off = json!({ "server": "kiosk", "tool": count, "shows": "settings.local.json" });
    scene.does("switchTool", off);
    client.call("kiosk__count").unwrap_err();
    scene.does("switchTool", json!({ "server": "kiosk", "tool": count, "shows": "token" }));
    client.call("kiosk__count").unwrap();
    scene.nobody_complained();
    // The browser itself complains of an answer that is an error.
    let wrong = json!({ "decision": "Allow", "tools": "mcp__*", "scope": "All my projects",
        "refused": "mcp__*" });
    scene.does("addRule", wrong);
    client.leave();
}

/// The process of the one server.
fn pid(scene: &Scene) -> i32 {
    let place = crate::admin::place(&scene.story.home);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        use switchboard_hub::admin::client::{AdminClient as AdminApi, HubLookup};
        use switchboard_hub::admin::{ResultLimit, WorkspaceRequest};
        let HubLookup::Hub(hub) = AdminApi::find(&place, "0").await.unwrap() else {
            panic!("no hub")
        };
        let whose = WorkspaceRequest {
            cwd: scene.story.path(""),
            env: [("HOME", scene.story.home.path().to_str().unwrap()), ("PATH", "/usr/bin:/bin")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            agent: None,
            client: "test".to_owned(),
            results: ResultLimit::Screen,
        };
        let attached = hub.open(&whose).await.unwrap();
        let snapshot = attached.snapshot();
        let stats = snapshot.server("kiosk").unwrap().stats.as_ref().unwrap();
        i32::try_from(stats.pid.unwrap()).unwrap()
    })
}

#[test]
fn every_page_fits_every_window_and_reader() {
    let story = Story::new();
    add_asking(&story, "kiosk", &kiosk());
    add_asking(&story, "broken", story.path("a/program/that/is/not/there").to_str().unwrap());
    let mut scene = Scene::new(story);
    scene.does("state", json!({ "server": "kiosk", "is": "connected" }));
    scene.does("call", json!({ "tool": "count", "fields": { "to": 1 }, "shows": "counted to 1" }));
    scene.does("call", json!({ "tool": "fail", "shows": "out of paper" }));
    scene.does("state", json!({ "server": "broken", "is": "failed" }));
    let mut client = scene.client();
    let ask = client.send("tools/call", &json!({ "name": "kiosk__register", "arguments": {} }));
    scene.does("answerable", json!({ "shows": "Who are you?" }));
    let drawers = [
        ("#/servers/kiosk", "Reported name"),
        ("#/servers/kiosk/tools", "mcp__kiosk__say"),
        ("#/servers/kiosk/log", "the kiosk is open"),
        ("#/servers/kiosk/processes", "together"),
        ("#/servers/kiosk/entry", "settings.json"),
        ("#/servers/kiosk/skills", "Skills"),
        ("#/tools/mcp__kiosk__order", "One on each line."),
        ("#/prompts/mcp__kiosk__letter", "A letter to somebody."),
        ("#/resources/kiosk%20kiosk%3A%2F%2Fleaflet", "What there is."),
        ("#/calls", "Where the time went"),
    ];
    let all = json!({ "views": VIEWS, "widths": WIDTHS, "drawers": drawers });
    scene.does("everywhere", all);
    scene.does("answer", json!({ "shows": "Who are you?", "button": "Decline" }));
    client.hear(ask).unwrap();
    scene.nobody_complained();
    client.leave();
}

#[test]
fn the_first_page_shows_the_last_hour() {
    let story = Story::new();
    let cursor = story.home.path().join(".cursor/mcp.json");
    let theirs = json!({ "mcpServers": { "kiosk": { "command": kiosk() } } });
    std::fs::create_dir_all(cursor.parent().unwrap()).unwrap();
    std::fs::write(&cursor, theirs.to_string()).unwrap();
    let mut scene = Scene::new(story);
    scene.picture("console-empty.png", json!({ "view": "Overview" }));
    scene.does("starts", json!({ "imports": "kiosk" }));
    scene.does("state", json!({ "server": "kiosk", "is": "connected" }));
    scene.does("install", json!({ "client": "cursor", "file": ".cursor/mcp.json" }));
    let left: Value = serde_json::from_str(&std::fs::read_to_string(&cursor).unwrap()).unwrap();
    assert_eq!(left, theirs, "an uninstalled client is not as it was");
    let mut client = scene.client();
    assert_eq!(client.call("kiosk__fail").unwrap()["isError"], true);
    assert_eq!(client.call("kiosk__fail").unwrap()["isError"], true);
    let seen =
        json!({ "client": "test", "server": "kiosk", "calls": "calls", "failing": "kiosk__fail" });
    scene.does("overview", seen);
    scene.does("disconnect", json!({ "client": "test", "called": "kiosk" }));
    // It comes back with its next request.
    assert_eq!(client.call("kiosk__fail").unwrap()["isError"], true);
    scene.nobody_complained();
    client.leave();
}

#[test]
fn pages_outlive_the_hub() {
    let story = Story::new();
    add_asking(&story, "kiosk", &kiosk());
    let mut scene = Scene::new(story);
    scene.does("state", json!({ "server": "kiosk", "is": "connected" }));
    scene.does("pasted", json!({}));
    scene.does("open", json!({ "server": "kiosk" }));
    let began = std::time::Instant::now();
    scene.interrupt();
    scene.does("ended", json!({}));
    scene.serving.wait().unwrap();
    // An open page does not use up the grace of running calls, which is ten seconds.
    assert!(began.elapsed() < std::time::Duration::from_secs(8), "{:?}", began.elapsed());
    scene.serve_again();
    scene.does("returned", json!({}));
    // Its catalog is kept, so that nothing needs the server yet.
    scene.does("state", json!({ "server": "kiosk", "is": "idle" }));
    scene.nobody_complained();
}

#[test]
fn a_second_interrupt_ends_it_now_and_another_serve_takes_over() {
    let story = Story::new();
    add_asking(&story, "kiosk", &kiosk());
    let mut scene = Scene::new(story);
    scene.does("state", json!({ "server": "kiosk", "is": "connected" }));
    let mut client = scene.client();
    let hang = client.send("tools/call", &json!({ "name": "kiosk__hang", "arguments": {} }));
    scene.does("running", json!({ "calls": 1 }));
    scene.interrupt();
    scene.does("ended", json!({}));
    // The call has its grace; what is started meanwhile waits for the address.
    let port = scene.origin().rsplit(':').next().unwrap().to_owned();
    let mut next = scene
        .story
        .command(&["serve", "--listen", &port, "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    assert!(scene.serving.try_wait().unwrap().is_none(), "the running call got no grace");
    scene.interrupt();
    scene.serving.wait().unwrap();
    let mut line = String::new();
    BufReader::new(next.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    assert!(ready["address"].as_str().unwrap().ends_with(&port), "{line}");
    scene.serving = next;
    scene.does("returned", json!({}));
    let _ = client.hear(hang);
    client.leave();
}

#[test]
fn a_person_signs_in() {
    let provider = OpenId::start(Tokens::Opaque(3600));
    let story = Story::new();
    story.quietly(&["add", "web", provider.url()]);
    let mut scene = Scene::new(story);
    scene.does("state", json!({ "server": "web", "is": "sign-in needed" }));
    scene.does("signIn", json!({ "server": "web" }));
    scene.does("state", json!({ "server": "web", "is": "connected" }));
    let add = json!({ "tool": "add", "fields": { "a": 2, "b": 40 }, "shows": "42" });
    scene.does("call", add);
    let issuer = format!("signed in at {}", provider.issuer());
    let shows = [&*issuer, "since ", "renewed by itself", "scopes: read"];
    scene.does("facts", json!({ "server": "web", "shows": shows }));
    scene.does("signOut", json!({ "server": "web" }));
    scene.does("state", json!({ "server": "web", "is": "sign-in needed" }));
    assert!(provider.books().revoked > 0, "no token was taken back");
    scene.nobody_complained();
}

#[test]
fn a_person_looks_after_accounts() {
    let provider = OpenId::start(Tokens::Opaque(3600));
    let story = Story::new();
    story.quietly(&["add", "web", provider.url()]);
    let mut scene = Scene::new(story);
    scene.does("signInAtAccounts", json!({ "server": "web" }));
    let account =
        json!({ "server": "web", "shows": ["you", provider.issuer(), "renewed by itself"] });
    scene.does("account", account);
    scene.does("state", json!({ "server": "web", "is": "connected" }));
    scene.does("signOutAtAccounts", json!({ "server": "web" }));
    let listed = crate::guarding::json(&scene.story.home, &["accounts"]);
    assert_eq!(listed["accounts"], json!([]));
    assert_eq!(provider.books().revoked, 2, "a token was not taken back");
    scene.does("state", json!({ "server": "web", "is": "sign-in needed" }));
    scene.nobody_complained();
}

#[test]
fn more_tabs_than_a_browser_opens_connections() {
    let story = Story::new();
    add_asking(&story, "kiosk", &kiosk());
    let mut scene = Scene::new(story);
    scene.does("state", json!({ "server": "kiosk", "is": "connected" }));
    let tabs = json!({ "count": 8, "server": "kiosk", "button": "Disable", "is": "disabled" });
    scene.does("tabs", tabs);
    scene.nobody_complained();
}

#[test]
fn words_of_servers_stay_words() {
    let story = Story::new();
    let hostile = program("hostile");
    add_asking(&story, "hostile", hostile.to_str().unwrap());
    let mut scene = Scene::new(story);
    scene.does("state", json!({ "server": "hostile", "is": "connected" }));
    scene.does("hostile", json!({ "server": "hostile" }));
    let mut client = scene.client();
    for tool in ["hostile__form", "hostile__page"] {
        let asked = client.send("tools/call", &json!({ "name": tool, "arguments": {} }));
        scene.does("answer", json!({ "shows": "onerror", "button": "Cancel" }));
        let _ = client.hear(asked);
    }
    scene.nobody_complained();
    client.leave();
}

#[test]
fn ten_thousand_tools_are_no_trouble() {
    let story = Story::new();
    let servers = (0..200).map(|number| {
        let entry = match number {
            0..10 => json!({ "command": kiosk(), "args": ["--tools", "1000"] }),
            _ => json!({ "command": "nothing", "disabled": true }),
        };
        (format!("server{number}"), entry)
    });
    let servers: serde_json::Map<String, Value> = servers.collect();
    let folder = story.home.path().join(".config/switchboard");
    std::fs::create_dir_all(&folder).unwrap();
    let settings = json!({ "mcpServers": servers }).to_string();
    std::fs::write(folder.join("settings.json"), settings).unwrap();
    let mut scene = Scene::new(story);
    scene.does("search", json!({ "kind": "Servers", "words": "server19", "finds": "11 of 200" }));
    let found =
        scene.does("search", json!({ "kind": "Tools", "words": "", "finds": "10140 of 10140" }));
    assert!(found["rows"].as_u64().unwrap() < 60, "{found}");
    scene.nobody_complained();
}
