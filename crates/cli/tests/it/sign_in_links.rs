//! Tests of the links with which people of other machines sign in to servers: a call asks with a link and goes on by
//! itself, and a link serves the browser of its own person and no other.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_testkit::http::Scripted;
use switchboard_wire::Version;
use switchboard_wire::client::{CallRequest, Client, Exchange, ExchangeEvent, InputRequest};
use switchboard_wire::json::Raw;
use url::{Url, form_urlencoded};

use crate::Story;
use crate::guarding::{Serving, json as output_json};
use crate::own_sign_ins::{account, user_token};
use crate::principals::{connect, connect_able};
use crate::signed_out::{Bank, Era};
use crate::signing_in::back_from;

/// The faces and versions in which a server can ask for a visit to a page.
pub(crate) const ASKING_FACES: [(&str, Version); 3] =
    [("mcp", Version::LATEST_LEGACY), ("mcp", Version::LATEST), ("ws", Version::LATEST_LEGACY)];
/// A face without such a question.
const PLAIN_FACE: (&str, Version) = ("sse", Version::V2024_11_05);

/// A switchboard with one server to sign in to, and two people who use it from elsewhere.
struct Scene {
    story: Story,
    serving: Serving,
    ada: String,
    bob: String,
    _server: Scripted,
}

impl Scene {
    async fn new(era: Era) -> Self {
        let bank = Arc::new(Bank::new(era));
        let server = Scripted::start(move |request| {
            let bank = bank.clone();
            async move { bank.answer(&request) }
        });
        let server = server.await;
        let story = Story::new();
        story.quietly(&["add", "-s", "user", "web", &server.url("/mcp")]);
        let [ada, bob] = ["ada", "bob"].map(|user| user_token(&story.home, user));
        let serving = Serving::start(&story.home, &["--auth", "token"]);
        Self { story, serving, ada, bob, _server: server }
    }

    fn browser(&self) -> Browser<'_> {
        Browser::new(&self.serving)
    }

    /// A client that can show pages.
    async fn client(&self, face: (&str, Version), token: &str) -> Client {
        let able = json!({ "elicitation": { "form": {}, "url": {} } });
        connect_able(&self.serving, face, token, &able).await.0
    }
}

/// A browser, with the cookies of this address.
pub(crate) struct Browser<'a> {
    serving: &'a Serving,
    /// Values by name.
    pub(crate) cookies: BTreeMap<String, String>,
}

impl<'a> Browser<'a> {
    pub(crate) fn new(serving: &'a Serving) -> Self {
        Self { serving, cookies: BTreeMap::new() }
    }

    pub(crate) fn send(
        &mut self,
        what: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (u16, String) {
        let origin = self.origin();
        let cookie = self.cookie_header();
        let host = ("host", origin.strip_prefix("http://").unwrap());
        let cookie = cookie.iter().map(|cookie| ("cookie", cookie.as_str()));
        let headers: Vec<_> = headers.iter().copied().chain([host]).chain(cookie).collect();
        let (status, answer) = self.serving.send(what, &headers, body);
        for set in answer.lines().filter_map(|line| line.strip_prefix("set-cookie: ")) {
            let (name, value) = set.split(';').next().unwrap().split_once('=').unwrap();
            self.cookies.insert(name.to_owned(), value.to_owned());
            self.cookies.retain(|_, value| !value.is_empty());
        }
        (status, answer)
    }

    /// The value of the header with all cookies.
    pub(crate) fn cookie_header(&self) -> Option<String> {
        let cookies = self.cookies.iter().map(|(name, value)| format!("{name}={value}"));
        cookies.reduce(|all, next| format!("{all}; {next}"))
    }

    pub(crate) fn get(&mut self, url: &str) -> (u16, String) {
        self.send(&format!("GET {}", path_of(url)), &[], "")
    }

    fn submit(&mut self, path: &str, origin: &str, fields: &[(&str, &str)]) -> (u16, String) {
        let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.send(&format!("POST {path}"), &[("origin", origin)], &form)
    }

    pub(crate) fn origin(&self) -> String {
        self.serving.url.strip_suffix("/mcp").unwrap().to_owned()
    }

    /// Signs the browser in at the page of a link, with a code for a token.
    fn enter(&mut self, link: &str, token: &str) {
        self.enter_code(link, &one_time_code(self.serving, token));
    }

    /// Types a code at the page of a link.
    pub(crate) fn enter_code(&mut self, link: &str, code: &str) {
        let origin = self.origin();
        let (status, answer) =
            self.submit("/sign-in/enter", &origin, &[("next", path_of(link)), ("code", code)]);
        assert_eq!(status, 303, "{answer}");
        assert!(answer.contains(&format!("location: {link}")), "{answer}");
    }

    /// Types a code at the page that leads to the console.
    pub(crate) fn enter_console(&mut self, code: &str) {
        let origin = self.origin();
        let (status, answer) =
            self.submit("/sign-in/enter", &origin, &[("next", "/console/"), ("code", code)]);
        assert!(
            status == 303 && answer.contains(&format!("location: {origin}/console/")),
            "{answer}"
        );
    }

    /// The page of the server's authorization server, to which the page of a link leads.
    pub(crate) fn page_of(&mut self, link: &str) -> Url {
        let (status, page) = self.get(link);
        assert_eq!(status, 200, "{page}");
        let href = page.split("href=\"").nth(1).unwrap_or_else(|| panic!("{page}"));
        href.split('"').next().unwrap().replace("&amp;", "&").parse().unwrap()
    }
}

/// The path of a link.
fn path_of(link: &str) -> &str {
    &link[link.find("/sign-in/").unwrap_or_else(|| panic!("{link}"))..]
}

pub(crate) fn one_time_code(serving: &Serving, token: &str) -> String {
    let bearer = format!("Bearer {token}");
    let (status, answer) = serving.send("POST /sign-in-code", &[("authorization", &bearer)], "");
    assert_eq!(status, 200, "{answer}");
    answer.lines().last().unwrap().to_owned()
}

/// The question of a call, and the link in it.
pub(crate) async fn asked(running: &mut Exchange) -> (InputRequest, String) {
    loop {
        match running.next().await.unwrap() {
            ExchangeEvent::NeedsInput(mut questions) => {
                let question = questions.remove(0);
                let params: Value = question.params.decode().unwrap();
                assert_eq!(params["mode"], "url", "{params}");
                return (question, params["url"].as_str().unwrap().to_owned());
            }
            ExchangeEvent::Done(result) => panic!("{result}"),
            _ => {}
        }
    }
}

fn whoami(client: &Client) -> Exchange {
    client.call(CallRequest::call_tool("web__whoami", &Raw::empty_object()))
}

pub(crate) fn accept(running: &mut Exchange, question: &InputRequest) {
    let accepted = Raw::from_value(&json!({ "action": "accept" })).unwrap();
    running.answer(vec![question.answer(accepted)]);
}

/// The end of a call, as text.
pub(crate) async fn end(running: Exchange) -> String {
    match running.result().await {
        Ok(result) => {
            let result: Value = result.decode().unwrap();
            result["content"][0]["text"].as_str().unwrap().to_owned()
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_call_asks_with_a_link_and_goes_on_by_itself() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        for (era, face) in [Era::Modern, Era::Legacy].into_iter().zip(ASKING_FACES.iter().cycle()) {
            let scene = Scene::new(era).await;
            let client = scene.client(*face, &scene.ada).await;
            let mut running = whoami(&client);
            let (question, link) = asked(&mut running).await;
            let mut browser = scene.browser();
            browser.enter(&link, &scene.ada);
            let back = back_from(&browser.page_of(&link), &[("code", "c")]);
            let ended = async {
                accept(&mut running, &question);
                end(running).await
            };
            let (status, page) = browser.get(back.as_str());
            assert_eq!(status, 200, "{page}");
            assert_eq!(ended.await, "access-1", "{face:?} {era:?}");
            // Everywhere, for her and for nobody else.
            for face in ASKING_FACES {
                let other = scene.client(face, &scene.ada).await;
                assert_eq!(account(&other).await.as_deref(), Ok("access-1"), "{face:?} {era:?}");
                let of_bob = scene.client(face, &scene.bob).await;
                let mut running = whoami(&of_bob);
                let (question, of_bob) = asked(&mut running).await;
                assert_ne!(of_bob, link);
                running.answer(vec![question.refuse("no")]);
                assert!(end(running).await.contains("needs authentication"));
            }
            let local = scene.story.quietly(&["call", "web/whoami"]);
            assert_eq!(local.status.code(), Some(3), "{local:?}");
            let listed = output_json(&scene.story.home, &["accounts"]);
            let accounts = listed["accounts"].as_array().unwrap().iter();
            let who: Vec<_> = accounts.map(|account| account["principal"].clone()).collect();
            assert_eq!(who, ["user:ada"]);
        }
    });
}

/// A sign-in that is lent is used by others, and not replaced: else one of them could have everybody act as them.
#[test]
fn nobody_else_replaces_a_sign_in_that_is_lent() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let scene = Scene::new(Era::Modern).await;
        let settings = scene.story.home.path().join(".config/switchboard/settings.json");
        let text = std::fs::read_to_string(&settings).unwrap();
        let mut lent: Value = serde_json::from_str(&text).unwrap();
        lent["mcpServers"]["web"]["signIn"] = "shared".into();
        let authenticate = || CallRequest::call_tool("web__authenticate", &Raw::empty_object());
        let client = connect(&scene.serving, PLAIN_FACE, &scene.ada).await.0;
        assert!(end(client.call(authenticate())).await.contains("/sign-in/link/"));
        std::fs::write(&settings, lent.to_string()).unwrap();
        let mut said = end(client.call(authenticate())).await;
        while said.contains("/sign-in/link/") {
            // The hub has not read the settings yet.
            said = end(client.call(authenticate())).await;
        }
        assert!(said.contains("lends its own sign-in"), "{said}");
        assert!(!said.contains("http"), "{said}");
        let able = scene.client(ASKING_FACES[0], &scene.ada).await;
        let mut running = whoami(&able);
        loop {
            match running.next().await {
                Ok(ExchangeEvent::NeedsInput(asked)) => panic!("{asked:?}"),
                Ok(ExchangeEvent::Done(result)) => panic!("{result}"),
                Ok(_) => {}
                Err(error) => break assert!(error.to_string().contains("needs authentication")),
            }
        }
    });
}

/// The tool `authenticate` gives the link to a client that can show no page.
#[test]
fn a_client_that_shows_no_pages_gets_the_link_as_text() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let scene = Scene::new(Era::Modern).await;
        let client = connect(&scene.serving, PLAIN_FACE, &scene.ada).await.0;
        assert!(account(&client).await.unwrap_err().contains("needs authentication"));
        let authenticate = || CallRequest::call_tool("web__authenticate", &Raw::empty_object());
        let link =
            |text: &str| text.lines().find(|line| line.starts_with("http")).unwrap().to_owned();
        let text = end(client.call(authenticate())).await;
        let first = link(&text);
        assert_eq!(link(&end(client.call(authenticate())).await), first, "one sign-in at a time");
        // Bob opens the link that was sent to Ada: nothing happens, and she hears of it.
        let mut bob = scene.browser();
        bob.enter(&first, &scene.bob);
        let (status, page) = bob.get(&first);
        assert!(status == 403 && page.contains("not yours"), "{page}");
        let mut text = end(client.call(authenticate())).await;
        while !text.contains("The last sign-in failed") {
            // The sign-in ends a moment after the link.
            text = end(client.call(authenticate())).await;
        }
        assert!(text.contains("`user:bob` used the link"), "{text}");
        let mut ada = scene.browser();
        let link = link(&text);
        ada.enter(&link, &scene.ada);
        let back = back_from(&ada.page_of(&link), &[("code", "c")]);
        assert_eq!(ada.get(back.as_str()).0, 200);
        let mut found = account(&client).await;
        while found.is_err() {
            found = account(&client).await;
        }
        assert_eq!(found.as_deref(), Ok("access-1"));
    });
}

#[test]
fn a_link_serves_no_browser_but_that_of_its_person() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let scene = Scene::new(Era::Modern).await;
        let client = scene.client(ASKING_FACES[1], &scene.ada).await;

        // Stolen: a browser that is signed out is told nothing, and one of another is refused.
        let mut running = whoami(&client);
        let (question, link) = asked(&mut running).await;
        let mut thief = scene.browser();
        let (status, page) = thief.get(&link);
        assert!(status == 200 && !page.contains("authorize") && !page.contains("ada"), "{page}");
        thief.enter(&link, &scene.bob);
        let (status, page) = thief.get(&link);
        assert!(status == 403 && page.contains("not yours"), "{page}");
        assert!(!page.contains("authorize") && !page.contains("ada"), "{page}");
        accept(&mut running, &question);
        let told = end(running).await;
        assert!(told.contains("`user:bob` used the link"), "{told}");
        let mut ada = scene.browser();
        ada.enter(&link, &scene.ada);
        assert_eq!(ada.get(&link).0, 404, "a link that was misused leads somewhere");

        // Completed by another: Ada's page is at the authorization server, and another browser comes back from it.
        let known = [Some(scene.bob.clone()), None];
        for other in known {
            let mut running = whoami(&client);
            let (question, link) = asked(&mut running).await;
            let back = back_from(&ada.page_of(&link), &[("code", "stolen")]);
            let mut browser = scene.browser();
            if let Some(token) = &other {
                browser.enter(&link, token);
            }
            let (status, page) = browser.get(back.as_str());
            assert!(status == 403 && page.contains("not yours"), "{page}");
            assert_eq!(ada.get(back.as_str()).0, 404, "it can be finished after that");
            accept(&mut running, &question);
            let told = end(running).await;
            assert!(told.contains("used the link"), "{told}");
        }

        // Nobody is signed in, and no code was shown to the authorization server.
        assert_eq!(output_json(&scene.story.home, &["accounts"])["accounts"], json!([]));
    });
}

#[test]
fn forms_codes_and_browsers_are_good_for_one_person_and_no_longer_than_the_token() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let scene = Scene::new(Era::Modern).await;
        let client = scene.client(ASKING_FACES[0], &scene.ada).await;
        let mut running = whoami(&client);
        let (_question, link) = asked(&mut running).await;
        let next = path_of(&link);
        let mut browser = scene.browser();
        let origin = browser.origin();
        let code = one_time_code(&scene.serving, &scene.ada);
        let fields = [("next", next), ("code", code.as_str())];
        // A page of another origin cannot sign a browser in.
        for foreign in ["https://evil.example", "null"] {
            assert_eq!(browser.submit("/sign-in/enter", foreign, &fields).0, 403, "{foreign}");
        }
        let form = format!("next={next}&code={code}");
        assert_eq!(browser.send("POST /sign-in/enter", &[], &form).0, 403, "without an origin");
        let twice = [("code", code.as_str()), ("code", "x"), ("next", next)];
        assert_eq!(browser.submit("/sign-in/enter", &origin, &twice).0, 403);
        assert!(browser.cookies.is_empty());
        assert_eq!(browser.submit("/sign-in/enter", &origin, &fields).0, 303);
        assert_eq!(scene.browser().submit("/sign-in/enter", &origin, &fields).0, 403, "twice");
        // No code without a token.
        for headers in [&[][..], &[("authorization", "Bearer sb_nonsense")]] {
            assert_eq!(scene.serving.send("POST /sign-in-code", headers, "").0, 401);
        }
        // The way back to a link does not leave this address.
        for away in ["//evil.example/../..", "https://evil.example", "/\\evil.example", ""] {
            let code = one_time_code(&scene.serving, &scene.ada);
            let fields = [("next", away), ("code", code.as_str())];
            let (status, answer) = scene.browser().submit("/sign-in/enter", &origin, &fields);
            assert!(status == 200 && !answer.contains("location"), "{away}: {answer}");
            assert!(answer.contains("This browser is signed in"), "{answer}");
        }
        // Signed out, and signed in with a token that is revoked.
        browser.page_of(&link);
        assert_eq!(browser.submit("/sign-in/leave", "https://evil.example", &[]).0, 403);
        let stolen = browser.cookies.clone();
        assert_eq!(browser.submit("/sign-in/leave", &origin, &[]).0, 200);
        browser.cookies = stolen;
        assert!(browser.get(&link).1.contains("Whose browser"), "a session that was ended is good");
        browser.enter(&link, &scene.ada);
        browser.page_of(&link);
        let id = output_json(&scene.story.home, &["token", "list"])["tokens"][0]["id"].clone();
        scene.story.quietly(&["token", "revoke", id.as_str().unwrap()]);
        assert!(browser.get(&link).1.contains("Whose browser"), "a session outlives its token");
    });
}
