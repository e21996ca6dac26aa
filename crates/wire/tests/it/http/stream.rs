//! Tests of event streams over a connection.

use std::time::Duration;

use http::HeaderMap;
use switchboard_testkit::fault::{Fault, FaultProxy, Plan};
use switchboard_testkit::http::{Reply, Scripted, Signal};
use switchboard_wire::http::{
    DisconnectKind, EndpointOptions, HttpError, ResponseLimits, ResponseProgress, SseStream,
};

use super::{endpoint, endpoint_with, events, post, soon};

async fn open(reply: Reply, options: EndpointOptions) -> (Scripted, SseStream) {
    let server = Scripted::start(move |_| std::future::ready(reply.clone())).await;
    let endpoint = endpoint_with(&server.url("/"), options);
    let answer = soon(endpoint.get_events(HeaderMap::new(), None)).await;
    (server, events(answer.unwrap()))
}

async fn data(stream: &mut SseStream) -> Option<String> {
    let event = soon(stream.next()).await.unwrap()?;
    Some(event.data.to_string())
}

#[tokio::test]
async fn events_arrive_as_they_are_sent() {
    let more = Signal::default();
    let reply = Reply::events().bytes("id: 1\nretry: 250\ndata: one\n\n").wait(&more).event("two");
    let (_server, mut stream) = open(reply, EndpointOptions::default()).await;
    assert_eq!(data(&mut stream).await.as_deref(), Some("one"));
    assert_eq!(stream.last_event_id(), Some("1"));
    assert_eq!(stream.retry(), Some(Duration::from_millis(250)));
    more.fire();
    assert_eq!(data(&mut stream).await.as_deref(), Some("two"));
    assert_eq!(data(&mut stream).await, None);
    assert_eq!(data(&mut stream).await, None);
    assert_eq!(stream.last_event_id(), Some("1"));
}

/// Dropping the future in the middle of an event loses no byte.
#[tokio::test]
async fn waiting_for_an_event_can_be_cancelled() {
    let more = Signal::default();
    let reply = Reply::events().bytes("data: on").wait(&more).bytes("e\n\n");
    let (_server, mut stream) = open(reply, EndpointOptions::default()).await;
    let cancelled = tokio::time::timeout(Duration::from_millis(20), stream.next()).await;
    assert!(cancelled.is_err());
    more.fire();
    assert_eq!(data(&mut stream).await.as_deref(), Some("one"));
}

#[tokio::test]
async fn after_an_event_too_large_the_next_one_still_arrives() {
    let options = EndpointOptions {
        limits: ResponseLimits { max_event: 100, ..ResponseLimits::default() },
        ..EndpointOptions::default()
    };
    let reply = Reply::events().event(&"x".repeat(5000)).event("small");
    let (_server, mut stream) = open(reply, options).await;
    let error = soon(stream.next()).await.unwrap_err();
    assert!(matches!(error, HttpError::EventTooLarge { limit: 100, .. }), "{error:?}");
    assert_eq!(data(&mut stream).await.as_deref(), Some("small"));
    assert_eq!(data(&mut stream).await, None);
}

/// The limit applies while the event grows: its end may never come.
#[tokio::test]
async fn an_endless_event_is_too_large_before_it_ends() {
    let options = EndpointOptions {
        limits: ResponseLimits { max_event: 100, ..ResponseLimits::default() },
        ..EndpointOptions::default()
    };
    let reply = Reply::events().bytes(format!("data: {}", "x".repeat(500))).hang();
    let (_server, mut stream) = open(reply, options).await;
    let error = soon(stream.next()).await.unwrap_err();
    assert!(matches!(error, HttpError::EventTooLarge { .. }), "{error:?}");
}

#[tokio::test]
async fn a_stream_cut_in_the_middle_is_an_error() {
    let whole = "data: one\n\ndata: tw";
    let unframed = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let cases = [
        (Reply::events().bytes(whole).close(), DisconnectKind::Ended),
        (Reply::events().bytes(whole), DisconnectKind::Ended),
        (Reply::raw(format!("{unframed}{whole}")).close(), DisconnectKind::Ended),
    ];
    for (reply, expected) in cases {
        let (_server, mut stream) = open(reply, EndpointOptions::default()).await;
        assert_eq!(data(&mut stream).await.as_deref(), Some("one"));
        match soon(stream.next()).await.unwrap_err() {
            HttpError::Closed { how, received: ResponseProgress::Body(19), .. } => {
                assert_eq!(how, expected);
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(data(&mut stream).await, None);
    }
}

#[tokio::test]
async fn a_reset_stream_is_an_error() {
    let go = Signal::default();
    let reply = Reply::events().event("one").wait(&go).reset();
    let (_server, mut stream) = open(reply, EndpointOptions::default()).await;
    assert_eq!(data(&mut stream).await.as_deref(), Some("one"));
    go.fire();
    let error = soon(stream.next()).await.unwrap_err();
    assert!(matches!(error, HttpError::Closed { how: DisconnectKind::Reset, .. }), "{error:?}");
}

#[tokio::test]
async fn dropping_the_stream_closes_the_exchange() {
    let reply = Reply::events().event("one").hang();
    let (server, mut stream) = open(reply, EndpointOptions::default()).await;
    assert_eq!(data(&mut stream).await.as_deref(), Some("one"));
    drop(stream);
    soon(server.hung_up(1)).await;
}

#[tokio::test]
async fn dropping_a_waiting_post_closes_the_exchange() {
    let server = Scripted::start(|_| async { Reply::silence() }).await;
    let endpoint = endpoint(&server.url("/"));
    let waiting = endpoint.post("{}".into(), HeaderMap::new());
    tokio::select! {
        _ = waiting => panic!("there is no answer"),
        () = soon(server.received(1)) => {}
    }
    soon(server.hung_up(1)).await;
}

#[tokio::test]
async fn bytes_that_trickle_make_the_same_events() {
    let reply = Reply::events().bytes("data: o\u{e9}\r\n\r\n").event("two");
    let server = Scripted::start(move |_| std::future::ready(reply.clone())).await;
    let plan = Plan { down: Fault::Trickle(1), up: Fault::None };
    let proxy = FaultProxy::start(server.addr(), plan).await;
    let answer = post(&endpoint(&format!("http://{}/", proxy.addr())), "{}").await;
    let mut stream = events(answer.unwrap());
    assert_eq!(data(&mut stream).await.as_deref(), Some("o\u{e9}"));
    assert_eq!(data(&mut stream).await.as_deref(), Some("two"));
    assert_eq!(data(&mut stream).await, None);
}
