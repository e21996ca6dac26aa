//! Tests of 2025-11-25 tasks: requested if a tool demands it, polled, and their results fetched.

use switchboard_wire::client::{CallRequest, Client, Exchange, ExchangeEvent, ServerInbox};

use super::{Peer, bounded, done, legacy, member, raw};

const CAPABILITIES: &str = r#"{"tools":{},"tasks":{"requests":{"tools":{"call":{}}},"cancel":{}}}"#;
const TOOLS: &str =
    r#"{"tools":[{"name":"long","execution":{"taskSupport":"required"}},{"name":"short"}]}"#;
const WORKING: &str = r#"{"taskId":"t1","status":"working","pollInterval":1000}"#;

/// A call that has become a task.
async fn created() -> (Client, ServerInbox, Exchange, Peer) {
    let (client, inbox, mut peer) = legacy(CAPABILITIES).await;
    let mut exchange = client.call(CallRequest::call_tool("long", &raw("{}")).with_progress());
    let playing = async {
        let list = peer.expect("tools/list").await;
        peer.answer(&list, TOOLS).await;
        let call = peer.expect("tools/call").await;
        assert_eq!(member(&call.params().unwrap(), "task"), "{}");
        peer.answer(&call, &format!(r#"{{"task":{WORKING}}}"#)).await;
    };
    let ((), event) = tokio::join!(playing, exchange.next());
    assert!(matches!(event, Ok(ExchangeEvent::Task(_))), "{event:?}");
    (client, inbox, exchange, peer)
}

#[test]
fn a_tool_that_must_be_a_task_is_made_one_and_no_other() {
    bounded(async {
        let (client, _inbox, mut exchange, mut peer) = created().await;
        let playing = async {
            let poll = peer.expect("tasks/get").await;
            peer.answer(&poll, r#"{"taskId":"t1","status":"completed"}"#).await;
            let fetch = peer.expect("tasks/result").await;
            peer.answer(&fetch, r#"{"content":[],"odd":1.0}"#).await;
        };
        let ((), result) = tokio::join!(playing, done(&mut exchange));
        assert_eq!(result.as_str(), r#"{"content":[],"odd":1.0}"#);
        let playing = async {
            let call = peer.expect("tools/call").await;
            assert_eq!(member(&call.params().unwrap(), "task"), "(missing)");
            peer.answer(&call, "{}").await;
        };
        let ((), result) = tokio::join!(
            playing,
            client.call(CallRequest::call_tool("short", &raw("{}"))).result()
        );
        result.unwrap();
    });
}

fn question(id: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"elicitation/create","params":{{"message":"?",
        "_meta":{{"io.modelcontextprotocol/related-task":{{"taskId":"t1"}}}}}}}}"#
    )
}

/// Questions during the task and during `tasks/result`; progress continues through both.
#[test]
fn questions_and_progress_of_a_task_are_its_calls() {
    bounded(async {
        let (_client, _inbox, mut exchange, mut peer) = created().await;
        let playing = async {
            let progress = |token: &str, step: u32| {
                format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{step}}}}}"#
                )
            };
            // Another running call does not confuse them. Ids 1 to 4 were greetings, list and call.
            peer.say(progress("4", 1)).await;
            peer.say(question(70)).await;
            let answer = peer.text().await.unwrap();
            assert_eq!(answer, r#"{"jsonrpc":"2.0","id":70,"result":"while it works"}"#);
            let poll = peer.expect("tasks/get").await;
            peer.answer(&poll, r#"{"taskId":"t1","status":"input_required"}"#).await;
            let fetch = peer.expect("tasks/result").await;
            peer.say(progress("4", 2)).await;
            peer.say(question(71)).await;
            let answer = peer.text().await.unwrap();
            assert_eq!(answer, r#"{"jsonrpc":"2.0","id":71,"result":"at the end"}"#);
            peer.answer(&fetch, "{}").await;
        };
        let calling = async {
            let mut steps = Vec::new();
            let mut answers = [r#""while it works""#, r#""at the end""#].into_iter();
            loop {
                match exchange.next().await.unwrap() {
                    ExchangeEvent::Progress(params) => steps.push(member(&params, "progress")),
                    ExchangeEvent::NeedsInput(questions) => {
                        exchange.answer(vec![questions[0].answer(raw(answers.next().unwrap()))]);
                    }
                    ExchangeEvent::Task(_) => {}
                    ExchangeEvent::Done(_) => return steps,
                    other => panic!("{other:?}"),
                }
            }
        };
        let ((), steps) = tokio::join!(playing, calling);
        assert_eq!(steps, ["1", "2"]);
    });
}

#[test]
fn a_task_nobody_waits_for_is_cancelled() {
    bounded(async {
        let (_client, _inbox, exchange, mut peer) = created().await;
        drop(exchange);
        let cancel = peer.expect("tasks/cancel").await;
        assert_eq!(member(&cancel.params().unwrap(), "taskId"), r#""t1""#);
    });
}

#[test]
fn a_task_that_ends_badly() {
    bounded(async {
        let (_client, _inbox, exchange, mut peer) = created().await;
        let playing = async {
            let poll = peer.expect("tasks/get").await;
            peer.answer(&poll, r#"{"taskId":"t1","status":"failed"}"#).await;
            let fetch = peer.expect("tasks/result").await;
            peer.refuse(&fetch, r#"{"code":-5,"message":"broke"}"#).await;
        };
        let ((), result) = tokio::join!(playing, exchange.result());
        assert_eq!(result.unwrap_err().code(), Some(-5));
        let (_client, _inbox, exchange, mut peer) = created().await;
        let playing = async {
            let poll = peer.expect("tasks/get").await;
            peer.answer(&poll, r#"{"taskId":"t1","status":"cancelled"}"#).await;
        };
        let ((), result) = tokio::join!(playing, exchange.result());
        assert_eq!(result.unwrap_err().to_string(), "the server cancelled the task");
    });
}

/// A server may answer a call at once instead of making a task.
#[test]
fn an_answer_at_once_is_the_answer() {
    bounded(async {
        let (client, _inbox, mut peer) = legacy(CAPABILITIES).await;
        let mut exchange = client.call(CallRequest::call_tool("long", &raw("{}")));
        let playing = async {
            let list = peer.expect("tools/list").await;
            peer.answer(&list, TOOLS).await;
            let call = peer.expect("tools/call").await;
            peer.answer(&call, r#"{"content":[]}"#).await;
        };
        let ((), result) = tokio::join!(playing, done(&mut exchange));
        assert_eq!(result.as_str(), r#"{"content":[]}"#);
    });
}
