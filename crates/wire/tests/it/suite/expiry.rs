//! Tests of legacy sessions over HTTP against the face: expiry, renewal, and resumed streams.

use futures_util::future::join_all;
use switchboard_wire::{
    Version,
    client::{CallRequest, InboxEvent, VersionNegotiation},
};

use super::{Bench, Served, Transport, connect, member, options, raw};
use crate::http::soon;

async fn bench() -> Bench {
    let greeting = VersionNegotiation::Only(Version::LATEST_LEGACY);
    soon(connect(Transport::Http, options(greeting))).await.unwrap()
}

fn face(bench: &Bench) -> &switchboard_testkit::face::StreamableFace {
    match &bench.served {
        Served::Http(face) => face,
        _ => panic!("not over HTTP"),
    }
}

#[tokio::test]
async fn fifty_calls_that_meet_the_end_of_a_session_begin_one_new_one() {
    let mut bench = bench().await;
    bench.client.subscribe("a:b").await.unwrap();
    bench.client.set_log_level("error").await.unwrap();
    for round in 2..4 {
        face(&bench).expire();
        let calls = (0..50).map(|n| {
            let bench = &bench;
            async move {
                let result = bench.tool("echo", &n.to_string()).await;
                assert_eq!(member(&result, "echo"), n.to_string());
            }
        });
        soon(join_all(calls)).await;
        assert_eq!(face(&bench).sessions(), (1, round));
    }
    // The new session has the subscriptions and the log level of the old one.
    let requests = face(&bench).requests();
    let asked =
        |what: &str| requests.iter().filter(|request| request.text().contains(what)).count();
    assert_eq!(asked("resources/subscribe"), 3);
    assert_eq!(asked("logging/setLevel"), 3);
    bench.tool("announce", r#"{"what":"a:b"}"#).await;
    let heard = soon(bench.inbox.next()).await.unwrap();
    assert!(matches!(heard, InboxEvent::ResourceUpdated { .. }), "{heard:?}");
}

#[tokio::test]
async fn a_session_that_ends_while_nobody_calls_is_begun_again() {
    let mut bench = bench().await;
    bench.client.subscribe("a:b").await.unwrap();
    bench.tool("announce", r#"{"what":"a:b"}"#).await;
    soon(bench.inbox.next()).await.unwrap();
    face(&bench).expire();
    face(&bench).cut();
    // The GET stream notices first: the session has expired, and its subscriptions with it.
    soon(async {
        while face(&bench).sessions() != (1, 2) {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn streams_that_are_cut_are_taken_up_again() {
    let mut bench = bench().await;
    let mut exchange = bench.client.call(CallRequest::call_tool("ask", &raw("{}")));
    let questions = match soon(exchange.next()).await.unwrap() {
        switchboard_wire::client::ExchangeEvent::NeedsInput(questions) => questions,
        other => panic!("{other:?}"),
    };
    face(&bench).cut();
    exchange.answer(vec![questions[0].answer(raw("1"))]);
    let result = soon(exchange.result()).await.unwrap();
    assert_eq!(member(&result, "said"), r#"{"who":1}"#);
    for _ in 0..3 {
        face(&bench).cut();
        bench.inject(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#).await;
        let heard = soon(bench.inbox.next()).await.unwrap();
        assert!(matches!(heard, InboxEvent::ListChanged(_)), "{heard:?}");
    }
    let requests = face(&bench).requests();
    let resumed = requests.iter().filter(|request| request.header("last-event-id").is_some());
    assert!(resumed.count() >= 2);
}
