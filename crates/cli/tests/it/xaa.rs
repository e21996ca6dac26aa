//! Tests of `switchboard xaa`: one sign-in with the organisation for many servers.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use switchboard_testkit::http::{Reply, Request, Scripted};
use url::form_urlencoded;

use crate::Story;
use crate::guarding::json as output_json;
use crate::list::discovered;
use crate::signing_in::by_hand;

/// An identity provider; below `/strict` one that lets nobody use any server.
fn provider(request: &Request) -> Reply {
    let host = format!("http://{}", request.header("host").unwrap_or_default());
    let (issuer, path) = match request.path.strip_prefix("/strict") {
        Some(path) => (format!("{host}/strict"), path),
        None => (host, request.path.as_str()),
    };
    let form: HashMap<_, _> = form_urlencoded::parse(&request.body).into_owned().collect();
    let kind = form.get("grant_type").map(|kind| kind.rsplit(':').next().unwrap_or_default());
    match (path, kind) {
        ("/.well-known/openid-configuration", _) => {
            let body = json!({
                "issuer": issuer, "authorization_endpoint": format!("{issuer}/authorize"),
                "token_endpoint": format!("{issuer}/token"),
            });
            Reply::json(200, body.to_string())
        }
        ("/token", Some("token-exchange")) if issuer.ends_with("/strict") => {
            let body = json!({ "error": "access_denied", "error_description": "not \u{1b}[31mthis server" });
            Reply::json(400, body.to_string())
        }
        ("/token", Some("token-exchange")) => Reply::json(
            200,
            r#"{"access_token":"s3cret-grant","issued_token_type":"urn:ietf:params:oauth:token-type:id-jag","token_type":"N_A"}"#,
        ),
        ("/token", _) => {
            let claims = json!({
                "iss": issuer, "sub": "u-1", "aud": "us", "exp": 4_102_444_800_u64, "email": "ann@example.com",
            });
            let id_token = format!("e30.{}.s3cret", URL_SAFE_NO_PAD.encode(claims.to_string()));
            let body =
                json!({ "access_token": "s3cret-a", "token_type": "Bearer", "id_token": id_token });
            Reply::json(200, body.to_string())
        }
        _ => Reply::empty(404),
    }
}

/// A server whose authorization server takes grants of the provider, and nothing else.
fn server(request: &Request) -> Reply {
    let base = format!("http://{}", request.header("host").unwrap_or_default());
    if let Some(path) = request.path.strip_prefix("/.well-known/oauth-protected-resource") {
        let body = json!({ "resource": format!("{base}{path}"), "authorization_servers": [base] });
        return Reply::json(200, body.to_string());
    }
    match request.path.as_str() {
        "/.well-known/oauth-authorization-server" => {
            let body = json!({ "issuer": base, "token_endpoint": format!("{base}/token") });
            Reply::json(200, body.to_string())
        }
        "/token" if request.text().contains("assertion=s3cret-grant") => Reply::json(
            200,
            r#"{"access_token":"s3cret-access","token_type":"Bearer","expires_in":3600}"#,
        ),
        _ if request.header("authorization") == Some("Bearer s3cret-access") => {
            Reply::json(200, discovered(&request.body))
        }
        _ => Reply::empty(401).header("www-authenticate", "Bearer"),
    }
}

struct Scene {
    story: Story,
    provider: Scripted,
    _server: Scripted,
    _runtime: tokio::runtime::Runtime,
}

impl Scene {
    fn new() -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let provider = runtime.block_on(Scripted::start(|it| async move { provider(&it) }));
        let server = runtime.block_on(Scripted::start(|it| async move { server(&it) }));
        let mut story = Story::new();
        story.replace(&server.addr().to_string(), "127.0.0.1:PORT");
        story.replace(&provider.addr().to_string(), "127.0.0.1:PROVIDER");
        for name in ["wiki", "tracker"] {
            let url = server.url(&format!("/{name}"));
            story.quietly(&["add", name, &url, "--xaa", "--client-id", "us-here"]);
        }
        Self { story, provider, _server: server, _runtime: runtime }
    }

    fn setup(&mut self, path: &str, more: &[&str]) {
        let issuer = self.provider.url(path);
        let typed = ["xaa", "setup", "--issuer", &issuer, "--client-id", "us"];
        self.story.run(&[typed.as_slice(), more].concat());
    }
}

#[test]
fn one_sign_in_for_all() {
    let mut scene = Scene::new();
    scene.story.run(&["xaa", "show"]).run(&["list"]);
    scene.setup("", &[]);
    scene.story.run(&["list"]);
    by_hand(&mut scene.story, &["xaa", "login", "--no-browser"], &[("code", "c")]);
    scene.story.run(&["list"]).run(&["xaa", "show"]).run(&["xaa", "show", "--json"]);
    scene.story.run(&["xaa", "clear"]).run(&["xaa", "show", "--json"]);
    insta::assert_snapshot!("xaa", scene.story.transcript());
    assert!(!scene.story.transcript().contains("s3cret"));
}

#[test]
fn where_it_fails() {
    let mut scene = Scene::new();
    scene.story.run(&["login", "wiki"]);
    scene.story.run(&["xaa", "setup", "--issuer", "nonsense", "--client-id", "us"]);
    scene.setup("/nowhere", &[]);
    scene.story.run(&["xaa", "login", "--no-browser"]);
    scene.setup("", &["--client-secret-helper", "exit 3"]);
    scene.story.run(&["xaa", "login", "--no-browser"]);
    scene.setup("/strict", &["--scope", "email", "--callback-port", "0"]);
    scene.setup("/strict", &["--scope", "email", "--json"]);
    by_hand(&mut scene.story, &["xaa", "login", "--no-browser", "--json"], &[("code", "c")]);
    scene.story.run(&["login", "wiki"]).run(&["login", "wiki", "--json"]);
    scene.story.run(&["xaa", "clear", "--json"]);
    insta::assert_snapshot!("xaa_failed", scene.story.transcript());
}

/// The ID token of another person is that person's alone, and ends with the last token that `token create` gave them.
#[test]
fn a_person_without_a_token_is_signed_out_of_the_provider() {
    let mut scene = Scene::new();
    scene.setup("", &[]);
    for name in ["laptop", "phone"] {
        scene.story.quietly(&["token", "create", "--name", name, "--user", "ada"]);
    }
    let login = ["login", "wiki", "--for", "user:ada", "--no-browser"];
    by_hand(&mut scene.story, &login, &[("code", "c")]);
    let provider = scene.provider.url("");
    let signed_in = |scene: &Scene| {
        let listed = output_json(&scene.story.home, &["accounts"]);
        let accounts = listed["accounts"].as_array().unwrap().clone();
        assert!(accounts.iter().all(|account| account["principal"] == "user:ada"), "{listed}");
        let is_provider = |account: &Value| account["server"] == provider.as_str();
        (accounts.len(), accounts.iter().any(is_provider))
    };
    assert_eq!(signed_in(&scene), (2, true));
    scene.story.quietly(&["token", "revoke", "laptop"]);
    assert_eq!(signed_in(&scene), (2, true));
    scene.story.quietly(&["token", "revoke", "phone"]);
    assert_eq!(signed_in(&scene), (1, false));
}
