//! Test that the secrets of a sign-in appear only in requests and in the sealed store, even if a server repeats
//! everything it gets.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use switchboard_testkit::http::{Reply, Request, Scripted};
use url::{Url, form_urlencoded};

use crate::Story;
use crate::gateway::Client;

/// What every secret of the server begins with.
const MARK: &str = "s3cret";

/// A server that repeats everything, and what it was sent that nobody else may know.
#[derive(Default)]
struct Parrot {
    /// Whether it lets anybody in, or gives anybody a token.
    refuses: AtomicBool,
    verifiers: Mutex<Vec<String>>,
}

impl Parrot {
    fn answer(&self, request: &Request) -> Reply {
        let base = format!("http://{}", request.header("host").unwrap_or_default());
        let refuses = self.refuses.load(Ordering::Relaxed);
        let form = form_urlencoded::parse(&request.body).into_owned();
        let verifier = form.filter(|(name, _)| name == "code_verifier").map(|(_, value)| value);
        self.verifiers.lock().unwrap().extend(verifier);
        match request.path.as_str() {
            "/mcp" if request.header("authorization").is_some() && !refuses => {
                Reply::json(200, server(&request.body))
            }
            "/mcp" => {
                let sent = request.header("authorization").unwrap_or_default();
                let sent = sent.trim_start_matches("Bearer ");
                let challenge = format!("Bearer error=\"{sent}\", error_description=\"{sent}\"");
                Reply::json(401, format!(r#"{{"error":"{sent}"}}"#))
                    .header("www-authenticate", &challenge)
            }
            "/.well-known/oauth-protected-resource/mcp" => {
                let body =
                    json!({ "resource": format!("{base}/mcp"), "authorization_servers": [base] });
                Reply::json(200, body.to_string())
            }
            "/.well-known/oauth-authorization-server" => {
                let body = json!({
                    "issuer": base, "authorization_endpoint": format!("{base}/authorize"),
                    "token_endpoint": format!("{base}/token"), "registration_endpoint": format!("{base}/register"),
                    "revocation_endpoint": format!("{base}/revoke"),
                });
                Reply::json(200, body.to_string())
            }
            "/register" => Reply::json(
                201,
                r#"{"client_id":"c-1","client_secret":"s3cret-client","token_endpoint_auth_method":"client_secret_post"}"#,
            ),
            "/token" if !refuses => Reply::json(
                200,
                r#"{"access_token":"s3cret-access","token_type":"bearer","refresh_token":"s3cret-refresh"}"#,
            ),
            "/token" | "/revoke" => {
                let body = json!({ "error": "invalid_grant", "error_description": request.text() });
                Reply::json(400, body.to_string())
            }
            _ => Reply::empty(404),
        }
    }
}

/// A server with one tool, which repeats nothing.
fn server(request: &[u8]) -> String {
    let request: Value = serde_json::from_slice(request).unwrap();
    let result = match request["method"].as_str() {
        Some("server/discover") => {
            json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } })
        }
        Some("tools/list") => {
            json!({ "tools": [{ "name": "any", "inputSchema": { "type": "object" } }] })
        }
        _ => json!({ "content": [{ "type": "text", "text": "done" }] }),
    };
    json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }).to_string()
}

/// Everything that was shown.
struct Scene {
    story: Story,
    parrot: Arc<Parrot>,
    shown: String,
    _server: Scripted,
    _runtime: tokio::runtime::Runtime,
}

impl Scene {
    fn new() -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let parrot = Arc::new(Parrot::default());
        let shared = parrot.clone();
        let server = runtime.block_on(Scripted::start(move |request| {
            let reply = shared.answer(&request);
            async move { reply }
        }));
        let story = Story::new();
        story.quietly(&["add", "web", &server.url("/mcp")]);
        Self { story, parrot, shown: String::new(), _server: server, _runtime: runtime }
    }

    fn run(&mut self, args: &[&str]) {
        let output = self.story.quietly(args);
        self.shown.push_str(&self.story.home.shown(&output));
    }

    /// Whatever there is to look at.
    fn look(&mut self) {
        for args in [
            &["list", "--json"][..],
            &["list", "--verbose"],
            &["tools"],
            &["call", "web/any"],
            &["call", "web/any", "--json"],
            &["get", "web", "--json"],
            &["doctor", "--json"],
            &["doctor", "auth", "web"],
            &["doctor", "auth", "web", "--json"],
        ] {
            self.run(args);
        }
    }

    fn login(&mut self) {
        let mut child = self
            .story
            .command(&["login", "web", "--no-browser", "--json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while stderr.read_line(&mut said).unwrap() > 0 && !said.contains("response_type=code") {}
        let page = said.lines().last().unwrap_or_default().trim().parse::<Url>().unwrap();
        let asked = |name: &str| page.query_pairs().find(|(key, _)| key == name).unwrap().1;
        let back = format!("{}?code=s3cret-code&state={}", asked("redirect_uri"), asked("state"));
        writeln!(child.stdin.take().unwrap(), "{back}").unwrap();
        stderr.read_to_string(&mut said).unwrap();
        let output = child.wait_with_output().unwrap();
        self.shown.push_str(&said);
        self.shown.push_str(&String::from_utf8_lossy(&output.stdout));
    }

    /// A client of the hub, which writes logs of its own.
    fn connect(&mut self) {
        let mut client = Client::spawn(self.story.command(&["connect"]));
        for (method, params) in [
            ("tools/list", json!({})),
            ("tools/call", json!({ "name": "web__any", "arguments": {} })),
            ("tools/call", json!({ "name": "web__authenticate", "arguments": {} })),
        ] {
            let answer = client.ask(method, &params);
            self.shown.push_str(&format!("{answer:?}\n"));
        }
        client.leave();
        self.run(&["logs", "--audit"]);
        self.run(&["stop"]);
    }
}

/// Every file below, but for the store.
fn written(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("sign-ins") {
            written(&path, text);
        } else if path.is_file() {
            text.push_str(&format!("=== {}\n", path.display()));
            text.push_str(&String::from_utf8_lossy(&std::fs::read(path).unwrap()));
        }
    }
}

#[test]
fn none_is_written_anywhere() {
    let mut scene = Scene::new();
    scene.look();
    scene.login();
    scene.look();
    scene.connect();
    scene.parrot.refuses.store(true, Ordering::Relaxed);
    scene.look();
    scene.connect();
    scene.login();
    scene.run(&["logout", "web", "--json"]);
    let mut all = std::mem::take(&mut scene.shown);
    written(scene.story.home.path(), &mut all);
    let secrets = scene.parrot.verifiers.lock().unwrap().clone();
    assert!(secrets.len() >= 2, "somebody has signed in");
    for secret in secrets.iter().map(String::as_str).chain([MARK]) {
        let found = all.lines().filter(|line| line.contains(secret)).collect::<Vec<_>>();
        assert!(found.is_empty(), "{secret}: {found:#?}");
    }
    assert!(all.contains("invalid_grant"), "what went wrong is said all the same");
}
