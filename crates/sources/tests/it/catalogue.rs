//! Tests of the connector catalog: fetched, cached, and loaded from the cache when fetching fails.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use serde_json::json;
use switchboard_config::ResolveOptions;
use switchboard_sources::{ConnectorsError as Error, DesiredSnapshot, SourceProblem};
use switchboard_testkit::http::{Reply, Scripted, Signal};

use crate::fixture::{Home, options, ready, servers, soon, timed, write};

/// A list of remote servers.
pub(crate) fn listing(names: &[&str]) -> String {
    let entry = |name: &&str| json!({ "name": name, "type": "http", "url": format!("https://{name}.example/mcp") });
    let entries: Vec<_> = names.iter().map(entry).collect();
    json!({ "servers": entries }).to_string()
}

/// User settings with this connector catalog and one server, `own`.
pub(crate) fn settings(url: &str, helper: Option<&str>) -> String {
    let mut connectors = json!({ "url": url });
    if let Some(helper) = helper {
        connectors["tokenHelper"] = helper.into();
    }
    json!({ "connectors": connectors, "mcpServers": { "own": { "command": "true" } } }).to_string()
}

/// The error of the connector catalog, and whether the cached copy is used.
pub(crate) fn failure(snapshot: &DesiredSnapshot) -> Option<(&Error, bool)> {
    snapshot.problems.iter().find_map(|problem| match problem {
        SourceProblem::Connectors { error, copy, .. } => Some((&**error, *copy)),
        _ => None,
    })
}

async fn serving(text: String) -> Scripted {
    Scripted::start(move |_| {
        let text = text.clone();
        async move { Reply::json(200, text) }
    })
    .await
}

#[tokio::test]
async fn what_it_lists_is_desired() {
    let home = Home::new();
    let server = serving(listing(&["crm", "wiki"])).await;
    write(home.path("token"), "s3cret\n");
    let helper = "cat token";
    write(home.settings(), settings(&server.url("/list?org=1"), Some(helper)));
    let mut followed = home.follow().await;
    let snapshot = followed.ready(&["crm", "own", "wiki"]).await;
    assert!(snapshot.problems.is_empty(), "{:?}", snapshot.problems);
    let request = &server.requests()[0];
    assert_eq!((&*request.method, &*request.path), ("GET", "/list?org=1"));
    assert_eq!(request.header("authorization"), Some("Bearer s3cret"));
    assert_eq!(request.header("accept"), Some("application/json"));
    let at = &snapshot.desired.servers_named("crm").next().unwrap().at;
    assert!(!at.to_string().contains("org="), "{at}");
    // Only the user can read the cached copy.
    let folder = home.path(".local/state/switchboard/connectors");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let copies: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(copies.len(), 1);
    assert_eq!(mode(&copies[0]), 0o600);
    soon(followed.sources.shutdown()).await;
}

/// One answer, one problem; the user's own servers stay.
async fn check(reply: Reply, is_expected: impl Fn(&Error) -> bool) {
    let home = Home::new();
    let server = Scripted::start(move |_| {
        let reply = reply.clone();
        async move { reply }
    })
    .await;
    write(home.settings(), settings(&server.url("/"), None));
    let options = timed(|timing| timing.fetch = Duration::from_secs(2));
    let mut followed = home.follow_with(options).await;
    let snapshot = followed.until(|snapshot| failure(snapshot).is_some()).await;
    let (error, copy) = failure(&snapshot).unwrap();
    assert!(is_expected(error) && !copy, "{error:?}");
    assert_eq!(ready(&snapshot), ["own"]);
    soon(followed.sources.shutdown()).await;
}

#[tokio::test]
async fn refusals_are_problems() {
    for status in [401, 403, 404, 500, 503, 204] {
        let is_status = move |error: &Error| matches!(error, Error::Status { status: found } if found.as_u16() == status);
        check(Reply::json(status, "{}"), is_status).await;
    }
}

#[tokio::test]
async fn garbage_is_a_problem() {
    let is_none = |error: &Error| matches!(error, Error::NotACatalogue);
    for body in ["{\"servers\": [", "null", "[1]", "{\"error\": \"no\"}", "", "\u{0}"] {
        check(Reply::json(200, body), is_none).await;
    }
    check(Reply::json(200, b"\xff\xfe".to_vec()), is_none).await;
    check(
        Reply::text(200, "text/html", "<p>sign in"),
        |error| matches!(error, Error::NotJson { content_type } if content_type == "text/html"),
    )
    .await;
    check(Reply::events().event("{}").hang(), |error| matches!(error, Error::NotJson { .. })).await;
}

#[tokio::test]
async fn a_huge_one_is_not_read() {
    let is_http = |error: &Error| matches!(error, Error::Http { .. });
    let announced = Reply::json(200, "[").header("content-length", "999999999999").hang();
    check(announced, is_http).await;
    let mut unannounced = Reply::chunked(200, "application/json");
    for _ in 0..5 {
        unannounced = unannounced.bytes(vec![b' '; 1 << 20]);
    }
    check(unannounced.hang(), is_http).await;
}

#[tokio::test]
async fn a_slow_one_is_given_up() {
    let is_slow = |error: &Error| matches!(error, Error::TooSlow { .. });
    check(Reply::silence(), is_slow).await;
    check(Reply::chunked(200, "application/json").bytes("[").hang(), is_slow).await;
}

#[tokio::test]
async fn broken_connections_and_redirects_elsewhere_are_problems() {
    let is_http = |error: &Error| matches!(error, Error::Http { .. });
    check(Reply::raw("HTTP/1.1 200 OK\r\ncontent-type: app").reset(), is_http).await;
    check(Reply::redirect(302, "http://127.0.0.1:1/"), is_http).await;
}

#[tokio::test]
async fn other_addresses_are_not_fetched() {
    let home = Home::new();
    write(home.path("list.json"), listing(&["crm"]));
    let url = format!("file://{}", home.path("list.json").display());
    write(home.settings(), settings(&url, None));
    let mut followed = home.follow().await;
    let is_refused =
        |snapshot: &DesiredSnapshot| matches!(failure(snapshot), Some((Error::Scheme { .. }, _)));
    followed.until(is_refused).await;
    write(home.settings(), settings("no address", None));
    let is_none =
        |snapshot: &DesiredSnapshot| matches!(failure(snapshot), Some((Error::Url { .. }, _)));
    followed.until(is_none).await;
    soon(followed.sources.shutdown()).await;
}

#[tokio::test]
async fn the_copy_is_used_when_it_cannot_be_fetched() {
    let home = Home::new();
    let server = serving(listing(&["crm"])).await;
    let url = server.url("/");
    write(home.settings(), settings(&url, None));
    let mut followed = home.follow().await;
    followed.ready(&["crm", "own"]).await;
    soon(followed.sources.shutdown()).await;
    drop(server);
    let mut followed = home.follow().await;
    assert_eq!(ready(&followed.now()), ["crm", "own"], "at once, from the copy");
    let snapshot = followed.until(|snapshot| failure(snapshot).is_some()).await;
    assert!(matches!(failure(&snapshot), Some((Error::Http { .. }, true))));
    assert_eq!(ready(&snapshot), ["crm", "own"]);
    soon(followed.sources.shutdown()).await;
}

#[tokio::test]
async fn a_damaged_copy_counts_as_none() {
    let home = Home::new();
    let server = serving(listing(&["crm"])).await;
    write(home.settings(), settings(&server.url("/"), None));
    let mut followed = home.follow().await;
    followed.ready(&["crm", "own"]).await;
    soon(followed.sources.shutdown()).await;
    drop(server);
    let folder = home.path(".local/state/switchboard/connectors");
    for entry in fs::read_dir(folder).unwrap() {
        fs::write(entry.unwrap().path(), "{\"version\": 1").unwrap();
    }
    let followed = home.follow().await;
    assert_eq!(ready(&followed.now()), ["own"]);
    soon(followed.sources.shutdown()).await;
}

#[tokio::test]
async fn it_is_fetched_again_and_a_bad_answer_does_not_replace_a_good_one() {
    let home = Home::new();
    let replies = std::sync::Mutex::new(vec![
        Reply::json(200, listing(&["three"])),
        Reply::json(500, "[]"),
        Reply::json(200, r#"{"error": "maintenance"}"#),
        Reply::json(200, listing(&["two"])),
        Reply::json(200, listing(&["one"])),
    ]);
    let go = Signal::default();
    let gate = go.clone();
    let server = Scripted::start(move |_| {
        let reply = replies.lock().unwrap().pop();
        let gate = gate.clone();
        async move {
            gate.wait().await;
            reply.unwrap_or_else(|| Reply::json(200, listing(&["three"])))
        }
    })
    .await;
    write(home.settings(), settings(&server.url("/"), None));
    let options = timed(|timing| {
        timing.refresh = Duration::from_millis(20);
        timing.retry = Duration::from_millis(20);
    });
    let mut followed = home.follow_with(options).await;
    go.fire();
    followed.ready(&["one", "own"]).await;
    go.fire();
    followed.ready(&["own", "two"]).await;
    go.fire();
    let snapshot = followed.until(|snapshot| failure(snapshot).is_some()).await;
    assert!(matches!(failure(&snapshot), Some((Error::NotACatalogue, true))));
    assert_eq!(ready(&snapshot), ["own", "two"]);
    go.fire();
    let is_refused = |snapshot: &DesiredSnapshot| {
        matches!(failure(snapshot), Some((Error::Status { .. }, true)))
    };
    assert_eq!(ready(&*followed.until(is_refused).await), ["own", "two"]);
    go.fire();
    let snapshot = followed.ready(&["own", "three"]).await;
    assert!(failure(&snapshot).is_none());
    soon(followed.sources.shutdown()).await;
}

#[tokio::test]
async fn another_address_is_another_catalogue() {
    let home = Home::new();
    let (one, two) = (serving(listing(&["one"])).await, serving(listing(&["two"])).await);
    write(home.settings(), settings(&one.url("/"), None));
    let mut followed = home.follow().await;
    followed.ready(&["one", "own"]).await;
    write(home.settings(), settings(&two.url("/"), None));
    followed.ready(&["own", "two"]).await;
    write(home.settings(), servers(&["own"]));
    followed.ready(&["own"]).await;
    soon(followed.sources.shutdown()).await;
}

/// While the settings are broken, their connector catalog stays.
#[tokio::test]
async fn a_broken_edit_keeps_the_catalogue() {
    let home = Home::new();
    let server = serving(listing(&["crm"])).await;
    write(home.settings(), settings(&server.url("/"), None));
    let mut followed = home.follow().await;
    followed.ready(&["crm", "own"]).await;
    write(home.settings(), "{");
    let snapshot = followed.until(crate::fixture::is_held).await;
    assert_eq!(ready(&snapshot), ["crm", "own"]);
    write(home.path("project/.switchboard/settings.json"), "{}");
    let snapshot = followed.until(crate::fixture::is_narrowed).await;
    assert_eq!(ready(&snapshot), ["crm"]);
    soon(followed.sources.shutdown()).await;
}

#[tokio::test]
async fn nothing_is_fetched_where_it_could_not_count() {
    let server = serving(listing(&["crm"])).await;
    let text = settings(&server.url("/"), Some("touch ran; echo token"));
    let managed =
        |home: &Home, name: &str, text: &str| write(home.path("etc/switchboard").join(name), text);
    let exclusive = Home::new();
    managed(&exclusive, "managed-mcp.json", r#"{"mcpServers": {}}"#);
    let closed = Home::new();
    managed(&closed, "managed-settings.json", "{");
    let strict = Home::new();
    let project = Home::new();
    write(project.path("project/.switchboard/settings.json"), &text);
    write(project.path("project/.switchboard/settings.local.json"), &text);
    for home in [exclusive, closed, strict, project] {
        if !home.path("project/.switchboard").exists() {
            write(home.settings(), &text);
        }
        let is_strict = !home.path("etc").exists() && home.settings().exists();
        let asked = ResolveOptions { strict: is_strict, ..ResolveOptions::default() };
        let mut followed = home.follow_asked(asked, options()).await;
        followed.sources.refresh();
        // Waits for a whole pass.
        let before = followed.now().generation;
        write(home.path("project/.mcp.json"), "{");
        if !is_strict {
            followed.until(|now| now.generation > before).await;
        }
        soon(followed.sources.shutdown()).await;
        assert!(!home.path("ran").exists());
    }
    assert_eq!(server.requests().len(), 0);
}
