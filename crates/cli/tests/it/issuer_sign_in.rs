//! Tests of browsers that sign in with the issuer of `serve`, and of what is refused on the way: a real browser with a
//! certified OpenID provider, and a scripted issuer whose ID tokens are wrong.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use switchboard_testkit::http::{Reply, Request, Scripted};
use switchboard_testkit::openid::{OpenId, Tokens, node};
use switchboard_testkit::programs::program;
use switchboard_testkit::signing::SigningKey;
use switchboard_wire::client::{CallRequest, Client, Exchange};
use switchboard_wire::json::Raw;
use url::{Url, form_urlencoded};

use crate::guarding::{Serving, json as output_json};
use crate::principals::connect_able;
use crate::sign_in_links::{ASKING_FACES, Browser, accept, asked, end};
use crate::signing_in::back_from;
use crate::{Home, Story};

/// What a person with a real browser reads who opens a link as `login`.
async fn visit(link: String, login: &'static str) -> Vec<String> {
    let visited = tokio::task::spawn_blocking(move || {
        node("link-person.mjs").args([&link, login]).stderr(Stdio::inherit()).output().unwrap()
    });
    let output = visited.await.unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A file with the client secret that the certified provider knows.
fn secret_file(home: &Home) -> String {
    let path = home.path().join("client-secret");
    std::fs::write(&path, "the-secret-of-the-hub\n").unwrap();
    path.to_str().unwrap().to_owned()
}

/// Bob opens the link of his call, signs in with the issuer, and then with the server; the call goes on. What he is, his
/// groups included, his browser and his client are told alike. Ada's browser gets nowhere with a link of Cara's.
#[test]
fn a_real_browser_signs_in_with_the_issuer_and_then_with_the_server() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let issuer = OpenId::with_people(Tokens::Signed(3600));
        let server = OpenId::start(Tokens::Opaque(3600));
        let story = Story::new();
        story.quietly(&["add", "-s", "user", "web", server.url()]);
        let settings = story.home.path().join(".config/switchboard/settings.json");
        let mut rules: Value =
            serde_json::from_str(&std::fs::read_to_string(&settings).unwrap()).unwrap();
        rules["permissions"] = json!({
            "defaultMode": "dontAsk",
            "allow": ["mcp__web__*", { "rule": "mcp__notes__*", "for": { "group": "dev" } }],
        });
        rules["mcpServers"]["notes"] = json!({ "command": program("notebook"), "era": "modern" });
        std::fs::write(&settings, rules.to_string()).unwrap();
        let secret = secret_file(&story.home);
        let flags = [
            ["--auth-issuer", issuer.issuer()],
            ["--auth-groups", "teams"],
            ["--auth-client-id", "hub"],
            ["--auth-client-secret-file", &secret],
        ];
        let serving = Serving::start(&story.home, &flags.concat());
        let client = async |subject: &str| {
            let token = issuer.token_of(subject, &serving.url);
            let able = json!({ "elicitation": { "form": {}, "url": {} } });
            connect_able(&serving, ASKING_FACES[0], &token, &able).await.0
        };
        let add = |client: &Client| -> Exchange {
            let arguments = Raw::from_value(&json!({ "a": 2, "b": 40 })).unwrap();
            client.call(CallRequest::call_tool("web__add", &arguments))
        };

        let bob = client("bob").await;
        let mut running = add(&bob);
        let (question, link) = asked(&mut running).await;
        let finishing = async {
            accept(&mut running, &question);
            end(running).await
        };
        let (said, answer) = tokio::join!(visit(link, "bob"), finishing);
        assert!(said[0].contains("Whose browser is this?") && !said[0].contains("bob"), "{said:?}");
        assert!(said[1].contains(&format!("signed in as {} bob", issuer.issuer())), "{said:?}");
        assert!(said[2].contains("Go back to your client"), "{said:?}");
        assert_eq!(answer, "42");

        let cara = client("cara").await;
        let mut running = add(&cara);
        let (question, link) = asked(&mut running).await;
        let said = visit(link, "ada").await;
        assert!(said.len() == 2 && said[1].contains("This sign-in is not yours"), "{said:?}");
        accept(&mut running, &question);
        let told = end(running).await;
        assert!(told.contains(&format!("`{} ada` used the link", issuer.issuer())), "{told}");

        // The groups of a token are in the claim that the flag names.
        for (subject, may_read) in [("bob", true), ("ada", false)] {
            let client = client(subject).await;
            let read = CallRequest::call_tool("notes__read", &Raw::empty_object());
            match client.call(read).result().await {
                Ok(_) => assert!(may_read, "{subject}"),
                Err(error) => {
                    assert!(
                        !may_read && error.to_string().contains("may not be called"),
                        "{error}"
                    );
                }
            }
        }
    });
}

/// The organisation's identity provider opens a server for each of two people, with a token of their own subject; who has
/// not been there is told so, with the link. What one of them signs out of, the other keeps.
#[test]
fn the_organisation_opens_servers_for_each_person_as_that_person() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let provider = OpenId::organised_with_people(Tokens::Opaque(3600));
        let organisation = provider.organisation();
        let story = Story::new();
        let add = ["add", "-s", "user", "wiki", provider.url(), "--xaa", "--client-id", "agent"];
        story.quietly(&add);
        let setup = ["xaa", "setup", "--issuer", organisation, "--client-id", "everywhere"];
        assert!(story.quietly(&setup).status.success());
        let secret = secret_file(&story.home);
        let flags = [
            ["--auth-issuer", organisation],
            ["--auth-client-id", "hub"],
            ["--auth-client-secret-file", &secret],
        ];
        let serving = Serving::start(&story.home, &flags.concat());
        let client = async |subject: &str, able: Value| {
            let token = provider.token_of(subject, &serving.url);
            connect_able(&serving, ASKING_FACES[0], &token, &able).await.0
        };
        let call = |client: &Client, tool: &str| {
            client.call(CallRequest::call_tool(&format!("wiki__{tool}"), &Raw::empty_object()))
        };

        // A client that shows no pages.
        let plain = client("ada", json!({})).await;
        let refused = end(call(&plain, "whoami")).await;
        assert!(refused.contains("needs authentication"), "{refused}");
        let offered = end(call(&plain, "authenticate")).await;
        assert!(offered.contains("/sign-in/link/"), "{offered}");

        for subject in ["ada", "bob"] {
            let client = client(subject, json!({ "elicitation": { "form": {}, "url": {} } })).await;
            let mut running = call(&client, "whoami");
            let (question, link) = asked(&mut running).await;
            let finishing = async {
                accept(&mut running, &question);
                end(running).await
            };
            let (said, answer) = tokio::join!(visit(link, subject), finishing);
            assert!(said[2].contains("Go back to your client"), "{said:?}");
            assert_eq!(answer, subject);
        }
        for subject in ["ada", "bob"] {
            let client = client(subject, json!({})).await;
            assert_eq!(end(call(&client, "whoami")).await, subject);
        }

        // Both sign-ins are shown, and each ends by itself.
        let of_ada = format!("{organisation} ada");
        let listed = output_json(&story.home, &["accounts"])["accounts"].clone();
        let of = |who: &str| {
            let accounts = listed.as_array().unwrap().iter();
            let own = accounts.filter(|account| account["principal"] == who);
            own.map(|account| account["server"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(of(&of_ada), [organisation, "wiki"]);
        let out = story.quietly(&["logout", organisation, "--for", &of_ada]);
        assert!(out.status.success(), "{out:?}");
        let ada = client("ada", json!({})).await;
        let refused = end(call(&ada, "whoami")).await;
        assert!(refused.contains("needs authentication"), "{refused}");
        let bob = client("bob", json!({})).await;
        assert_eq!(end(call(&bob, "whoami")).await, "bob");
    });
}

/// An issuer whose codes say what its ID token is to be: `SUBJECT NONCE FAULT`.
struct Issuer {
    server: Scripted,
    _runtime: tokio::runtime::Runtime,
}

impl Issuer {
    fn open() -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let keys = Arc::new(["one", "one"].map(SigningKey::new));
        let server = runtime.block_on(Scripted::start(move |request| {
            let keys = keys.clone();
            async move { answer(&request, &keys) }
        }));
        Self { server, _runtime: runtime }
    }

    /// The form of the last request for a token, with how its client showed who it is.
    fn last_exchange(&self) -> (HashMap<String, String>, Option<String>) {
        let requests = self.server.requests();
        let request = requests.iter().rfind(|request| request.path == "/token").unwrap();
        let form = form_urlencoded::parse(&request.body).into_owned().collect();
        (form, request.header("authorization").map(str::to_owned))
    }
}

fn answer(request: &Request, [key, unknown]: &[SigningKey; 2]) -> Reply {
    let base = format!("http://{}", request.header("host").unwrap_or_default());
    let body = match request.path.as_str() {
        "/.well-known/openid-configuration" => json!({
            "issuer": base, "authorization_endpoint": format!("{base}/authorize"),
            "token_endpoint": format!("{base}/token"), "jwks_uri": format!("{base}/keys"),
            "userinfo_endpoint": format!("{base}/userinfo"), "scopes_supported": ["openid", "groups"],
            "code_challenge_methods_supported": ["S256"],
        }),
        "/keys" => json!({ "keys": [key.jwk()] }),
        "/userinfo" => {
            let token = request.header("authorization").unwrap_or_default();
            let subject = token.strip_prefix("Bearer access-of-").unwrap();
            json!({ "sub": subject, "name": "Ada", "groups": ["dev"] })
        }
        "/token" => {
            let form: HashMap<_, _> = form_urlencoded::parse(&request.body).into_owned().collect();
            let parts: Vec<&str> = form["code"].split(' ').collect();
            let (subject, nonce, fault) = (parts[0], parts[1], parts[2]);
            let mut claims = json!({
                "iss": base, "sub": subject, "aud": "us", "exp": 4_102_444_800_u64, "nonce": nonce,
            });
            let (mut head, mut signer) =
                (json!({ "alg": "ES256", "kid": "one", "typ": "JWT" }), key);
            let mut access = format!("access-of-{subject}");
            match fault {
                "nonce" => claims["nonce"] = "another".into(),
                "audience" => claims["aud"] = "them".into(),
                "issuer" => claims["iss"] = "https://evil.example".into(),
                "signature" => signer = unknown,
                "kind" => head["typ"] = "at+jwt".into(),
                "expired" => claims["exp"] = 1.into(),
                "userinfo" => "access-of-bob".clone_into(&mut access),
                _ => {}
            }
            let id_token = signer.sign(&head, &claims);
            json!({ "access_token": access, "token_type": "Bearer", "id_token": id_token })
        }
        _ => return Reply::empty(404),
    };
    Reply::json(200, body.to_string())
}

struct Scene {
    issuer: Issuer,
    serving: Serving,
    _home: Home,
}

impl Scene {
    fn new() -> Self {
        let (issuer, home) = (Issuer::open(), Home::new());
        let secret = secret_file(&home);
        let flags = ["--auth-client-id", "us", "--auth-client-secret-file", &secret];
        let url = issuer.server.url("");
        let flags = [&["--auth-issuer", &url], &flags[..]].concat();
        let serving = Serving::start(&home, &flags);
        Self { issuer, serving, _home: home }
    }
}

/// Sends a browser to the issuer; returns the page there.
fn leave_for_issuer(browser: &mut Browser<'_>, next: &str) -> Url {
    let query = form_urlencoded::Serializer::new(String::new()).append_pair("next", next).finish();
    let (status, answer) = browser.get(&format!("/sign-in/issuer?{query}"));
    assert_eq!(status, 303, "{answer}");
    location(&answer).unwrap().parse().unwrap()
}

fn location(answer: &str) -> Option<String> {
    answer.lines().find_map(|line| line.strip_prefix("location: ")).map(str::to_owned)
}

/// The value of a query's field.
fn field(url: &Url, name: &str) -> String {
    let mut found = url.query_pairs().filter(|(key, _)| key == name);
    let (_, value) = found.next().unwrap_or_else(|| panic!("{name} in {url}"));
    assert!(found.next().is_none(), "{name} in {url}");
    value.into_owned()
}

/// Where the issuer sends a browser back to, as `subject` and with a fault.
fn back(page: &Url, subject: &str, fault: &str) -> Url {
    back_from(page, &[("code", &format!("{subject} {} {fault}", field(page, "nonce")))])
}

#[test]
fn a_browser_that_comes_back_from_the_issuer_belongs_to_the_person_it_names() {
    let scene = Scene::new();
    let mut browser = Browser::new(&scene.serving);
    let origin = browser.origin();
    let page = leave_for_issuer(&mut browser, "/sign-in/link/none");
    let callback = format!("{origin}/sign-in/issuer/callback");
    for (name, value) in [
        ("redirect_uri", callback.as_str()),
        ("response_type", "code"),
        ("client_id", "us"),
        ("code_challenge_method", "S256"),
        ("scope", "openid groups"),
    ] {
        assert_eq!(field(&page, name), value);
    }
    let cookies = browser.cookies.clone();
    let shown = format!("{cookies:?}");
    assert!(!shown.contains(&field(&page, "state")) && !shown.contains(&field(&page, "nonce")));
    let come_back = back(&page, "ada", "none");
    let (status, answer) = browser.get(come_back.as_str());
    assert_eq!((status, location(&answer)), (303, Some(format!("{origin}/sign-in/link/none"))));
    let names: Vec<_> =
        browser.cookies.keys().map(|name| name.split("-1").next().unwrap()).collect();
    assert_eq!(browser.cookies.len(), 1, "the visit is over: {names:?}");
    assert!(browser.cookies.keys().all(|name| name.starts_with("switchboard-session-")));
    // Only the program that began the sign-in could redeem the code.
    let (form, client) = scene.issuer.last_exchange();
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&form["code_verifier"]));
    assert_eq!(challenge, field(&page, "code_challenge"));
    assert_eq!(form["redirect_uri"], callback);
    assert!(client.is_some_and(|client| client.starts_with("Basic ")));
    // The browser is signed in now: it is told that there is no such link, and is not asked whose it is.
    assert_eq!(browser.get("/sign-in/link/none").0, 404);
    // Nothing leads away from this address.
    for away in ["//evil.example/x", "https://evil.example", "/\\evil.example"] {
        let mut browser = Browser::new(&scene.serving);
        let page = leave_for_issuer(&mut browser, away);
        let (status, answer) = browser.get(back(&page, "ada", "none").as_str());
        assert_eq!((status, location(&answer)), (200, None), "{answer}");
    }
}

#[test]
fn a_response_is_good_once_for_the_browser_that_asked_for_it() {
    let scene = Scene::new();
    let mut browser = Browser::new(&scene.serving);
    let page = leave_for_issuer(&mut browser, "/");
    let come_back = back(&page, "ada", "none");
    let waiting = browser.cookies.clone();
    let refuse = |browser: &mut Browser<'_>, address: &Url, why: &str| {
        let before = browser.cookies.clone();
        let (status, answer) = browser.get(address.as_str());
        assert!((400..600).contains(&status) && answer.contains(why), "{why}: {status} {answer}");
        let has_session =
            browser.cookies.keys().any(|name| name.starts_with("switchboard-session"));
        assert!(!has_session, "{why}");
        before == browser.cookies
    };
    let no_visit = "began no such sign-in";
    // Another browser, with the address that the issuer gave this one: a login that somebody would force on it.
    let mut other = Browser::new(&scene.serving);
    refuse(&mut other, &come_back, no_visit);
    leave_for_issuer(&mut other, "/");
    refuse(&mut other, &come_back, no_visit);
    // A response to another request does not end the visit of this browser.
    let mut forged = come_back.clone();
    forged.query_pairs_mut().clear().extend_pairs([("code", "ada x none"), ("state", "forged")]);
    assert!(refuse(&mut browser, &forged, no_visit));
    let mut twice = come_back.clone();
    twice.query_pairs_mut().append_pair("state", "forged");
    assert!(refuse(&mut browser, &twice, no_visit));
    assert_eq!(browser.get(come_back.as_str()).0, 303);
    // The same response with the same cookie once more.
    browser.cookies = waiting;
    refuse(&mut browser, &come_back, no_visit);
}

#[test]
fn an_issuer_whose_answer_is_wrong_signs_nobody_in() {
    let scene = Scene::new();
    let check = |change: &dyn Fn(&Url) -> Url, why: &str| {
        let mut browser = Browser::new(&scene.serving);
        let page = leave_for_issuer(&mut browser, "/");
        let (status, answer) = browser.get(change(&page).as_str());
        assert!((400..600).contains(&status) && answer.contains(why), "{why}: {status} {answer}");
        assert!(browser.cookies.is_empty(), "{why}: {:?}", browser.cookies);
    };
    for (fault, why) in [
        ("nonce", "does not answer this request"),
        ("audience", "for another resource"),
        ("issuer", "issued by another issuer"),
        ("signature", "signature is wrong"),
        ("kind", "a token of another kind"),
        ("expired", "has expired"),
        ("userinfo", "describes another person"),
    ] {
        check(&|page| back(page, "ada", fault), why);
    }
    let answered = |page: &Url, more: (&str, &str)| {
        let mut back = back(page, "ada", "none");
        back.query_pairs_mut().append_pair(more.0, more.1);
        back
    };
    check(&|page| answered(page, ("iss", "https://evil.example")), "another authorization server");
    check(&|page| answered(page, ("code", "other")), "twice");
    check(&|page| back_from(page, &[("error", "access_denied")]), "did not agree");
    check(&|page| back_from(page, &[("error", "login_required")]), "login_required");
}
