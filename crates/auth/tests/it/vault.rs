//! A server with DPoP tokens for the tests: it checks every proof as RFC 9449 says, and demands nonces.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::BoxFuture;
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use switchboard_auth::{OpenSignInPage, SignInPageOutcome};
use switchboard_testkit::http::{Reply, Request, Scripted};
use url::{Url, form_urlencoded};

/// The proofs, tokens and nonces so far.
pub(crate) struct Ledger {
    /// The nonce that the next proof must carry, at either server.
    pub(crate) nonce: String,
    /// A nonce to send with the next successful answer.
    pub(crate) next: Option<String>,
    /// Whether the server ever accepts a nonce.
    pub(crate) content: bool,
    /// The token type in token responses.
    pub(crate) kind: &'static str,
    access: Option<(String, Value)>,
    number: u32,
    proofs: Vec<String>,
    pub(crate) keys: Vec<Value>,
    pub(crate) refused: u32,
}

pub(crate) struct Vault {
    pub(crate) server: Scripted,
    ledger: Arc<Mutex<Ledger>>,
}

pub(crate) struct Agreeable;

// === impl Vault ===

impl Vault {
    pub(crate) async fn open() -> Self {
        let ledger = Arc::new(Mutex::new(Ledger {
            nonce: "n-1".into(),
            next: None,
            content: true,
            kind: "DPoP",
            access: None,
            number: 0,
            proofs: Vec::new(),
            keys: Vec::new(),
            refused: 0,
        }));
        let shared = ledger.clone();
        let server = Scripted::start(move |request| {
            let ledger = shared.clone();
            async move { ledger.lock().unwrap_or_else(PoisonError::into_inner).answer(&request) }
        });
        Self { server: server.await, ledger }
    }

    pub(crate) fn url(&self) -> Url {
        self.server.url("/mcp").parse().unwrap()
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Ledger ===

impl Ledger {
    /// Expires the token.
    pub(crate) fn expire(&mut self) {
        self.access = None;
    }

    fn answer(&mut self, request: &Request) -> Reply {
        let base = format!("http://{}", request.header("host").unwrap_or_default());
        match request.path.as_str() {
            "/mcp" => self.call(request, &base),
            "/.well-known/oauth-protected-resource/mcp" => {
                let body =
                    json!({ "resource": format!("{base}/mcp"), "authorization_servers": [base] });
                Reply::json(200, body.to_string())
            }
            "/.well-known/oauth-authorization-server" => {
                let body = json!({
                    "issuer": base, "authorization_endpoint": format!("{base}/authorize"),
                    "token_endpoint": format!("{base}/token"), "registration_endpoint": format!("{base}/register"),
                    "code_challenge_methods_supported": ["S256"], "dpop_signing_alg_values_supported": ["ES256"],
                });
                Reply::json(200, body.to_string())
            }
            "/register" => Reply::json(201, r#"{"client_id":"c-1"}"#),
            "/token" => self.token(request, &base),
            _ => Reply::empty(404),
        }
    }

    fn token(&mut self, request: &Request, base: &str) -> Reply {
        let (key, claims) = self.proven(request, &format!("{base}/token"));
        assert!(claims["ath"].is_null(), "there is no token yet");
        if claims["nonce"] != self.nonce {
            self.refused += 1;
            return Reply::json(400, r#"{"error":"use_dpop_nonce"}"#)
                .header("dpop-nonce", &self.nonce);
        }
        self.number += 1;
        let token = format!("access-{}", self.number);
        let body = json!({
            "access_token": token, "token_type": self.kind, "expires_in": 3600, "refresh_token": "r",
        });
        self.access = Some((token, key));
        Reply::json(200, body.to_string())
    }

    fn call(&mut self, request: &Request, base: &str) -> Reply {
        let refuse = |error: &str| Reply::empty(401).header("www-authenticate", error);
        let shown = request.header("authorization").and_then(|text| text.strip_prefix("DPoP "));
        let (Some(shown), Some((token, bound_to))) = (shown, self.access.clone()) else {
            return refuse("DPoP error=\"invalid_token\"");
        };
        let (key, claims) = self.proven(request, &format!("{base}/mcp"));
        assert_eq!(claims["ath"], URL_SAFE_NO_PAD.encode(Sha256::digest(shown)));
        if shown != token || key != bound_to {
            return refuse("DPoP error=\"invalid_token\"");
        }
        if claims["nonce"] != self.nonce || !self.content {
            self.refused += 1;
            return refuse("DPoP error=\"use_dpop_nonce\"").header("dpop-nonce", &self.nonce);
        }
        let reply = Reply::json(200, r#"{"ok":true}"#);
        match self.next.take() {
            Some(next) => {
                self.nonce.clone_from(&next);
                reply.header("dpop-nonce", &next)
            }
            None => reply,
        }
    }

    /// The key and the claims of a valid proof that was not sent before.
    fn proven(&mut self, request: &Request, place: &str) -> (Value, Value) {
        let proof = request.header("dpop").expect("there is a proof").to_owned();
        let (text, signature) = proof.rsplit_once('.').unwrap();
        let (head, claims) = text.split_once('.').unwrap();
        let read = |part: &str| -> Value {
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
        };
        let (head, claims) = (read(head), read(claims));
        let number = |name: &str| URL_SAFE_NO_PAD.decode(head["jwk"][name].as_str().unwrap());
        let key = [vec![4], number("x").unwrap(), number("y").unwrap()].concat();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key)
            .verify(text.as_bytes(), &signature)
            .expect("it is signed with the key it names");
        assert_eq!((&claims["htm"], &claims["htu"]), (&"POST".into(), &place.into()));
        let id = claims["jti"].as_str().unwrap().to_owned();
        assert!(!self.proofs.contains(&id), "a proof was shown twice");
        self.proofs.push(id);
        if !self.keys.contains(&head["jwk"]) {
            self.keys.push(head["jwk"].clone());
        }
        (head["jwk"].clone(), claims)
    }
}

// === impl Agreeable ===

impl OpenSignInPage for Agreeable {
    fn open_page<'a>(
        &'a self,
        url: &'a Url,
    ) -> BoxFuture<'a, Result<SignInPageOutcome, Box<dyn std::error::Error + Send + Sync>>> {
        let asked: HashMap<_, _> = url.query_pairs().into_owned().collect();
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs([("code", "code-1"), ("state", asked["state"].as_str())])
            .finish();
        let back = format!("{}?{query}", asked["redirect_uri"]);
        Box::pin(std::future::ready(Ok(SignInPageOutcome::Pasted(back))))
    }
}
