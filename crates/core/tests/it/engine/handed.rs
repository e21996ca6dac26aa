//! Tests of calls that are handed out with their questions, and continued with the answers.

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_config::PermissionMode;
use switchboard_core::dispatch::{CallContinuation, InputRequired};
use switchboard_core::engine::{EngineEvent, EngineEventKind, QuestionAnswerer, Session};
use switchboard_core::{CallError, CallEvent, CallOutcome, Request};
use switchboard_wire::client::{InputRequest, InputResponse};
use switchboard_wire::json::Raw;
use switchboard_wire::server::HandlerReply;

use super::script::{Bench, Script, raw, said};

const FORMS: &str = r#"{"elicitation":{"form":{}}}"#;

fn session(answers: QuestionAnswerer, capabilities: &str) -> Session {
    Session {
        mode: Some(PermissionMode::BypassPermissions),
        answers,
        capabilities: Raw::parse(capabilities.to_owned()).unwrap(),
        ..Session::new("s")
    }
}

fn request() -> Request {
    Request::tool("mcp__one__ask", &raw(&json!({ "n": 1 }))).hand_out_questions()
}

/// How a call ends, where nobody answers what is asked while it is held.
async fn ended(bench: &Bench, session: Session, request: Request) -> Result<CallEvent, CallError> {
    let caller = bench.attach(session);
    let mut running = bench.engine.call(&caller, request);
    loop {
        match running.next().await? {
            CallEvent::Question(question) => drop(question),
            end @ (CallEvent::Done(_) | CallEvent::NeedsInput(_)) => return Ok(end),
            _ => {}
        }
    }
}

async fn handed(bench: &Bench) -> InputRequired {
    match ended(bench, session(QuestionAnswerer::Caller, FORMS), request()).await.unwrap() {
        CallEvent::NeedsInput(handed) => *handed,
        other => panic!("{other:?}"),
    }
}

async fn made_again(bench: &Bench, carried: CallContinuation) -> Result<CallOutcome, CallError> {
    let outcome = Ok(raw(&json!({ "action": "accept", "content": { "name": "Ada" } })));
    let request = request().resume(carried, vec![InputResponse { key: "who".into(), outcome }]);
    match ended(bench, session(QuestionAnswerer::Caller, FORMS), request).await? {
        CallEvent::Done(outcome) => Ok(*outcome),
        other => panic!("{other:?}"),
    }
}

/// What went to a client and came back.
fn travelled(carried: &CallContinuation) -> CallContinuation {
    serde_json::from_slice(&serde_json::to_vec(carried).unwrap()).unwrap()
}

/// Writes the user's settings and applies them.
pub(super) fn apply(bench: &Bench, settings: &Value) {
    let folder = bench.folder.path().join(".config/switchboard");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("settings.json"), settings.to_string()).unwrap();
    let mut workspace = bench.workspace.clone();
    workspace.environment = Arc::new([("PATH".into(), "/usr/bin:/bin".into())]);
    bench.engine.apply(&workspace, bench.desired(&json!({})));
}

#[tokio::test]
async fn a_call_is_handed_out_with_the_servers_own_keys_and_goes_on_with_the_answers() {
    let mut bench = Bench::new().await;
    let script = bench.serve("one", Script::new(&["ask"]));
    let handed = handed(&bench).await;
    let asked: Vec<&str> = handed.questions.iter().map(|asked| asked.key.as_str()).collect();
    assert_eq!((asked, handed.carried.server()), (vec!["who"], "one"));
    assert_eq!(bench.engine.calls_in_flight(), 0, "something is held");

    let outcome = made_again(&bench, travelled(&handed.carried)).await.unwrap();
    assert_eq!(said(&outcome.result), r#"{"action":"accept","content":{"name":"Ada"}}"#);
    assert_eq!(*script.seen.borrow(), [r#"ask {"n":1}"#, r#"ask {"n":1}"#]);
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn hooks_and_permission_are_asked_once_and_each_leg_is_on_record() {
    let mut bench = Bench::new().await;
    let script = bench.serve("one", Script::new(&["ask"]));
    let runs = bench.folder.path().join("runs");
    let hook = |event: &str, output: &Value| {
        let output = json!({ "hookSpecificOutput": output });
        let command =
            format!("cat >/dev/null; echo {event} >> {}; echo '{output}'", runs.display());
        json!([{ "hooks": [{ "type": "command", "command": command }] }])
    };
    let pre = json!({
        "hookEventName": "PreToolUse", "permissionDecision": "allow",
        "updatedInput": { "n": 2 }, "additionalContext": "noted",
    });
    let post = json!({ "hookEventName": "PostToolUse" });
    apply(
        &bench,
        &json!({ "hooks": {
            "PreToolUse": hook("before", &pre), "PostToolUse": hook("after", &post),
        } }),
    );
    let mut events = bench.engine.calls();
    let handed = handed(&bench).await;
    let outcome = made_again(&bench, travelled(&handed.carried)).await.unwrap();

    assert_eq!(fs::read_to_string(&runs).unwrap(), "before\nafter\n");
    assert_eq!(*script.seen.borrow(), [r#"ask {"n":2}"#, r#"ask {"n":2}"#]);
    assert_eq!(outcome.context, ["noted"]);
    assert_eq!(outcome.decision.unwrap().to_string(), "a hook says so");
    let mut told = Vec::new();
    while let Ok(event) = events.try_recv() {
        if let EngineEvent { what: EngineEventKind::Called(called), .. } = event {
            let decision = called.decision.as_ref().unwrap();
            told.push((called.end.word(), decision.reason().to_string()));
        }
    }
    assert_eq!(told, ["asked", "ok"].map(|word| (word, "a hook says so".to_owned())));
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn a_hook_that_answers_leaves_nothing_to_hand_out_and_one_that_listens_hears_the_answer() {
    let mut bench = Bench::new().await;
    bench.serve("one", Script::new(&["ask"]));
    let hook = |event: &str, output: &Value| {
        let output = json!({ "hookSpecificOutput": output });
        let command = format!("cat >/dev/null; echo '{output}'");
        json!({ "hooks": { event: [{ "hooks": [{ "type": "command", "command": command }] }] } })
    };
    let first = json!({
        "hookEventName": "Elicitation", "action": "accept", "content": { "name": "hook" },
    });
    apply(&bench, &hook("Elicitation", &first));
    let end = ended(&bench, session(QuestionAnswerer::Caller, FORMS), request()).await.unwrap();
    let CallEvent::Done(outcome) = end else { panic!("{end:?}") };
    assert_eq!(said(&outcome.result), r#"{"action":"accept","content":{"name":"hook"}}"#);

    let after = json!({ "hookEventName": "ElicitationResult", "action": "decline" });
    apply(&bench, &hook("ElicitationResult", &after));
    let handed = handed(&bench).await;
    let outcome = made_again(&bench, travelled(&handed.carried)).await.unwrap();
    assert!(said(&outcome.result).starts_with(r#"{"action":"decline""#), "{}", outcome.result);
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn what_its_caller_cannot_take_is_not_handed_out() {
    let cancelled = r#"{"action":"cancel"}"#;
    let cases = [
        ("cannot be asked", Script::new(&["ask"]), QuestionAnswerer::Caller, "{}"),
        ("somebody else answers", Script::new(&["ask"]), QuestionAnswerer::Queue, FORMS),
        (
            "the call is still under way",
            Script::new(&["ask"]).legacy(),
            QuestionAnswerer::Caller,
            FORMS,
        ),
    ];
    for (why, script, answers, capabilities) in cases {
        let mut bench = Bench::new().await;
        bench.serve("one", script);
        apply(&bench, &json!({ "questions": { "elicitation": "queue" } }));
        let end = ended(&bench, session(answers, capabilities), request()).await.unwrap();
        let CallEvent::Done(outcome) = end else { panic!("{why}: {end:?}") };
        assert_eq!(said(&outcome.result), cancelled, "{why}");
        bench.engine.shutdown().await;
    }
}

#[tokio::test]
async fn of_several_questions_those_that_can_be_asked_are() {
    let question = |key: &str, method: &str, params: Value| InputRequest {
        key: key.into(),
        method: method.into(),
        params: raw(&params),
    };
    let script = Script::new(&["many"]).answering(move |_, _| {
        let questions = vec![
            question("form", "elicitation/create", json!({ "message": "who?" })),
            question(
                "page",
                "elicitation/create",
                json!({ "mode": "url", "url": "https://x.test" }),
            ),
        ];
        Ok(HandlerReply::NeedsInput { questions, state: None })
    });
    let mut bench = Bench::new().await;
    bench.serve("one", script);
    apply(&bench, &json!({ "questions": { "elicitation": "queue" } }));
    let request = || Request::tool("mcp__one__many", &raw(&json!({}))).hand_out_questions();
    let end = ended(&bench, session(QuestionAnswerer::Caller, FORMS), request()).await;
    let Ok(CallEvent::NeedsInput(handed)) = end else { panic!("{end:?}") };
    let asked: Vec<&str> = handed.questions.iter().map(|asked| asked.key.as_str()).collect();
    assert_eq!(asked, ["form"]);
    let carried = serde_json::to_value(&handed.carried).unwrap();
    assert_eq!(carried["answered"], json!([["page", { "action": "cancel" }]]));
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn a_call_does_not_go_on_at_another_server_or_one_of_the_other_era() {
    let mut bench = Bench::new().await;
    bench.serve("one", Script::new(&["ask"]));
    let handed = handed(&bench).await;
    let mut other = serde_json::to_value(&handed.carried).unwrap();
    for (key, value) in [("server", "two"), ("signature", "another")] {
        let before = std::mem::replace(&mut other[key], json!(value));
        let carried: CallContinuation = serde_json::from_value(other.clone()).unwrap();
        let refused = made_again(&bench, carried).await.unwrap_err();
        assert!(matches!(refused, CallError::Changed { .. }), "{key}: {refused}");
        other[key] = before;
    }
    bench.workspace.in_process.clear();
    bench.engine.apply(&bench.workspace, bench.desired(&json!({})));
    let script = bench.serve("one", Script::new(&["ask"]).legacy());
    let refused = made_again(&bench, travelled(&handed.carried)).await.unwrap_err();
    assert!(matches!(refused, CallError::Changed { .. }), "{refused}");
    assert!(script.seen.borrow().is_empty(), "it was called as if for the first time");
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn who_takes_only_results_hears_that_something_is_asked() {
    let mut bench = Bench::new().await;
    bench.serve("one", Script::new(&["ask"]));
    let caller = bench.attach(session(QuestionAnswerer::Caller, FORMS));
    let refused = bench.engine.call(&caller, request()).outcome().await.unwrap_err();
    assert_eq!(refused.to_string(), "`one` asks a question before it answers");
    bench.engine.shutdown().await;
}
