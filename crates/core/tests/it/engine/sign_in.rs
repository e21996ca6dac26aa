//! Tests of a server that needs a sign-in: its one sign-in tool, and the tools after the sign-in.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::HeaderMap;
use serde_json::{Value, json};
use switchboard_config::{DesiredServer, Entry};
use switchboard_core::engine::{CredentialSource, EngineEventKind, ProcessEnvironment};
use switchboard_core::{CallError, CallOutcome, Request};
use switchboard_testkit::http::{Reply, Scripted};
use switchboard_wire::Remedy;
use switchboard_wire::client::ListKind;
use switchboard_wire::http::{
    BrowserSignIn, ChallengeAction, CredentialChallenge, CredentialError, CredentialProvider,
    RequestLine, SignInRevision,
};
use tokio::sync::Notify;

use super::script::{Bench, raw, said};

const PAGE: &str = "https://as.example/authorize?state=s";

/// Who speaks for the user: nobody, until somebody has been on the page.
#[derive(Default)]
struct Door {
    is_open: AtomicBool,
    /// Of the person who is signed in while it is open.
    number: AtomicU64,
    changed: Notify,
    asked: AtomicUsize,
}

impl Door {
    fn revision(&self) -> SignInRevision {
        let number = self.number.load(Ordering::Relaxed);
        SignInRevision(number + u64::from(self.is_open.load(Ordering::Relaxed)))
    }
}

impl CredentialProvider for Door {
    fn headers<'a>(
        &'a self,
        _: RequestLine<'a>,
    ) -> BoxFuture<'a, Result<HeaderMap, CredentialError>> {
        let is_open = self.is_open.load(Ordering::Relaxed);
        let key = is_open.then(|| ("x-key".parse().unwrap(), "open".parse().unwrap()));
        Box::pin(std::future::ready(Ok(key.into_iter().collect())))
    }

    fn on_challenge<'a>(&'a self, _: &'a CredentialChallenge) -> BoxFuture<'a, ChallengeAction> {
        Box::pin(std::future::ready(ChallengeAction::SignIn {
            reason: "nobody has been there".into(),
        }))
    }

    fn sign_in_revision(&self) -> BoxFuture<'_, SignInRevision> {
        Box::pin(std::future::ready(self.revision()))
    }

    fn sign_in_changed(&self, since: SignInRevision) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            while self.revision() == since {
                self.changed.notified().await;
            }
        })
    }

    fn sign_in_page(&self) -> Option<&dyn BrowserSignIn> {
        Some(self)
    }
}

impl BrowserSignIn for Door {
    fn open<'a>(
        &'a self,
        challenges: &'a [String],
    ) -> BoxFuture<'a, Result<String, CredentialError>> {
        assert_eq!(challenges, ["Bearer realm=\"x\""]);
        self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::ready(Ok(PAGE.to_owned())))
    }

    fn ended(&self) -> BoxFuture<'_, Result<(), CredentialError>> {
        Box::pin(async move {
            while !self.is_open.load(Ordering::Relaxed) {
                self.changed.notified().await;
            }
            Ok(())
        })
    }
}

struct Doors(Arc<Door>);

impl CredentialSource for Doors {
    fn credentials(
        &self,
        _: &str,
        _: &DesiredServer,
        _: &Entry,
        _: &ProcessEnvironment,
    ) -> (Arc<dyn CredentialProvider>, String) {
        (self.0.clone(), "door".to_owned())
    }
}

/// A server with two tools, one of which has the name of ours.
fn answer(request: &[u8]) -> String {
    let request: Value = serde_json::from_slice(request).unwrap();
    let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
    let result = match request["method"].as_str() {
        Some("server/discover") => {
            json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } })
        }
        Some("tools/list") => json!({ "tools": [tool("echo"), tool("authenticate")] }),
        _ => json!({ "content": [{ "type": "text", "text": "the server's own" }] }),
    };
    json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }).to_string()
}

struct Scene {
    bench: Bench,
    door: Arc<Door>,
    _server: Scripted,
}

impl Scene {
    /// With an entry that has `more` in it, under these rules.
    async fn new(more: &Value, permissions: &Value) -> Self {
        let server = Scripted::start(async |request| {
            if request.header("x-key").is_some() {
                return Reply::json(200, answer(&request.body));
            }
            Reply::empty(401).header("www-authenticate", "Bearer realm=\"x\"")
        })
        .await;
        let door = Arc::new(Door::default());
        let source = Arc::new(Doors(door.clone()));
        let bench = Bench::with(|options| options.credentials = source).await;
        let mut entry = json!({ "type": "http", "url": server.url("/mcp") });
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let configuration = json!({ "mcpServers": { "web": entry }, "permissions": permissions });
        bench.engine.apply(&bench.workspace, bench.desired(&configuration));
        bench.settled().await;
        Self { bench, door, _server: server }
    }

    fn tools(&self) -> Vec<String> {
        let snapshot = self.bench.engine.snapshot(&self.bench.workspace.id).unwrap();
        snapshot.catalog.tools().iter().map(|listed| listed.name.clone()).collect()
    }

    async fn call(&self, name: &str) -> Result<CallOutcome, CallError> {
        let request = Request::tool(name, &raw(&json!({})));
        self.bench.engine.call(&self.bench.caller("me"), request).outcome().await
    }

    /// Somebody comes back from the page; waits until the tools have changed, and were said to.
    async fn sign_in(&self) {
        let mut events = self.bench.engine.events();
        self.door.is_open.store(true, Ordering::Relaxed);
        self.door.changed.notify_one();
        let told = async {
            while self.tools() == ["mcp__web__authenticate"] {
                while !matches!(
                    events.recv().await.unwrap().what,
                    EngineEventKind::List(ListKind::Tools)
                ) {}
            }
        };
        tokio::time::timeout(Duration::from_secs(60), told).await.unwrap();
    }
}

#[tokio::test]
async fn one_tool_until_somebody_has_signed_in() {
    // What the entry shows of the server's tools says nothing of ours.
    let scene = Scene::new(&json!({ "tools": { "allow": ["echo"] } }), &json!({})).await;
    assert_eq!(scene.tools(), ["mcp__web__authenticate"]);
    let outcome = scene.call("mcp__web__authenticate").await.unwrap();
    assert!(said(&outcome.result).contains(PAGE), "{}", outcome.result);
    assert_eq!(scene.door.asked.load(Ordering::Relaxed), 1);
    let refused = scene.call("mcp__web__echo").await.unwrap_err();
    assert_eq!(refused.remedy(), Remedy::SignIn, "{refused:?}");
    scene.sign_in().await;
    assert_eq!(scene.tools(), ["mcp__web__echo"]);
    assert_eq!(said(&scene.call("mcp__web__echo").await.unwrap().result), "the server's own");
}

#[tokio::test]
async fn a_servers_tool_of_the_same_name_is_the_servers() {
    let scene = Scene::new(&json!({}), &json!({})).await;
    scene.sign_in().await;
    assert_eq!(scene.tools(), ["mcp__web__echo", "mcp__web__authenticate"]);
    let outcome = scene.call("mcp__web__authenticate").await.unwrap();
    assert_eq!(said(&outcome.result), "the server's own");
    assert_eq!(scene.door.asked.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn what_is_denied_is_not_offered() {
    for rule in ["mcp__web", "mcp__web__authenticate"] {
        let scene = Scene::new(&json!({}), &json!({ "deny": [rule] })).await;
        assert_eq!(scene.tools(), Vec::<String>::new(), "{rule}");
        scene.call("mcp__web__authenticate").await.unwrap_err();
        assert_eq!(scene.door.asked.load(Ordering::Relaxed), 0);
    }
}

/// No event says that somebody signed in or out: the credentials are looked at for each call, as for a sign-in in
/// another process.
#[tokio::test]
async fn a_call_goes_by_the_sign_in_of_its_moment() {
    let scene = Scene::new(&json!({}), &json!({})).await;
    for _ in 0..3 {
        let refused = scene.call("mcp__web__echo").await.unwrap_err();
        assert_eq!(refused.remedy(), Remedy::SignIn, "{refused:?}");
        assert_eq!(scene.tools(), ["mcp__web__authenticate"]);
        scene.door.is_open.store(true, Ordering::Relaxed);
        assert_eq!(said(&scene.call("mcp__web__echo").await.unwrap().result), "the server's own");
        assert!(scene.tools().contains(&"mcp__web__echo".to_owned()), "{:?}", scene.tools());
        scene.door.is_open.store(false, Ordering::Relaxed);
    }
}

/// Of calls that are made at the same time, all go by it, and one new connection is made for all of them.
#[tokio::test]
async fn calls_of_one_moment_share_the_new_connection() {
    let scene = Scene::new(&json!({}), &json!({})).await;
    scene.sign_in().await;
    let connects = |scene: &Scene| {
        let snapshot = scene.bench.engine.snapshot(&scene.bench.workspace.id).unwrap();
        snapshot.server("web").unwrap().stats.as_ref().unwrap().connects
    };
    let before = connects(&scene);
    scene.door.number.fetch_add(2, Ordering::Relaxed);
    let calls = (0..8).map(|_| scene.call("mcp__web__echo"));
    for outcome in futures_util::future::join_all(calls).await {
        assert_eq!(said(&outcome.unwrap().result), "the server's own");
    }
    assert_eq!(connects(&scene), before + 1);
}
