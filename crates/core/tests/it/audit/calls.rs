//! Tests of the audit line for each kind of call.

use std::fs;
use std::sync::Arc;

use serde_json::json;
use switchboard_config::PermissionMode;
use switchboard_core::audit::AuditLog;
use switchboard_core::dispatch::{PendingQuestion, QuestionAnswer, QuestionKind};
use switchboard_core::engine::Session;
use switchboard_core::permission::{AnswerLifetime, UserConsent};
use switchboard_core::principal::Principal;
use switchboard_core::{CallEvent, Request};
use switchboard_wire::envelope::RpcError;
use switchboard_wire::json::Raw;

use super::{calls, entries};
use crate::engine::call::trusted;
use crate::engine::script::{Bench, Script, raw, text};

/// Places a call and follows it to its end, however it ends.
async fn place(
    bench: &Bench,
    session: Session,
    request: Request,
    decide: &dyn Fn(PendingQuestion),
) {
    let caller = bench.attach(session);
    let mut running = bench.engine.call(&caller, request);
    loop {
        match running.next().await {
            Ok(CallEvent::Question(question)) => decide(question),
            Ok(CallEvent::Done(_)) | Err(_) => return,
            Ok(_) => {}
        }
    }
}

fn session(mode: PermissionMode) -> Session {
    Session {
        mode: Some(mode),
        principal: Principal::service("ann", "1").with_groups(["dev"]),
        client: "tester".to_owned(),
        transport: "socket",
        ..Session::new("s")
    }
}

fn script() -> Script {
    let tools = ["free", "asked", "never", "other", "broken", "failing", "hang", "ask"];
    let script =
        Script::new(&tools).with_resource("docs://ann:pw@guide/1?key=v").with_prompt("greet");
    script.answering(|name, arguments| match name {
        "broken" => Ok(switchboard_wire::server::HandlerReply::Complete(raw(
            &json!({ "content": [], "isError": true }),
        ))),
        "failing" => Err(RpcError::new(-32000, "no")),
        _ => text(arguments.as_str()),
    })
}

/// A call, whose it is, how its questions are answered, and what its line says.
type Case<'a> = (Request, Session, &'a dyn Fn(PendingQuestion), &'a str);

#[tokio::test]
async fn every_kind_of_call_has_its_line() {
    let mut bench = Bench::new().await;
    let configuration = json!({
        "permissions": {
            "allow": ["mcp__one__free"], "ask": ["mcp__one__asked"], "deny": ["mcp__one__never"],
        },
    });
    bench.serve_with("one", script(), &configuration);
    bench.settled().await;
    let yes =
        |question: PendingQuestion| question.answer(QuestionAnswer::Allow(AnswerLifetime::Once));
    let no =
        |question: PendingQuestion| question.answer(QuestionAnswer::Deny(AnswerLifetime::Once));
    let tool = |name: &str| Request::tool(&format!("mcp__one__{name}"), &Raw::empty_object());
    let typed = || Session { consent: UserConsent::Typed, ..session(PermissionMode::Default) };
    let (default, client, bypass) =
        (PermissionMode::Default, PermissionMode::Client, PermissionMode::BypassPermissions);
    let cases: Vec<Case<'_>> = vec![
        (tool("free"), session(default), &drop, "free allow rule mcp__one__free ok"),
        (tool("never"), session(bypass), &drop, "never deny rule mcp__one__never refused"),
        (tool("asked"), session(default), &yes, "asked allow person ok"),
        (tool("asked"), session(default), &no, "asked deny person refused"),
        (tool("asked"), session(default), &drop, "asked unanswered rule mcp__one__asked refused"),
        (
            tool("asked"),
            session(PermissionMode::DontAsk),
            &drop,
            "asked deny nobody-asked mcp__one__asked refused",
        ),
        (tool("asked"), typed(), &drop, "asked allow typed ok"),
        (tool("other"), session(client), &drop, "other allow client ok"),
        (tool("other"), session(bypass), &drop, "other allow mode bypassPermissions ok"),
        (tool("other"), session(PermissionMode::Plan), &drop, "other deny mode plan refused"),
        (tool("other"), session(PermissionMode::DontAsk), &drop, "other deny mode dontAsk refused"),
        (tool("broken"), session(bypass), &drop, "broken allow mode bypassPermissions tool-error"),
        (
            tool("failing"),
            session(bypass),
            &drop,
            "failing allow mode bypassPermissions failed server-error",
        ),
        (tool("nothing"), session(bypass), &drop, "nothing failed not-found"),
        (
            Request::tool("mcp__two__x", &Raw::empty_object()),
            session(bypass),
            &drop,
            "mcp__two__x failed not-found",
        ),
        (
            Request::tool("ListMcpResources", &Raw::empty_object()),
            session(default),
            &drop,
            "ListMcpResources allow built-in ok",
        ),
        (
            Request::prompt("mcp__one__greet", &Raw::empty_object()),
            session(default),
            &drop,
            "greet ok",
        ),
        (
            Request::read("docs://ann:pw@guide/1?key=v"),
            session(default),
            &drop,
            "docs://********@guide/1?… ok",
        ),
    ];
    let expected: Vec<String> = cases.iter().map(|case| case.3.to_owned()).collect();
    for (request, session, decide, _) in cases {
        place(&bench, session, request, decide).await;
    }
    bench.engine.shutdown().await;
    let entries = entries(&bench.folder.path().join("state/logs")).await;
    let shown = calls(&entries).into_iter().map(|line| {
        let name = line.name.trim_start_matches("mcp__one__").to_owned();
        let words =
            [&line.decision, &line.by, &line.rule, &Some(line.outcome.clone()), &line.error];
        let words = words.into_iter().flatten().cloned();
        std::iter::once(name).chain(words).collect::<Vec<_>>().join(" ")
    });
    assert_eq!(shown.collect::<Vec<_>>(), expected);
    for line in calls(&entries) {
        assert_eq!((&*line.principal, &*line.client), ("ann@1", "tester"));
        assert_eq!(line.groups, ["dev"]);
        assert_eq!((&*line.transport, &*line.session), ("socket", "s"));
        assert_eq!(line.workspace, bench.folder.path().to_str().unwrap());
        assert_eq!(
            line.at.is_some(),
            line.rule.as_ref().is_some_and(|rule| rule.starts_with("mcp"))
        );
        assert!(line.received == 0 || line.server == "one", "{line:?}");
        assert!(line.sent > 0 && line.time.ends_with('Z'), "{line:?}");
    }
}

#[tokio::test]
async fn a_call_that_its_caller_drops_has_its_line() {
    let mut bench = Bench::new().await;
    let script = bench.serve("one", script());
    bench.settled().await;
    let caller = bench.caller("s");
    {
        let mut running =
            bench.engine.call(&caller, Request::tool("mcp__one__hang", &Raw::empty_object()));
        let mut seen = script.seen.subscribe();
        tokio::select! {
            _ = running.next() => panic!("it hangs"),
            seen = seen.wait_for(|seen| !seen.is_empty()) => drop(seen.unwrap()),
        }
    }
    drop(caller);
    bench.engine.shutdown().await;
    let entries = entries(&bench.folder.path().join("state/logs")).await;
    let [line] = calls(&entries)[..] else { panic!("{entries:?}") };
    assert_eq!((&*line.name, &*line.outcome), ("mcp__one__hang", "cancelled"));
    assert_eq!(line.decision.as_deref(), Some("allow"));
}

/// However often it waits for somebody.
#[tokio::test]
async fn a_call_that_asks_has_one_line() {
    let mut bench = Bench::new().await;
    bench.serve("one", script());
    bench.settled().await;
    let answer = |question: PendingQuestion| {
        let reply = match &question.about {
            QuestionKind::Permission(_) => QuestionAnswer::Allow(AnswerLifetime::Once),
            _ => QuestionAnswer::Result(Ok(raw(
                &json!({ "action": "accept", "content": { "name": "ann" } }),
            ))),
        };
        question.answer(reply);
    };
    let request = Request::tool("mcp__one__ask", &Raw::empty_object());
    place(&bench, session(PermissionMode::Default), request, &answer).await;
    bench.engine.shutdown().await;
    let entries = entries(&bench.folder.path().join("state/logs")).await;
    let [line] = calls(&entries)[..] else { panic!("{entries:?}") };
    assert_eq!((line.by.as_deref(), &*line.outcome), (Some("person"), "ok"));
}

#[tokio::test]
async fn no_secret_gets_in() {
    let mut bench = Bench::new().await;
    let hook = "cat >/dev/null; echo SECRET-hook >&2; exit 2";
    let configuration = json!({ "hooks": { "PreToolUse": [
        { "matcher": "mcp__one__other", "hooks": [{ "type": "command", "command": hook }] },
    ] } });
    bench.serve("one", script());
    bench.workspace.environment = Arc::new([("PATH".into(), "/usr/bin:/bin".into())]);
    bench.engine.apply(&bench.workspace, trusted(&bench, &configuration));
    bench.settled().await;
    let arguments = raw(&json!({ "token": "SECRET-argument" }));
    let session = || Session {
        transport: "http",
        ..Session { id: "SECRET-session".to_owned(), ..session(PermissionMode::BypassPermissions) }
    };
    for request in [
        Request::tool("mcp__one__free", &arguments),
        Request::tool("mcp__one__other", &arguments),
        Request::tool("mcp__one__failing", &arguments),
        Request::tool("ghp_SECRET0123456789", &arguments),
        Request::read("https://SECRET-user:SECRET-password@host/x?y=SECRET-query#SECRET-fragment"),
        Request::prompt("mcp__one__greet", &arguments),
    ] {
        place(&bench, session(), request, &drop).await;
    }
    bench.engine.shutdown().await;
    let logs = bench.folder.path().join("state/logs");
    let text = fs::read_to_string(AuditLog::path(&logs)).unwrap();
    assert_eq!(text.lines().count(), 6, "{text}");
    assert!(!text.contains("SECRET"), "{text}");
    let entries = entries(&logs).await;
    let decided: Vec<_> = calls(&entries).into_iter().filter_map(|line| line.by.clone()).collect();
    assert_eq!(decided, ["mode", "hook", "mode"]);
}
