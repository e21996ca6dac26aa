//! The proof that people who share one switchboard are never taken for one another: a server echoes a digest of the
//! token that it received, while they call it over every face, in both eras, with renewals and new connections between.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use switchboard_testkit::http::{Reply, Request, Scripted};
use url::form_urlencoded;

use crate::Story;
use crate::guarding::Serving;
use crate::own_sign_ins::{Clients, account, clients, user_token};
use crate::signed_out::Era;
use crate::signing_in::by_hand;

/// The people, by the code with which each comes back from the sign-in page.
const PEOPLE: [&str; 3] = ["ada", "bob", "local"];
const ROUNDS: usize = 4;
const CALLS: usize = 6;

/// A server that knows whose each token is, and whose each session.
struct Vault {
    era: Era,
    books: Mutex<Books>,
}

#[derive(Default)]
struct Books {
    /// The token that is good now, by person.
    good: HashMap<String, String>,
    /// Whose a token is or was, by its digest.
    owners: HashMap<String, String>,
    /// Who opened each session.
    sessions: Vec<String>,
    renewals: HashMap<String, usize>,
    /// Requests that came to the session of one person with the token of another.
    crossings: Vec<String>,
}

fn digest(token: &str) -> String {
    Sha256::digest(token).iter().map(|byte| format!("{byte:02x}")).collect()
}

// === impl Vault ===

impl Vault {
    fn answer(&self, request: &Request) -> Reply {
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
            }),
            "/register" => json!({ "client_id": "c-1" }),
            "/token" => self.token(request.text()),
            _ => return Reply::empty(404),
        };
        Reply::json(200, body.to_string())
    }

    /// A code and a refresh token are of the person whose name they are.
    fn token(&self, form: &str) -> Value {
        let form: HashMap<_, _> = form_urlencoded::parse(form.as_bytes()).into_owned().collect();
        let mut books = self.books.lock().unwrap();
        let renewed = form.get("refresh_token").and_then(|token| token.strip_prefix("refresh-"));
        let person = renewed.or(form.get("code").map(String::as_str)).unwrap().to_owned();
        *books.renewals.entry(person.clone()).or_default() += usize::from(renewed.is_some());
        let token = format!("{person}-{}", books.owners.len());
        books.owners.insert(digest(&token), person.clone());
        books.good.insert(person.clone(), token.clone());
        json!({ "access_token": token, "token_type": "bearer", "refresh_token": format!("refresh-{person}") })
    }

    /// Refuses the token of a person from now on; it has to be renewed.
    fn expire(&self, person: &str) {
        self.books.lock().unwrap().good.remove(person);
    }

    fn mcp(&self, request: &Request) -> Reply {
        let token = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let token = token.unwrap_or_default();
        let mut books = self.books.lock().unwrap();
        let Some(person) = books.owners.get(&digest(token)).cloned() else {
            return Reply::empty(401).header("www-authenticate", "Bearer");
        };
        let session = request.header("mcp-session-id").and_then(|id| id.parse::<usize>().ok());
        if let Some(owner) = session.and_then(|id| books.sessions.get(id).cloned())
            && owner != person
        {
            books.crossings.push(format!("{person} in the session of {owner}"));
        }
        if books.good.get(&person).is_none_or(|good| good != token) {
            return Reply::empty(401).header("www-authenticate", "Bearer error=\"invalid_token\"");
        }
        if request.method != "POST" {
            return Reply::empty(405);
        }
        let asked: Value = serde_json::from_slice(&request.body).unwrap();
        let result = match (self.era, asked["method"].as_str().unwrap_or_default()) {
            (Era::Modern, "server/discover") => {
                json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } })
            }
            (Era::Legacy, "initialize") => {
                books.sessions.push(person);
                let result = json!({
                    "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
                    "serverInfo": { "name": "vault", "version": "1" },
                });
                let id = (books.sessions.len() - 1).to_string();
                return reply(&asked, "result", &result).header("mcp-session-id", &id);
            }
            (_, "tools/list") => {
                json!({ "tools": [{ "name": "whoami", "inputSchema": { "type": "object" } }] })
            }
            (_, "tools/call") => json!({ "content": [{ "type": "text", "text": digest(token) }] }),
            _ if asked.get("id").is_none() => return Reply::empty(202),
            _ => {
                let error = json!({ "code": -32601, "message": "not here" });
                return reply(&asked, "error", &error);
            }
        };
        reply(&asked, "result", &result)
    }

    /// Whose token a digest is of.
    fn owner(&self, digest: &str) -> Option<String> {
        self.books.lock().unwrap().owners.get(digest).cloned()
    }
}

fn reply(asked: &Value, member: &str, content: &Value) -> Reply {
    let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], member: content });
    Reply::json(200, answer.to_string())
}

/// Mixed calls of all clients of these people at once, while their tokens stop being good.
async fn call_at_once(vault: &Vault, people: &[(&str, &Clients)], about: &str) {
    let calls = people.iter().flat_map(|(person, clients)| {
        let (person, clients) = (*person, *clients);
        let many = (0..CALLS).flat_map(|number| clients.iter().map(move |one| (number, one)));
        many.map(move |(number, (client, _))| async move {
            // Some calls meet a token that was good a moment ago.
            if number % 3 == 2 {
                vault.expire(person);
            }
            (person, account(client).await)
        })
    });
    for (person, said) in futures_util::future::join_all(calls.collect::<Vec<_>>()).await {
        match said {
            Ok(digest) => assert_eq!(vault.owner(&digest).as_deref(), Some(person), "{about}"),
            // A token may be refused as often as it was renewed for one request.
            Err(why) => assert!(why.contains("needs authentication"), "{about}: {person}: {why}"),
        }
    }
    for (person, clients) in people {
        for (client, _) in *clients {
            let digest = account(client).await.unwrap_or_else(|why| panic!("{about}: {why}"));
            assert_eq!(vault.owner(&digest).as_deref(), Some(*person), "{about}");
        }
    }
}

#[test]
fn nobody_is_taken_for_anybody_else() {
    for era in [Era::Modern, Era::Legacy] {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let vault = Arc::new(Vault { era, books: Mutex::default() });
        let shared = vault.clone();
        let server = runtime.block_on(Scripted::start(move |request| {
            let vault = shared.clone();
            async move { vault.answer(&request) }
        }));
        let mut story = Story::new();
        story.quietly(&["add", "-s", "user", "web", &server.url("/mcp")]);
        by_hand(&mut story, &["login", "web", "--no-browser"], &[("code", "local")]);
        for person in ["ada", "bob"] {
            let who = format!("user:{person}");
            let login = ["login", "web", "--no-browser", "--for", &who];
            by_hand(&mut story, &login, &[("code", person)]);
        }
        let [ada, bob] = ["ada", "bob"].map(|user| user_token(&story.home, user));
        let me = crate::guarding::json(&story.home, &["token", "create", "--me"]);
        let me = me["token"].as_str().unwrap().to_owned();
        let serving = Serving::start(&story.home, &["--auth", "token"]);
        let tokens = [ada, bob, me];
        runtime.block_on(async {
            let mut before: Vec<Clients> = Vec::new();
            for round in 0..ROUNDS {
                let about = format!("{era:?} round {round}");
                // New connections, while those of the round before still stand.
                let connecting = tokens.iter().map(|token| clients(&serving, token));
                let now = futures_util::future::join_all(connecting).await;
                let people: Vec<_> = PEOPLE.into_iter().zip(&now).collect();
                let older: Vec<_> = PEOPLE.into_iter().zip(&before).collect();
                call_at_once(&vault, &[people, older].concat(), &about).await;
                before = now;
            }
        });
        let said = story.quietly(&["call", "web/whoami"]);
        let said = String::from_utf8(said.stdout).unwrap();
        assert_eq!(vault.owner(said.trim()).as_deref(), Some("local"), "{era:?}: {said}");
        let books = vault.books.lock().unwrap();
        assert_eq!(books.crossings, [""; 0], "{era:?}");
        for person in PEOPLE {
            assert!(books.renewals[person] >= ROUNDS, "{era:?}: {:?}", books.renewals);
        }
    }
}
