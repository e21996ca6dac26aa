//! Test that the token appears only in the request.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use switchboard_sources::DesiredSnapshot;
use switchboard_testkit::http::{Reply, Scripted};

use crate::catalogue::{failure, listing, settings};
use crate::fixture::{Home, soon, timed, write};
use crate::logs;

const TOKEN: &str = "tok-4f9a1c77e2";

/// Every printable form of a snapshot.
fn printed(snapshot: &DesiredSnapshot) -> String {
    let mut text = format!("{snapshot:?} {:?}", snapshot.desired);
    for problem in &snapshot.problems {
        let _ = write!(text, "{problem} {problem:?}");
    }
    let mut cause = failure(snapshot).map(|(error, _)| error as &dyn std::error::Error);
    while let Some(error) = cause {
        let _ = write!(text, "{error} {error:?}");
        cause = error.source();
    }
    text
}

/// Every file below `folder`, except the one that holds the token.
fn kept(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            kept(&path, text);
        } else if path.file_name().unwrap() != "token" {
            text.push_str(&String::from_utf8_lossy(&fs::read(path).unwrap()));
        }
    }
}

/// A server that repeats the request wherever it can.
fn echo(status: u16, authorization: &str) -> Reply {
    let body = format!(r#"{{"error": "{authorization}"}}"#);
    Reply::json(status, body)
        .header("www-authenticate", &format!("Bearer error=\"{authorization}\""))
        .header("x-echo", authorization)
}

#[tokio::test]
async fn the_token_is_in_no_problem_log_or_copy() {
    logs::keep();
    let mut seen = String::new();
    let helpers = [
        ("cat token", 200),
        ("cat token", 401),
        ("cat token", 500),
        ("cat token", 302),
        ("cat token; cat token >&2; exit 1", 0),
        ("cat token; echo and more", 0),
        ("cat token; sleep 1000", 0),
    ];
    for (helper, status) in helpers {
        let home = Home::new();
        write(home.path("token"), TOKEN);
        let server = Scripted::start(move |request| async move {
            let authorization = request.header("authorization").unwrap_or_default();
            match status {
                200 => Reply::json(200, listing(&["crm"])),
                302 => echo(302, authorization).header("location", "http://127.0.0.1:1/"),
                status => echo(status, authorization),
            }
        })
        .await;
        write(home.settings(), settings(&server.url("/"), Some(helper)));
        let options = timed(|timing| timing.helper = Duration::from_secs(2));
        let mut followed = home.follow_with(options).await;
        let snapshot = followed
            .until(|snapshot| failure(snapshot).is_some() || snapshot.desired.servers.len() == 2)
            .await;
        for request in server.requests() {
            let sent = request.header("authorization").unwrap();
            assert_eq!(sent, format!("Bearer {TOKEN}"));
        }
        seen.push_str(&printed(&snapshot));
        soon(followed.sources.shutdown()).await;
        kept(&home.path(""), &mut seen);
    }
    assert!(!seen.contains(TOKEN), "{seen}");
    let log = logs::log();
    assert!(log.contains("generation"), "the log is kept");
    assert!(!log.contains(TOKEN));
}
