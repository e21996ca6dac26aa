//! Tests of the bytes of audit lines: every kind of call, hostile names, cut and redacted text.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use switchboard_config::{PermissionMode, Scope, SourceLocation, SourceOrigin};
use switchboard_core::audit::{
    AuditCallLine, AuditLog, AuditSink as _, CallDecision, CallEnd, CallRecord, CallerIdentity,
};
use switchboard_core::permission::{AnswerLifetime, CitedRule, DecisionReason};
use switchboard_core::principal::Principal;

fn who() -> CallerIdentity {
    CallerIdentity {
        workspace: "/home/ann/shop".into(),
        session: "socket-3".to_owned(),
        client: "tester".to_owned(),
        principal: Principal::local(),
        transport: "socket",
    }
}

fn called() -> CallRecord {
    CallRecord {
        at: UNIX_EPOCH + Duration::from_millis(1_785_229_507_042),
        caller: Arc::new(who()),
        server: "files".to_owned(),
        secrets: Arc::default(),
        method: "tools/call".into(),
        name: "mcp__files__read".to_owned(),
        decision: None,
        end: CallEnd::Result,
        duration: Duration::from_nanos(1_234_567),
        stages: switchboard_core::audit::StageTimes::default(),
        sent: 64,
        received: 4096,
        recent_id: None,
    }
}

fn rule(text: &str, origin: SourceOrigin) -> DecisionReason {
    let at = SourceLocation { origin, line: 4, column: 17 };
    DecisionReason::Rule(CitedRule { text: text.into(), scope: Scope::User, at: Some(at) })
}

fn from(who: CallerIdentity) -> CallRecord {
    CallRecord { caller: Arc::new(who), ..called() }
}

fn named(name: &str) -> CallRecord {
    CallRecord { name: name.to_owned(), ..called() }
}

fn decided(decision: CallDecision) -> CallRecord {
    CallRecord { decision: Some(decision), ..called() }
}

fn ended(ended: CallEnd) -> CallRecord {
    CallRecord { end: ended, ..called() }
}

fn callers() -> Vec<CallRecord> {
    let folder = OsStr::from_bytes(b"/tmp/\xff\xfe?x");
    vec![
        from(CallerIdentity { client: String::new(), transport: "", ..who() }),
        from(CallerIdentity { transport: "http", session: "0123456789abcdef".to_owned(), ..who() }),
        from(CallerIdentity { session: "https://ann:pw@host/s?key=1".to_owned(), ..who() }),
        from(CallerIdentity {
            client: "\u{1b}[31m\"quoted\" \\ \u{202e}ecila\n".to_owned(),
            ..who()
        }),
        from(CallerIdentity { client: "\u{200b}".to_owned(), ..who() }),
        from(CallerIdentity {
            principal: Principal::local().with_groups(["github_pat_0123456789"]),
            ..who()
        }),
        from(CallerIdentity {
            principal: Principal::user("ann@example.org").with_groups(["dev", "acme/ops"]),
            ..who()
        }),
        from(CallerIdentity { workspace: folder.into(), ..who() }),
    ]
}

fn names() -> Vec<CallRecord> {
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

fn decisions() -> Vec<CallRecord> {
    let file = || SourceOrigin::file("/home/ann/.config/switchboard/settings.json");
    let mode = DecisionReason::Mode { mode: PermissionMode::BypassPermissions };
    let asked = |ask| DecisionReason::NoPrompt { ask: Box::new(ask) };
    let said = || "SECRET-words".to_owned();
    let decisions = [
        CallDecision::Allowed(rule("mcp__files__*", file())),
        CallDecision::Denied(rule("mcp__files__*", file())),
        CallDecision::Allowed(rule("mcp__files__read", file())),
        CallDecision::Allowed(rule("mcp__files__*", SourceOrigin::file("/srv/naïve\"/s.json"))),
        CallDecision::Unanswered(rule("Read(\"a\\b\"?x)", SourceOrigin::text("--allow \u{7}"))),
        CallDecision::Denied(rule(
            "mcp__files__*",
            SourceOrigin::text("https://ann:pw@host/catalog"),
        )),
        CallDecision::Allowed(mode),
        CallDecision::Allowed(DecisionReason::Hook { reason: said() }),
        CallDecision::Allowed(DecisionReason::Client),
        CallDecision::Allowed(DecisionReason::Remembered { answer: AnswerLifetime::Project }),
        CallDecision::Allowed(DecisionReason::Person),
        CallDecision::Allowed(DecisionReason::Typed),
        CallDecision::Unanswered(DecisionReason::Interaction),
        CallDecision::Allowed(DecisionReason::BuiltIn),
        CallDecision::Denied(DecisionReason::Classifier { reason: said() }),
        CallDecision::Denied(asked(rule("mcp__files", file()))),
        CallDecision::Denied(asked(DecisionReason::Mode { mode: PermissionMode::Default })),
        CallDecision::Denied(asked(DecisionReason::Interaction)),
    ];
    decisions.into_iter().map(decided).collect()
}

fn ends() -> Vec<CallRecord> {
    let hour = Duration::from_secs(3600);
    vec![
        ended(CallEnd::NeedsInput),
        ended(CallEnd::ToolError),
        ended(CallEnd::Refused),
        ended(CallEnd::Failed("timed-out")),
        ended(CallEnd::Dropped),
        CallRecord { duration: Duration::MAX, sent: usize::MAX, received: 0, ..called() },
        CallRecord { duration: Duration::ZERO, sent: 0, received: 10, ..called() },
        CallRecord { at: UNIX_EPOCH - hour, ..called() },
        CallRecord { at: UNIX_EPOCH + hour * 24 * 365 * 1000, ..called() },
        CallRecord { server: String::new(), method: "x/\"\u{1b}y".into(), ..called() },
        CallRecord { server: "\u{7}\u{200b}".to_owned(), ..called() },
        CallRecord { server: "sérvér?#".to_owned(), ..called() },
    ]
}

fn all() -> Vec<CallRecord> {
    [callers(), names(), decisions(), ends()].into_iter().flatten().collect()
}

/// What a log with room for one file holds after these calls.
async fn written(calls: &[Arc<CallRecord>]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let log = AuditLog::open(folder.path()).unwrap();
    for called in calls {
        log.record_call(called);
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
    let again: Vec<_> =
        calls.iter().rev().map(|called| Arc::new(CallRecord::clone(called))).collect();
    calls.extend(again);
    let text = written(&calls).await;
    for (called, line) in calls.iter().zip(text.lines()) {
        assert_eq!(line, serde_json::to_string(&AuditCallLine::from_record(called)).unwrap());
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
            let caller = from(CallerIdentity { session: session.clone(), ..who() });
            log.record_call(&Arc::new(CallRecord { name: session, at, ..caller }));
        }
        log.settle().await;
    }
    let entries = super::entries(folder.path()).await;
    let calls = super::calls(&entries);
    assert_eq!(calls.len(), 4000);
    assert!(calls.iter().all(|line| line.session == line.name));
}
