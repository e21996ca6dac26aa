//! Tests of the way from a challenge to an account, and of refusals on it.

use std::sync::Arc;

use switchboard_auth::{
    Error, FileSignInStore, NoKeychain, SignInRequirement, SignInStore as _, UserPresence, sign_out,
};
use switchboard_config::OAuth;
use switchboard_testkit::http::{Reply, Scripted};
use switchboard_wire::http::{HttpError, HttpPoolOptions};

use crate::house::{House, Mood, call, client, sign_in};

async fn demand(house: &House) -> SignInRequirement {
    SignInRequirement::fetch(&house.url(), &HttpPoolOptions::default()).await.unwrap().unwrap()
}

#[tokio::test]
async fn signed_in_once_used_ever_after() {
    let (house, folder) = (House::open().await, tempfile::tempdir().unwrap());
    let running = client(&house.url(), folder.path(), UserPresence::Nobody);
    let HttpError::SignIn { reason, .. } = call(&running).await.unwrap_err() else { panic!() };
    assert_eq!(reason, "you are not signed in");
    let sign_in = house.sign_in(folder.path(), OAuth::default());
    let account = sign_in.run(&demand(&house).await, &house.visit()).await.unwrap();
    assert_eq!(account.scopes, ["read"]);
    // A running client that was told to sign in finds the new sign-in.
    assert_eq!(call(&running).await.unwrap(), 200);
    // A second sign-in uses the stored registration.
    sign_in.run(&demand(&house).await, &house.visit()).await.unwrap();
    assert_eq!(house.books().registered, 1);
}

#[tokio::test]
async fn signing_out_takes_both_tokens_back_and_forgets_them() {
    let (house, folder) = (House::open().await, tempfile::tempdir().unwrap());
    let sign_in = house.sign_in(folder.path(), OAuth::default());
    assert!(sign_out(&sign_in).await.unwrap().is_none());
    sign_in.run(&demand(&house).await, &house.visit()).await.unwrap();
    sign_out(&sign_in).await.unwrap().unwrap().unwrap();
    assert_eq!(house.books().revoked, ["refresh-1", "access-1"]);
    let store = FileSignInStore::new(folder.path(), Arc::new(NoKeychain));
    assert!(store.keys().unwrap().is_empty());
}

#[tokio::test]
async fn tokens_that_nobody_takes_back_are_forgotten_and_said_to_live_on() {
    let (house, folder) = (House::open().await, tempfile::tempdir().unwrap());
    let sign_in = house.sign_in(folder.path(), OAuth::default());
    let store = FileSignInStore::new(folder.path(), Arc::new(NoKeychain));
    let kept = || store.keys().unwrap().len();
    sign_in.run(&demand(&house).await, &house.visit()).await.unwrap();
    house.books().mood = Mood::Unwell(0);
    let why = sign_out(&sign_in).await.unwrap().unwrap().unwrap_err();
    assert!(matches!(why, Error::Status { status: 503, .. }), "{why:?}");
    assert_eq!(house.books().revoked, ["refresh-1", "access-1"], "one does not stand for both");
    assert_eq!(kept(), 0);
    // If the process is killed during revocation, the record still holds the tokens.
    house.books().mood = Mood::Good;
    sign_in.run(&demand(&house).await, &house.visit()).await.unwrap();
    house.books().mood = Mood::Silent;
    let told = async {
        while house.books().revoked.len() < 3 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        ended = sign_out(&sign_in) => panic!("{ended:?}"),
        () = told => {}
    }
    assert_eq!(kept(), 1);
    // A server that does not answer does not keep the user signed in.
    tokio::time::pause();
    let why = sign_out(&sign_in).await.unwrap().unwrap().unwrap_err();
    assert!(matches!(why, Error::ServerNotNotified { .. }), "{why:?}");
    assert_eq!(kept(), 0);
}

#[tokio::test]
async fn more_is_asked_for_on_top_of_what_there_was() {
    let (house, folder) = (House::open().await, tempfile::tempdir().unwrap());
    let sign_in = house.sign_in(folder.path(), OAuth::default());
    sign_in.run(&demand(&house).await, &house.visit()).await.unwrap();
    house.books().needs = Some("write".to_owned());
    // Without a user, the next sign-in requests both scopes.
    let alone = client(&house.url(), folder.path(), UserPresence::Nobody);
    let HttpError::SignIn { reason, .. } = call(&alone).await.unwrap_err() else { panic!() };
    assert!(reason.contains("`write`"), "{reason}");
    let account = sign_in.run(&demand(&house).await, &house.visit()).await.unwrap();
    assert_eq!(account.scopes, ["read", "write"]);
    assert_eq!(call(&alone).await.unwrap(), 200);
    // With a user, the sign-in happens at once, and the call is repeated.
    house.books().needs = Some("admin".to_owned());
    let with_somebody = UserPresence::Somebody(Arc::new(house.visit()));
    assert_eq!(call(&client(&house.url(), folder.path(), with_somebody)).await.unwrap(), 200);
    assert_eq!(house.books().scopes, "admin read write");
}

#[tokio::test]
async fn an_answer_that_is_not_ours_gets_no_code_to_the_token_endpoint() {
    for lie in [("state", "guess"), ("iss", "https://evil.example"), ("code", "")] {
        let (house, folder) = (House::open().await, tempfile::tempdir().unwrap());
        house.books().lies = Some(lie);
        let sign_in = house.sign_in(folder.path(), OAuth::default());
        let error = sign_in.run(&demand(&house).await, &house.visit()).await.unwrap_err();
        assert!(matches!(error, Error::Forged { .. }), "{lie:?}: {error:?}");
        assert!(!house.paths().contains(&"/token".to_owned()), "{lie:?}");
    }
}

/// Returns the error of signing in to a server with `document` as its metadata.
async fn described(document: &'static str) -> Error {
    let server = Scripted::start(move |request| async move {
        let base = format!("http://{}", request.header("host").unwrap_or_default());
        match request.path.as_str() {
            "/mcp" => Reply::empty(401),
            "/.well-known/oauth-protected-resource/mcp" => {
                Reply::json(200, document.replace("BASE", &base))
            }
            _ => Reply::empty(404),
        }
    })
    .await;
    let url = server.url("/mcp").parse().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let sign_in = sign_in(url, folder.path(), OAuth::default());
    let house = House::open().await;
    sign_in.run(&SignInRequirement::default(), &house.visit()).await.unwrap_err()
}

#[tokio::test]
async fn metadata_that_are_not_trusted() {
    let error = described(
        r#"{"resource": "BASE/mcp", "authorization_servers": ["http://169.254.169.254/latest"]}"#,
    );
    assert!(matches!(error.await, Error::Address { .. }));
    let error =
        described(r#"{"resource": "https://evil.example/mcp", "authorization_servers": ["BASE"]}"#);
    assert!(matches!(error.await, Error::ResourceMismatch { .. }));
    let error = described(r#"{"resource": "BASE/mcp"}"#);
    assert!(matches!(error.await, Error::NoAuthorizationServer));
    let error = described(r#"{"resource": "BASE/mcp", "authorization_servers": ["BASE"]}"#);
    assert!(matches!(error.await, Error::NoMetadata { .. }));
    let error = described(r#"{"resource": "BASE/mcp", "authorization_servers": ["ftp://x/"]}"#);
    assert!(matches!(error.await, Error::NotAUrl { .. }));
}
