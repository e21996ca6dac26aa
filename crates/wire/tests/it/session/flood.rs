//! Tests of back-pressure: a server that floods is slowed down, and only callers that do not read
//! lose messages.

use std::time::Duration;

use switchboard_wire::client::{CallRequest, ExchangeEvent, InboxEvent};
use tokio::time::Instant;

use super::{Peer, bounded, done, legacy, member, raw};

fn progress(id: &str, step: usize) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":{step}}}}}"#
    )
}

/// Floods the first call with progress, then answers a second call that came meanwhile.
async fn flood(peer: &mut Peer, steps: usize) {
    let flooded = peer.expect("tools/call").await;
    let other = peer.expect("tools/call").await;
    for step in 0..steps {
        peer.say(progress(flooded.id().as_str(), step)).await;
    }
    peer.answer(&other, "{}").await;
    peer.answer(&flooded, "{}").await;
}

/// Starts a call and then leaves it alone; it is sent when it is first polled.
async fn begun(client: &switchboard_wire::client::Client) -> switchboard_wire::client::Exchange {
    let mut exchange = client.call(CallRequest::call_tool("flooded", &raw("{}")).with_progress());
    let polled = tokio::time::timeout(Duration::from_millis(1), exchange.next()).await;
    assert!(polled.is_err());
    exchange
}

#[test]
fn a_caller_that_does_not_read_costs_the_others_one_short_pause() {
    bounded(async {
        let (client, _inbox, mut peer) = legacy("{}").await;
        let mut flooded = begun(&client).await;
        let began = Instant::now();
        let other = client.call(CallRequest::call_tool("other", &raw("{}"))).result();
        let ((), other) = tokio::join!(flood(&mut peer, 50_000), other);
        other.unwrap();
        assert!(began.elapsed() <= Duration::from_millis(110), "{:?}", began.elapsed());
        // The kept progress is bounded and in order, and the answer is not lost.
        let mut steps = Vec::new();
        loop {
            match flooded.next().await.unwrap() {
                ExchangeEvent::Progress(params) => {
                    steps.push(member(&params, "progress").parse::<usize>().unwrap());
                }
                ExchangeEvent::Done(_) => break,
                other => panic!("{other:?}"),
            }
        }
        assert!(steps.len() <= 300, "{}", steps.len());
        assert!(steps.is_sorted());
    });
}

/// A flood on one connection does not affect another: the clock does not even move.
#[test]
fn a_flood_on_one_connection_is_not_felt_on_another() {
    bounded(async {
        let (noisy, _inbox, mut flooding) = legacy("{}").await;
        let (quiet, _other_inbox, mut polite) = legacy("{}").await;
        let _left_alone = begun(&noisy).await;
        let second = noisy.call(CallRequest::call_tool("other", &raw("{}"))).result();
        let calling = async {
            let began = Instant::now();
            for _ in 0..50 {
                quiet.call(CallRequest::call_tool("quiet", &raw("{}"))).result().await.unwrap();
            }
            began.elapsed()
        };
        let serving = async {
            for _ in 0..50 {
                let request = polite.expect("tools/call").await;
                polite.answer(&request, "{}").await;
            }
        };
        let ((), second, took, ()) =
            tokio::join!(flood(&mut flooding, 50_000), second, calling, serving);
        second.unwrap();
        assert_eq!(took, Duration::ZERO);
    });
}

/// A slow reader must not slow down the other callers.
#[test]
fn a_caller_that_reads_slowly_costs_the_others_little() {
    bounded(async {
        for pause in [20, 90, 150] {
            let (client, _inbox, mut peer) = legacy("{}").await;
            let mut flooded = begun(&client).await;
            let reading = async {
                loop {
                    tokio::time::sleep(Duration::from_millis(pause)).await;
                    if let ExchangeEvent::Done(_) = flooded.next().await.unwrap() {
                        return;
                    }
                }
            };
            let calling = async {
                let began = Instant::now();
                client.call(CallRequest::call_tool("other", &raw("{}"))).result().await.unwrap();
                began.elapsed()
            };
            let ((), (), took) = tokio::join!(flood(&mut peer, 5_000), reading, calling);
            assert!(took <= Duration::from_millis(300), "one event each {pause} ms: {took:?}");
        }
    });
}

#[test]
fn a_caller_that_reads_loses_nothing() {
    bounded(async {
        let (client, _inbox, mut peer) = legacy("{}").await;
        let mut exchange = client.call(CallRequest::call_tool("x", &raw("{}")).with_progress());
        let playing = async {
            let call = peer.expect("tools/call").await;
            for step in 0..20_000 {
                peer.say(progress(call.id().as_str(), step)).await;
            }
            peer.answer(&call, "{}").await;
        };
        let reading = async {
            for step in 0..20_000 {
                match exchange.next().await.unwrap() {
                    ExchangeEvent::Progress(params) => {
                        assert_eq!(member(&params, "progress"), step.to_string());
                    }
                    other => panic!("{other:?}"),
                }
            }
            done(&mut exchange).await;
        };
        tokio::join!(playing, reading);
    });
}

/// Notifications of every kind, with an inbox that is not read.
#[test]
fn an_inbox_nobody_reads_holds_up_nobody() {
    bounded(async {
        let (client, mut inbox, mut peer) = legacy("{}").await;
        let began = Instant::now();
        let playing = async {
            let call = peer.expect("tools/call").await;
            for n in 0..5_000 {
                peer.say(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#).await;
                peer.say(format!(r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":"a:{n}"}}}}"#)).await;
                peer.say(
                r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}"#,
            )
            .await;
                peer.say(r#"{"jsonrpc":"2.0","method":"x/y"}"#).await;
            }
            peer.answer(&call, "{}").await;
        };
        let calling = client.call(CallRequest::call_tool("x", &raw("{}"))).result();
        let ((), result) = tokio::join!(playing, calling);
        result.unwrap();
        assert!(began.elapsed() <= Duration::from_millis(110), "{:?}", began.elapsed());
        // The kept events are bounded and complete in kind.
        let mut kept = 0;
        let mut lists = 0;
        while let Ok(heard) = tokio::time::timeout(Duration::from_secs(1), inbox.next()).await {
            kept += 1;
            lists += usize::from(matches!(heard.unwrap(), InboxEvent::ListChanged(_)));
        }
        assert!(kept <= 256, "{kept}");
        assert!(lists >= 1);
    });
}

/// A question that finds no room is refused; the connection continues.
#[test]
fn a_change_already_waiting_need_not_wait_twice() {
    bounded(async {
        let (client, mut inbox, mut peer) = legacy("{}").await;
        for n in 0..255 {
            peer.say(format!(r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":"a:{n}"}}}}"#)).await;
        }
        peer.say(r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}"#).await;
        let began = Instant::now();
        for _ in 0..1_000 {
            peer.say(r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}"#).await;
        }
        let playing = async {
            let call = peer.expect("tools/call").await;
            peer.answer(&call, "{}").await;
        };
        let ((), result) =
            tokio::join!(playing, client.call(CallRequest::call_tool("x", &raw("{}"))).result());
        result.unwrap();
        assert_eq!(began.elapsed(), Duration::ZERO);
        for _ in 0..255 {
            assert!(matches!(inbox.next().await, Ok(InboxEvent::ResourceUpdated { .. })));
        }
        assert!(matches!(inbox.next().await, Ok(InboxEvent::ListChanged(_))));
    });
}
