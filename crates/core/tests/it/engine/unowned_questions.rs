//! Tests of questions that name no call while several calls are running on their connection.

use std::sync::atomic::Ordering;
use std::time::Duration;

use switchboard_config::PermissionMode;
use switchboard_core::dispatch::{PendingQuestion, QuestionAnswer};
use switchboard_core::engine::{Session, SessionClients};
use switchboard_core::{CallEvent, Caller, Request, RunningCall};
use switchboard_wire::json::Raw;

use super::script::{Bench, Script, said};

/// What `ask` says once its question was answered by [`accept`].
const ACCEPTED: &str = r#"{"action":"accept","content":{"name":"Ada"}}"#;
const CANCELLED: &str = r#"{"action":"cancel"}"#;

/// A legacy server that asks, and whose other calls stay in flight.
async fn bench() -> (Bench, std::sync::Arc<Script>) {
    let mut bench = Bench::new().await;
    let script = bench.serve("one", Script::new(&["a", "ask", "hang", "wait"]).legacy());
    bench.settled().await;
    (bench, script)
}

/// A call that nobody has polled yet.
fn call(bench: &Bench, caller: &Caller, tool: &str) -> RunningCall {
    let request = Request::tool(&format!("mcp__one__{tool}"), &Raw::empty_object());
    bench.engine.call(caller, request)
}

/// A call that its server has seen, and to which nothing has happened.
async fn begin(bench: &Bench, script: &Script, caller: &Caller, tool: &str) -> RunningCall {
    let mut running = call(bench, caller, tool);
    let mut seen = script.seen.subscribe();
    let before = seen.borrow_and_update().len();
    tokio::select! {
        biased;
        event = running.next() => panic!("{event:?}"),
        _ = seen.wait_for(|seen| seen.len() > before) => {}
    }
    running
}

/// Lets a call go on until nothing moves any more; on a paused clock that takes no time.
async fn stays_silent(running: &mut RunningCall) {
    let event = tokio::time::timeout(Duration::from_secs(1), running.next()).await;
    assert!(event.is_err(), "{event:?}");
}

async fn question(running: &mut RunningCall) -> PendingQuestion {
    match running.next().await.unwrap() {
        CallEvent::Question(question) => question,
        other => panic!("{other:?}"),
    }
}

fn accept(question: PendingQuestion) {
    question.answer(QuestionAnswer::Result(Ok(Raw::parse(ACCEPTED).unwrap())));
}

async fn outcome(running: RunningCall) -> String {
    said(&running.outcome().await.unwrap().result)
}

#[tokio::test(start_paused = true)]
async fn a_question_that_could_be_for_two_sessions_waits_until_one_is_left() {
    let (bench, script) = bench().await;
    let (first, second) = (bench.caller("a"), bench.caller("b"));
    let mut waiting = begin(&bench, &script, &first, "wait").await;
    let mut asking = begin(&bench, &script, &second, "ask").await;
    stays_silent(&mut asking).await;
    script.go_on.notify_one();
    assert!(matches!(waiting.next().await.unwrap(), CallEvent::Done(_)));
    drop(waiting);
    accept(question(&mut asking).await);
    assert_eq!(outcome(asking).await, ACCEPTED);
    bench.engine.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_with_calls_in_flight_keeps_its_connection_and_the_other_gets_its_own() {
    let (bench, script) = bench().await;
    let (first, second) = (bench.caller("a"), bench.caller("b"));
    let mut waiting = begin(&bench, &script, &first, "wait").await;
    let mut unclear = begin(&bench, &script, &second, "ask").await;
    stays_silent(&mut unclear).await;
    let opened = || script.opened.load(Ordering::SeqCst);
    assert_eq!(opened(), 1);
    for _ in 0..2 {
        let mut asking = call(&bench, &second, "ask");
        accept(question(&mut asking).await);
        assert_eq!(outcome(asking).await, ACCEPTED);
        assert_eq!(opened(), 2, "the second session has one to itself");
    }
    script.go_on.notify_one();
    assert!(matches!(waiting.next().await.unwrap(), CallEvent::Done(_)));
    drop(waiting);
    let open = question(&mut unclear).await;
    outcome(call(&bench, &first, "a")).await;
    accept(open);
    assert_eq!(outcome(unclear).await, ACCEPTED);
    drop(first);
    outcome(call(&bench, &second, "a")).await;
    assert_eq!(opened(), 2, "both stay where their state is");
    bench.engine.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_question_for_a_client_with_several_calls_is_put_to_the_newest() {
    let (bench, script) = bench().await;
    let caller = bench.caller("a");
    let mut hanging = begin(&bench, &script, &caller, "hang").await;
    let mut asking = call(&bench, &caller, "ask");
    let asked = question(&mut asking).await;
    let mut second = call(&bench, &caller, "ask");
    accept(question(&mut second).await);
    assert_eq!(outcome(second).await, ACCEPTED);
    accept(asked);
    assert_eq!(outcome(asking).await, ACCEPTED);
    stays_silent(&mut hanging).await;
    bench.engine.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_question_for_one_of_several_clients_of_a_session_waits_until_one_call_is_left() {
    let (bench, script) = bench().await;
    let session = Session { clients: SessionClients::Several, ..Session::new("shared") };
    let caller = bench.attach(Session { mode: Some(PermissionMode::BypassPermissions), ..session });
    let hanging = begin(&bench, &script, &caller, "hang").await;
    let mut asking = begin(&bench, &script, &caller, "ask").await;
    stays_silent(&mut asking).await;
    drop(hanging);
    accept(question(&mut asking).await);
    assert_eq!(outcome(asking).await, ACCEPTED);
    bench.engine.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn of_questions_that_keep_all_calls_waiting_one_is_cancelled() {
    let (bench, script) = bench().await;
    let (first, second) = (bench.caller("a"), bench.caller("b"));
    let hanging = begin(&bench, &script, &first, "hang").await;
    let mut one = begin(&bench, &script, &second, "ask").await;
    stays_silent(&mut one).await;
    let mut other = begin(&bench, &script, &first, "ask").await;
    stays_silent(&mut other).await;
    drop(hanging);
    assert_eq!(outcome(one).await, CANCELLED);
    accept(question(&mut other).await);
    assert_eq!(outcome(other).await, ACCEPTED);
    bench.engine.shutdown().await;
}
