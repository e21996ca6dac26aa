//! Tests of malformed or forged answers and documents: each is refused with its own error, and yields no
//! token.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use switchboard_auth::{Error, OpenSignInPage, SignIn, SignInPageOutcome, SignInRequirement};
use switchboard_config::OAuth;
use switchboard_testkit::http::{Reply, Request, Scripted};
use tempfile::TempDir;
use url::Url;

use crate::house::sign_in;

/// The false values that a server sends; `BASE` is its own address, `ELSEWHERE` another server's.
#[derive(Clone, Copy, Default)]
struct Lies {
    /// The protected resource metadata.
    resource: Option<&'static str>,
    /// The issuer in the authorization server metadata.
    issuer: Option<&'static str>,
    /// One member of the authorization server metadata.
    member: Option<(&'static str, &'static str)>,
    /// The redirect target of the token endpoint.
    moved: Option<&'static str>,
    /// The authorization response, in place of `code=c&state=STATE`.
    answer: Option<&'static str>,
}

/// A user who pastes the address of the authorization response.
struct Returning(Lies);

impl OpenSignInPage for Returning {
    fn open_page<'a>(
        &'a self,
        url: &'a Url,
    ) -> BoxFuture<'a, Result<SignInPageOutcome, Box<dyn std::error::Error + Send + Sync>>> {
        let asked = |name: &str| url.query_pairs().find(|(key, _)| key == name).unwrap().1;
        let answer = self.0.answer.unwrap_or("?code=c&state=STATE");
        let answer = answer.replace("STATE", &asked("state"));
        let back = format!("{}{answer}", asked("redirect_uri"));
        Box::pin(std::future::ready(Ok(SignInPageOutcome::Pasted(back))))
    }
}

/// The server, and another server that must never get a request.
struct Scene {
    server: Scripted,
    elsewhere: Scripted,
    folder: TempDir,
}

impl Scene {
    async fn new(lies: Lies) -> Self {
        let elsewhere = Scripted::start(|_| async { Reply::json(200, "{}") }).await;
        let other = elsewhere.url("");
        let server = Scripted::start(move |request| {
            let reply = answer(&request, lies, &other);
            async move { reply }
        })
        .await;
        Self { server, elsewhere, folder: tempfile::tempdir().unwrap() }
    }

    fn sign_in(&self) -> SignIn {
        let url = self.server.url("/mcp").parse().unwrap();
        sign_in(url, self.folder.path(), OAuth::default())
    }

    fn asked_for_tokens(&self) -> usize {
        self.server.requests().iter().filter(|request| request.path == "/token").count()
    }
}

fn answer(request: &Request, lies: Lies, elsewhere: &str) -> Reply {
    let base = format!("http://{}", request.header("host").unwrap_or_default());
    let placed = |text: &str| text.replace("BASE", &base).replace("ELSEWHERE", elsewhere);
    match request.path.as_str() {
        "/.well-known/oauth-protected-resource/mcp" => {
            let usual = r#"{"resource": "BASE/mcp", "authorization_servers": ["BASE"]}"#;
            Reply::json(200, placed(lies.resource.unwrap_or(usual)))
        }
        "/.well-known/oauth-authorization-server" => {
            let mut document = serde_json::json!({
                "issuer": placed(lies.issuer.unwrap_or("BASE")),
                "authorization_endpoint": format!("{base}/authorize"),
                "token_endpoint": format!("{base}/token"),
                "registration_endpoint": format!("{base}/register"),
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": false,
            });
            if let Some((name, value)) = lies.member {
                let value = placed(value);
                document[name] = serde_json::from_str(&value).unwrap_or(value.into());
            }
            Reply::json(200, document.to_string())
        }
        "/register" => Reply::json(201, r#"{"client_id":"c-1"}"#),
        "/token" => match lies.moved {
            Some(to) => Reply::empty(307).header("location", &placed(to)),
            None => Reply::json(400, r#"{"error":"invalid_grant","error_description":"used"}"#),
        },
        _ => Reply::empty(404),
    }
}

/// At which point a sign-in has to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    /// Before a token is requested.
    Token,
    /// After a token is requested.
    Nothing,
}

#[tokio::test]
async fn each_is_refused_and_says_why() {
    let usual = Lies::default();
    let answer = |text| Lies { answer: Some(text), ..usual };
    let resource = |text| Lies { resource: Some(text), ..usual };
    let member = |name, value| Lies { member: Some((name, value)), ..usual };
    let table = [
        ("forged state", answer("?code=c&state=guess"), Before::Token, "`state`"),
        ("no state", answer("?code=c"), Before::Token, "`state`"),
        ("state twice", answer("?code=c&state=STATE&state=STATE"), Before::Token, "`state`"),
        (
            "another's answer",
            answer("?code=c&state=STATE&iss=https://evil.example"),
            Before::Token,
            "another authorization server",
        ),
        (
            "an issuer that is silent",
            member("authorization_response_iss_parameter_supported", "true"),
            Before::Token,
            "does not say which",
        ),
        ("a token in the URL", answer("?access_token=t&state=STATE"), Before::Token, "no code"),
        ("a token behind the URL", answer("#access_token=t&state=STATE"), Before::Token, "`state`"),
        ("two codes", answer("?code=c&code=d&state=STATE"), Before::Token, "twice"),
        ("a code that was used", usual, Before::Nothing, "invalid_grant (used)"),
        (
            "tokens elsewhere",
            Lies { moved: Some("ELSEWHERE/token"), ..usual },
            Before::Nothing,
            "redirect",
        ),
        (
            "another issuer's document",
            Lies { issuer: Some("https://evil.example"), ..usual },
            Before::Token,
            "say that they are of `https://evil.example`",
        ),
        (
            "another's resource",
            resource(
                r#"{"resource": "https://evil.example/mcp", "authorization_servers": ["BASE"]}"#,
            ),
            Before::Token,
            "could be meant for another server",
        ),
        (
            "the cloud's address for an issuer",
            resource(
                r#"{"resource": "BASE/mcp", "authorization_servers": ["http://169.254.169.254/latest"]}"#,
            ),
            Before::Token,
            "points to `http://169.254.169.254/latest`",
        ),
        (
            "the cloud's address for tokens",
            member("token_endpoint", "http://169.254.169.254/token"),
            Before::Token,
            "points to `http://169.254.169.254/token`",
        ),
        (
            "the cloud's address for registering",
            member("registration_endpoint", "http://[::ffff:a9fe:a9fe]/"),
            Before::Token,
            "points to `http://[::ffff:a9fe:a9fe]/`",
        ),
        (
            "the cloud's address for people",
            member("authorization_endpoint", "http://169.254.169.254/"),
            Before::Token,
            "points to `http://169.254.169.254/`",
        ),
        (
            "a page that is a script",
            member("authorization_endpoint", "javascript:alert(1)"),
            Before::Token,
            "not a URL that can be used",
        ),
        (
            "no proof of whose a code is",
            member("code_challenge_methods_supported", r#"["plain"]"#),
            Before::Token,
            "does not offer PKCE",
        ),
    ];
    for (what, lies, before, why) in table {
        let scene = Scene::new(lies).await;
        let refused = scene.sign_in().run(&SignInRequirement::default(), &Returning(lies)).await;
        let said = refused.expect_err(what).error_chain();
        assert!(said.contains(why), "{what}: {said}");
        let asked = if scene.asked_for_tokens() == 0 { Before::Token } else { Before::Nothing };
        assert_eq!(asked, before, "{what}");
        assert!(scene.elsewhere.requests().is_empty(), "{what}: somebody else was asked");
    }
}

/// Another program floods the callback port; the right response arrives all the same.
struct Flooding(Arc<AtomicUsize>);

impl OpenSignInPage for Flooding {
    fn open_page<'a>(
        &'a self,
        url: &'a Url,
    ) -> BoxFuture<'a, Result<SignInPageOutcome, Box<dyn std::error::Error + Send + Sync>>> {
        let asked = |name: &str| url.query_pairs().find(|(key, _)| key == name).unwrap().1;
        let back = asked("redirect_uri").parse::<Url>().unwrap();
        let (port, state) = (back.port().unwrap(), asked("state").into_owned());
        let turned_away = self.0.clone();
        std::thread::spawn(move || {
            for guess in 0..200 {
                let answer = knock(port, &format!("/callback?code=evil&state={guess}"));
                turned_away.fetch_add(usize::from(answer.contains(" 400 ")), Ordering::Relaxed);
            }
            knock(port, &format!("/callback?code=c&state={state}"));
        });
        Box::pin(std::future::ready(Ok(SignInPageOutcome::BrowserOpened)))
    }
}

fn knock(port: u16, target: &str) -> String {
    use std::io::{Read as _, Write as _};
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(stream, "GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    // A cut connection leaves the answer empty, which the test accepts too.
    let _ = stream.read_to_string(&mut answer);
    answer
}

#[tokio::test]
async fn a_flood_of_guesses_gets_no_code_in() {
    let (scene, turned_away) = (Scene::new(Lies::default()).await, Arc::new(AtomicUsize::new(0)));
    let flooding = Flooding(turned_away.clone());
    let error = scene.sign_in().run(&SignInRequirement::default(), &flooding).await.unwrap_err();
    // The right response came after all the wrong ones; this server issues no token for it.
    assert!(matches!(&error, Error::Refused { .. }), "{error:?}");
    assert_eq!(turned_away.load(Ordering::Relaxed), 200);
    let asked = scene.server.requests();
    let asked: Vec<_> = asked.iter().filter(|request| request.path == "/token").collect();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].text().contains("code=c&"), "{}", asked[0].text());
}
