//! Tests of `login`, `logout` and `doctor auth` for a person without a browser on this machine.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use serde_json::json;
use switchboard_testkit::http::{Reply, Request, Scripted};
use url::Url;

use crate::Story;
use crate::list::discovered;

/// A server that wants a token, and the authorization server that gives it out.
fn house(request: &Request, revoked: &Mutex<Vec<String>>) -> Reply {
    let base = format!("http://{}", request.header("host").unwrap_or_default());
    match request.path.split('?').next().unwrap_or_default() {
        "/mcp" if request.header("authorization") == Some("Bearer s3cret-access") => {
            Reply::json(200, discovered(&request.body))
        }
        "/mcp" => Reply::empty(401).header("www-authenticate", "Bearer"),
        "/.well-known/oauth-protected-resource/mcp" => {
            let body =
                json!({ "resource": format!("{base}/mcp"), "authorization_servers": [base] });
            Reply::json(200, body.to_string())
        }
        "/.well-known/oauth-authorization-server" => {
            let body = json!({
                "issuer": base, "authorization_endpoint": format!("{base}/authorize"),
                "token_endpoint": format!("{base}/token"), "registration_endpoint": format!("{base}/register"),
                "revocation_endpoint": format!("{base}/revoke"),
            });
            Reply::json(200, body.to_string())
        }
        "/register" => Reply::json(201, r#"{"client_id":"c-1"}"#),
        "/token" => Reply::json(
            200,
            r#"{"access_token":"s3cret-access","token_type":"bearer","refresh_token":"s3cret-refresh"}"#,
        ),
        "/revoke" => {
            revoked.lock().unwrap().push(request.text().to_owned());
            Reply::empty(200)
        }
        _ => Reply::empty(404),
    }
}

/// Such a server, which runs.
pub(crate) struct House {
    pub(crate) server: Scripted,
    /// What was asked to be taken back.
    pub(crate) revoked: Arc<Mutex<Vec<String>>>,
    _runtime: tokio::runtime::Runtime,
}

impl House {
    pub(crate) fn open() -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let revoked = Arc::new(Mutex::default());
        let shared = revoked.clone();
        let server = runtime.block_on(Scripted::start(move |request| {
            let shared = shared.clone();
            async move { house(&request, &shared) }
        }));
        Self { server, revoked, _runtime: runtime }
    }
}

/// Where somebody who was at the page of a sign-in is sent back to, with what they are told there.
pub(crate) fn back_from(page: &Url, answer: &[(&str, &str)]) -> Url {
    let asked: HashMap<_, _> = page.query_pairs().into_owned().collect();
    let mut back = asked["redirect_uri"].parse::<Url>().unwrap();
    back.query_pairs_mut().append_pair("state", &asked["state"]).extend_pairs(answer);
    back
}

struct Scene {
    story: Story,
    house: House,
}

impl Scene {
    fn new() -> Self {
        let house = House::open();
        let mut story = Story::new();
        story.replace(&house.server.addr().to_string(), "127.0.0.1:PORT");
        story.quietly(&["add", "web", &house.server.url("/mcp")]);
        Self { story, house }
    }

    /// Runs a command whose lines have an order.
    fn in_its_order(&mut self, args: &[&str]) {
        let shown = self.story.home.shown(&self.story.quietly(args));
        self.story.tell(args, &format!("\n{shown}"));
    }

    /// Signs in by hand: opens the page that is printed, and pastes where it leads to. `answer` is what that page says.
    fn login(&mut self, args: &[&str], answer: &[(&str, &str)]) {
        by_hand(&mut self.story, args, answer);
    }
}

/// Signs in by hand: opens the page that is printed, and pastes where it leads to. `answer` is what that page says.
pub(crate) fn by_hand(story: &mut Story, args: &[&str], answer: &[(&str, &str)]) {
    let mut child = story
        .command(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while stderr.read_line(&mut said).unwrap() > 0 && !said.contains("response_type=code") {}
    let page = said.lines().last().unwrap_or_default().trim().parse::<Url>().unwrap();
    let back = back_from(&page, answer);
    writeln!(child.stdin.take().unwrap(), "{back}").unwrap();
    std::io::Read::read_to_string(&mut stderr, &mut said).unwrap();
    let output = child.wait_with_output().unwrap();
    let shown = format!(
        "\nexit {}\n--- stdout\n{}--- stderr\n{}",
        output.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&output.stdout),
        said.replace(page.as_str(), "PAGE")
    );
    let shown = story.home.filtered(&shown);
    story.tell(args, &shown);
}

#[test]
fn signing_in_and_out() {
    let mut scene = Scene::new();
    scene.story.run(&["list", "--no-check"]).run(&["list"]);
    scene.login(&["login", "web", "--no-browser"], &[("code", "c")]);
    scene.story.run(&["list"]);
    scene.login(&["login", "web", "--no-browser", "--json"], &[("code", "c")]);
    scene.story.run(&["logout", "web", "--json"]).run(&["logout", "web"]).run(&["list"]);
    insta::assert_snapshot!("login", scene.story.transcript());
    let revoked = scene.house.revoked.lock().unwrap().join("\n");
    assert!(revoked.find("s3cret-refresh") < revoked.find("s3cret-access"), "{revoked}");
    assert!(!scene.story.transcript().contains("s3cret"));
}

#[test]
fn every_step_of_signing_in_is_shown() {
    let mut scene = Scene::new();
    scene.story.quietly(&["add", "gone", "http://127.0.0.1:1/mcp"]);
    scene.in_its_order(&["doctor", "auth", "web"]);
    scene.in_its_order(&["doctor", "auth", "gone"]);
    scene.login(&["login", "web", "--no-browser"], &[("code", "c")]);
    scene.in_its_order(&["doctor", "auth", "web"]);
    scene.in_its_order(&["doctor", "auth", "web", "--json"]);
    scene.story.run(&["doctor", "auth", "nobody"]);
    insta::assert_snapshot!("doctor_auth", scene.story.transcript());
    assert!(!scene.story.transcript().contains("s3cret"));
}

#[test]
fn what_cannot_be_signed_in_to() {
    let mut scene = Scene::new();
    scene.story.quietly(&["add", "local", "cat"]);
    scene
        .story
        .run(&["login", "local"])
        .run(&["login", "nobody"])
        .run(&["logout", "nobody"])
        .run(&["logout", "--all"])
        .run(&["login", "web", "--device"]);
    scene.login(
        &["login", "web", "--no-browser"],
        &[("error", "access_denied"), ("error_description", "not\u{1b}[31m today")],
    );
    scene.login(&["login", "web", "--no-browser", "--json"], &[]);
    insta::assert_snapshot!("login_failed", scene.story.transcript());
}

/// The address of the entry, what the server names, and what is configured: each with a password and a token in it.
#[test]
fn what_is_shown_of_addresses_holds_no_secret() {
    let mut scene = Scene::new();
    let host = scene.house.server.addr().to_string();
    let secret = |path: &str| {
        format!("http://ann:s3cret-pw@{host}{path}?api_key=s3cret-key&s3cret-word#s3cret-end")
    };
    let configured = serde_json::json!({ "type": "http", "url": secret("/mcp"),
        "oauth": { "authServerMetadataUrl": secret("/.well-known/oauth-authorization-server") } });
    scene.story.quietly(&["add-json", "secret", &configured.to_string()]);
    let broken = serde_json::json!({ "type": "http", "url": secret("/mcp"),
        "oauth": { "authServerMetadataUrl": secret("/nothing-here") } });
    scene.story.quietly(&["add-json", "broken", &broken.to_string()]);
    scene.in_its_order(&["doctor", "auth", "secret"]);
    scene.in_its_order(&["doctor", "auth", "secret", "--json"]);
    scene.in_its_order(&["doctor", "auth", "broken"]);
    insta::assert_snapshot!("doctor_auth_addresses", scene.story.transcript());
    assert!(!scene.story.transcript().contains("s3cret"));
}

/// `list` says that a sign-in is needed, and the first `login` is enough.
#[test]
fn a_damaged_key_is_said_and_set_aside_by_the_next_login() {
    let mut scene = Scene::new();
    scene.login(&["login", "web", "--no-browser"], &[("code", "c")]);
    let folder = scene.story.home.path().join(".local/state/switchboard/sign-ins");
    std::fs::write(folder.join("key"), "half a key").unwrap();
    scene.story.run(&["list"]).run(&["logout", "web"]);
    scene.in_its_order(&["doctor", "auth", "web"]);
    scene.login(&["login", "web", "--no-browser"], &[("code", "c")]);
    scene.story.run(&["list"]);
    assert_eq!(std::fs::read_to_string(folder.join("key.damaged")).unwrap(), "half a key");
    std::fs::write(folder.join("key"), "").unwrap();
    scene.story.run(&["logout", "--all"]).run(&["list"]);
    insta::assert_snapshot!("damaged_key", scene.story.transcript());
}

/// A store that fails is found before anybody is sent to a page, and is not taken for the server's fault.
#[test]
fn a_store_that_cannot_be_used_is_said_before_the_page() {
    let mut scene = Scene::new();
    let folder = scene.story.home.path().join(".local/state/switchboard/sign-ins");
    std::fs::create_dir_all(folder.join("key")).unwrap();
    set_private(&folder.join("key"));
    scene.story.run(&["login", "web", "--no-browser"]);
    insta::assert_snapshot!("unusable_store", scene.story.transcript());
    assert!(!scene.house.server.requests().iter().any(|request| request.path == "/register"));
}

fn set_private(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_key_that_others_can_read_is_refused_and_said_so() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut scene = Scene::new();
    scene.login(&["login", "web", "--no-browser"], &[("code", "c")]);
    let key = scene.story.home.path().join(".local/state/switchboard/sign-ins/key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    scene.story.run(&["list"]).run(&["login", "web", "--no-browser"]).run(&["logout", "web"]);
    scene.in_its_order(&["doctor", "auth", "web"]);
    assert!(scene.house.revoked.lock().unwrap().is_empty());
    let shown = scene.house.server.requests();
    let logged_in = shown.iter().filter(|request| request.path == "/token").count();
    assert_eq!(logged_in, 1, "nobody is sent to a page in vain");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    scene.story.run(&["list"]).run(&["logout", "web"]);
    insta::assert_snapshot!("exposed_key", scene.story.transcript());
}
