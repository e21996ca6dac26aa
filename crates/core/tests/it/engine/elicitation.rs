//! Tests of questions of servers during a call: forms, pages, sampling, roots.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_config::PermissionMode;
use switchboard_core::dispatch::{QuestionAnswer, QuestionKind};
use switchboard_core::engine::{QuestionAnswerer, Session};
use switchboard_core::{CallError, CallEvent, Request};
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::Raw;
use switchboard_wire::server::ChangeNotification;
use tokio::time::Instant;

use super::script::{Bench, Script, raw, said, text};

fn session(answers: QuestionAnswerer) -> Session {
    Session { mode: Some(PermissionMode::BypassPermissions), answers, ..Session::new("s") }
}

/// Calls `mcp__one__ask`, answering its questions; what the tool says then.
async fn ask(bench: &Bench, session: Session, reply: Option<QuestionAnswer>) -> String {
    let caller = bench.attach(session);
    let mut running =
        bench.engine.call(&caller, Request::tool("mcp__one__ask", &Raw::empty_object()));
    loop {
        match running.next().await.unwrap() {
            CallEvent::Done(outcome) => return said(&outcome.result),
            CallEvent::Question(question) => {
                let QuestionKind::Elicitation { params } = &question.about else {
                    panic!("{question:?}")
                };
                assert!(params.as_str().contains("who?"), "{params}");
                match &reply {
                    Some(reply) => question.answer(reply.clone()),
                    None => drop(question),
                }
            }
            other => panic!("{other:?}"),
        }
    }
}

fn accept() -> QuestionAnswer {
    QuestionAnswer::Result(Ok(raw(&json!({ "action": "accept", "content": { "name": "Ada" } }))))
}

#[tokio::test]
async fn a_form_reaches_whoever_made_the_call_in_either_era() {
    for script in [Script::new(&["ask"]), Script::new(&["ask"]).legacy()] {
        let mut bench = Bench::new().await;
        bench.serve("one", script);
        let caller = QuestionAnswerer::Caller;
        let accepted = ask(&bench, session(caller), Some(accept())).await;
        assert_eq!(accepted, r#"{"action":"accept","content":{"name":"Ada"}}"#);
        let cancelled = ask(&bench, session(caller), None).await;
        assert_eq!(cancelled, r#"{"action":"cancel"}"#);
        let declined = ask(
            &bench,
            session(caller),
            Some(QuestionAnswer::Deny(switchboard_core::permission::AnswerLifetime::Once)),
        );
        assert_eq!(declined.await, r#"{"action":"decline"}"#);
        // Nobody watches the queue.
        assert_eq!(
            ask(&bench, session(QuestionAnswerer::Queue), None).await,
            r#"{"action":"cancel"}"#
        );
        bench.engine.shutdown().await;
    }
}

#[tokio::test]
async fn hooks_may_answer_first_and_see_the_answer_after() {
    let mut bench = Bench::new().await;
    bench.serve("one", Script::new(&["ask"]));
    let hook = |event: &str, output: &Value| {
        let output = json!({ "hookSpecificOutput": output });
        json!({ "hooks": { event: [{ "matcher": "one", "hooks": [
            { "type": "command", "command": format!("cat >/dev/null; echo '{output}'") },
        ] }] } })
    };
    let apply = |settings: &Value| {
        let folder = bench.folder.path().join(".config/switchboard");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("settings.json"), settings.to_string()).unwrap();
        let mut workspace = bench.workspace.clone();
        workspace.environment = Arc::new([("PATH".into(), "/usr/bin:/bin".into())]);
        bench.engine.apply(&workspace, bench.desired(&json!({})));
    };
    let answer = json!({
        "hookEventName": "Elicitation", "action": "accept", "content": { "name": "hook" },
    });
    apply(&hook("Elicitation", &answer));
    let said = ask(&bench, session(QuestionAnswerer::Queue), None).await;
    assert_eq!(said, r#"{"action":"accept","content":{"name":"hook"}}"#);
    let changed = json!({ "hookEventName": "ElicitationResult", "action": "decline" });
    apply(&hook("ElicitationResult", &changed));
    let said = ask(&bench, session(QuestionAnswerer::Caller), Some(accept())).await;
    assert!(said.starts_with(r#"{"action":"decline""#), "{said}");
    bench.engine.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_question_in_the_queue_has_a_deadline() {
    let mut bench = Bench::new().await;
    bench.serve("one", Script::new(&["ask"]));
    bench.settled().await;
    let _watching = bench.engine.queue().watch();
    let began = Instant::now();
    let said = ask(&bench, session(QuestionAnswerer::Queue), None).await;
    assert_eq!(said, r#"{"action":"cancel"}"#);
    assert_eq!(began.elapsed(), Duration::from_secs(600));
    bench.engine.shutdown().await;
}

/// A server that wants a page visited as often as `times` says, and tells when it was.
fn toll(times: usize) -> (Script, Arc<AtomicUsize>) {
    let called = Arc::new(AtomicUsize::new(0));
    let count = called.clone();
    let script = Script::new(&["pay"]).legacy();
    let changes = script.changes.clone();
    let script = script.answering(move |_, _| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        if number >= times {
            return text("paid");
        }
        let id = format!("visit-{number}");
        let data = json!({ "elicitations": [
            { "mode": "url", "elicitationId": id, "url": "https://pay.test/", "message": "pay first" },
        ] });
        let done = raw(&json!({ "elicitationId": id }));
        changes.announce(ChangeNotification::Other("notifications/elicitation/complete".into(), done));
        Err(RpcError::new(code::URL_ELICITATION_REQUIRED, "pay first").with_data(raw(&data)))
    });
    (script, called)
}

async fn pay(bench: &Bench, reply: impl Fn() -> QuestionAnswer) -> Result<String, CallError> {
    let caller = bench.attach(session(QuestionAnswerer::Caller));
    let mut running =
        bench.engine.call(&caller, Request::tool("mcp__one__pay", &Raw::empty_object()));
    loop {
        match running.next().await? {
            CallEvent::Done(outcome) => return Ok(said(&outcome.result)),
            CallEvent::Question(question) => {
                let QuestionKind::Elicitation { params } = &question.about else {
                    panic!("{question:?}")
                };
                assert!(params.as_str().contains("https://pay.test/"), "{params}");
                question.answer(reply());
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_page_is_visited_and_the_call_made_again_three_times_at_most() {
    let visited = || QuestionAnswer::Result(Ok(raw(&json!({ "action": "accept" }))));
    for (times, calls, expected) in [
        (1, 2, Ok("paid")),
        (3, 4, Ok("paid")),
        (4, 4, Err("`one` asks for one more page in the browser, after 3 already")),
    ] {
        let mut bench = Bench::new().await;
        let (script, called) = toll(times);
        bench.serve("one", script);
        let outcome = pay(&bench, visited).await.map_err(|error| error.to_string());
        assert_eq!(outcome.as_deref().map_err(String::as_str), expected);
        assert_eq!(called.load(Ordering::SeqCst), calls);
        bench.engine.shutdown().await;
    }
}

#[tokio::test]
async fn declined_and_cancelled_are_different() {
    for (action, expected) in [
        ("decline", "`one` asked for something first, and it was declined"),
        // Nobody may have seen the page.
        (
            "cancel",
            "`one` wants a page visited first: pay first https://pay.test/. Open it in a browser, then call again",
        ),
    ] {
        let mut bench = Bench::new().await;
        let (script, called) = toll(1);
        bench.serve("one", script);
        let reply = || QuestionAnswer::Result(Ok(raw(&json!({ "action": action }))));
        let error = pay(&bench, reply).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(called.load(Ordering::SeqCst), 1, "the call was made again");
        bench.engine.shutdown().await;
    }
}

/// A server that asks for pages of a client that can show none: it hears *cancel*, and the result names the pages.
#[tokio::test]
async fn a_page_that_the_client_cannot_show_is_named_in_the_result() {
    let page = |number: usize| {
        json!({ "mode": "url", "elicitationId": format!("{number}"),
        "message": "sign in", "url": format!("https://sign.test/{number}") })
    };
    for (pages, expected) in [
        (
            vec![page(0)],
            "`one` wants a page visited first: sign in https://sign.test/0. Open it in a browser, then call again.",
        ),
        (
            vec![page(0), page(1)],
            "`one` wants pages visited first: sign in https://sign.test/0; sign in https://sign.test/1. Open them in \
             a browser, then call again.",
        ),
    ] {
        for is_legacy in [false, true] {
            let script = Script::new(&["ask"]).asking(pages.clone());
            let mut bench = Bench::new().await;
            bench.serve("one", if is_legacy { script.legacy() } else { script });
            // Declared for the queue, which nobody watches.
            super::handed::apply(&bench, &json!({ "questions": { "elicitation": "queue" } }));
            let without = Raw::empty_object();
            let session = Session { capabilities: without, ..session(QuestionAnswerer::Queue) };
            let caller = bench.attach(session);
            let request = Request::tool("mcp__one__ask", &Raw::empty_object());
            let outcome = bench.engine.call(&caller, request).outcome().await.unwrap();
            let result: Value = outcome.result.decode().unwrap();
            assert_eq!(result["content"][0]["text"], r#"{"action":"cancel"}"#, "{result}");
            assert_eq!(result["content"][1]["text"], expected, "{result}");
            bench.engine.shutdown().await;
        }
    }
}

/// `notifications/elicitation/complete` is optional: a call goes on without it, within seconds.
#[tokio::test(start_paused = true)]
async fn a_call_is_made_again_though_the_server_does_not_tell_of_the_visit() {
    for (wanted, shown, seconds) in [(1, 1, 5), (2, 2, 5), (3, 3, 5)] {
        let mut bench = Bench::new().await;
        let called = Arc::new(AtomicUsize::new(0));
        let count = called.clone();
        let script = Script::new(&["pay"]).legacy().answering(move |_, _| {
            if count.fetch_add(1, Ordering::SeqCst) >= wanted {
                return text("paid");
            }
            let data = json!({ "elicitations": [
                { "mode": "url", "elicitationId": "visit", "url": "https://pay.test/", "message": "pay" },
            ] });
            Err(RpcError::new(code::URL_ELICITATION_REQUIRED, "pay").with_data(raw(&data)))
        });
        bench.serve("one", script);
        bench.settled().await;
        let asked = AtomicUsize::new(0);
        let began = Instant::now();
        let outcome = pay(&bench, || {
            asked.fetch_add(1, Ordering::SeqCst);
            QuestionAnswer::Result(Ok(raw(&json!({ "action": "accept" }))))
        });
        assert_eq!(outcome.await.unwrap(), "paid");
        assert_eq!(asked.load(Ordering::SeqCst), shown, "how often the page was shown");
        // Only the first time there is a wait: accepted once more, the visit is over.
        assert_eq!(began.elapsed().as_secs(), seconds);
        bench.engine.shutdown().await;
    }
}
