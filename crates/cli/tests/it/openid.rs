//! Tests of sign-in with a real OpenID provider through the whole program: by command, and by a model that asks for it.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use switchboard_testkit::keychain::{UNLOCKED, session};
use switchboard_testkit::openid::{OpenId, Tokens, peers, person};

use crate::Story;
use crate::gateway::Client;

const CHANGED: &str = "notifications/tools/list_changed";

/// A project with the protected server in it.
struct Scene {
    provider: OpenId,
    story: Story,
}

impl Scene {
    fn new() -> Self {
        let (provider, mut story) = (OpenId::start(Tokens::Opaque(3600)), Story::new());
        story.set("BROWSER", &line(&person()));
        story.set("SWITCHBOARD_PEERS", peers().to_str().unwrap());
        story.quietly(&["add", "web", provider.url()]);
        Self { provider, story }
    }

    fn client(&self, capabilities: &Value) -> Client {
        Client::able(self.story.command(&["connect"]), "2025-11-25", capabilities)
    }

    /// Runs a command that has to go well; what it says.
    fn said(&self, args: &[&str]) -> String {
        let output = self.story.quietly(args);
        assert!(output.status.success(), "{}", self.story.home.shown(&output));
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.story.quietly(&["stop"]);
    }
}

/// A command as one line, none of whose words has a space in it.
fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
}

/// The tools of the protected server, as a client sees them.
fn tools(client: &mut Client) -> Vec<String> {
    let listed = client.ask("tools/list", &json!({})).unwrap();
    let names = listed["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str());
    names.filter_map(|name| Some(name.strip_prefix("web__")?.to_owned())).collect()
}

/// Waits until the server's tools are these.
fn until(client: &mut Client, expected: &[&str]) {
    while tools(client) != expected {
        client.until(CHANGED);
    }
}

fn add(client: &mut Client) -> Result<Value, Value> {
    let call = json!({ "name": "web__add", "arguments": { "a": 2, "b": 40 } });
    client.ask("tools/call", &call)
}

/// The page in the answer to `authenticate`.
fn page(answer: &Value) -> String {
    let text = answer["content"][0]["text"].as_str().unwrap();
    text.lines().find(|line| line.starts_with("http")).expect(text).to_owned()
}

fn visit(page: &str) {
    assert!(person().arg(page).output().unwrap().status.success(), "{page}");
}

#[test]
fn by_command_called_renewed_and_signed_out() {
    let scene = Scene::new();
    let call = ["call", "web/add", "a=2", "b=40"];
    assert_eq!(scene.story.quietly(&call).status.code(), Some(3));
    let said: Value = serde_json::from_str(&scene.said(&["login", "web", "--json"])).unwrap();
    assert_eq!(said["issuer"], scene.provider.issuer());
    assert_eq!(said["renewable"], true);
    assert_eq!(scene.said(&call), "42\n");
    scene.provider.expire();
    assert_eq!(scene.said(&call), "42\n");
    assert_eq!(scene.provider.books().refreshed, 1);
    scene.said(&["logout", "web"]);
    assert_eq!(scene.provider.books().revoked, 2);
    assert_eq!(scene.story.quietly(&call).status.code(), Some(3));
    // Signed in again, and ended by the provider: the reason is known, and is told by whoever looks.
    scene.said(&["login", "web"]);
    scene.provider.forget();
    assert_eq!(scene.story.quietly(&call).status.code(), Some(3));
    let looked = scene.story.quietly(&["doctor", "auth", "web"]);
    assert_eq!(looked.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&looked.stderr).contains("invalid_grant"), "{looked:?}");
}

#[test]
fn a_model_asks_for_a_sign_in_and_has_the_tools_after_it() {
    let scene = Scene::new();
    let mut client = scene.client(&json!({}));
    until(&mut client, &["authenticate"]);
    let refused = add(&mut client).unwrap_err();
    assert_eq!(refused["data"]["remedy"], "sign-in", "{refused}");
    let answer = client.call("web__authenticate").unwrap();
    // Whoever asks again meanwhile is sent to the same page.
    assert_eq!(page(&client.call("web__authenticate").unwrap()), page(&answer));
    visit(&page(&answer));
    until(&mut client, &["add"]);
    assert_eq!(add(&mut client).unwrap()["content"][0]["text"], "42");
    // The sign-in ends: the call that meets it says so, and the way back in is offered again.
    scene.provider.forget();
    let refused = add(&mut client).unwrap_err();
    assert_eq!(refused["data"]["remedy"], "sign-in", "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("invalid_grant"), "{refused}");
    until(&mut client, &["authenticate"]);
    // Another process signs in, and the hub notices by itself.
    scene.said(&["login", "web"]);
    until(&mut client, &["add"]);
    assert_eq!(add(&mut client).unwrap()["content"][0]["text"], "42");
    client.leave();
}

#[test]
fn a_client_that_shows_pages_is_given_this_one() {
    let scene = Scene::new();
    let mut client = scene.client(&json!({ "elicitation": { "url": {} } }));
    until(&mut client, &["authenticate"]);
    let id = client.send("tools/call", &json!({ "name": "web__authenticate", "arguments": {} }));
    let asked = client.until("elicitation/create");
    assert_eq!(asked["params"]["mode"], "url");
    visit(asked["params"]["url"].as_str().unwrap());
    client.say(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "action": "accept" } }));
    let answer = client.hear(id).unwrap();
    assert_eq!(page(&answer), asked["params"]["url"]);
    until(&mut client, &["add"]);
    client.leave();
}

/// The code is read off the terminal, and typed in elsewhere.
#[test]
fn a_code_is_shown_where_there_is_no_browser() {
    let scene = Scene::new();
    let mut command = scene.story.command(&["login", "web", "--no-browser"]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
    let shown: Vec<String> = stderr.by_ref().take(6).map(Result::unwrap).collect();
    visit(shown[5].trim());
    let rest: Vec<String> = stderr.map(Result::unwrap).collect();
    assert!(child.wait().unwrap().success());
    let text = [shown.clone(), rest].concat().join("\n");
    let text = text.replace(shown[3].trim(), "CODE").replace(scene.provider.issuer(), "ISSUER");
    insta::assert_snapshot!("login_with_a_code", text);
    assert_eq!(scene.said(&["call", "web/add", "a=2", "b=40"]), "42\n");
}

/// A browser that people use clicks through the provider's own pages, and ends on ours.
#[test]
fn a_real_browser_signs_in() {
    let mut scene = Scene::new();
    scene.story.set("BROWSER", &format!("{} --chromium", line(&person())));
    assert!(scene.said(&["login", "web", "--json"]).contains("\"signedIn\": true"));
    assert_eq!(scene.said(&["call", "web/add", "a=2", "b=40"]), "42\n");
}

/// The keychain of a desktop holds the key, and from elsewhere it is said that it does.
#[test]
fn the_key_is_in_the_keychain_where_there_is_one() {
    let scene = Scene::new();
    let program = env!("CARGO_BIN_EXE_switchboard");
    let call = "call web/add a=2 b=40";
    let script = format!("{UNLOCKED}\n{program} login web --json\n{program} {call}");
    let usual = scene.story.command(&[]);
    let mut command = session(scene.story.home.path(), &script);
    command.envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.current_dir(usual.get_current_dir().unwrap()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("\"key\": \"keychain\"") && said.ends_with("42\n"), "{output:?}");
    assert!(!String::from_utf8_lossy(&output.stderr).contains("no keychain"), "{output:?}");
    let outside = scene.story.quietly(&["call", "web/add", "a=2", "b=40"]);
    assert_eq!(outside.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&outside.stderr).contains("keychain"), "{outside:?}");
}

/// One page at the organisation, and every server of its lets one in; each has a token of its own.
#[test]
fn one_sign_in_with_the_organisation_is_enough() {
    for tokens in [Tokens::Opaque(3600), Tokens::Signed(3600)] {
        let provider = OpenId::organised(tokens);
        let mut story = Story::new();
        story.set("BROWSER", &line(&person()));
        story.set("SWITCHBOARD_PEERS", peers().to_str().unwrap());
        let call = |story: &Story, name: &str| {
            let output = story.quietly(&["call", &format!("{name}/add"), "a=2", "b=40"]);
            (output.status.code(), String::from_utf8(output.stdout).unwrap())
        };
        for name in ["wiki", "tracker"] {
            story.quietly(&["add", name, provider.url(), "--xaa", "--client-id", "agent"]);
        }
        let issuer = provider.organisation();
        story.quietly(&["xaa", "setup", "--issuer", issuer, "--client-id", "everywhere"]);
        assert_eq!(call(&story, "wiki").0, Some(3), "nobody is signed in yet");
        let signed_in = story.quietly(&["xaa", "login"]);
        assert!(signed_in.status.success(), "{}", story.home.shown(&signed_in));
        for name in ["wiki", "tracker", "wiki"] {
            assert_eq!(call(&story, name), (Some(0), "42\n".to_owned()), "{name}");
        }
        let books = provider.books();
        assert_eq!((books.visited, books.exchanged), (1, 2), "{books:?}");
        assert!(story.quietly(&["xaa", "clear"]).status.success());
    }
}
