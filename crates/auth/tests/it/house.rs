//! A protected server with its authorization server, for the tests. It rotates tokens; a refresh token that
//! is sent twice ends the whole sign-in, as the security guidance for OAuth says.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::HeaderMap;
use serde_json::json;
use switchboard_auth::{
    FileSignInStore, NoKeychain, OAuthCredentials, OpenSignInPage, SignIn, SignInPageOutcome,
    SignInTarget, UserPresence,
};
use switchboard_config::OAuth;
use switchboard_testkit::http::{Reply, Request, Scripted};
use switchboard_wire::http::{EndpointOptions, HttpEndpoint, HttpError, HttpPool, HttpPoolOptions};
use url::{Url, form_urlencoded};

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":40}}}"#;

/// How the authorization server answers token and revocation requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mood {
    #[default]
    Good,
    /// Answers 503 this many times first.
    Unwell(u32),
    /// Cuts the connection without an answer.
    Gone,
    /// Answers like a captive portal: a page of the network's owner.
    Captive,
    /// Never answers.
    Silent,
}

/// The state of the authorization server.
#[derive(Debug, Default)]
pub(crate) struct Books {
    pub(crate) mood: Mood,
    number: u32,
    access: Option<String>,
    refresh: Option<String>,
    /// Scopes that a call needs beyond those of the sign-in.
    pub(crate) needs: Option<String>,
    pub(crate) scopes: String,
    pub(crate) registered: u32,
    pub(crate) refreshed: u32,
    pub(crate) asked: u32,
    pub(crate) revoked: Vec<String>,
    /// A parameter to put into every authorization response.
    pub(crate) lies: Option<(&'static str, &'static str)>,
}

pub(crate) struct House {
    server: Scripted,
    books: Arc<Mutex<Books>>,
}

/// A user who agrees to every sign-in and is redirected back.
struct Agreeable(Arc<Mutex<Books>>);

// === impl House ===

impl House {
    pub(crate) async fn open() -> Self {
        let books = Arc::new(Mutex::new(Books::default()));
        let shared = books.clone();
        let server = Scripted::start(move |request| {
            let books = shared.clone();
            async move { answer(&request, &mut books.lock().unwrap_or_else(PoisonError::into_inner)) }
        });
        Self { server: server.await, books }
    }

    pub(crate) fn url(&self) -> Url {
        self.server.url("/mcp").parse().unwrap()
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        self.server.requests().into_iter().map(|request| request.path).collect()
    }

    /// The `Authorization` header of each request to the server.
    pub(crate) fn authorizations(&self) -> Vec<Option<String>> {
        let calls = self.server.requests().into_iter().filter(|request| request.path == "/mcp");
        calls.map(|request| request.header("authorization").map(str::to_owned)).collect()
    }

    pub(crate) fn books(&self) -> std::sync::MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Invalidates the last access token.
    pub(crate) fn expire(&self) {
        self.books().access = None;
    }

    /// Invalidates the sign-in.
    pub(crate) fn forget(&self) {
        let mut books = self.books();
        (books.access, books.refresh) = (None, None);
    }

    pub(crate) fn visit(&self) -> impl OpenSignInPage + use<> {
        Agreeable(self.books.clone())
    }

    pub(crate) fn sign_in(&self, folder: &Path, oauth: OAuth) -> SignIn {
        sign_in(self.url(), folder, oauth)
    }
}

impl Books {
    fn grant(&mut self) -> Reply {
        self.number += 1;
        let (access, refresh) =
            (format!("access-{}", self.number), format!("refresh-{}", self.number));
        let body = json!({
            "access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": 3600,
        });
        (self.access, self.refresh) = (Some(access), Some(refresh));
        Reply::json(200, body.to_string())
    }

    fn token(&mut self, form: &HashMap<String, String>) -> Reply {
        self.asked += 1;
        match &mut self.mood {
            Mood::Unwell(times @ 1..) => {
                *times -= 1;
                return Reply::empty(503);
            }
            Mood::Gone => return Reply::empty(200).reset(),
            Mood::Captive => return Reply::text(200, "text/html", "<h1>Pay here</h1>"),
            Mood::Silent => return Reply::empty(200).hang(),
            _ => {}
        }
        if form["grant_type"] == "authorization_code" {
            assert!(form["code_verifier"].len() >= 43 && form.contains_key("resource"), "{form:?}");
            return self.grant();
        }
        if self.refresh.as_ref() == form.get("refresh_token") {
            self.refreshed += 1;
            return self.grant();
        }
        (self.access, self.refresh) = (None, None);
        Reply::json(400, r#"{"error":"invalid_grant","error_description":"it was used before"}"#)
    }

    fn call(&self, request: &Request, base: &str) -> Reply {
        let sent = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let metadata = format!("resource_metadata=\"{base}/prm\"");
        if self.access.is_none() || sent != self.access.as_deref() {
            let challenge = format!("Bearer error=\"invalid_token\", {metadata}");
            return Reply::empty(401).header("www-authenticate", &challenge);
        }
        match &self.needs {
            Some(scope) if !self.scopes.split(' ').any(|granted| granted == scope) => {
                let challenge =
                    format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\", {metadata}");
                Reply::empty(403).header("www-authenticate", &challenge)
            }
            _ => Reply::json(200, r#"{"ok":true}"#),
        }
    }
}

fn answer(request: &Request, books: &mut Books) -> Reply {
    let base = format!("http://{}", request.header("host").unwrap_or_default());
    let form: HashMap<String, String> =
        form_urlencoded::parse(&request.body).into_owned().collect();
    // As a proxy, it gets whole URLs.
    match request.path.strip_prefix(&base).unwrap_or(&request.path) {
        "/mcp" => books.call(request, &base),
        "/prm" => {
            let body = json!({
                "resource": format!("{base}/mcp"), "authorization_servers": [base], "scopes_supported": ["read"],
            });
            Reply::json(200, body.to_string())
        }
        "/.well-known/oauth-authorization-server" => {
            let body = json!({
                "issuer": base, "authorization_endpoint": format!("{base}/authorize"),
                "token_endpoint": format!("{base}/token"), "registration_endpoint": format!("{base}/register"),
                "revocation_endpoint": format!("{base}/revoke"), "code_challenge_methods_supported": ["S256"],
            });
            Reply::json(200, body.to_string())
        }
        "/register" => {
            books.registered += 1;
            Reply::json(201, r#"{"client_id":"c-1"}"#)
        }
        "/token" => books.token(&form),
        "/revoke" => {
            books.revoked.push(form["token"].clone());
            match &books.mood {
                Mood::Silent => Reply::empty(200).hang(),
                Mood::Unwell(_) => Reply::empty(503),
                _ => Reply::empty(200),
            }
        }
        _ => Reply::empty(404),
    }
}

impl OpenSignInPage for Agreeable {
    fn open_page<'a>(
        &'a self,
        url: &'a Url,
    ) -> BoxFuture<'a, Result<SignInPageOutcome, Box<dyn std::error::Error + Send + Sync>>> {
        let asked: HashMap<_, _> = url.query_pairs().into_owned().collect();
        let mut books = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        books.scopes = asked.get("scope").cloned().unwrap_or_default();
        let mut back = Url::parse(&asked["redirect_uri"]).unwrap();
        let mut given = vec![("code", "code-1"), ("state", asked["state"].as_str())];
        if let Some(lie) = books.lies {
            given.retain(|(name, _)| *name != lie.0);
            given.push(lie);
        }
        back.query_pairs_mut().extend_pairs(given);
        Box::pin(std::future::ready(Ok(SignInPageOutcome::Pasted(back.into()))))
    }
}

pub(crate) fn sign_in(url: Url, folder: &Path, oauth: OAuth) -> SignIn {
    let store = Arc::new(FileSignInStore::new(folder, Arc::new(NoKeychain)));
    SignIn::new(SignInTarget::new("house", url, Some(oauth)), store, HttpPoolOptions::default())
}

/// A client like that of another process: it shares only the folder with others.
pub(crate) fn client(url: &Url, folder: &Path, presence: UserPresence) -> HttpEndpoint {
    let sign_in = sign_in(url.clone(), folder, OAuth::default());
    client_with(url, OAuthCredentials::new(sign_in, presence))
}

pub(crate) fn client_with(url: &Url, provider: OAuthCredentials) -> HttpEndpoint {
    let options = EndpointOptions { credentials: Arc::new(provider), ..EndpointOptions::default() };
    HttpEndpoint::new(HttpPool::new(&HttpPoolOptions::default()).unwrap(), url.clone(), options)
}

/// One call, in a form that a real server answers too.
pub(crate) async fn call(client: &HttpEndpoint) -> Result<u16, HttpError> {
    let answer = client.post(Bytes::from_static(CALL.as_bytes()), HeaderMap::new()).await?;
    Ok(answer.status.as_u16())
}
