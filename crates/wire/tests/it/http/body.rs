//! Tests of bodies that are too long, too slow, or truncated.

use std::time::Duration;

use switchboard_testkit::fault::{Fault, FaultProxy, Plan};
use switchboard_testkit::http::{Reply, Scripted};
use switchboard_wire::http::{
    DisconnectKind, EndpointOptions, HttpError, ResponseBody, ResponseLimits, ResponseProgress,
};

use super::{endpoint, endpoint_with, json, post, soon};

fn limited(max_body: usize) -> EndpointOptions {
    EndpointOptions {
        limits: ResponseLimits { max_body, ..ResponseLimits::default() },
        ..EndpointOptions::default()
    }
}

#[tokio::test]
async fn a_body_of_exactly_the_limit_is_accepted_and_one_more_byte_is_not() {
    let text = format!("\"{}\"", "x".repeat(98));
    let chunks = |reply: Reply| text.as_bytes().chunks(7).fold(reply, Reply::bytes);
    for reply in [Reply::json(200, text.clone()), chunks(Reply::chunked(200, "application/json"))] {
        let server = Scripted::start(move |_| std::future::ready(reply.clone())).await;
        let answer = post(&endpoint_with(&server.url("/"), limited(100)), "{}").await;
        assert_eq!(json(answer.unwrap()), text);
        let error = post(&endpoint_with(&server.url("/"), limited(99)), "{}").await.unwrap_err();
        assert!(matches!(error, HttpError::BodyTooLarge { limit: 99, .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_megabyte_arrives_whole() {
    let text = format!("\"{}\"", "y".repeat(1 << 20));
    let reply = Reply::json(200, text.clone());
    let server = Scripted::start(move |_| std::future::ready(reply.clone())).await;
    assert_eq!(json(post(&endpoint(&server.url("/")), "{}").await.unwrap()), text);
}

#[tokio::test]
async fn an_unasked_body_is_cut_to_an_excerpt() {
    let reply = Reply::text(502, "text/html", "z".repeat(100_000));
    let server = Scripted::start(move |_| std::future::ready(reply.clone())).await;
    match post(&endpoint(&server.url("/")), "{}").await.unwrap().body {
        ResponseBody::Other { text, .. } => assert_eq!(text.len(), 8 << 10),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_says_how_and_where() {
    let start = Reply::json(200, "0123456789").header("content-length", "20");
    let chunked = Reply::chunked(200, "application/json").bytes("0123456789");
    let cases = [
        (start.clone().close(), DisconnectKind::Ended),
        (start.clone().half_close(), DisconnectKind::Ended),
        (start.reset(), DisconnectKind::Reset),
        (chunked.clone().close(), DisconnectKind::Ended),
        (chunked.reset(), DisconnectKind::Reset),
    ];
    for (reply, expected) in cases {
        let shown = format!("{reply:?}");
        let server = Scripted::start(move |_| std::future::ready(reply.clone())).await;
        match post(&endpoint(&server.url("/")), "{}").await.unwrap_err() {
            HttpError::Closed { how, received: ResponseProgress::Body(received), .. } => {
                // A reset may discard bytes that were on their way.
                assert_eq!(how, expected, "{shown}");
                assert!(received == 10 || expected == DisconnectKind::Reset, "{received} {shown}");
            }
            HttpError::Closed { how: DisconnectKind::Reset, .. }
                if expected == DisconnectKind::Reset => {}
            other => panic!("{other:?} {shown}"),
        }
    }
}

#[tokio::test]
async fn a_body_that_stalls_is_given_up() {
    let reply = Reply::json(200, "0123456789").header("content-length", "20").hang();
    let server = Scripted::start(move |_| std::future::ready(reply.clone())).await;
    let options = EndpointOptions { idle: Duration::from_millis(50), ..EndpointOptions::default() };
    let error = post(&endpoint_with(&server.url("/"), options), "{}").await.unwrap_err();
    assert!(matches!(error, HttpError::Stalled { received: 10, .. }), "{error:?}");
    soon(server.hung_up(1)).await;
}

/// With any network fault, the request ends in an answer or an error, never in a hang.
#[tokio::test]
async fn faults_on_the_way_end_in_an_answer_or_an_error() {
    let server = Scripted::start(|_| async { Reply::json(200, "{\"ok\":true}") }).await;
    let cases = [
        (Fault::Trickle(1), true),
        (Fault::Delay(Duration::from_millis(5)), true),
        (Fault::CutAfter(10), false),
        (Fault::ResetAfter(10), false),
        (Fault::HalfCloseAfter(30), false),
        (Fault::CorruptAt(0), false),
    ];
    for (down, arrives) in cases {
        let plan = Plan { down, up: Fault::None };
        let proxy = FaultProxy::start(server.addr(), plan).await;
        let answer = post(&endpoint(&format!("http://{}/", proxy.addr())), "{}").await;
        assert_eq!(answer.is_ok(), arrives, "{down:?}: {answer:?}");
    }
}
