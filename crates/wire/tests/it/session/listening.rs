//! Tests of modern change notifications: the stream is opened, refused, broken and reopened.

use std::time::Duration;

use switchboard_testkit::http::Reply;
use switchboard_wire::client::{InboxEvent, ListKind, VersionNegotiation};

use super::{
    bounded, modern, options, over_http,
    web::{self, methods, web},
};
use crate::http::soon;

const TELLS: &str = r#"{"tools":{"listChanged":true},"resources":{"subscribe":true}}"#;

fn acknowledged(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"notifications":{{}},"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
    )
}

#[test]
fn a_server_that_refuses_is_not_asked_again() {
    bounded(async {
        let (client, _inbox, mut peer) = modern(TELLS).await;
        let listen = peer.expect("subscriptions/listen").await;
        peer.refuse(&listen, r#"{"code":-32601,"message":"no"}"#).await;
        tokio::time::sleep(Duration::from_mins(10)).await;
        let (result, call) = tokio::join!(client.request("x/y", None), async {
            let next = peer.request().await;
            peer.answer(&next, "{}").await;
            next
        });
        result.unwrap();
        assert_eq!(call.method(), "x/y");
    });
}

/// A stream that the server ends is reopened: soon if it had begun, with growing pauses if it never
/// does.
#[test]
fn a_stream_that_ends_is_opened_again() {
    bounded(async {
        let (_client, mut inbox, mut peer) = modern(TELLS).await;
        for _ in 0..5 {
            let before = tokio::time::Instant::now();
            let listen = peer.expect("subscriptions/listen").await;
            assert!(before.elapsed() <= Duration::from_millis(20), "{:?}", before.elapsed());
            peer.say(acknowledged(listen.id().as_str())).await;
            peer.say(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#).await;
            assert!(matches!(inbox.next().await, Ok(InboxEvent::ListChanged(ListKind::Tools))));
            peer.answer(&listen, "{}").await;
        }
        let mut last = Duration::ZERO;
        for _ in 0..8 {
            let before = tokio::time::Instant::now();
            let listen = peer.expect("subscriptions/listen").await;
            assert!(before.elapsed() >= last, "{:?} after {last:?}", before.elapsed());
            last = before.elapsed();
            peer.answer(&listen, "{}").await;
        }
        assert!(last >= Duration::from_secs(1));
    });
}

#[tokio::test]
async fn over_http_a_broken_stream_is_opened_again() {
    const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let server = web(|asked| match &*asked.method {
        "server/discover" => asked
            .result(&format!(r#"{{"supportedVersions":["2026-07-28"],"capabilities":{TELLS}}}"#)),
        "subscriptions/listen" => {
            Reply::events().event(&acknowledged(&asked.id)).event(CHANGED).reset()
        }
        _ => web::modern(asked, "[]"),
    })
    .await;
    let (_client, mut inbox) =
        soon(over_http(&server.url("/mcp"), options(VersionNegotiation::Probe))).await.unwrap();
    for _ in 0..5 {
        let heard = soon(inbox.next()).await.unwrap();
        assert!(matches!(heard, InboxEvent::ListChanged(ListKind::Tools)), "{heard:?}");
    }
    let asked = methods(&server);
    assert!(asked.iter().filter(|method| *method == "subscriptions/listen").count() >= 5);
}

/// The old stream is closed after the new one has opened.
#[test]
fn a_new_subscription_takes_the_place_of_the_old() {
    bounded(async {
        let (client, _inbox, mut peer) = modern(TELLS).await;
        let first = peer.expect("subscriptions/listen").await;
        peer.say(acknowledged(first.id().as_str())).await;
        client.subscribe("a:b").await.unwrap();
        let second = peer.expect("subscriptions/listen").await;
        assert!(second.text().contains(r#""resourceSubscriptions":["a:b"]"#));
        let told = peer.hear("notifications/cancelled").await;
        assert_eq!(super::member(&told, "requestId"), first.id().to_string());
    });
}
