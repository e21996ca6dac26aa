//! Tests of the console for the people of `serve`: who gets what at each address, as data, through the real server.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_testkit::http::Scripted;
use switchboard_testkit::openid::node;
use switchboard_wire::Version;
use switchboard_wire::client::Client;

use crate::Story;
use crate::guarding::{Serving, json as output_json};
use crate::own_sign_ins::account;
use crate::principals::connect;
use crate::sign_in_links::{Browser, one_time_code};
use crate::signed_out::{Bank, Era};
use crate::signing_in::by_hand;

const API: &str = "/console/api/v1";
const FACE: (&str, Version) = ("mcp", Version::LATEST_LEGACY);

/// What a browser gets that is signed in as nobody, as a user, and as an administrator.
const ROUTES: [(&str, [u16; 3]); 11] = [
    ("GET /me", [401, 200, 200]),
    ("GET /status", [401, 200, 200]),
    ("GET /activity", [401, 200, 200]),
    ("GET /activity?calls=5&server=web", [401, 200, 200]),
    ("GET /accounts", [401, 200, 200]),
    ("DELETE /accounts/0123", [401, 404, 404]),
    ("GET /questions", [401, 200, 200]),
    ("POST /questions/q1", [401, 400, 400]),
    ("GET /traffic", [401, 403, 200]),
    ("GET /servers", [401, 403, 200]),
    ("PUT /me", [401, 403, 403]),
];

/// Further requests of the page of the admin API that have an address here, too.
const OTHERS: [&str; 2] = ["GET /events", "POST /questions/xquestionx"];

/// A switchboard with a server to sign in to, and tokens of three people; one of them is an administrator.
struct Scene {
    story: Story,
    serving: Serving,
    tokens: [String; 3],
    _server: Scripted,
}

// === impl Scene ===

impl Scene {
    fn new(runtime: &tokio::runtime::Runtime) -> Self {
        Self::with_settings(runtime, &json!({}))
    }

    fn with_settings(runtime: &tokio::runtime::Runtime, settings: &Value) -> Self {
        let bank = Arc::new(Bank::new(Era::Modern));
        let server = runtime.block_on(Scripted::start(move |request| {
            let bank = bank.clone();
            async move { bank.answer(&request) }
        }));
        let mut story = Story::new();
        story.quietly(&["add", "-s", "user", "web", &server.url("/mcp")]);
        let path = story.home.path().join(".config/switchboard/settings.json");
        let mut all: Value =
            serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        all["admins"] = json!([{ "group": "ops" }]);
        all.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        std::fs::write(&path, all.to_string()).unwrap();
        let login = ["login", "web", "--no-browser"];
        by_hand(&mut story, &login, &[("code", "c")]);
        for who in ["user:ada", "user:bob"] {
            by_hand(&mut story, &[&login[..], &["--for", who]].concat(), &[("code", "c")]);
        }
        let tokens = [("ada", "dev"), ("bob", "dev"), ("carol", "ops")].map(|(user, group)| {
            let create = ["token", "create", "--user", user, "--group", group];
            output_json(&story.home, &create)["token"].as_str().unwrap().to_owned()
        });
        let serving = Serving::start(&story.home, &["--auth", "token"]);
        Self { story, serving, tokens, _server: server }
    }

    /// Browsers of the three people.
    fn browsers(&self) -> [Browser<'_>; 3] {
        self.tokens.each_ref().map(|token| {
            let mut browser = Browser::new(&self.serving);
            browser.enter_console(&one_time_code(&self.serving, token));
            browser
        })
    }

    async fn client(&self, token: &str) -> Client {
        connect(&self.serving, FACE, token).await.0
    }
}

/// What a browser reads at a path of the API.
fn read(browser: &mut Browser<'_>, path: &str) -> Value {
    let (status, answer) = browser.send(&format!("GET {API}{path}"), &[], "");
    assert_eq!(status, 200, "{answer}");
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    let (start, end) = (body.find('{').unwrap(), body.rfind('}').unwrap());
    serde_json::from_str(&body[start..=end]).unwrap_or_else(|_| panic!("{body}"))
}

/// The values of a member in a list, each once.
fn values(told: &Value, list: &str, member: &str) -> Vec<String> {
    let items = told[list].as_array().unwrap_or_else(|| panic!("{told}"));
    let mut values: Vec<_> =
        items.iter().map(|item| item[member].as_str().unwrap().to_owned()).collect();
    values.sort();
    values.dedup();
    values
}

/// Every request of the page of the admin API.
fn documented() -> Vec<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/admin.md");
    let page = std::fs::read_to_string(page).unwrap();
    let methods = ["GET", "POST", "PUT", "DELETE"];
    let requests = page.lines().filter_map(|line| {
        let (method, path) = line.split_once(" /api/v1")?;
        methods.contains(&method).then(|| format!("{method} {path}"))
    });
    requests.map(|request| request.replace(['{', '}'], "x")).collect()
}

#[test]
fn every_route_says_what_each_gets_and_others_are_for_nobody() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let scene = Scene::new(&runtime);
    let [mut ada, _, mut carol] = scene.browsers();
    let mut nobody = Browser::new(&scene.serving);
    let origin = ada.origin();
    let own = [("origin", origin.as_str())];
    for (request, expected) in ROUTES {
        let (method, path) = request.split_once(' ').unwrap();
        let what = format!("{method} {API}{path}");
        let got = [&mut nobody, &mut ada, &mut carol].map(|it| it.send(&what, &own, "").0);
        assert_eq!(got, expected, "{request}");
        // Another page can have a browser do nothing, and read nothing.
        let foreign = [("origin", "https://evil.example")];
        assert_eq!(ada.send(&what, &foreign, "").0, 403, "{request} by another page");
        if method != "GET" {
            assert_eq!(ada.send(&what, &[], "").0, 403, "{request} without an origin");
        }
    }
    let known: Vec<_> = ROUTES.iter().map(|(request, _)| request.split('?').next()).collect();
    let requests = documented();
    assert!(requests.len() > 40, "{requests:?}");
    for request in requests {
        let path = request.split('?').next();
        if known.contains(&path) || path.is_some_and(|path| OTHERS.contains(&path)) {
            continue;
        }
        let (method, path) = request.split_once(' ').unwrap();
        for browser in [&mut ada, &mut carol] {
            let (status, answer) = browser.send(&format!("{method} {API}{path}"), &own, "{}");
            assert_eq!(status, 403, "{request}: {answer}");
            // The API of the person who runs the hub knows no browser of anybody else.
            let (status, answer) = browser.send(&format!("{method} /api/v1{path}"), &own, "{}");
            assert_eq!(status, 401, "{request}: {answer}");
        }
    }
    // Neither does this one know the token of that one, nor tokens of clients.
    let state = scene.story.home.path().join(".local/state/switchboard");
    let admin_token = std::fs::read_to_string(state.join("admin-token")).unwrap();
    for token in [admin_token.trim(), &scene.tokens[2]] {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str())];
        assert_eq!(scene.serving.send(&format!("GET {API}/me"), &headers, "").0, 401);
    }
}

#[test]
fn people_see_what_is_theirs_and_administrators_whose_the_rest_is() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let scene = Scene::new(&runtime);
    let [mut ada, mut bob, mut carol] = scene.browsers();
    runtime.block_on(async {
        let clients = [scene.client(&scene.tokens[0]).await, scene.client(&scene.tokens[1]).await];
        for (client, expected) in clients.iter().zip(["access-2", "access-3"]) {
            assert_eq!(account(client).await.as_deref(), Ok(expected));
        }
        let local = scene.story.quietly(&["call", "web/whoami"]);
        assert!(local.status.success(), "{local:?}");
        let all = ["local", "user:ada", "user:bob"];
        for (browser, role, who, accounts) in [
            (&mut ada, "user", &["user:ada"][..], &["user:ada"][..]),
            (&mut bob, "user", &["user:bob"], &["user:bob"]),
            (&mut carol, "admin", &all, &all),
        ] {
            assert_eq!(read(browser, "/me")["role"], role);
            let calls = read(browser, "/activity");
            assert_eq!(values(&calls, "calls", "principal"), who);
            let named = read(browser, "/accounts");
            assert_eq!(values(&named, "accounts", "principal"), accounts);
            let clients = values(&read(browser, "/status"), "attached", "principal");
            assert!(clients.iter().all(|client| who.contains(&&**client)), "{clients:?}");
            assert!(clients.contains(&who.last().unwrap().to_string()), "{clients:?}");
            for told in [&calls, &named] {
                let text = told.to_string();
                let folder = scene.story.path("");
                assert!(!text.contains(folder.to_str().unwrap()), "{text}");
                assert!(!text.contains("access-") && !text.contains("workspace"), "{text}");
            }
        }
        let servers = read(&mut carol, "/servers");
        assert_eq!(values(&servers, "servers", "name"), ["web"]);
        assert!(!servers.to_string().contains("127.0.0.1"), "an entry is shown: {servers}");
        assert_eq!(read(&mut carol, "/traffic")["total"]["calls"], 3);

        // Nobody signs another out, administrators included.
        let origin = ada.origin();
        let own = [("origin", origin.as_str())];
        let accounts = read(&mut carol, "/accounts");
        let id = |who: &str| {
            let accounts = accounts["accounts"].as_array().unwrap().iter();
            let mut found = accounts.filter(|account| account["principal"] == who);
            found.next().unwrap()["id"].as_str().unwrap().to_owned()
        };
        let end = |id: &str| format!("DELETE {API}/accounts/{id}");
        for browser in [&mut bob, &mut carol] {
            assert_eq!(browser.send(&end(&id("user:ada")), &own, "").0, 404);
        }
        let (status, answer) = ada.send(&end(&id("user:ada")), &own, "");
        assert_eq!(status, 200, "{answer}");
        assert!(account(&clients[0]).await.is_err(), "a client uses an account that has ended");
        assert_eq!(account(&clients[1]).await.as_deref(), Ok("access-3"));
        let left = output_json(&scene.story.home, &["accounts"]);
        assert_eq!(values(&left, "accounts", "principal"), ["local", "user:bob"]);
    });
}

#[test]
fn a_page_follows_calls_of_its_own_person_until_the_token_is_revoked() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let scene = Scene::new(&runtime);
    let [ada, _, carol] = scene.browsers();
    let [mut of_ada, mut of_carol] = [&ada, &carol].map(|browser| follow(browser, ""));
    runtime.block_on(async {
        for token in [&scene.tokens[1], &scene.tokens[0]] {
            account(&scene.client(token).await).await.unwrap();
        }
    });
    assert_eq!(event(&mut of_ada, "called")["principal"], "user:ada");
    assert_eq!(event(&mut of_carol, "called")["principal"], "user:bob");
    assert_eq!(event(&mut of_carol, "called")["principal"], "user:ada");
    let tokens = output_json(&scene.story.home, &["token", "list"]);
    let tokens = tokens["tokens"].as_array().unwrap().iter();
    let id = tokens.clone().find(|token| token["user"] == "ada").unwrap()["id"].clone();
    scene.story.quietly(&["token", "revoke", id.as_str().unwrap()]);
    let mut rest = String::new();
    of_ada.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("event:"), "{rest}");
}

/// A call that needs permission, of a client that cannot be asked: its own person is asked in the console.
#[test]
fn people_answer_their_own_questions() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let ask = json!({ "permissions": { "ask": ["mcp__web__whoami"] } });
    let scene = Scene::with_settings(&runtime, &ask);
    let [mut ada, mut bob, mut carol] = scene.browsers();
    let mut of_ada = follow(&ada, "?attend=1");
    let of_others = [&bob, &carol].map(|browser| follow(browser, "?attend=1"));
    runtime.block_on(async {
        let client = scene.client(&scene.tokens[0]).await;
        let asking = tokio::spawn(async move { (account(&client).await, client) });
        let (question, ada_told) = tokio::task::spawn_blocking(move || {
            let question = event(&mut of_ada, "question");
            (question, of_ada)
        })
        .await
        .unwrap();
        of_ada = ada_told;
        assert_eq!(question["about"]["tool"], "mcp__web__whoami", "{question}");
        let id = question["id"].as_str().unwrap();
        assert_eq!(read(&mut ada, "/questions")["questions"][0]["id"], id);
        let what = format!("POST {API}/questions/{id}");
        let origin = ada.origin();
        let own = [("origin", origin.as_str())];
        let allow = |remember: &str| json!({ "action": "allow", "remember": remember }).to_string();
        for browser in [&mut bob, &mut carol] {
            assert_eq!(read(browser, "/questions")["questions"], json!([]));
            assert_eq!(browser.send(&what, &own, &allow("once")).0, 404);
        }
        // The person who runs the hub is not asked either.
        tokio::task::block_in_place(|| {
            let hub = crate::admin::Hub::of(&scene.story.home);
            let (status, answer) = hub.ask("GET", "/api/v1/questions", "");
            let listed = crate::admin::object(answer);
            assert_eq!((status, &listed["questions"]), (200, &json!([])));
        });
        // What lasts is not for them to say.
        assert_eq!(ada.send(&what, &own, &allow("always")).0, 403);
        let (status, answer) = ada.send(&what, &own, &allow("session"));
        assert_eq!(status, 204, "{answer}");
        let (answered, client) = asking.await.unwrap();
        assert_eq!(answered.as_deref(), Ok("access-2"));
        assert_eq!(event(&mut of_ada, "answered")["id"], id);
        // For the session, that is.
        assert_eq!(account(&client).await.as_deref(), Ok("access-2"));
        // Without a page that attends, nobody is waited for.
        let of_carol = scene.client(&scene.tokens[2]).await;
        drop(of_others);
        assert!(account(&of_carol).await.is_err());
    });
}

/// Follows the events of a browser.
fn follow(browser: &Browser<'_>, query: &str) -> BufReader<TcpStream> {
    let address = browser.origin().strip_prefix("http://").unwrap().to_owned();
    let mut stream = TcpStream::connect(&address).unwrap();
    let cookie = browser.cookie_header().unwrap();
    let request = format!(
        "GET {API}/events{query} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncookie: {cookie}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = BufReader::new(stream);
    let mut line = String::new();
    while !line.starts_with("event: ready") {
        line.clear();
        assert!(answer.read_line(&mut line).unwrap() > 0, "the stream has ended");
    }
    answer
}

/// The data of the next event of this name.
fn event(answer: &mut BufReader<TcpStream>, name: &str) -> Value {
    let (mut line, wanted) = (String::new(), format!("event: {name}"));
    while line.trim_end() != wanted {
        line.clear();
        assert!(answer.read_line(&mut line).unwrap() > 0, "the stream has ended");
    }
    line.clear();
    answer.read_line(&mut line).unwrap();
    serde_json::from_str(line.strip_prefix("data: ").unwrap()).unwrap()
}

#[test]
fn a_browser_is_signed_in_at_the_page_and_out_again() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let scene = Scene::new(&runtime);
    let mut browser = Browser::new(&scene.serving);
    let (status, answer) = browser.send("GET /console/", &[], "");
    assert!(status == 303 && answer.contains("location: /sign-in/browser"), "{answer}");
    let (status, page) = browser.get("/sign-in/browser");
    assert!(status == 200 && page.contains("Whose browser"), "{page}");
    browser.enter_console(&one_time_code(&scene.serving, &scene.tokens[0]));
    let (status, page) = browser.send("GET /console/", &[], "");
    assert!(status == 200 && page.contains("/console/app.js"), "{page}");
    assert!(page.contains("frame-src 'none'") && page.contains("script-src 'self'"), "{page}");
    let origin = browser.origin();
    assert_eq!(browser.send("POST /sign-in/leave", &[("origin", &origin)], "").0, 200);
    assert_eq!(browser.send("GET /console/", &[], "").0, 303);
}

/// Beyond this machine a cookie is not sent where others can read it.
#[test]
fn without_tls_there_is_no_console_beyond_this_machine() {
    let story = Story::new();
    output_json(&story.home, &["token", "create", "--user", "ada"]);
    let serving = Serving::start(&story.home, &["--listen", "0.0.0.0:0"]);
    for path in ["/console/", "/console/api/v1/me", "/console/app.js"] {
        assert_eq!(serving.send(&format!("GET {path}"), &[], "").0, 404, "{path}");
    }
}

/// A person at the console, in a real browser.
struct Page {
    driver: Child,
    /// Nothing more to do is the end of it.
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Page {
    fn new(scene: &Scene, token: &str) -> Self {
        let url = scene.serving.url.replace("/mcp", "/console/");
        let mut driver = node("console.mjs");
        driver.args([&url, &one_time_code(&scene.serving, token)]);
        let mut driver = driver.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (to, from) = (driver.stdin.take(), driver.stdout.take().unwrap());
        let mut page = Self { driver, to, from: BufReader::new(from) };
        page.hear("open");
        page
    }

    fn does(&mut self, step: &str, mut how: Value) -> Value {
        how["do"] = step.into();
        writeln!(self.to.as_mut().unwrap(), "{how}").unwrap();
        self.hear(step)
    }

    fn hear(&mut self, step: &str) -> Value {
        let mut line = String::new();
        assert!(self.from.read_line(&mut line).unwrap() > 0, "{step}: the browser has ended");
        let said: Value = serde_json::from_str(&line).unwrap();
        assert!(said["error"].is_null(), "{step}: {}", said["error"].as_str().unwrap_or_default());
        said["ok"].clone()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // The driver closes its browser, which would outlive it if it were killed.
        drop(self.to.take());
        let _ = self.driver.wait();
    }
}

#[test]
fn two_people_look_at_one_switchboard() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let ask = json!({ "permissions": { "ask": ["mcp__web__whoami"] } });
    let scene = Scene::with_settings(&runtime, &ask);
    let [mut ada, mut carol] = [0, 2].map(|person| Page::new(&scene, &scene.tokens[person]));
    let views = ["Clients", "Calls", "Questions", "Accounts"];
    ada.does("has", json!({ "views": views, "shows": { "Accounts": ["you", "web"] } }));
    runtime.block_on(async {
        let client = scene.client(&scene.tokens[0]).await;
        let asking = tokio::spawn(async move { (account(&client).await, client) });
        let answer = json!({ "shows": "mcp__web__whoami", "by": "test", "button": "Allow for this session" });
        tokio::task::block_in_place(|| ada.does("answer", answer));
        let (answered, _client) = asking.await.unwrap();
        assert_eq!(answered.as_deref(), Ok("access-2"));
        tokio::task::block_in_place(|| {
            let shows = json!({ "Clients": ["you", "web 1 call"], "Calls": ["mcp__web__whoami"] });
            ada.does("has", json!({ "views": views, "shows": shows }));
            ada.does("hasNot", json!({ "views": views, "texts": ["user:bob", "local"] }));
            let admin = ["Clients", "Calls", "Questions", "Accounts", "Servers"];
            let shows = json!({ "Clients": ["user:ada"], "Calls": ["mcp__web__whoami"],
                "Accounts": ["user:ada", "user:bob", "local"], "Servers": ["web", "1 call"] });
            carol.does("has", json!({ "views": admin, "shows": shows }));
            carol.does("everywhere", json!({ "views": admin, "widths": [360, 1440] }));
        });
    });
    ada.does("leavesConsole", json!({}));
    for page in [&mut ada, &mut carol] {
        assert_eq!(page.does("complaints", json!({})), json!([]));
    }
}
