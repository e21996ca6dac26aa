//! Tests with a real provider and a real server: a certified OpenID provider is stricter than our scripted
//! one.

use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use switchboard_auth::{
    FileSignInStore, NoKeychain, OAuthAccount, OAuthCredentials, OpenSignInPage, ShowUserCode,
    SignInMethod, SignInPageOutcome, SignInRecord, SignInRequirement, SignInStore as _, UserCode,
    UserPresence, sign_out,
};
use switchboard_config::{OAuth, OAuthGrant};
use switchboard_testkit::openid::{Held, OpenId, Tokens, person};
use switchboard_wire::http::{HttpEndpoint, HttpError, HttpPoolOptions};
use tempfile::TempDir;
use url::Url;

use crate::house::{call, client, client_with, sign_in};
use crate::renewing::process;

/// A user who agrees, and is redirected to the loopback port.
pub(crate) struct Person;

impl OpenSignInPage for Person {
    fn open_page<'a>(
        &'a self,
        url: &'a Url,
    ) -> BoxFuture<'a, Result<SignInPageOutcome, Box<dyn std::error::Error + Send + Sync>>> {
        let mut person = tokio::process::Command::from(person());
        let person = person.arg(url.as_str()).stdout(Stdio::null()).kill_on_drop(true).spawn();
        Box::pin(async {
            let status = person?.wait().await?;
            if status.success() {
                Ok(SignInPageOutcome::BrowserOpened)
            } else {
                Err("they got lost".into())
            }
        })
    }
}

/// A user with a browser on another machine, who gets a code.
#[derive(Default)]
struct Reader(Mutex<Option<Child>>);

impl ShowUserCode for Reader {
    fn show(&self, code: &UserCode) {
        let page = code.with_code.as_ref().unwrap();
        assert!(page.as_str().contains(&code.code));
        let person = person().arg(page.as_str()).stdout(Stdio::null()).spawn().unwrap();
        *self.0.lock().unwrap() = Some(person);
    }
}

/// A provider with a sign-in.
struct Scene {
    provider: OpenId,
    folder: TempDir,
}

impl Scene {
    async fn signed_in(tokens: Tokens) -> Self {
        let scene = Self { provider: OpenId::start(tokens), folder: tempfile::tempdir().unwrap() };
        scene.sign_in().await;
        scene
    }

    /// A scene with a token that is no longer accepted.
    async fn ended() -> Self {
        let scene = Self::signed_in(Tokens::Opaque(3600)).await;
        scene.provider.expire();
        scene
    }

    fn url(&self) -> Url {
        self.provider.url().parse().unwrap()
    }

    async fn demand(&self) -> SignInRequirement {
        SignInRequirement::fetch(&self.url(), &HttpPoolOptions::default()).await.unwrap().unwrap()
    }

    async fn sign_in(&self) -> OAuthAccount {
        let sign_in = sign_in(self.url(), self.folder.path(), OAuth::default());
        sign_in.run(&self.demand().await, &Person).await.unwrap()
    }

    fn client(&self) -> HttpEndpoint {
        client(&self.url(), self.folder.path(), UserPresence::Nobody)
    }

    fn kept(&self) -> SignInRecord {
        kept(self.folder.path())
    }

    /// Runs four processes with 64 calls in all; returns whether all succeeded.
    fn rush(&self) -> bool {
        let started: Vec<_> =
            (0..4).map(|_| process(&self.url(), self.folder.path(), 16)).collect();
        let ends = started.into_iter().map(|mut process| process.wait().unwrap().success());
        ends.collect::<Vec<_>>() == [true; 4]
    }
}

fn kept(folder: &Path) -> SignInRecord {
    let store = FileSignInStore::new(folder, Arc::new(NoKeychain));
    let keys = store.keys().unwrap();
    assert_eq!(keys.len(), 1, "{keys:?}");
    store.load(&keys[0]).unwrap().unwrap()
}

/// With both kinds of token: opaque ones, and ones that a server can read.
#[tokio::test]
async fn from_the_first_sign_in_to_the_end() {
    for tokens in [Tokens::Opaque(2), Tokens::Signed(2)] {
        let scene = Scene::signed_in(tokens).await;
        let client = scene.client();
        assert_eq!(call(&client).await.unwrap(), 200);
        let first = scene.kept().account.unwrap();
        assert_eq!(first.scopes, ["read", "offline_access"]);
        assert_eq!(first.issuer, scene.provider.issuer());
        // The token lives for two seconds: each request finds it renewed or still valid.
        while scene.provider.books().refreshed == 0 {
            assert_eq!(call(&client).await.unwrap(), 200);
        }
        assert_eq!(call(&client).await.unwrap(), 200);
        let second = scene.kept().account.unwrap();
        assert_ne!(first.access, second.access, "{tokens:?}");
        assert_eq!(first.signed_in_at, Some(first.obtained_at));
        assert_eq!(first.signed_in_at, second.signed_in_at, "a renewal is no new sign-in");
        assert_ne!(first.refresh, second.refresh, "{tokens:?}: it is rotated");
        assert_eq!(scene.provider.books().refused, Vec::<String>::new());
        let token = second.refresh.unwrap();
        assert!(scene.provider.knows(token.expose()));
        let sign_in = sign_in(scene.url(), scene.folder.path(), OAuth::default());
        sign_out(&sign_in).await.unwrap().unwrap().unwrap();
        assert!(!scene.provider.knows(token.expose()), "{tokens:?}");
        assert!(!scene.provider.knows(second.access.expose()), "{tokens:?}");
        assert!(matches!(call(&scene.client()).await, Err(HttpError::SignIn { .. })));
    }
}

#[tokio::test]
async fn a_code_is_typed_in_on_another_machine() {
    let (provider, folder) = (OpenId::start(Tokens::Opaque(3600)), tempfile::tempdir().unwrap());
    let scene = Scene { provider, folder };
    let sign_in = sign_in(scene.url(), scene.folder.path(), OAuth::default());
    let (demand, reader) = (scene.demand().await, Reader::default());
    let account = sign_in.run_with(&demand, SignInMethod::Code(&reader)).await.unwrap();
    assert_eq!(account.scopes, ["read", "offline_access"]);
    assert!(reader.0.lock().unwrap().take().unwrap().wait().unwrap().success());
    assert_eq!(call(&scene.client()).await.unwrap(), 200);
    scene.provider.expire();
    assert_eq!(call(&scene.client()).await.unwrap(), 200);
    assert_eq!(scene.provider.books().refreshed, 1);
}

#[tokio::test]
async fn signing_in_again_registers_nobody_again() {
    let scene = Scene::signed_in(Tokens::Opaque(3600)).await;
    scene.sign_in().await;
    assert_eq!(scene.provider.books().registered, 1);
    // Unless another program uses the registered port now.
    let port = scene.kept().registrations[scene.provider.issuer()].port;
    let _taken = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    scene.sign_in().await;
    assert_eq!(scene.provider.books().registered, 2);
    assert_ne!(scene.kept().registrations[scene.provider.issuer()].port, port);
    assert_eq!(call(&scene.client()).await.unwrap(), 200);
}

#[tokio::test]
async fn a_provider_that_is_unwell_signs_nobody_out() {
    let scene = Scene::ended().await;
    scene.provider.unwell(2);
    assert_eq!(call(&scene.client()).await.unwrap(), 200);
    assert_eq!(scene.provider.books().refreshed, 1);
    scene.provider.expire();
    scene.provider.unwell(99);
    let client = scene.client();
    let error = call(&client).await.unwrap_err();
    assert!(matches!(error, HttpError::Credentials { .. }), "{error:?}");
    assert!(scene.kept().account.unwrap().refresh.is_some());
    scene.provider.unwell(0);
    assert_eq!(call(&client).await.unwrap(), 200);
}

#[tokio::test]
async fn tokens_may_be_taken_away_any_number_of_times() {
    let scene = Scene::signed_in(Tokens::Opaque(3600)).await;
    let client = scene.client();
    for times in 1..4 {
        scene.provider.expire();
        assert_eq!(call(&client).await.unwrap(), 200);
        assert_eq!(scene.provider.books().refreshed, times);
    }
}

/// A program that signs in as itself renews its token before the server refuses it.
#[tokio::test]
async fn a_program_renews_its_token_before_it_ends() {
    let (provider, folder) = (OpenId::start(Tokens::Opaque(5)), tempfile::tempdir().unwrap());
    let oauth = OAuth {
        grant: Some(OAuthGrant::ClientCredentials),
        client_id: Some("robot".into()),
        client_secret: Some("robots-own-secret".into()),
        scopes: vec!["read".into()],
        ..OAuth::default()
    };
    let url: Url = provider.url().parse().unwrap();
    let headers =
        OAuthCredentials::new(sign_in(url.clone(), folder.path(), oauth), UserPresence::Nobody);
    let client = client_with(&url, headers);
    assert_eq!(call(&client).await.unwrap(), 200);
    let first = kept(folder.path()).account.unwrap();
    // The token lives for five seconds, and is due in the last of them.
    while provider.books().asked < 2 {
        assert_eq!(call(&client).await.unwrap(), 200);
    }
    let second = kept(folder.path()).account.unwrap();
    assert!(provider.knows(first.access.expose()), "the old one is still good");
    assert!(second.obtained_at < first.expires_at.unwrap());
    assert_eq!(provider.books().refused, Vec::<String>::new());
}

#[tokio::test]
async fn a_sign_in_that_was_ended_says_so() {
    let scene = Scene::ended().await;
    scene.provider.forget();
    let HttpError::SignIn { reason, .. } = call(&scene.client()).await.unwrap_err() else {
        panic!()
    };
    assert!(reason.contains("invalid_grant"), "{reason}");
    assert!(scene.kept().lost.unwrap().contains("invalid_grant"));
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_calls_of_four_processes_renew_once() {
    for (unwell, rotates) in [(0, false), (0, true), (2, true)] {
        let scene = Scene::ended().await;
        if !rotates {
            scene.provider.keep_refresh_tokens();
        }
        let before = scene.kept().account.unwrap().refresh;
        scene.provider.unwell(unwell);
        assert!(scene.rush(), "{unwell}");
        assert_eq!(scene.kept().account.unwrap().refresh != before, rotates);
        let books = scene.provider.books();
        assert_eq!((books.refreshed, books.refused), (1, Vec::new()), "{unwell}");
        assert_eq!(books.called, 64);
    }
}

/// Killed before the provider has read the request, nothing has happened. Killed after the provider has used
/// up the refresh token, the new one is lost, and the error says so.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_is_killed_while_it_renews() {
    for held in [Held::Question, Held::Answer] {
        let scene = Scene::ended().await;
        let before = scene.provider.books().asked;
        scene.provider.hold(held);
        let mut process = process(&scene.url(), scene.folder.path(), 1);
        let is_there = |books: switchboard_testkit::openid::Books| match held {
            Held::Answer => books.refreshed == 1,
            _ => books.asked > before,
        };
        while !is_there(scene.provider.books()) {
            tokio::task::yield_now().await;
        }
        process.kill().unwrap();
        process.wait().unwrap();
        scene.provider.hold(Held::Nothing);
        match (held, call(&scene.client()).await) {
            (Held::Answer, Err(HttpError::SignIn { reason, .. })) => {
                assert!(reason.contains("invalid_grant"), "{reason}");
            }
            (Held::Question, Ok(200)) => {}
            (held, other) => panic!("{held:?}: {other:?}"),
        }
        // The store is intact, and a new sign-in works.
        assert!(scene.kept().account.is_some());
        scene.sign_in().await;
        assert_eq!(call(&scene.client()).await.unwrap(), 200);
    }
}
