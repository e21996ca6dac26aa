//! The bytes of a line: of every kind of call, of names that peers chose to do harm, of text that is cut and masked.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use switchboard_config::{Location, Mode, Origin, Scope};
use switchboard_core::audit::{Audit as _, AuditLog, Called, Decision, Ended, Line, Who};
use switchboard_core::permission::{Because, Cited, Remember};

fn who() -> Who {
    Who {
        workspace: "/home/ann/shop".into(),
        session: "socket-3".to_owned(),
        client: "tester".to_owned(),
        principal: "local".to_owned(),
        transport: "socket",
    }
}

fn called() -> Called {
    Called {
        at: UNIX_EPOCH + Duration::from_millis(1_785_229_507_042),
        who: Arc::new(who()),
        server: "files".to_owned(),
        method: "tools/call".into(),
        name: "mcp__files__read".to_owned(),
        decision: None,
        ended: Ended::Result,
        took: Duration::from_nanos(1_234_567),
        sent: 64,
        received: 4096,
        kept: None,
    }
}

fn rule(text: &str, origin: Origin) -> Because {
    let at = Location { origin, line: 4, column: 17 };
    Because::Rule(Cited { text: text.into(), scope: Scope::User, at })
}

fn from(who: Who) -> Called {
    Called { who: Arc::new(who), ..called() }
}

fn named(name: &str) -> Called {
    Called { name: name.to_owned(), ..called() }
}

fn decided(decision: Decision) -> Called {
    Called { decision: Some(decision), ..called() }
}

fn ended(ended: Ended) -> Called {
    Called { ended, ..called() }
}

fn callers() -> Vec<Called> {
    let folder = OsStr::from_bytes(b"/tmp/\xff\xfe?x");
    vec![
        from(Who { client: String::new(), transport: "", ..who() }),
        from(Who { transport: "http", session: "0123456789abcdef".to_owned(), ..who() }),
        from(Who { session: "https://ann:pw@host/s?key=1".to_owned(), ..who() }),
        from(Who { client: "\u{1b}[31m\"quoted\" \\ \u{202e}ecila\n".to_owned(), ..who() }),
        from(Who { client: "\u{200b}".to_owned(), ..who() }),
        from(Who { principal: "github_pat_0123456789".to_owned(), ..who() }),
        from(Who { principal: "ann@example.org".to_owned(), ..who() }),
        from(Who { workspace: folder.into(), ..who() }),
    ]
}

fn names() -> Vec<Called> {
    let texts = [
        String::new(),
        "quote\" back\\slash / slash".to_owned(),
        "bell\u{7} tab\t null\0 delete\u{7f} next\u{85}line\u{2028}".to_owned(),
        "naïve 世界 😀 \u{200b}\u{feff}".to_owned(),
        "sk-0123456789abcdef".to_owned(),
        "sk-short".to_owned(),
        "sk-0123456789 spaced".to_owned(),
        "AKIA0123456789ABCDEF".to_owned(),
        "ghp_0123456789abcdef?then".to_owned(),
        "docs://guide/1".to_owned(),
        "docs://guide/a b:c".to_owned(),
        "https://ann:pw@host/x?y=z#w".to_owned(),
        "https://ann:p/w@host".to_owned(),
        "postgres://ann:${PW}@host/db".to_owned(),
        "mailto:ann@example.org".to_owned(),
        "\u{0}https://ann:pw@host/".to_owned(),
        "h\u{200b}ttps://ann:\u{200b}pw@host/".to_owned(),
        "?".to_owned(),
        "#".to_owned(),
        "é#2".to_owned(),
        "x".repeat(256),
        "x".repeat(257),
        "é".repeat(128),
        "é".repeat(256),
        "é".repeat(257),
        format!("{}?tail", "x".repeat(256)),
        format!("{}?tail", "x".repeat(300)),
        format!("{}\u{7}", "x".repeat(256)),
        format!("docs://{}", "y".repeat(300)),
    ];
    texts.iter().map(|text| named(text)).collect()
}

fn decisions() -> Vec<Called> {
    let file = || Origin::file("/home/ann/.config/switchboard/settings.json");
    let mode = Because::Mode { mode: Mode::BypassPermissions };
    let asked = |ask| Because::NobodyAsked { ask: Box::new(ask) };
    let said = || "SECRET-words".to_owned();
    let decisions = [
        Decision::Allowed(rule("mcp__files__*", file())),
        Decision::Denied(rule("mcp__files__*", file())),
        Decision::Allowed(rule("mcp__files__read", file())),
        Decision::Allowed(rule("mcp__files__*", Origin::file("/srv/naïve\"/s.json"))),
        Decision::Unanswered(rule("Read(\"a\\b\"?x)", Origin::text("--allow \u{7}"))),
        Decision::Denied(rule("mcp__files__*", Origin::text("https://ann:pw@host/catalog"))),
        Decision::Allowed(mode),
        Decision::Allowed(Because::Hook { reason: said() }),
        Decision::Allowed(Because::Client),
        Decision::Allowed(Because::Remembered { answer: Remember::Project }),
        Decision::Allowed(Because::Person),
        Decision::Allowed(Because::Typed),
        Decision::Unanswered(Because::Interaction),
        Decision::Allowed(Because::BuiltIn),
        Decision::Denied(Because::Classifier { reason: said() }),
        Decision::Denied(asked(rule("mcp__files", file()))),
        Decision::Denied(asked(Because::Mode { mode: Mode::Default })),
        Decision::Denied(asked(Because::Interaction)),
    ];
    decisions.into_iter().map(decided).collect()
}

fn ends() -> Vec<Called> {
    let hour = Duration::from_secs(3600);
    vec![
        ended(Ended::Asked),
        ended(Ended::ToolError),
        ended(Ended::Refused),
        ended(Ended::Failed("timed-out")),
        ended(Ended::Dropped),
        Called { took: Duration::MAX, sent: usize::MAX, received: 0, ..called() },
        Called { took: Duration::ZERO, sent: 0, received: 10, ..called() },
        Called { at: UNIX_EPOCH - hour, ..called() },
        Called { at: UNIX_EPOCH + hour * 24 * 365 * 1000, ..called() },
        Called { server: String::new(), method: "x/\"\u{1b}y".into(), ..called() },
        Called { server: "\u{7}\u{200b}".to_owned(), ..called() },
        Called { server: "sérvér?#".to_owned(), ..called() },
    ]
}

fn all() -> Vec<Called> {
    [callers(), names(), decisions(), ends()].into_iter().flatten().collect()
}

/// What a log with room for one file holds after these calls.
async fn written(calls: &[Arc<Called>]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let log = AuditLog::open(folder.path()).unwrap();
    for called in calls {
        log.called(called);
    }
    log.settle().await;
    fs::read_to_string(AuditLog::path(folder.path())).unwrap()
}

#[tokio::test]
async fn the_bytes_of_a_line() {
    let calls: Vec<_> = all().into_iter().map(Arc::new).collect();
    insta::assert_snapshot!(written(&calls).await);
}

/// What is written and what is shown of a call elsewhere are made in two ways, and the same; whatever was written before.
#[tokio::test]
async fn a_line_says_what_is_told_of_the_call() {
    let mut calls: Vec<_> = all().into_iter().map(Arc::new).collect();
    let again: Vec<_> = calls.iter().rev().map(|called| Arc::new(Called::clone(called))).collect();
    calls.extend(again);
    let text = written(&calls).await;
    for (called, line) in calls.iter().zip(text.lines()) {
        assert_eq!(line, serde_json::to_string(&Line::of(called)).unwrap());
    }
    assert_eq!(text.lines().count(), calls.len());
}

/// Those who call come and go, and their places in memory are used again.
#[tokio::test]
async fn nobody_is_taken_for_another() {
    let at = SystemTime::now();
    let folder = tempfile::tempdir().unwrap();
    let log = AuditLog::open(folder.path()).unwrap();
    for turn in 0..8 {
        for number in 0..500 {
            let session = format!("{turn}-{number}");
            let caller = from(Who { session: session.clone(), ..who() });
            log.called(&Arc::new(Called { name: session, at, ..caller }));
        }
        log.settle().await;
    }
    let entries = super::entries(folder.path()).await;
    let calls = super::calls(&entries);
    assert_eq!(calls.len(), 4000);
    assert!(calls.iter().all(|line| line.session == line.name));
}
