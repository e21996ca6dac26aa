//! Tests of verifying access tokens of clients, with keys that are added and withdrawn.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use switchboard_auth::{AccessTokenVerifier, TokenRejection, TrustedIssuer, VerifiedToken};
use switchboard_testkit::http::{Reply, Scripted};
use switchboard_testkit::signing::SigningKey;
use switchboard_wire::http::HttpPoolOptions;

const RESOURCE: &str = "https://hub.example/mcp";

/// An issuer with its published keys.
struct Issuer {
    server: Scripted,
    keys: Arc<Mutex<Vec<Value>>>,
}

// === impl Issuer ===

impl Issuer {
    /// An issuer with OpenID metadata.
    async fn open() -> Self {
        let keys = Arc::new(Mutex::new(Vec::new()));
        let shared = keys.clone();
        let server = Scripted::start(move |request| {
            let base = format!("http://{}", request.header("host").unwrap_or_default());
            let reply = match request.path.as_str() {
                "/.well-known/openid-configuration" => json!({
                    "issuer": base, "token_endpoint": format!("{base}/token"), "jwks_uri": format!("{base}/keys"),
                }),
                "/keys" => json!({ "keys": *shared.lock().unwrap() }),
                _ => Value::Null,
            };
            async move {
                if reply.is_null() {
                    Reply::empty(404)
                } else {
                    Reply::json(200, reply.to_string())
                }
            }
        });
        Self { server: server.await, keys }
    }

    fn publish(&self, keys: &[&SigningKey]) {
        *self.keys.lock().unwrap() = keys.iter().map(|key| key.jwk()).collect();
    }

    fn claims(&self) -> Value {
        json!({
            "iss": self.server.url(""), "sub": "u-1", "aud": RESOURCE, "exp": 4_102_444_800_u64,
            "scope": "use",
        })
    }

    fn verifier(&self) -> AccessTokenVerifier {
        let trust = TrustedIssuer {
            issuer: self.server.url(""),
            audiences: Vec::new(),
            scopes: vec!["use".into()],
            groups_claim: "roles".into(),
        };
        AccessTokenVerifier::new(trust, HttpPoolOptions::default())
    }

    fn fetches(&self) -> usize {
        self.server.requests().iter().filter(|request| request.path == "/keys").count()
    }
}

async fn believed(
    verifier: &AccessTokenVerifier,
    token: &str,
) -> Result<VerifiedToken, TokenRejection> {
    verifier.verify(token, RESOURCE).await
}

#[tokio::test]
async fn a_good_token_is_believed_and_its_keys_are_fetched_once() {
    let (issuer, key) = (Issuer::open().await, SigningKey::new("one"));
    issuer.publish(&[&key]);
    let verifier = issuer.verifier();
    assert_eq!(issuer.fetches(), 0, "nobody has asked yet");
    for _ in 0..3 {
        let mut claims = issuer.claims();
        (claims["name"], claims["roles"]) = (json!("Ada"), json!(["dev", "ops"]));
        let person = believed(&verifier, &key.token(&claims)).await.unwrap();
        assert_eq!(
            (person.name.as_deref(), &person.groups[..]),
            (Some("Ada"), &["dev".to_owned(), "ops".to_owned()][..])
        );
        assert_eq!((person.subject.as_str(), person.issuer), ("u-1", issuer.server.url("")));
    }
    assert_eq!(issuer.fetches(), 1);
}

#[tokio::test]
async fn what_is_not_believed() {
    let (issuer, key, other) =
        (Issuer::open().await, SigningKey::new("one"), SigningKey::new("one"));
    issuer.publish(&[&key]);
    let (verifier, claims) = (issuer.verifier(), issuer.claims());
    let with = |name: &str, value: Value| {
        let mut claims = claims.clone();
        claims[name] = value;
        key.token(&claims)
    };
    let head = |alg: &str| json!({ "alg": alg, "kid": "one" });
    let unsigned = key.sign(&head("none"), &claims);
    let unsigned = format!("{}.", unsigned.rsplit_once('.').unwrap().0);
    let cases: [(&str, String); 14] = [
        ("Expired", with("exp", 1_000_000.into())),
        ("NotYet", with("nbf", 4_102_444_000_u64.into())),
        ("Audience", with("aud", "https://other.example/mcp".into())),
        ("Issuer", with("iss", "https://evil.example".into())),
        ("Scope", with("scope", "look".into())),
        ("Subject", with("sub", "".into())),
        ("Bound", with("cnf", json!({ "jkt": "x" }))),
        ("Algorithm", unsigned),
        // The public key, used as a shared secret.
        ("Algorithm", key.sign(&head("HS256"), &claims)),
        ("UnknownKey", key.sign(&head("RS256"), &claims)),
        ("Signature", other.token(&claims)),
        ("Kind", key.sign(&json!({ "alg": "ES256", "kid": "one", "typ": "dpop+jwt" }), &claims)),
        ("Kind", key.sign(&json!({ "alg": "ES256", "kid": "one", "crit": ["exp"] }), &claims)),
        ("Malformed", "sb_nothing".to_owned()),
    ];
    for (expected, token) in cases {
        let why = believed(&verifier, &token).await.unwrap_err();
        assert_eq!(format!("{why:?}"), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn keys_come_and_go_and_strangers_cannot_make_us_ask_for_ever() {
    let (issuer, old, new) = (Issuer::open().await, SigningKey::new("old"), SigningKey::new("new"));
    issuer.publish(&[&old]);
    let (verifier, claims) = (issuer.verifier(), issuer.claims());
    believed(&verifier, &old.token(&claims)).await.unwrap();
    // A rotation: the next token names a new key.
    issuer.publish(&[&old, &new]);
    tokio::time::advance(std::time::Duration::from_secs(11)).await;
    believed(&verifier, &new.token(&claims)).await.unwrap();
    assert_eq!(issuer.fetches(), 2);
    // A key that the issuer never published.
    let stranger = SigningKey::new("stranger");
    for _ in 0..20 {
        let why = believed(&verifier, &stranger.token(&claims)).await.unwrap_err();
        assert!(matches!(why, TokenRejection::UnknownKey), "{why:?}");
    }
    assert_eq!(issuer.fetches(), 2);
    // A withdrawn key is trusted no longer than keys are cached.
    issuer.publish(&[&new]);
    tokio::time::advance(std::time::Duration::from_secs(601)).await;
    let why = believed(&verifier, &old.token(&claims)).await.unwrap_err();
    assert!(matches!(why, TokenRejection::UnknownKey), "{why:?}");
    believed(&verifier, &new.token(&claims)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_issuer_that_is_gone_is_told_apart_from_a_bad_token() {
    let (issuer, key) = (Issuer::open().await, SigningKey::new("one"));
    issuer.publish(&[&key]);
    let (verifier, claims, late) = (issuer.verifier(), issuer.claims(), issuer.verifier());
    believed(&verifier, &key.token(&claims)).await.unwrap();
    let Issuer { server, .. } = issuer;
    drop(server);
    tokio::time::advance(std::time::Duration::from_secs(601)).await;
    // Cached keys are still used; a verifier without keys reports the failure.
    believed(&verifier, &key.token(&claims)).await.unwrap();
    let why = believed(&late, &key.token(&claims)).await.unwrap_err();
    assert!(matches!(why, TokenRejection::Unavailable { .. }), "{why:?}");
}
