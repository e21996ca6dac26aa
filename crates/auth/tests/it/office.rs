//! An organisation for the tests: its identity provider, and a server whose authorization server trusts only
//! that provider.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::BoxFuture;
use serde_json::json;
use switchboard_auth::{
    FileSignInStore, IdentityProviderClient, NoKeychain, OAuthCredentials, OpenSignInPage, SignIn,
    SignInPageOutcome, SignInTarget, UserPresence,
};
use switchboard_config::OAuth;
use switchboard_testkit::http::{Reply, Request, Scripted};
use switchboard_wire::http::{EndpointOptions, HttpEndpoint, HttpPool, HttpPoolOptions};
use url::{Url, form_urlencoded};

/// The requests that the identity provider got, and its next answers.
#[derive(Default)]
pub(crate) struct Files {
    pub(crate) visits: u32,
    pub(crate) renewals: u32,
    pub(crate) exchanges: Vec<HashMap<String, String>>,
    /// The errors with which it refuses, by grant type.
    pub(crate) refuses: HashMap<String, &'static str>,
    pub(crate) issued_type: Option<&'static str>,
    refresh: u32,
}

pub(crate) struct Office {
    pub(crate) provider: Scripted,
    pub(crate) server: Scripted,
    files: Arc<Mutex<Files>>,
}

/// A user of the organisation, known to the provider.
pub(crate) struct Employee(Arc<Mutex<Files>>);

// === impl Office ===

impl Office {
    pub(crate) async fn open() -> Self {
        let files = Arc::new(Mutex::new(Files::default()));
        let shared = files.clone();
        let provider = Scripted::start(move |request| {
            let files = shared.clone();
            async move { files.lock().unwrap_or_else(PoisonError::into_inner).answer(&request) }
        })
        .await;
        let shared = files.clone();
        let server = Scripted::start(move |request| {
            let files = shared.clone();
            async move { trusting(&request, &files.lock().unwrap_or_else(PoisonError::into_inner)) }
        });
        Self { provider, server: server.await, files }
    }

    pub(crate) fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn employee(&self) -> Employee {
        Employee(self.files.clone())
    }

    pub(crate) fn identity_provider(&self, folder: &Path) -> IdentityProviderClient {
        let settings = switchboard_config::IdentityProvider {
            issuer: self.provider.url(""),
            client_id: "us-there".into(),
            client_secret_helper: None,
            scopes: vec!["email".into()],
            callback_port: None,
        };
        let store = Arc::new(FileSignInStore::new(folder, Arc::new(NoKeychain)));
        IdentityProviderClient::new(settings, None, store, HttpPoolOptions::default())
    }

    /// A sign-in to the server at `path`, one of any number.
    pub(crate) fn sign_in(&self, path: &str, folder: &Path) -> SignIn {
        let oauth = OAuth {
            client_id: Some("us-here".into()),
            client_secret: Some("s3cret".into()),
            xaa: Some(true),
            ..OAuth::default()
        };
        let subject = SignInTarget::new(path, self.server.url(path).parse().unwrap(), Some(oauth));
        let store = Arc::new(FileSignInStore::new(folder, Arc::new(NoKeychain)));
        let provider = self.identity_provider(folder);
        SignIn::new(subject, store, HttpPoolOptions::default())
            .with_identity_provider(Some(provider))
    }

    pub(crate) fn client(&self, path: &str, folder: &Path) -> (HttpEndpoint, OAuthCredentials) {
        let provider = OAuthCredentials::new(self.sign_in(path, folder), UserPresence::Nobody);
        let credentials = Arc::new(provider.clone());
        let options = EndpointOptions { credentials, ..EndpointOptions::default() };
        let url = self.server.url(path).parse().unwrap();
        (
            HttpEndpoint::new(HttpPool::new(&HttpPoolOptions::default()).unwrap(), url, options),
            provider,
        )
    }
}

// === impl Files ===

impl Files {
    fn answer(&mut self, request: &Request) -> Reply {
        let base = format!("http://{}", request.header("host").unwrap_or_default());
        let form: HashMap<_, _> = form_urlencoded::parse(&request.body).into_owned().collect();
        match request.path.as_str() {
            "/.well-known/openid-configuration" => {
                let body = json!({
                    "issuer": base, "authorization_endpoint": format!("{base}/authorize"),
                    "token_endpoint": format!("{base}/token"), "scopes_supported": ["openid", "offline_access"],
                    "code_challenge_methods_supported": ["S256"],
                });
                Reply::json(200, body.to_string())
            }
            "/token" => self.token(&base, form),
            _ => Reply::empty(404),
        }
    }

    fn token(&mut self, base: &str, form: HashMap<String, String>) -> Reply {
        assert_eq!(form["client_id"], "us-there");
        let kind = form["grant_type"].rsplit(':').next().unwrap_or_default().to_owned();
        if let Some(error) = self.refuses.get(&kind) {
            return Reply::json(
                400,
                json!({ "error": error, "error_description": "as told" }).to_string(),
            );
        }
        if kind == "token-exchange" {
            self.exchanges.push(form);
            let kind = self.issued_type.unwrap_or("urn:ietf:params:oauth:token-type:id-jag");
            let body = json!({ "access_token": "grant-1", "issued_token_type": kind, "token_type": "N_A" });
            return Reply::json(200, body.to_string());
        }
        if kind == "refresh_token" {
            if form["refresh_token"] != format!("refresh-{}", self.refresh) {
                return Reply::json(400, r#"{"error":"invalid_grant"}"#);
            }
            self.renewals += 1;
        }
        self.refresh += 1;
        let body = json!({
            "access_token": "not-for-servers", "token_type": "Bearer", "id_token": self.id_token(base),
            "refresh_token": format!("refresh-{}", self.refresh),
        });
        Reply::json(200, body.to_string())
    }

    fn id_token(&self, base: &str) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let claims = json!({
            "iss": base, "sub": "u-1", "aud": "us-there", "exp": now + 3600,
            "email": "ann@example.com", "n": self.refresh,
        });
        format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims.to_string()))
    }
}

/// The server, with every path protected, and its authorization server.
fn trusting(request: &Request, files: &Files) -> Reply {
    let base = format!("http://{}", request.header("host").unwrap_or_default());
    let form: HashMap<_, _> = form_urlencoded::parse(&request.body).into_owned().collect();
    if let Some(path) = request.path.strip_prefix("/.well-known/oauth-protected-resource") {
        let body = json!({
            "resource": format!("{base}{path}"), "authorization_servers": [base], "scopes_supported": ["use"],
        });
        return Reply::json(200, body.to_string());
    }
    match request.path.as_str() {
        "/.well-known/oauth-authorization-server" => {
            let body = json!({ "issuer": base, "token_endpoint": format!("{base}/token") });
            Reply::json(200, body.to_string())
        }
        "/token" if files.refuses.contains_key("jwt-bearer") => {
            Reply::json(400, r#"{"error":"invalid_grant","error_description":"not ours"}"#)
        }
        "/token" => {
            assert_eq!(form["grant_type"], "urn:ietf:params:oauth:grant-type:jwt-bearer");
            assert_eq!(form["assertion"], "grant-1");
            assert!(request.header("authorization").is_some_and(|it| it.starts_with("Basic ")));
            Reply::json(200, r#"{"access_token":"access","token_type":"Bearer","expires_in":3600}"#)
        }
        _ if request.header("authorization") == Some("Bearer access") => {
            Reply::json(200, r#"{"ok":true}"#)
        }
        _ => Reply::empty(401).header("www-authenticate", "Bearer"),
    }
}

// === impl Employee ===

impl OpenSignInPage for Employee {
    fn open_page<'a>(
        &'a self,
        url: &'a Url,
    ) -> BoxFuture<'a, Result<SignInPageOutcome, Box<dyn std::error::Error + Send + Sync>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).visits += 1;
        let asked: HashMap<_, _> = url.query_pairs().into_owned().collect();
        assert_eq!(asked["scope"], "openid email offline_access");
        let back = format!("{}?code=c&state={}", asked["redirect_uri"], asked["state"]);
        Box::pin(std::future::ready(Ok(SignInPageOutcome::Pasted(back))))
    }
}
