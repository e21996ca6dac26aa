//! Tests of modern tasks: poll intervals, questions, outcomes, cancellation.

use std::time::Duration;

use switchboard_wire::{
    Error,
    client::{CallRequest, Exchange, ExchangeEvent, TaskHandling},
};
use tokio::time::Instant;

use super::{Peer, asked, bounded, member, modern, raw};

const CREATED: &str =
    r#"{"resultType":"task","taskId":"t1","status":"working","pollIntervalMs":5000}"#;

/// A call that has become a task.
async fn created() -> (switchboard_wire::client::Client, Exchange, Peer) {
    let (client, _inbox, mut peer) = modern("{}").await;
    let mut exchange = client.call(CallRequest::call_tool("x", &raw("{}")));
    let playing = async {
        let call = peer.expect("tools/call").await;
        peer.answer(&call, CREATED).await;
    };
    let ((), event) = tokio::join!(playing, exchange.next());
    assert!(
        matches!(event, Ok(ExchangeEvent::Task(state)) if member(&state, "status") == r#""working""#)
    );
    (client, exchange, peer)
}

/// Answers the next poll.
async fn polled(peer: &mut Peer, state: &str) {
    let poll = peer.expect("tasks/get").await;
    assert_eq!(member(&poll.params().unwrap(), "taskId"), r#""t1""#);
    peer.answer(&poll, state).await;
}

#[test]
fn a_task_asks_and_completes() {
    bounded(async {
        let (_client, mut exchange, mut peer) = created().await;
        let began = Instant::now();
        let playing = async {
            polled(&mut peer, r#"{"taskId":"t1","status":"working","pollIntervalMs":7000}"#).await;
            assert_eq!(began.elapsed(), Duration::from_secs(5));
            let asking = r#"{"taskId":"t1","status":"input_required","pollIntervalMs":1000,
            "inputRequests":{"q":{"method":"elicitation/create","params":{}}}}"#;
            polled(&mut peer, asking).await;
            assert_eq!(began.elapsed(), Duration::from_secs(12));
            let update = peer.expect("tasks/update").await;
            assert_eq!(member(&update.params().unwrap(), "inputResponses"), r#"{"q":1.0}"#);
            peer.answer(&update, "{}").await;
            // Not asked twice, even if the server notices the answer late.
            polled(&mut peer, asking).await;
            polled(
                &mut peer,
                r#"{"taskId":"t1","status":"completed","result":{"content":[],"odd":1.0}}"#,
            )
            .await;
        };
        let calling = async {
            let mut statuses = Vec::new();
            loop {
                match exchange.next().await.unwrap() {
                    ExchangeEvent::Task(state) => statuses.push(member(&state, "status")),
                    ExchangeEvent::NeedsInput(questions) => {
                        exchange.answer(vec![questions[0].answer(raw("1.0"))]);
                    }
                    ExchangeEvent::Done(result) => return (statuses, result),
                    other => panic!("{other:?}"),
                }
            }
        };
        let ((), (statuses, result)) = tokio::join!(playing, calling);
        assert_eq!(statuses, [r#""input_required""#, r#""completed""#]);
        assert_eq!(result.as_str(), r#"{"content":[],"odd":1.0}"#);
    });
}

#[test]
fn a_task_fails_or_is_cancelled() {
    bounded(async {
        let failed = r#"{"taskId":"t1","status":"failed","error":{"code":-5,"message":"broke"}}"#;
        let cancelled = r#"{"taskId":"t1","status":"cancelled","statusMessage":"enough"}"#;
        for (state, expected) in [
            (failed, "the server refused: broke (-5)"),
            (cancelled, "the server cancelled the task: enough"),
        ] {
            let (_client, exchange, mut peer) = created().await;
            let ((), result) = tokio::join!(polled(&mut peer, state), exchange.result());
            assert_eq!(result.unwrap_err().to_string(), expected);
        }
    });
}

#[test]
fn a_task_nobody_waits_for_is_cancelled() {
    bounded(async {
        let (_client, exchange, mut peer) = created().await;
        drop(exchange);
        let cancel = peer.expect("tasks/cancel").await;
        assert_eq!(member(&cancel.params().unwrap(), "taskId"), r#""t1""#);
    });
}

#[test]
fn a_task_ends_at_the_calls_deadline() {
    bounded(async {
        let (client, _inbox, mut peer) = modern("{}").await;
        let call = CallRequest::call_tool("x", &raw("{}")).with_timeout(Duration::from_secs(3));
        let playing = async {
            let call = peer.expect("tools/call").await;
            peer.answer(&call, CREATED).await;
            peer.expect("tasks/cancel").await;
        };
        let ((), result) = tokio::join!(playing, client.call(call).result());
        assert!(matches!(result, Err(Error::Timeout { .. })), "{result:?}");
    });
}

#[test]
fn a_caller_may_follow_the_task_itself() {
    bounded(async {
        let (client, _inbox, mut peer) = modern("{}").await;
        let playing = async {
            let call = peer.expect("tools/call").await;
            peer.answer(&call, CREATED).await;
        };
        let call = CallRequest::call_tool("x", &raw("{}")).with_task_handling(TaskHandling::Hand);
        let ((), result) = tokio::join!(playing, client.call(call).result());
        assert_eq!(result.unwrap().as_str(), CREATED);
    });
}

/// A suspended question of a task stays with its call.
#[test]
fn a_tasks_question_can_wait() {
    bounded(async {
        let (client, mut exchange, mut peer) = created().await;
        let asking = r#"{"taskId":"t1","status":"input_required","inputRequests":{"q":{"method":"elicitation/create"}}}"#;
        let calling = async {
            assert!(matches!(exchange.next().await, Ok(ExchangeEvent::Task(_))));
            asked(&mut exchange).await
        };
        let ((), questions) = tokio::join!(polled(&mut peer, asking), calling);
        let resume = exchange.suspend().unwrap();
        tokio::time::sleep(Duration::from_secs(500)).await;
        let call = CallRequest::call_tool("x", &raw("{}"));
        let playing = async {
            let update = peer.expect("tasks/update").await;
            peer.answer(&update, "{}").await;
            polled(&mut peer, r#"{"taskId":"t1","status":"completed","result":{}}"#).await;
        };
        let resumed = client.resume(&call, resume, vec![questions[0].answer(raw("1"))]);
        let ((), result) = tokio::join!(playing, resumed.result());
        result.unwrap();
    });
}
