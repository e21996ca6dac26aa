//! Tests of calls: unchanged arguments and results, events on the way, failures and ends.

use futures_util::{FutureExt, future::join_all};
use switchboard_wire::{
    Era,
    client::{CallRequest, ExchangeEvent, InboxEvent, ListKind},
    envelope::code,
};

use super::{Bench, Transport, member, over_all_five, raw};

over_all_five!(
    arguments_and_results_survive_byte_for_byte,
    progress_comes_in_order_and_before_the_result,
    dropping_a_call_cancels_it_at_the_server,
    errors_have_the_codes_of_their_era,
    logs_come_from_the_level_asked_for,
    two_hundred_calls_at_once,
    a_ping_is_answered,
    a_batch_is_taken_apart,
    a_header_is_sent_for_a_tool_not_yet_seen,
    a_resource_is_read,
);

/// The features that depend on an order: of notifications, of a response after them, of answers to many calls.
mod on_four_threads {
    use super::{
        super::over_all_five_on_four_threads, dropping_a_call_cancels_it_at_the_server,
        progress_comes_in_order_and_before_the_result, two_hundred_calls_at_once,
    };

    over_all_five_on_four_threads!(
        progress_comes_in_order_and_before_the_result,
        dropping_a_call_cancels_it_at_the_server,
        two_hundred_calls_at_once,
    );
}

/// Transports that keep the order of messages. Two HTTP requests may overtake each other.
mod in_order {
    use super::{super::over, a_call_given_up_at_once_does_not_go_on};

    over!(in_process InProcess: a_call_given_up_at_once_does_not_go_on);
    over!(stdio Stdio: a_call_given_up_at_once_does_not_go_on);
    over!(web_socket WebSocket: a_call_given_up_at_once_does_not_go_on);
}

async fn arguments_and_results_survive_byte_for_byte(bench: Bench) {
    let odd = r#"{ "z" : 1.0, "a":[1e400,"\u00e9",-0], "n":18446744073709551617, "é":"\/" }"#;
    let result = bench.tool("echo", odd).await;
    assert_eq!(member(&result, "echo"), odd);
}

async fn a_resource_is_read(bench: Bench) {
    let result =
        bench.client.call(CallRequest::read_resource("test://known")).result().await.unwrap();
    assert_eq!(
        member(&result, "contents"),
        r#"[{"uri":"test://known","text":"known","odd":1.50}]"#
    );
}

async fn progress_comes_in_order_and_before_the_result(bench: Bench) {
    let call = CallRequest::call_tool("count", &raw(r#"{"to":200}"#)).with_progress();
    let mut exchange = bench.client.call(call);
    for step in 0..200 {
        let ExchangeEvent::Progress(params) = exchange.next().await.unwrap() else {
            panic!("step {step} is missing")
        };
        assert_eq!(member(&params, "progress"), step.to_string());
        assert_eq!(member(&params, "odd"), "1.0");
    }
    assert!(matches!(exchange.next().await, Ok(ExchangeEvent::Done(_))));
}

async fn dropping_a_call_cancels_it_at_the_server(bench: Bench) {
    let mut exchange = bench.client.call(CallRequest::call_tool("hang", &raw("{}")));
    tokio::select! {
        happened = exchange.next() => panic!("{happened:?}"),
        _ = bench.tool("await_hanging", "{}") => {}
    }
    drop(exchange);
    bench.tool("await_dropped", "{}").await;
    // In modern HTTP the closed stream is the only cancellation.
    if bench.transport != Transport::Http || bench.era() == Era::Legacy {
        bench.await_seen("notifications/cancelled").await;
    }
}

/// The request and its cancellation are read together, in this order.
async fn a_call_given_up_at_once_does_not_go_on(bench: Bench) {
    for _ in 0..50 {
        let mut exchange = bench.client.call(CallRequest::call_tool("hang", &raw("{}")));
        assert!(exchange.next().now_or_never().is_none());
    }
    assert_eq!(member(&bench.tool("hanging", "{}").await, "hanging"), "0");
    bench.await_seen("notifications/cancelled").await;
}

async fn errors_have_the_codes_of_their_era(bench: Bench) {
    let call = |call| bench.client.call(call).result();
    let unknown = call(CallRequest::read_resource("x:y")).await.unwrap_err();
    let expected = match bench.era() {
        Era::Legacy => code::RESOURCE_NOT_FOUND,
        Era::Modern => code::INVALID_PARAMS,
    };
    assert_eq!(unknown.code(), Some(expected));
    let method = bench.client.request("x/y", None).await.unwrap_err();
    assert_eq!(method.code(), Some(code::METHOD_NOT_FOUND));
    let tool = call(CallRequest::call_tool("none", &raw("{}"))).await.unwrap_err();
    assert_eq!(tool.code(), Some(code::INVALID_PARAMS));
    let switchboard_wire::Error::Rpc(failed) =
        call(CallRequest::call_tool("fail", &raw("{}"))).await.unwrap_err()
    else {
        panic!()
    };
    assert_eq!(failed.code, code::INTERNAL_ERROR);
    assert_eq!(failed.data.unwrap().as_str(), r#"{"odd":1.0}"#);
}

/// Legacy: the session's level, and logs in the inbox. Modern: the call's level, logs in the call.
async fn logs_come_from_the_level_asked_for(mut bench: Bench) {
    bench.client.set_log_level("warning").await.unwrap();
    let mut exchange = bench.client.call(CallRequest::call_tool("log", &raw("{}")));
    let mut heard = Vec::new();
    loop {
        match exchange.next().await.unwrap() {
            ExchangeEvent::Log(params) => heard.push(member(&params, "level")),
            ExchangeEvent::Done(_) => break,
            other => panic!("{other:?}"),
        }
    }
    while bench.era() == Era::Legacy && heard.len() < 2 {
        match bench.inbox.next().await.unwrap() {
            InboxEvent::Log(params) => heard.push(member(&params, "level")),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(heard, [r#""warning""#, r#""error""#]);
}

async fn two_hundred_calls_at_once(bench: Bench) {
    bench.client.list(ListKind::Tools).await.unwrap();
    let calls = (0..200).map(|n| {
        let bench = &bench;
        async move {
            let result = bench.tool("echo", &n.to_string()).await;
            assert_eq!(member(&result, "echo"), n.to_string());
        }
    });
    join_all(calls).await;
}

/// Modern servers may not send `ping`; legacy ones get an answer at once, for any id.
async fn a_ping_is_answered(bench: Bench) {
    if bench.era() == Era::Modern {
        return;
    }
    for id in ["9007199254740993", r#""p\u0031""#] {
        bench.inject(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)).await;
        bench.await_seen(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)).await;
    }
}

async fn a_batch_is_taken_apart(mut bench: Bench) {
    if bench.era() == Era::Modern && bench.transport == Transport::Http {
        return; // Each answer is a session of its own there.
    }
    bench
        .inject(
            r#"[{"jsonrpc":"2.0","method":"notifications/tools/list_changed"},
                {"jsonrpc":"2.0","method":5},
                {"jsonrpc":"2.0","method":"x/y","params":{"a":1.0}}]"#,
        )
        .await;
    let first = bench.inbox.next().await.unwrap();
    assert!(matches!(first, InboxEvent::ListChanged(ListKind::Tools)), "{first:?}");
    let second = bench.inbox.next().await.unwrap();
    assert!(matches!(second, InboxEvent::Problem(_)), "{second:?}");
    let third = bench.inbox.next().await.unwrap();
    assert!(
        matches!(&third, InboxEvent::Notification(note) if note.method() == "x/y"),
        "{third:?}"
    );
}

/// The face refuses a call if its headers disagree with its body.
async fn a_header_is_sent_for_a_tool_not_yet_seen(bench: Bench) {
    let result = bench.tool("routed", r#"{"region":"here"}"#).await;
    assert_eq!(member(&result, "echo"), r#"{"region":"here"}"#);
}
