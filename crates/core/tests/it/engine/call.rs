//! Tests of the stages of a call: lookup, arguments, permission, hooks, result.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_config::PermissionMode;
use switchboard_core::audit::CallEnd;
use switchboard_core::dispatch::{
    CompletionReference, PendingQuestion, QuestionAnswer, QuestionKind,
};
use switchboard_core::engine::{EngineEventKind, QuestionAnswerer, Session};
use switchboard_core::permission::{AnswerLifetime, DecisionReason, UserConsent};
use switchboard_core::{CallError, CallEvent, CallOutcome, Request};
use switchboard_wire::Remedy;
use switchboard_wire::json::Raw;
use switchboard_wire::server::HandlerReply as UnrenderedAnswer;

use super::script::{Bench, Script, raw, said, text};

pub(super) fn arguments(text: &str) -> Raw {
    Raw::parse(text.to_owned()).unwrap()
}

/// Runs a call, answering every question with `decide`.
pub(super) async fn run(
    bench: &Bench,
    session: Session,
    request: Request,
    decide: impl Fn(PendingQuestion),
) -> Result<CallOutcome, CallError> {
    let caller = bench.attach(session);
    let mut running = bench.engine.call(&caller, request);
    loop {
        match running.next().await? {
            CallEvent::Done(outcome) => return Ok(*outcome),
            CallEvent::Question(question) => decide(question),
            _ => {}
        }
    }
}

pub(super) fn session(mode: PermissionMode) -> Session {
    Session { mode: Some(mode), ..Session::new("s") }
}

#[tokio::test]
async fn a_name_that_is_almost_right_brings_a_suggestion() {
    let mut bench = Bench::new().await;
    bench.serve("files", Script::new(&["read_file", "write_file"]));
    bench.settled().await;
    let request = Request::tool("mcp__files__read_fiel", &Raw::empty_object());
    let error = run(&bench, session(PermissionMode::Default), request, drop).await.unwrap_err();
    assert!(error.to_string().contains("did you mean one of `mcp__files__read_file`"), "{error}");
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn arguments_are_checked_before_anything_is_sent() {
    let mut bench = Bench::new().await;
    let tool = json!({ "name": "add", "inputSchema": {
        "type": "object",
        "properties": { "a": { "type": "number" } },
        "required": ["a"],
        "additionalProperties": false,
    } });
    let script = bench.serve("math", Script::new(&[]).with_tool(tool));
    let check = async |given: &str, expected: Result<&str, &str>| {
        let request = Request::tool("mcp__math__add", &arguments(given));
        let outcome = run(&bench, session(PermissionMode::BypassPermissions), request, drop).await;
        match (outcome, expected) {
            (Ok(outcome), Ok(expected)) => assert_eq!(said(&outcome.result), expected),
            (Err(error), Err(place)) => assert!(error.to_string().contains(place), "{error}"),
            (outcome, expected) => panic!("{outcome:?}, not {expected:?}"),
        }
    };
    check(r#"{"a":1.50}"#, Ok(r#"{"a":1.50}"#)).await;
    check(r#"{"a":1e400}"#, Ok(r#"{"a":1e400}"#)).await;
    check(r#"{"a":"1"}"#, Err("/a")).await;
    check("{}", Err("`a`")).await;
    check(r#"{"a":1,"b":2}"#, Err("`b`")).await;
    assert_eq!(script.seen.borrow().len(), 2, "what does not fit was sent");
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn rules_decide_and_people_decide_the_rest() {
    let mut bench = Bench::new().await;
    let configuration = json!({ "permissions": {
        "allow": ["mcp__one__free"], "ask": ["mcp__one__asked"], "deny": ["mcp__one__never"],
    } });
    let tools = ["free", "asked", "never", "other"];
    let script = bench.serve_with("one", Script::new(&tools), &configuration);
    let snapshot = bench.settled().await;
    let listed: Vec<_> = snapshot.catalog.tools().iter().map(|tool| &*tool.tool.name).collect();
    assert_eq!(listed, ["free", "asked", "other"], "what is denied is not listed");

    let yes =
        |question: PendingQuestion| question.answer(QuestionAnswer::Allow(AnswerLifetime::Once));
    let no =
        |question: PendingQuestion| question.answer(QuestionAnswer::Deny(AnswerLifetime::Once));
    let check = async |tool: &str, mode, decide: &dyn Fn(PendingQuestion), expected: &str| {
        let request = Request::tool(&format!("mcp__one__{tool}"), &Raw::empty_object());
        let outcome = run(&bench, session(mode), request, decide).await;
        let shown = match outcome {
            Ok(outcome) => format!("called: {}", outcome.decision.unwrap()),
            Err(error) => error.to_string(),
        };
        let shown = shown.split(" (dynamic scope").next().unwrap().to_owned();
        assert_eq!(shown, expected, "{tool} in {mode:?}");
    };
    check("free", PermissionMode::Default, &drop, "called: rule `mcp__one__free`").await;
    check("free", PermissionMode::DontAsk, &drop, "called: rule `mcp__one__free`").await;
    check("other", PermissionMode::Default, &yes, "called: a person answered").await;
    check(
        "other",
        PermissionMode::Default,
        &no,
        "`mcp__one__other` may not be called: a person answered",
    )
    .await;
    let unanswered = "`mcp__one__other` needs a person's consent (mode `default`), and there is no person to ask";
    check("other", PermissionMode::Default, &drop, unanswered).await;
    check("other", PermissionMode::Client, &drop, "called: the client's own prompt decides").await;
    check(
        "other",
        PermissionMode::DontAsk,
        &drop,
        "`mcp__one__other` may not be called: mode `dontAsk`",
    )
    .await;
    check("other", PermissionMode::Plan, &drop, "`mcp__one__other` may not be called: mode `plan`")
        .await;
    check("asked", PermissionMode::BypassPermissions, &yes, "called: a person answered").await;
    let never = "`mcp__one__never` may not be called: rule `mcp__one__never`";
    check("never", PermissionMode::BypassPermissions, &yes, never).await;
    assert_eq!(script.seen.borrow().len(), 5, "{:?}", script.seen.borrow());
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn an_answer_is_remembered_for_as_long_as_it_says() {
    let mut bench = Bench::new().await;
    bench.serve("one", Script::new(&["a"]));
    let caller = bench.attach(session(PermissionMode::Default));
    let ask = async |reply: Option<QuestionAnswer>| {
        let mut running =
            bench.engine.call(&caller, Request::tool("mcp__one__a", &Raw::empty_object()));
        loop {
            match running.next().await {
                Ok(CallEvent::Question(question)) => {
                    assert!(matches!(question.about, QuestionKind::Permission(_)));
                    question.answer(reply.clone().expect("it was asked again"));
                }
                Ok(CallEvent::Done(outcome)) => return outcome.decision.unwrap().to_string(),
                Ok(_) => {}
                Err(error) => return error.to_string(),
            }
        }
    };
    assert_eq!(ask(Some(QuestionAnswer::Allow(AnswerLifetime::Once))).await, "a person answered");
    assert_eq!(
        ask(Some(QuestionAnswer::Allow(AnswerLifetime::Session))).await,
        "a person answered"
    );
    assert_eq!(ask(None).await, "answered before: Allow for this session");
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn what_a_person_typed_is_consent_unless_a_rule_forbids_it() {
    let mut bench = Bench::new().await;
    let configuration =
        json!({ "permissions": { "ask": ["mcp__one__a"], "deny": ["mcp__one__b"] } });
    bench.serve_with("one", Script::new(&["a", "b"]), &configuration);
    let typed = || Session { consent: UserConsent::Typed, ..Session::new("s") };
    let request = |tool: &str| Request::tool(&format!("mcp__one__{tool}"), &Raw::empty_object());
    let outcome = run(&bench, typed(), request("a"), |_| panic!("asked")).await.unwrap();
    assert!(matches!(outcome.decision, Some(DecisionReason::Typed)));
    let error = run(&bench, typed(), request("b"), |_| panic!("asked")).await.unwrap_err();
    assert!(matches!(error, CallError::Denied { at: Some(_), .. }), "{error:?}");
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn a_question_goes_to_the_queue_only_while_somebody_watches() {
    let mut bench = Bench::new().await;
    bench.serve("one", Script::new(&["a"]));
    let caller = bench
        .attach(Session { answers: QuestionAnswerer::Queue, ..session(PermissionMode::Default) });
    let call = || bench.engine.call(&caller, Request::tool("mcp__one__a", &Raw::empty_object()));
    let error = call().outcome().await.unwrap_err();
    assert!(matches!(error, CallError::Unanswered { allow: Some(_), .. }), "{error:?}");

    let queue = bench.engine.queue();
    let _watching = queue.watch();
    let answering = async {
        let mut changes = queue.changes();
        loop {
            if let [waits] = &queue.questions()[..] {
                return queue
                    .answer(waits.id, QuestionAnswer::Allow(AnswerLifetime::Once))
                    .unwrap();
            }
            changes.changed().await.unwrap();
        }
    };
    let (outcome, ()) = tokio::join!(call().outcome(), answering);
    assert!(matches!(outcome.unwrap().decision, Some(DecisionReason::Person)));
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn hooks_come_first_and_what_they_change_is_checked_again() {
    let mut bench = Bench::new().await;
    let hook = |command: &str| {
        json!({ "hooks": { "PreToolUse": [{
        "matcher": "mcp__one__.*", "hooks": [{ "type": "command", "command": command }],
    }] } })
    };
    let say = |output: Value| {
        format!("cat >/dev/null; echo '{}'", json!({ "hookSpecificOutput": output }))
    };
    let tool = json!({ "name": "a", "inputSchema": {
        "type": "object", "properties": { "n": { "type": "integer" } },
    } });
    let script = bench.serve("one", Script::new(&[]).with_tool(tool));
    let check = async |command: &str, expected: Result<&str, &str>| {
        let environment = [("PATH".into(), "/usr/bin:/bin".into())];
        let workspace = switchboard_core::Workspace {
            environment: std::sync::Arc::new(environment),
            ..bench.workspace.clone()
        };
        bench.engine.apply(&workspace, trusted(&bench, &hook(command)));
        let request = Request::tool("mcp__one__a", &arguments(r#"{"n":1}"#));
        match (run(&bench, session(PermissionMode::DontAsk), request, drop).await, expected) {
            (Ok(outcome), Ok(expected)) => assert_eq!(said(&outcome.result), expected, "{command}"),
            (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{error}"),
            (outcome, expected) => panic!("{outcome:?}, not {expected:?} of {command}"),
        }
    };
    let allow = json!({ "hookEventName": "PreToolUse", "permissionDecision": "allow" });
    check(&say(allow.clone()), Ok(r#"{"n":1}"#)).await;
    let mut changed = allow.clone();
    changed["updatedInput"] = json!({ "n": 2 });
    check(&say(changed), Ok(r#"{"n":2}"#)).await;
    let mut broken = allow;
    broken["updatedInput"] = json!({ "n": "two" });
    check(&say(broken), Err("/n")).await;
    check("echo not today >&2; exit 2", Err("a hook says: not today")).await;
    check("cat >/dev/null", Err("mode `dontAsk`")).await;
    assert_eq!(script.seen.borrow().len(), 2);
    bench.engine.shutdown().await;
}

/// The same configuration as the user's own, where hooks count.
pub(crate) fn trusted(bench: &Bench, configuration: &Value) -> switchboard_config::Desired {
    let folder = bench.folder.path().join(".config/switchboard");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("settings.json"), configuration.to_string()).unwrap();
    bench.desired(&json!({}))
}

#[tokio::test]
async fn a_long_result_becomes_a_file_and_a_note() {
    let mut bench = Bench::new().await;
    let long = "words and words\n".repeat(20_000);
    let answer = long.clone();
    bench.serve("one", Script::new(&["long"]).answering(move |_, _| text(&answer)));
    let request = Request::tool("mcp__one__long", &Raw::empty_object());
    let outcome =
        run(&bench, session(PermissionMode::BypassPermissions), request, drop).await.unwrap();
    let kept = outcome.limited.unwrap();
    let spilled = kept.spilled.unwrap();
    assert!(std::fs::read_to_string(&spilled.path).unwrap().contains(&long));
    assert!(said(&outcome.result).contains(spilled.path.to_str().unwrap()));
    assert!(outcome.result.as_str().len() < 10_000);
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn an_error_of_a_tool_is_kept_and_an_error_of_a_server_is_told() {
    let mut bench = Bench::new().await;
    let script = Script::new(&["broken", "refusing"]).answering(|name, _| match name {
        "broken" => Ok(UnrenderedAnswer::Complete(raw(&json!({ "content": [], "isError": true })))),
        _ => Err(switchboard_wire::envelope::RpcError::new(-32000, "not now")),
    });
    bench.serve("one", script);
    let mut events = bench.engine.calls();
    let call = async |tool: &str| {
        let request = Request::tool(&format!("mcp__one__{tool}"), &Raw::empty_object());
        run(&bench, session(PermissionMode::BypassPermissions), request, drop).await
    };
    assert!(call("broken").await.unwrap().is_error());
    let error = call("refusing").await.unwrap_err();
    assert_eq!(error.remedy(), Remedy::GiveUp);
    let mut ended = Vec::new();
    while let Ok(event) = events.try_recv() {
        if let EngineEventKind::Called(called) = event.what {
            ended.push((called.name.clone(), called.end));
        }
    }
    assert_eq!(ended[0], ("mcp__one__broken".to_owned(), CallEnd::ToolError));
    assert_eq!(ended[1].1, CallEnd::Failed("server-error"));
    bench.engine.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_has_a_deadline() {
    let mut bench = Bench::new().await;
    let script = bench.serve("one", Script::new(&["hang"]));
    bench.settled().await;
    let caller = bench.caller("s");
    let request =
        Request::tool("mcp__one__hang", &Raw::empty_object()).with_timeout(Duration::from_secs(7));
    let began = tokio::time::Instant::now();
    let error = bench.engine.call(&caller, request).outcome().await.unwrap_err();
    assert_eq!(began.elapsed(), Duration::from_secs(7));
    assert_eq!(error.remedy(), Remedy::Unknown, "the server may have done it");
    script.dropped.subscribe().wait_for(|dropped| *dropped == 1).await.unwrap();
    bench.engine.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn past_the_limit_a_call_is_refused_and_nobody_waits() {
    let mut bench = Bench::with(|options| options.timing.calls_in_flight = 2).await;
    let script = bench.serve("one", Script::new(&["hang", "echo"]));
    bench.settled().await;
    let caller = bench.caller("s");
    let call = |tool: &str| {
        let name = format!("mcp__one__{tool}");
        bench.engine.call(&caller, Request::tool(&name, &Raw::empty_object()))
    };
    let (mut first, mut second) = (call("hang"), call("hang"));
    let mut seen = script.seen.subscribe();
    tokio::select! {
        _ = first.next() => panic!("it ended"),
        _ = second.next() => panic!("it ended"),
        _ = seen.wait_for(|seen| seen.len() == 2) => {}
    }
    let error = call("echo").outcome().await.unwrap_err();
    assert!(matches!(error, CallError::Busy { .. }), "{error:?}");
    assert_eq!(error.remedy(), Remedy::Retry);
    drop(first);
    assert!(call("echo").outcome().await.is_ok());
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn prompts_resources_and_completions_reach_their_servers() {
    let mut bench = Bench::new().await;
    bench.serve("one", Script::new(&[]).with_resource("note://a").with_prompt("greet"));
    bench.serve("two", Script::new(&[]).with_resource("note://b").with_prompt("greet"));
    bench.settled().await;
    let caller = bench.caller("s");
    let call = async |request: Request| bench.engine.call(&caller, request).outcome().await;

    let prompt =
        call(Request::prompt("mcp__two__greet", &arguments(r#"{"x":"1"}"#))).await.unwrap();
    assert_eq!(prompt.server.as_deref(), Some("two"));
    assert!(prompt.result.as_str().contains(r#""name":"greet""#), "{}", prompt.result);

    for (uri, server) in [("note://a", "one"), ("note://b", "two")] {
        assert_eq!(call(Request::read(uri)).await.unwrap().server.as_deref(), Some(server));
    }
    let error = call(Request::read("note://nobody")).await.unwrap_err();
    let CallError::UnmentionedResource { servers, .. } = &error else { panic!("{error:?}") };
    assert_eq!(servers, &["one", "two"]);
    let forced = call(Request::read("note://nobody").of_server("one")).await.unwrap();
    assert_eq!(forced.server.as_deref(), Some("one"));

    let reference = CompletionReference::Prompt("mcp__one__greet");
    let known = arguments(r#"{"other":"v"}"#);
    let completed = call(Request::complete(reference, "x", "al", &known)).await.unwrap();
    let completed: Value = completed.result.decode().unwrap();
    let sent: Value =
        serde_json::from_str(completed["completion"]["values"][0].as_str().unwrap()).unwrap();
    assert_eq!(sent["ref"], json!({ "type": "ref/prompt", "name": "greet" }));
    assert_eq!(sent["context"]["arguments"], json!({ "other": "v" }));
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn a_resource_that_a_result_speaks_of_is_read_from_the_same_server() {
    let mut bench = Bench::new().await;
    bench.serve("one", Script::new(&[]));
    let script = Script::new(&["link"]).answering(|_, _| {
        let link = json!({ "type": "resource_link", "uri": "made://up", "name": "x" });
        Ok(UnrenderedAnswer::Complete(raw(&json!({ "content": [link] }))))
    });
    bench.serve("two", script);
    bench.settled().await;
    let (caller, stranger) = (bench.caller("s"), bench.caller("t"));
    let request = Request::tool("mcp__two__link", &Raw::empty_object());
    bench.engine.call(&caller, request).outcome().await.unwrap();
    let read = bench.engine.call(&caller, Request::read("made://up")).outcome().await.unwrap();
    assert_eq!(read.server.as_deref(), Some("two"));
    let error = bench.engine.call(&stranger, Request::read("made://up")).outcome().await;
    assert!(error.is_err(), "a session learnt what was told to another");
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn the_engines_own_tools_list_and_read_resources() {
    let mut bench = Bench::new().await;
    bench.serve("one", Script::new(&[]).with_resource("note://a"));
    bench.serve("two", Script::new(&[]).with_resource("note://b"));
    bench.settled().await;
    let caller = bench.attach(session(PermissionMode::Default));
    let call = async |tool: &str, given: &str| {
        bench.engine.call(&caller, Request::tool(tool, &arguments(given))).outcome().await
    };
    let all = call("ListMcpResources", "{}").await.unwrap();
    let listed: Value = serde_json::from_str(&said(&all.result)).unwrap();
    assert_eq!(listed[1]["server"], "two");
    assert_eq!(listed.as_array().unwrap().len(), 2);
    let some = call("ListMcpResources", r#"{"server":"one"}"#).await.unwrap();
    assert!(said(&some.result).contains("note://a") && !said(&some.result).contains("note://b"));
    let read = call("ReadMcpResource", r#"{"uri":"note://b"}"#).await.unwrap();
    assert_eq!(read.server.as_deref(), Some("two"));
    let read: Value = read.result.decode().unwrap();
    assert_eq!(read["content"][0]["resource"]["text"], "read");
    let error = call("ReadMcpResource", "{}").await.unwrap_err();
    assert!(error.to_string().contains("/uri"), "{error}");
    bench.engine.shutdown().await;
}

/// A model can correct what a result tells it; an error of the protocol ends its turn.
#[tokio::test]
async fn a_wrong_server_or_uri_of_the_engines_own_tools_is_a_result_that_names_the_servers() {
    let mut bench = Bench::new().await;
    bench.serve("one", Script::new(&[]).with_resource("note://a"));
    bench.serve("two", Script::new(&[]).with_resource("note://a"));
    bench.settled().await;
    let caller = bench.attach(session(PermissionMode::Default));
    let call = async |tool: &str, given: &str| {
        bench.engine.call(&caller, Request::tool(tool, &arguments(given))).outcome().await.unwrap()
    };
    for (tool, given) in [
        ("ListMcpResources", r#"{"server":"zz"}"#),
        ("ReadMcpResource", r#"{"server":"zz","uri":"note://a"}"#),
        ("ReadMcpResource", r#"{"uri":"note://nowhere"}"#),
    ] {
        let wrong = call(tool, given).await;
        assert!(wrong.is_error(), "{given}");
        let said = said(&wrong.result);
        assert!(said.contains("`one`, `two`") && said.contains("give `server`"), "{said}");
    }
    let read = call("ReadMcpResource", r#"{"uri":"note://a"}"#).await;
    let result: Value = read.result.decode().unwrap();
    let told = result["content"][1]["text"].as_str().unwrap();
    assert!(told.contains("`one`") && told.contains("`two`"), "{told}");
    let named = call("ReadMcpResource", r#"{"uri":"note://a","server":"two"}"#).await;
    let result: Value = named.result.decode().unwrap();
    assert_eq!(result["content"].as_array().unwrap().len(), 1, "it was named");
    bench.engine.shutdown().await;
}

/// It may be the first that a client asks.
#[tokio::test]
async fn the_engines_own_tools_wait_for_servers_that_are_starting() {
    let mut bench = Bench::new().await;
    bench.serve("one", Script::new(&[]).with_resource("note://a"));
    let caller = bench.attach(session(PermissionMode::Default));
    let listing = Request::tool("ListMcpResources", &arguments("{}"));
    let listed = bench.engine.call(&caller, listing).outcome().await.unwrap();
    assert!(said(&listed.result).contains("note://a"), "{}", listed.result);
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn an_unknown_method_goes_through_only_where_one_server_is_meant() {
    let mut bench = Bench::new().await;
    bench.serve("one", Script::new(&[]));
    let odd = || Request::forward("odd/method", None);
    let caller = bench.caller("s");
    let error = bench.engine.call(&caller, odd()).outcome().await.unwrap_err();
    assert!(matches!(error, CallError::Server { .. }), "{error:?}");
    bench.serve("two", Script::new(&[]));
    let error = bench.engine.call(&caller, odd()).outcome().await.unwrap_err();
    assert!(matches!(error, CallError::UnknownMethod { .. }), "{error:?}");
    let error = bench.engine.call(&caller, odd().of_server("two")).outcome().await.unwrap_err();
    assert!(matches!(&error, CallError::Server { server, .. } if server == "two"), "{error:?}");
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn denying_a_server_hides_its_prompts_and_resources_too() {
    let mut bench = Bench::new().await;
    let script = Script::new(&["a"]).with_resource("note://a").with_prompt("greet");
    bench.serve_with("one", script, &json!({ "permissions": { "deny": ["mcp__one"] } }));
    let snapshot = bench.settled().await;
    let catalog = &snapshot.catalog;
    assert!(catalog.tools().is_empty() && catalog.prompts().is_empty());
    assert!(catalog.resources().is_empty());
    let caller = bench.caller("s");
    for request in [
        Request::read("note://a").of_server("one"),
        Request::forward("things/list", None).of_server("one"),
    ] {
        let error = bench.engine.call(&caller, request).outcome().await.unwrap_err();
        assert!(matches!(error, CallError::Denied { .. }), "{error:?}");
    }
    bench.engine.shutdown().await;
}

/// Whoever sees one server learns nothing of another: no name, no state, no rule, no resource.
#[tokio::test]
async fn a_request_for_one_server_is_told_nothing_of_others() {
    let mut bench = Bench::new().await;
    bench
        .serve("one", Script::new(&["create_note"]).with_resource("note://a").with_prompt("greet"));
    let rules = json!({ "permissions": { "deny": ["mcp__two__hidden"] } });
    let two =
        Script::new(&["create_issue", "hidden"]).with_resource("note://b").with_prompt("greet");
    bench.serve_with("two", two, &rules);
    bench.settled().await;
    let caller = bench.caller("s");
    let refused = async |request: Request| {
        let error =
            bench.engine.call(&caller, request.of_server("one")).outcome().await.unwrap_err();
        assert!(matches!(error, CallError::NotFound { .. }), "{error:?}");
        error.to_string()
    };
    for name in
        ["mcp__two__create_isue", "create_issue", "mcp__two__create_issue", "mcp__two__hidden"]
    {
        let told = refused(Request::tool(name, &arguments("{}"))).await;
        // What it may be told of is its own server.
        let others = told.replace(name, "");
        assert!(!others.contains("two") && !others.contains("issue"), "{told}");
    }
    let told = refused(Request::tool("mcp__one__create_not", &arguments("{}"))).await;
    assert!(told.contains("mcp__one__create_note") && !told.contains("two"), "{told}");
    refused(Request::prompt("mcp__two__greet", &arguments("{}"))).await;
    for (tool, given) in [
        ("ListMcpResources", r#"{"server":"two"}"#),
        ("ListMcpResources", r#"{"server":"three"}"#),
        ("ReadMcpResource", r#"{"server":"two","uri":"note://b"}"#),
    ] {
        let request = Request::tool(tool, &arguments(given)).of_server("one");
        let wrong = bench.engine.call(&caller, request).outcome().await.unwrap();
        let told = said(&wrong.result);
        assert!(wrong.is_error() && told.contains("`one`"), "{told}");
        assert!(!told.replacen("`two`", "", 1).contains("two"), "{told}");
    }
    let listed = Request::tool("ListMcpResources", &arguments("{}")).of_server("one");
    let listed = bench.engine.call(&caller, listed).outcome().await.unwrap();
    let listed = said(&listed.result);
    assert!(listed.contains("note://a") && !listed.contains("note://b"), "{listed}");
    // Whoever sees all is helped as before.
    let all = Request::tool("mcp__two__create_isue", &arguments("{}"));
    let told = bench.engine.call(&caller, all).outcome().await.unwrap_err().to_string();
    assert!(told.contains("did you mean `mcp__two__create_issue`"), "{told}");
    bench.engine.shutdown().await;
}
