//! Tests of sign-in and sign-out while a hub runs: a change in one process applies to the next call of every other.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use switchboard_testkit::http::{Reply, Request, Scripted};

use crate::Story;
use crate::gateway::{Client, stop};
use crate::signing_in::by_hand;

/// How the server knows its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// By the token of each request.
    Modern,
    /// By the token of the first request, and by its session from then on.
    Legacy,
}

/// A server whose tool says under which token it is used. It never stops accepting one: whether a token is used after
/// a sign-out is the client's affair.
pub(crate) struct Bank {
    era: Era,
    /// How many tokens were given out.
    tokens: AtomicU32,
    /// The tokens that sessions were opened with.
    sessions: Mutex<Vec<String>>,
}

impl Bank {
    pub(crate) fn new(era: Era) -> Self {
        Self { era, tokens: AtomicU32::new(0), sessions: Mutex::default() }
    }

    pub(crate) fn answer(&self, request: &Request) -> Reply {
        let base = format!("http://{}", request.header("host").unwrap_or_default());
        let body = match request.path.as_str() {
            "/mcp" => return self.mcp(request),
            "/.well-known/oauth-protected-resource/mcp" => {
                json!({ "resource": format!("{base}/mcp"), "authorization_servers": [base] })
            }
            "/.well-known/oauth-authorization-server" => json!({
                "issuer": base, "authorization_endpoint": format!("{base}/authorize"),
                "token_endpoint": format!("{base}/token"),
                "registration_endpoint": format!("{base}/register"),
                "revocation_endpoint": format!("{base}/revoke"),
            }),
            "/register" => json!({ "client_id": "c-1" }),
            "/token" => {
                let number = self.tokens.fetch_add(1, Ordering::Relaxed) + 1;
                json!({ "access_token": format!("access-{number}"), "token_type": "bearer" })
            }
            "/revoke" => json!({}),
            _ => return Reply::empty(404),
        };
        Reply::json(200, body.to_string())
    }

    fn mcp(&self, request: &Request) -> Reply {
        let token = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let session = request.header("mcp-session-id").and_then(|id| id.parse::<usize>().ok());
        let mut sessions = self.sessions.lock().unwrap();
        let user = session.and_then(|id| sessions.get(id).cloned()).or(token.map(str::to_owned));
        let Some(user) = user else {
            return Reply::empty(401).header("www-authenticate", "Bearer");
        };
        if request.method != "POST" {
            return Reply::empty(405);
        }
        let asked: Value = serde_json::from_slice(&request.body).unwrap();
        let result = match (self.era, asked["method"].as_str().unwrap_or_default()) {
            (Era::Modern, "server/discover") => {
                json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } })
            }
            (Era::Legacy, "initialize") => {
                sessions.push(user);
                let result = json!({
                    "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
                    "serverInfo": { "name": "bank", "version": "1" },
                });
                let id = (sessions.len() - 1).to_string();
                return reply(&asked, &result).header("mcp-session-id", &id);
            }
            (_, "tools/list") => {
                json!({ "tools": [{ "name": "whoami", "inputSchema": { "type": "object" } }] })
            }
            (_, "tools/call") => json!({ "content": [{ "type": "text", "text": user }] }),
            _ if asked.get("id").is_none() => return Reply::empty(202),
            _ => {
                let error = json!({ "code": -32601, "message": "not here" });
                let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error });
                return Reply::json(200, answer.to_string());
            }
        };
        reply(&asked, &result)
    }
}

fn reply(asked: &Value, result: &Value) -> Reply {
    let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result });
    Reply::json(200, answer.to_string())
}

struct Scene {
    story: Story,
    /// A client that stays, and keeps the hub.
    client: Client,
    _server: Scripted,
    _runtime: tokio::runtime::Runtime,
}

impl Scene {
    fn new(era: Era) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let bank = Arc::new(Bank::new(era));
        let server = runtime.block_on(Scripted::start(move |request| {
            let bank = bank.clone();
            async move { bank.answer(&request) }
        }));
        let story = Story::new();
        story.quietly(&["add", "web", &server.url("/mcp")]);
        let client = Client::spawn(story.command(&["connect"]));
        Self { story, client, _server: server, _runtime: runtime }
    }

    fn login(&mut self) {
        by_hand(&mut self.story, &["login", "web", "--no-browser"], &[("code", "c")]);
    }

    /// What the tool says to the client that stays; `None` where it is refused.
    fn connected_user(&mut self) -> Option<String> {
        let result = self.client.call("web__whoami").ok()?;
        let said = result["content"][0]["text"].as_str().unwrap().to_owned();
        (result["isError"] != true).then_some(said)
    }

    /// What it says to a command, and how the command ends.
    fn command_user(&self) -> (Option<i32>, String) {
        let output = self.story.quietly(&["call", "web/whoami"]);
        (output.status.code(), String::from_utf8(output.stdout).unwrap().trim().to_owned())
    }

    /// The server's tools that the client is shown.
    fn tools(&mut self) -> Vec<String> {
        let listed = self.client.ask("tools/list", &json!({})).unwrap();
        let tools = listed["tools"].as_array().unwrap().iter();
        let names = tools.map(|tool| tool["name"].as_str().unwrap().to_owned());
        names.filter(|name| name.starts_with("web__")).collect()
    }

    fn check_signed_in(&mut self, user: &str) {
        assert_eq!(self.connected_user().as_deref(), Some(user));
        assert_eq!(self.command_user(), (Some(0), user.to_owned()));
        assert_eq!(self.tools(), ["web__whoami"]);
    }
}

#[test]
fn the_next_call_goes_by_the_sign_in_of_any_process() {
    for era in [Era::Modern, Era::Legacy] {
        let mut scene = Scene::new(era);
        assert_eq!(scene.command_user().0, Some(3), "{era:?}");
        scene.login();
        scene.check_signed_in("access-1");
        scene.story.quietly(&["logout", "web"]);
        assert_eq!(scene.connected_user(), None, "{era:?}: the token is used after the sign-out");
        assert_eq!(scene.command_user().0, Some(3), "{era:?}");
        scene.login();
        scene.check_signed_in("access-2");
        scene.login();
        scene.check_signed_in("access-3");
        stop(&scene.story.home);
    }
}

/// Each front is the first to ask after a change.
#[test]
fn every_front_sees_the_change_first() {
    let mut scene = Scene::new(Era::Modern);
    assert_eq!(scene.tools(), ["web__authenticate"]);
    scene.login();
    assert_eq!(scene.tools(), ["web__whoami"]);
    scene.story.quietly(&["logout", "--all"]);
    assert_eq!(scene.tools(), ["web__authenticate"]);
    scene.login();
    assert_eq!(scene.command_user(), (Some(0), "access-2".to_owned()));
    scene.story.quietly(&["logout", "web"]);
    let listed = scene.story.quietly(&["list", "--json"]).stdout;
    let listed: Value = serde_json::from_slice(&listed).unwrap();
    assert_eq!(listed["servers"][0]["state"], "needs-auth", "{listed}");
    scene.login();
    let listed = scene.story.quietly(&["list", "--json"]).stdout;
    let listed: Value = serde_json::from_slice(&listed).unwrap();
    assert_eq!(listed["servers"][0]["state"], "connected", "{listed}");
    scene.story.quietly(&["logout", "web"]);
    assert_eq!(scene.command_user().0, Some(3));
    stop(&scene.story.home);
}

/// The catalog of a signed-in person is not shown after a sign-out while no hub ran.
#[test]
fn a_sign_out_in_another_process_deletes_the_kept_catalog() {
    for era in [Era::Modern, Era::Legacy] {
        let mut scene = Scene::new(era);
        scene.login();
        scene.check_signed_in("access-1");
        let catalogs = || {
            let folder = scene.story.home.path().join(".local/state/switchboard/catalogs");
            std::fs::read_dir(folder).map_or(0, Iterator::count)
        };
        assert_ne!(catalogs(), 0, "{era:?}");
        stop(&scene.story.home);
        scene.story.quietly(&["logout", "web"]);
        let mut client = Client::spawn(scene.story.command(&["connect"]));
        let listed = client.ask("tools/list", &json!({})).unwrap();
        let tools = listed["tools"].as_array().unwrap().iter();
        let names: Vec<_> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
        let theirs: Vec<_> = names.into_iter().filter(|name| name.starts_with("web__")).collect();
        assert_eq!(theirs, ["web__authenticate"], "{era:?}");
        assert_eq!(catalogs(), 0, "{era:?}");
        client.leave();
        stop(&scene.story.home);
    }
}
