//! Tests of token renewal: however many requests meet an expired token, it is renewed once, and no failure
//! ends a sign-in that is still valid.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use futures_util::future::join_all;
use switchboard_auth::{
    FileSignInStore, NoKeychain, SignInRecord, SignInRequirement, SignInStore as _, UserPresence,
};
use switchboard_config::OAuth;
use switchboard_wire::http::{HttpEndpoint, HttpError, HttpPoolOptions};
use tempfile::TempDir;
use url::Url;

use crate::house::{House, Mood, call, client};

const URL: &str = "TEST_HOUSE_URL";
const FOLDER: &str = "TEST_HOUSE_FOLDER";
const CALLS: &str = "TEST_HOUSE_CALLS";

/// A house with a sign-in and an expired token.
async fn ended() -> (House, TempDir) {
    let (house, folder) = (House::open().await, tempfile::tempdir().unwrap());
    let sign_in = house.sign_in(folder.path(), OAuth::default());
    let demand =
        SignInRequirement::fetch(&house.url(), &HttpPoolOptions::default()).await.unwrap().unwrap();
    sign_in.run(&demand, &house.visit()).await.unwrap();
    house.expire();
    house.books().asked = 0;
    (house, folder)
}

fn kept(folder: &TempDir) -> SignInRecord {
    let store = FileSignInStore::new(folder.path(), Arc::new(NoKeychain));
    let keys = store.keys().unwrap();
    assert_eq!(keys.len(), 1, "{keys:?}");
    store.load(&keys[0]).unwrap().unwrap()
}

async fn all(clients: &[HttpEndpoint], calls: usize) -> Vec<Result<u16, HttpError>> {
    join_all((0..calls).map(|number| call(&clients[number % clients.len()]))).await
}

fn nobody(house: &House, folder: &TempDir) -> HttpEndpoint {
    client(&house.url(), folder.path(), UserPresence::Nobody)
}

/// This program again, as a process that makes some calls.
pub(crate) fn process(url: &Url, folder: &Path, calls: usize) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["renewing::calls_of_another_process", "--exact", "--ignored"])
        .env(URL, url.as_str())
        .env(FOLDER, folder)
        .env(CALLS, calls.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[tokio::test]
#[ignore = "started by the tests below"]
async fn calls_of_another_process() {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let (url, folder) = (variable(URL).parse().unwrap(), variable(FOLDER));
    let client = client(&url, folder.as_ref(), UserPresence::Nobody);
    for outcome in all(&[client], variable(CALLS).parse().unwrap()).await {
        outcome.expect("it is not refused");
    }
}

#[tokio::test]
async fn many_refusals_cause_one_renewal() {
    for mood in [Mood::Good, Mood::Unwell(2)] {
        let (house, folder) = ended().await;
        house.books().mood = mood.clone();
        let clients: Vec<_> = (0..4).map(|_| nobody(&house, &folder)).collect();
        for outcome in all(&clients, 64).await {
            assert_eq!(outcome.unwrap(), 200, "{mood:?}");
        }
        assert_eq!(house.books().refreshed, 1, "{mood:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_processes_cause_one_renewal() {
    let (house, folder) = ended().await;
    let mut processes: Vec<_> = (0..4).map(|_| process(&house.url(), folder.path(), 16)).collect();
    let ends = processes.iter_mut().map(|process| process.wait().unwrap().success());
    assert!(ends.collect::<Vec<_>>().iter().all(|good| *good));
    assert_eq!(house.books().refreshed, 1);
}

#[tokio::test]
async fn an_authorization_server_that_is_gone_signs_nobody_out() {
    for mood in [Mood::Gone, Mood::Captive, Mood::Unwell(9)] {
        let (house, folder) = ended().await;
        house.books().mood = mood;
        let client = nobody(&house, &folder);
        let error = call(&client).await.unwrap_err();
        assert!(matches!(error, HttpError::Credentials { .. }), "{error:?}");
        assert!(kept(&folder).account.unwrap().refresh.is_some());
        house.books().mood = Mood::Good;
        assert_eq!(call(&client).await.unwrap(), 200);
    }
}

#[tokio::test]
async fn only_a_refused_grant_ends_a_sign_in() {
    let (house, folder) = ended().await;
    house.forget();
    let client = nobody(&house, &folder);
    let HttpError::SignIn { reason, .. } = call(&client).await.unwrap_err() else { panic!() };
    assert!(reason.contains("invalid_grant (it was used before)"), "{reason}");
    let record = kept(&folder);
    assert!(record.account.unwrap().refresh.is_none());
    // Later, and in another client, the reason is still known.
    let HttpError::SignIn { reason, .. } = call(&nobody(&house, &folder)).await.unwrap_err() else {
        panic!()
    };
    assert!(reason.contains("invalid_grant"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_killed_while_it_renews_leaves_no_lock_and_no_damage() {
    let (house, folder) = ended().await;
    house.books().mood = Mood::Silent;
    let mut process = process(&house.url(), folder.path(), 1);
    while house.books().asked == 0 {
        tokio::task::yield_now().await;
    }
    process.kill().unwrap();
    process.wait().unwrap();
    house.books().mood = Mood::Good;
    assert_eq!(call(&nobody(&house, &folder)).await.unwrap(), 200);
    assert!(kept(&folder).account.is_some());
}

#[tokio::test]
async fn whoever_gives_up_waiting_loses_no_token() {
    let (house, folder) = ended().await;
    house.books().mood = Mood::Unwell(1);
    let client = nobody(&house, &folder);
    {
        // The renewal pauses after the 503; the call is dropped in that pause.
        let mut calling = std::pin::pin!(call(&client));
        while house.books().asked == 0 {
            assert!(futures_util::poll!(&mut calling).is_pending());
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(call(&client).await.unwrap(), 200);
    assert_eq!(house.books().refreshed, 1);
}
