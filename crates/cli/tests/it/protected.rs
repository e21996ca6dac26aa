//! Tests of `serve` behind an authorization server: clients find it, sign in there, and get their own sessions.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_testkit::http::{Reply, Request, Scripted};
use switchboard_testkit::signing::SigningKey;
use url::form_urlencoded;

use crate::Story;
use crate::guarding::{HELLO, Serving, TOOLS, home, session, token};
use crate::signing_in::by_hand;

/// When the tokens here end.
const END: u64 = 4_102_444_800;

/// An authorization server that signs everybody in as Ann.
struct Issuer {
    server: Scripted,
    key: Arc<SigningKey>,
    _runtime: tokio::runtime::Runtime,
}

impl Issuer {
    fn open() -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let key = Arc::new(SigningKey::new("one"));
        let shared = key.clone();
        let server = runtime.block_on(Scripted::start(move |request| {
            let key = shared.clone();
            async move { answer(&request, &key) }
        }));
        Self { server, key, _runtime: runtime }
    }

    fn url(&self) -> String {
        self.server.url("")
    }

    /// `Bearer`, and a token of `subject` for what is at `audience`; `change` comes last.
    fn bearer(&self, subject: &str, audience: &str, change: &[(&str, Value)]) -> String {
        let mut claims = claims(&self.url(), subject, audience);
        for (name, value) in change {
            claims[*name] = value.clone();
        }
        format!("Bearer {}", self.key.token(&claims))
    }
}

fn claims(issuer: &str, subject: &str, audience: &str) -> Value {
    json!({ "iss": issuer, "sub": subject, "aud": audience, "exp": END, "scope": "use" })
}

fn answer(request: &Request, key: &SigningKey) -> Reply {
    let base = format!("http://{}", request.header("host").unwrap_or_default());
    let form: HashMap<_, _> = form_urlencoded::parse(&request.body).into_owned().collect();
    let body = match request.path.as_str() {
        "/.well-known/oauth-authorization-server" => json!({
            "issuer": base, "authorization_endpoint": format!("{base}/authorize"),
            "token_endpoint": format!("{base}/token"), "registration_endpoint": format!("{base}/register"),
            "jwks_uri": format!("{base}/keys"), "code_challenge_methods_supported": ["S256"],
        }),
        "/keys" => json!({ "keys": [key.jwk()] }),
        "/register" => json!({ "client_id": "c-1" }),
        "/token" => {
            let token = key.token(&claims(&base, "ann", &form["resource"]));
            json!({ "access_token": token, "token_type": "Bearer", "expires_in": 3600 })
        }
        _ => return Reply::empty(404),
    };
    Reply::json(200, body.to_string())
}

#[test]
fn a_client_of_ours_signs_in_to_a_hub_of_ours() {
    let (issuer, home) = (Issuer::open(), home());
    let serving = Serving::start(&home, &["--auth-issuer", &issuer.url(), "--auth-scope", "use"]);
    let mut story = Story::new();
    story.replace(&serving.address.to_string(), "127.0.0.1:PORT");
    story.replace(&issuer.server.addr().to_string(), "127.0.0.1:ISSUER");
    story.quietly(&["add", "hub", &serving.url]);
    story.run(&["list"]);
    by_hand(&mut story, &["login", "hub", "--no-browser"], &[("code", "c")]);
    story.run(&["list"]).run(&["tools", "hub", "--json"]);
    let transcript = story.transcript();
    assert!(transcript.contains("! hub  sign-in needed"), "{transcript}");
    assert!(transcript.contains("✔ hub  connected"), "{transcript}");
    assert!(transcript.contains("one__"), "{transcript}");
}

#[test]
fn who_is_let_in_and_what_the_others_are_told() {
    let (issuer, home) = (Issuer::open(), home());
    let own = format!("Bearer {}", token(&home, "laptop"));
    // Beyond this machine too, and with tokens of both kinds.
    let flags = ["--auth-issuer", &issuer.url(), "--auth-scope", "use", "--listen", "0.0.0.0:0"];
    let serving = Serving::start(&home, &flags);
    let base = serving.url.trim_end_matches("/mcp").to_owned();
    let good = |subject: &str| issuer.bearer(subject, &serving.url, &[]);
    let bad =
        |name: &'static str, value: Value| issuer.bearer("ann", &serving.url, &[(name, value)]);
    for (authorization, status, error) in [
        (good("ann"), 200, None),
        (issuer.bearer("ann", &base, &[]), 200, None),
        (own, 200, None),
        (issuer.bearer("ann", &format!("{base}/mcp/one"), &[]), 401, Some("invalid_token")),
        (issuer.bearer("ann", "https://other.example/mcp", &[]), 401, Some("invalid_token")),
        (bad("exp", 1.into()), 401, Some("invalid_token")),
        (bad("iss", "https://evil.example".into()), 401, Some("invalid_token")),
        (bad("scope", "look".into()), 403, Some("insufficient_scope")),
        (
            format!(
                "Bearer {}",
                SigningKey::new("one").token(&claims(&issuer.url(), "ann", &serving.url))
            ),
            401,
            Some("invalid_token"),
        ),
        ("Bearer nonsense".to_owned(), 401, Some("invalid_token")),
    ] {
        let (found, answer) = serving.post(&[("authorization", &authorization)], HELLO);
        assert_eq!(found, status, "{answer}");
        let said = error.map(|error| format!("error=\"{error}\""));
        assert!(said.is_none_or(|said| answer.contains(&said)), "{answer}");
    }
    let (status, answer) = serving.post(&[], HELLO);
    let place = format!("resource_metadata=\"{base}/.well-known/oauth-protected-resource/mcp\"");
    assert!(
        status == 401 && answer.contains(&place) && answer.contains("scope=\"use\""),
        "{answer}"
    );
    for (path, resource) in
        [("", base.clone()), ("/mcp", serving.url.clone()), ("/mcp/one", format!("{base}/mcp/one"))]
    {
        let (status, answer) =
            serving.send(&format!("GET /.well-known/oauth-protected-resource{path}"), &[], "");
        let document: Value =
            serde_json::from_str(answer.rsplit_once("\r\n\r\n").unwrap().1).unwrap();
        assert_eq!((status, &document["resource"]), (200, &json!(resource)), "{answer}");
        assert_eq!(document["authorization_servers"], json!([issuer.url()]));
    }
}

#[test]
fn everybody_has_sessions_of_their_own() {
    let (issuer, home) = (Issuer::open(), home());
    let serving = Serving::start(&home, &["--auth-issuer", &issuer.url()]);
    let [ann, bob] = ["ann", "bob"].map(|who| issuer.bearer(who, &serving.url, &[]));
    let (_, answer) = serving.post(&[("authorization", &ann)], HELLO);
    let id = session(&answer);
    for (who, status) in [(&bob, 404), (&ann, 200)] {
        let headers = [("authorization", who.as_str()), ("mcp-session-id", &id)];
        let (found, answer) = serving.post(&headers, TOOLS);
        assert_eq!(found, status, "{answer}");
    }
    // The same name, given by somebody else, is somebody else; here it is nobody.
    let forged = issuer.bearer("ann", &serving.url, &[("iss", json!("https://evil.example"))]);
    let headers = [("authorization", forged.as_str()), ("mcp-session-id", &id)];
    assert_eq!(serving.post(&headers, TOOLS).0, 401);
}

#[test]
fn what_cannot_be_meant() {
    let mut story = Story::new();
    story
        .run(&["serve", "--auth-issuer", "nonsense"])
        .run(&["serve", "--auth-issuer", "https://as.example", "--auth-resource", "https://x/y"])
        .run(&["serve", "--auth-scope", "use"])
        .run(&["serve", "--auth-client-id", "us"])
        .run(&[
            "serve",
            "--auth-issuer",
            "https://as.example",
            "--auth-client-id",
            "us",
            "--auth-client-secret-file",
            "nowhere",
        ])
        .run(&[
            "serve",
            "--listen",
            "0.0.0.0:0",
            "--auth",
            "user",
            "--auth-issuer",
            "https://as.example",
        ]);
    insta::assert_snapshot!("protected_mistakes", story.transcript());
}
