//! Tests of rules with conditions on real calls: the arguments that count are those that the server gets, and lists show
//! what their principal could use.

use std::cell::RefCell;
use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_config::PermissionMode;
use switchboard_core::dispatch::{QuestionAnswer, QuestionKind};
use switchboard_core::engine::{Caller, Session};
use switchboard_core::permission::{AnswerLifetime, DecisionReason};
use switchboard_core::principal::Principal;
use switchboard_core::{CallError, Request};

use super::call::{arguments, run, session, trusted};
use super::script::{Bench, Script, said};

/// A server `one` under these settings of the user.
async fn bench(settings: &Value) -> (Bench, Arc<Script>) {
    let mut bench = Bench::new().await;
    let script = bench.serve("one", Script::new(&["push", "pull"]));
    bench.workspace.environment = Arc::new([("PATH".into(), "/usr/bin:/bin".into())]);
    bench.engine.apply(&bench.workspace, trusted(&bench, settings));
    bench.settled().await;
    (bench, script)
}

/// Calls `push`, and returns what reached the server, or why nothing did. Nobody may be asked.
async fn push(bench: &Bench, session: Session, sent: &str) -> Result<String, DecisionReason> {
    let request = Request::tool("mcp__one__push", &arguments(sent));
    match run(bench, session, request, |question| panic!("asked: {question:?}")).await {
        Ok(outcome) => Ok(said(&outcome.result)),
        Err(CallError::Denied { because, .. }) => Err(*because),
        Err(other) => panic!("{other}"),
    }
}

/// A hook that answers with this.
fn hook(event: &str, output: &Value) -> Value {
    let command = format!("cat >/dev/null; echo '{}'", json!({ "hookSpecificOutput": output }));
    json!({ event: [{ "hooks": [{ "type": "command", "command": command }] }] })
}

fn when(matches: &str) -> Value {
    json!({ "rule": "mcp__one__push", "when": { "argument": "/repo", "matches": matches } })
}

fn is_rule(because: &DecisionReason, pattern: &str) -> bool {
    matches!(because, DecisionReason::Rule(rule) if rule.text.contains(pattern))
}

/// What a hook changes is what is judged: it can neither slip past a rule nor be refused for what is not sent.
#[tokio::test]
async fn rules_judge_what_hooks_made_of_the_arguments() {
    let change = json!({
        "hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": { "repo": "acme/x" },
    });
    let settings = json!({
        "hooks": hook("PreToolUse", &change),
        "permissions": { "deny": [when("acme/*")] },
    });
    let (bench, script) = bench(&settings).await;
    let refused =
        push(&bench, session(PermissionMode::Default), r#"{"repo":"other"}"#).await.unwrap_err();
    assert!(is_rule(&refused, "acme/*"), "{refused}");
    assert!(script.seen.borrow().is_empty());
    // The other way round: what was typed is not what is sent.
    let settings = json!({
        "hooks": hook("PreToolUse", &json!({ "hookEventName": "PreToolUse", "updatedInput": { "repo": "other" } })),
        "permissions": { "deny": [when("acme/*")], "allow": [when("oth*")] },
    });
    bench.engine.apply(&bench.workspace, trusted(&bench, &settings));
    let sent = push(&bench, session(PermissionMode::DontAsk), r#"{"repo":"acme/x"}"#).await;
    assert_eq!(sent, Ok(r#"{"repo":"other"}"#.to_owned()));
    bench.engine.shutdown().await;
}

/// A hook that answers a question can change the arguments too; what it allowed was another call.
#[tokio::test]
async fn rules_judge_what_a_hook_changed_as_it_allowed() {
    let settings = |repo: &str| {
        let decision = json!({ "behavior": "allow", "updatedInput": { "repo": repo } });
        json!({
            "hooks": hook("PermissionRequest", &json!({ "hookEventName": "PermissionRequest", "decision": decision })),
            "permissions": { "ask": [when("a*"), when("b*")], "deny": [when("secret*")] },
        })
    };
    let (bench, script) = bench(&settings("secret")).await;
    let refused =
        push(&bench, session(PermissionMode::Default), r#"{"repo":"a"}"#).await.unwrap_err();
    assert!(is_rule(&refused, "secret*"), "{refused}");
    assert!(script.seen.borrow().is_empty());
    // Still the question that the hook answered.
    bench.engine.apply(&bench.workspace, trusted(&bench, &settings("a2")));
    let sent = push(&bench, session(PermissionMode::Default), r#"{"repo":"a"}"#).await;
    assert_eq!(sent, Ok(r#"{"repo":"a2"}"#.to_owned()));
    // Another question, which a person answers.
    bench.engine.apply(&bench.workspace, trusted(&bench, &settings("b")));
    let request = Request::tool("mcp__one__push", &arguments(r#"{"repo":"a"}"#));
    let outcome = run(&bench, session(PermissionMode::Default), request, |question| {
        let QuestionKind::Permission(asked) = &question.about else { panic!("{question:?}") };
        assert!(is_rule(&asked.because, "b*"), "{}", asked.because);
        assert_eq!(asked.arguments.as_str(), r#"{"repo":"b"}"#);
        question.answer(QuestionAnswer::Allow(AnswerLifetime::Once));
    });
    assert!(matches!(outcome.await.unwrap().decision, Some(DecisionReason::Person)));
    bench.engine.shutdown().await;
}

/// Where a rule looks at arguments, ones with a member twice reach no server; elsewhere they pass as they are.
#[tokio::test]
async fn repeated_members_reach_no_server_that_a_rule_guards() {
    let (bench, script) = bench(&json!({ "permissions": { "allow": [when("acme/*")] } })).await;
    let session = || session(PermissionMode::BypassPermissions);
    for sent in [
        r#"{"repo":"acme/x","repo":"other"}"#,
        r#"{"repo":"acme/x","re\u0070o":"other"}"#,
        r#"{"repo":"acme/x","more":[{"a":1,"\u0061":2}]}"#,
    ] {
        let refused = push(&bench, session(), sent).await.unwrap_err();
        assert!(matches!(refused, DecisionReason::RepeatedArgument { .. }), "{refused}");
    }
    assert!(script.seen.borrow().is_empty());
    let request = Request::tool("mcp__one__pull", &arguments(r#"{"a":1,"a":2}"#));
    let outcome = run(&bench, session(), request, drop).await.unwrap();
    assert_eq!(said(&outcome.result), r#"{"a":1,"a":2}"#);
    bench.engine.shutdown().await;
}

/// Each principal sees the tools that some call of its own could reach; of one principal, each session by its groups.
#[tokio::test]
async fn lists_show_what_their_principal_could_use() {
    let ada = Principal::user("ada");
    let (bench, _) = bench(&json!({ "permissions": { "deny": [
        { "rule": "mcp__one__push", "for": { "principal": &**ada.id() } },
        { "rule": "mcp__one", "for": { "group": "guests" } },
        { "rule": "mcp__one__pull", "when": { "argument": "/repo", "matches": "secret" } },
    ] } }))
    .await;
    let of = |principal: &Principal, id: &str| {
        let mode = Some(PermissionMode::BypassPermissions);
        Session { principal: principal.clone(), mode, ..Session::new(id) }
    };
    let tools = |caller: Caller| {
        let bench = &bench;
        async move {
            let wait = std::time::Duration::from_secs(60);
            bench.engine.settled_snapshot_for(caller.principal(), wait).await.unwrap();
            let catalog = bench.engine.catalog_of(&caller).unwrap();
            catalog.tools().iter().map(|listed| listed.tool.name.clone()).collect::<Vec<_>>()
        }
    };
    let guest = ada.clone().with_groups(["guests", "dev"]);
    let bert = Principal::user("bert").with_groups(["dev"]);
    assert_eq!(tools(bench.attach(of(&Principal::local(), "1"))).await, ["push", "pull"]);
    assert_eq!(tools(bench.attach(of(&ada, "2"))).await, ["pull"]);
    assert_eq!(tools(bench.attach(of(&guest, "3"))).await, [""; 0]);
    assert_eq!(tools(bench.attach(of(&ada, "4"))).await, ["pull"], "the groups of another session");
    assert_eq!(tools(bench.attach(of(&bert, "5"))).await, ["push", "pull"]);
    // What is not listed cannot be called either, and the error names the rule.
    let refused = push(&bench, of(&ada, "6"), "{}").await.unwrap_err();
    assert!(is_rule(&refused, "user:ada"), "{refused}");
    let refused = push(&bench, of(&guest.with_name("x"), "7"), "{}").await.unwrap_err();
    assert!(is_rule(&refused, ""), "{refused}");
    assert!(push(&bench, of(&bert, "8"), "{}").await.is_ok());
    bench.engine.shutdown().await;
}

/// A mode that asks nobody leaves in a guest's list what some rule, hook or remembered answer could allow. The call of any
/// other tool is judged as if it were listed, so the refusal names the mode. Each row: the mode, the settings, and what
/// Ada of the group `dev`, Bert and the local principal see.
#[tokio::test]
async fn lists_leave_out_what_the_mode_refuses_to_a_guest() {
    let ada = Principal::user("ada").with_groups(["dev"]);
    let bert = Principal::user("bert");
    let allow = json!({ "allow": [{ "rule": "mcp__one__push", "for": { "group": "dev" } }] });
    let rules = json!({ "permissions": allow });
    let decides = json!({ "hookEventName": "PreToolUse", "permissionDecision": "allow" });
    let hooked = json!({ "permissions": allow, "hooks": hook("PreToolUse", &decides) });
    let (bench, script) = bench(&rules).await;
    let mut number = 0;
    let mut open = |principal: &Principal, mode| {
        number += 1;
        Session {
            principal: principal.clone(),
            mode: Some(mode),
            ..Session::new(number.to_string())
        }
    };
    let both = &["push", "pull"][..];
    for (mode, settings, expected) in [
        (PermissionMode::DontAsk, &rules, [&["push"][..], &[], both]),
        (PermissionMode::Plan, &rules, [&[], &[], both]),
        (PermissionMode::Default, &rules, [both, both, both]),
        (PermissionMode::DontAsk, &hooked, [both, both, both]),
        (PermissionMode::Plan, &hooked, [&[], &[], both]),
    ] {
        bench.engine.apply(&bench.workspace, trusted(&bench, settings));
        for (principal, expected) in [&ada, &bert, &Principal::local()].into_iter().zip(expected) {
            let caller = bench.attach(open(principal, mode));
            let wait = std::time::Duration::from_secs(60);
            bench.engine.settled_snapshot_for(caller.principal(), wait).await.unwrap();
            let catalog = bench.engine.catalog_of(&caller).unwrap();
            let listed: Vec<&str> = catalog.tools().iter().map(|it| &*it.tool.name).collect();
            assert_eq!(listed, expected, "{principal:?} {mode:?}");
        }
    }
    bench.engine.apply(&bench.workspace, trusted(&bench, &rules));
    for mode in [PermissionMode::DontAsk, PermissionMode::Plan] {
        let refused = push(&bench, open(&bert, mode), "{}").await.unwrap_err();
        assert_eq!(refused, DecisionReason::Mode { mode });
    }
    assert!(script.seen.borrow().is_empty());
    assert!(push(&bench, open(&ada, PermissionMode::DontAsk), "{}").await.is_ok());
    bench.engine.shutdown().await;
}

/// A refusal and a question name the rule, and the place of the rule in the files of the person who runs the engine to
/// that person alone.
#[tokio::test]
async fn only_the_local_principal_is_told_where_a_rule_is() {
    let settings = json!({ "permissions": { "deny": [when("*")], "ask": ["mcp__one__pull"] } });
    let (bench, _) = bench(&settings).await;
    for (principal, knows_place) in [(Principal::local(), true), (Principal::user("bert"), false)] {
        let session = |id: &str| {
            let mode = Some(PermissionMode::Default);
            Session {
                principal: principal.clone(),
                mode,
                ..Session::new(format!("{id} of {principal}"))
            }
        };
        let sent = || arguments(r#"{"repo":"x"}"#);
        let refused = run(&bench, session("1"), Request::tool("mcp__one__push", &sent()), drop);
        let refused = refused.await.unwrap_err().to_string();
        assert!(
            refused.contains("`mcp__one__push when /repo matches \"*\"` (user scope"),
            "{refused}"
        );
        assert_eq!(refused.contains("settings.json"), knows_place, "{refused}");
        let asked = RefCell::new(String::new());
        let answered =
            run(&bench, session("2"), Request::tool("mcp__one__pull", &sent()), |question| {
                let QuestionKind::Permission(about) = &question.about else {
                    panic!("{question:?}")
                };
                asked.replace(about.because.to_string());
                question.answer(QuestionAnswer::Deny(AnswerLifetime::Once));
            });
        assert!(answered.await.is_err());
        let asked = asked.into_inner();
        assert!(asked.contains("rule `mcp__one__pull` (user scope"), "{asked}");
        assert_eq!(asked.contains("settings.json"), knows_place, "{asked}");
        // Nobody answers.
        let unasked = run(&bench, session("3"), Request::tool("mcp__one__pull", &sent()), drop);
        let unasked = unasked.await.unwrap_err().to_string();
        assert_eq!(unasked.contains("settings.json"), knows_place, "{unasked}");
    }
    bench.engine.shutdown().await;
}
