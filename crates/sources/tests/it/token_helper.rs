//! Tests of the token helper: its environment, its failures, and its end.

use std::time::Duration;

use switchboard_process::ProcessExit;
use switchboard_sources::{ConnectorsError as Error, TokenHelperFault};
use switchboard_testkit::http::{Reply, Scripted};
use switchboard_testkit::processes::{wait_until, working_in};

use crate::catalogue::{failure, listing, settings};
use crate::fixture::{Home, TEST_DEADLINE, ready, soon, timed, write};

async fn check(helper: &str, is_expected: impl Fn(&Error) -> bool) {
    let home = Home::new();
    let server = Scripted::start(|_| async { Reply::json(200, "[]") }).await;
    write(home.settings(), settings(&server.url("/"), Some(helper)));
    let options = timed(|timing| timing.helper = Duration::from_secs(2));
    let mut followed = home.follow_with(options).await;
    let snapshot = followed.until(|snapshot| failure(snapshot).is_some()).await;
    let (error, _) = failure(&snapshot).unwrap();
    assert!(is_expected(error), "`{helper}` gives {error:?}");
    assert_eq!(ready(&snapshot), ["own"]);
    assert_eq!(server.requests().len(), 0, "nothing is sent without a token");
    assert_eq!(working_in(&home.path("")), [], "`{helper}` still runs");
    soon(followed.sources.shutdown()).await;
}

#[tokio::test]
async fn it_may_fail() {
    let failed = |code| move |error: &Error| matches!(error, Error::HelperFailed { exit: ProcessExit::Code(found) } if *found == code);
    check("echo half-a-token; exit 3", failed(3)).await;
    check("no-such-program-anywhere", failed(127)).await;
    check("kill -9 $$", |error| {
        matches!(error, Error::HelperFailed { exit: ProcessExit::Signal(9) })
    })
    .await;
}

#[tokio::test]
async fn it_may_hang() {
    let is_late = |error: &Error| matches!(error, Error::HelperTimeout { .. });
    check("sleep 1000", is_late).await;
    check("echo token; trap '' INT TERM; (sleep 1000 &); sleep 1000", is_late).await;
    check("exec >&-; sleep 1000", is_late).await;
}

#[tokio::test]
async fn it_may_print_anything() {
    let is = |what| move |error: &Error| matches!(error, Error::NotAToken { what: found } if *found == what);
    check("true", is(TokenHelperFault::Nothing)).await;
    check("printf ' \\n'", is(TokenHelperFault::Nothing)).await;
    check("echo two words", is(TokenHelperFault::Garbage)).await;
    check("printf 'a\\r\\nX-Header: b'", is(TokenHelperFault::Garbage)).await;
    check("printf '\\001\\377'", is(TokenHelperFault::Garbage)).await;
    check("yes", is(TokenHelperFault::TooMuch)).await;
}

#[tokio::test]
async fn it_sees_what_it_needs_and_no_more() {
    let home = Home::new();
    let server = Scripted::start(|_| async { Reply::json(200, listing(&["crm"])) }).await;
    let url = server.url("/list");
    let helper = r#"env > seen; pwd >> seen; echo "$EXTRA""#;
    let mut text: serde_json::Value = serde_json::from_str(&settings(&url, Some(helper))).unwrap();
    text["env"] = serde_json::json!({ "EXTRA": "from-settings" });
    write(home.settings(), text.to_string());
    let mut followed = home.follow().await;
    followed.ready(&["crm", "own"]).await;
    let seen = std::fs::read_to_string(home.path("seen")).unwrap();
    for line in [
        "SWITCHBOARD_MCP_SERVER_NAME=connectors".to_owned(),
        format!("SWITCHBOARD_MCP_SERVER_URL={url}"),
        format!("HOME={}", home.path("").display()),
        home.path("").display().to_string().trim_end_matches('/').to_owned(),
    ] {
        assert!(
            seen.lines().any(|seen| seen.trim_end_matches('/') == line.trim_end_matches('/')),
            "{line} in {seen}"
        );
    }
    assert!(!seen.contains("PRIVATE_API_KEY"), "{seen}");
    let request = &server.requests()[0];
    assert_eq!(request.header("authorization"), Some("Bearer from-settings"));
    soon(followed.sources.shutdown()).await;
}

/// Even while the helper hangs, and without waiting for its timeout.
#[tokio::test]
async fn shutdown_ends_it() {
    let home = Home::new();
    let helper = "trap '' INT TERM; touch started; sleep 1000";
    write(home.settings(), settings("http://127.0.0.1:1/", Some(helper)));
    let followed =
        home.follow_with(timed(|timing| timing.helper = Duration::from_secs(3600))).await;
    let started = home.path("started");
    let waited =
        tokio::task::spawn_blocking(move || wait_until(TEST_DEADLINE, || started.exists()));
    assert!(waited.await.unwrap().is_some());
    soon(followed.sources.shutdown()).await;
    assert_eq!(working_in(&home.path("")), []);
}

/// A change of the settings does not wait for the helper either.
#[tokio::test]
async fn another_setting_ends_it() {
    let home = Home::new();
    let server = Scripted::start(|_| async { Reply::json(200, listing(&["crm"])) }).await;
    write(home.settings(), settings(&server.url("/"), Some("sleep 1000")));
    let options = timed(|timing| timing.helper = Duration::from_secs(3600));
    let mut followed = home.follow_with(options).await;
    write(home.settings(), settings(&server.url("/"), Some("echo token")));
    let snapshot = followed.ready(&["crm", "own"]).await;
    assert!(failure(&snapshot).is_none());
    assert_eq!(working_in(&home.path("")), []);
    soon(followed.sources.shutdown()).await;
}
