//! Tests of connection reuse, which must never send a request twice.

use std::sync::atomic::{AtomicUsize, Ordering};

use switchboard_testkit::http::{Authority, Http2Echo, Reply, Scripted, Signal};
use switchboard_wire::http::{
    DisconnectKind, EndpointOptions, HttpEndpoint, HttpError, HttpPool, ResponseProgress,
    TlsOptions,
};

use super::{endpoint, json, pool_options, post, soon};

#[tokio::test]
async fn many_posts_share_one_connection() {
    let server = Scripted::start(|_| async { Reply::json(200, "{}") }).await;
    let endpoint = endpoint(&server.url("/"));
    for _ in 0..50 {
        post(&endpoint, "{}").await.unwrap();
    }
    assert_eq!((server.requests().len(), server.connections()), (50, 1));
}

/// Errors, refusals and event streams read to their end also return the connection to the pool.
#[tokio::test]
async fn answers_of_every_kind_keep_the_connection() {
    let count = AtomicUsize::new(0);
    let server = Scripted::start(move |_| {
        let reply = match count.fetch_add(1, Ordering::SeqCst) {
            0 => Reply::text(404, "text/plain", "no such thing"),
            1 => Reply::json(403, "{}"),
            2 => Reply::redirect(307, "/elsewhere"),
            3 => Reply::events().event("x"),
            _ => Reply::empty(202),
        };
        std::future::ready(reply)
    })
    .await;
    let endpoint = endpoint(&server.url("/"));
    post(&endpoint, "{}").await.unwrap();
    post(&endpoint, "{}").await.unwrap_err();
    let mut stream = super::events(post(&endpoint, "{}").await.unwrap());
    while soon(stream.next()).await.unwrap().is_some() {}
    post(&endpoint, "{}").await.unwrap();
    assert_eq!((server.requests().len(), server.connections()), (5, 1));
}

#[tokio::test]
async fn http2_is_negotiated_and_shared() {
    let authority = Authority::new();
    let server = Http2Echo::start(&authority).await;
    let mut options = pool_options();
    options.tls = TlsOptions { extra_ca_pem: vec![authority.ca_pem()], ..options.tls };
    let pool = HttpPool::new(&options).unwrap();
    let url = server.url("/mcp").parse().unwrap();
    let endpoint = HttpEndpoint::new(pool, url, EndpointOptions::default());
    // The first request makes the connection, the others use it.
    assert_eq!(json(post(&endpoint, "[1]").await.unwrap()), "[1]");
    let calls = (0..20).map(|_| post(&endpoint, "[2]"));
    for answer in futures_util::future::join_all(calls).await {
        assert_eq!(json(answer.unwrap()), "[2]");
    }
    assert_eq!(server.connections(), 1);
}

/// The server closed the idle connection and the pool knows it: a new one is made, and no request
/// is lost.
#[tokio::test]
async fn a_connection_closed_while_idle_is_replaced() {
    let closed = Signal::default();
    let server = Scripted::start({
        let closed = closed.clone();
        move |request| {
            let reply = Reply::json(200, "{}");
            let first = request.connection == 1;
            std::future::ready(if first { reply.wait(&closed).close() } else { reply })
        }
    })
    .await;
    let endpoint = endpoint(&server.url("/"));
    post(&endpoint, "{}").await.unwrap();
    closed.fire();
    // Once the end has arrived, the pool must notice it. Until then a request may be lost to the
    // closing connection, which the error says.
    let mut lost = 0;
    loop {
        match post(&endpoint, "{}").await {
            Ok(_) => break,
            Err(HttpError::Closed { received: ResponseProgress::Nothing, .. }) => lost += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(lost <= 1, "{lost} requests were lost");
    assert_eq!(server.connections(), 2);
}

/// The request was sent when the connection ended. The server may have run it, so it is not
/// repeated.
#[tokio::test]
async fn a_request_that_may_have_been_executed_is_not_sent_again() {
    for reply in [Reply::raw("").close(), Reply::raw("").reset()] {
        let server = Scripted::start(move |request| {
            let reply = match request.text() {
                "first" => Reply::json(200, "{}"),
                _ => reply.clone(),
            };
            std::future::ready(reply)
        })
        .await;
        let endpoint = endpoint(&server.url("/"));
        post(&endpoint, "first").await.unwrap();
        let error = post(&endpoint, "second").await.unwrap_err();
        assert!(
            matches!(
                error,
                HttpError::Closed {
                    received: ResponseProgress::Nothing,
                    how: DisconnectKind::Ended | DisconnectKind::Reset,
                    ..
                }
            ),
            "{error:?}"
        );
        assert_eq!(server.requests().len(), 2);
    }
}

/// Streams and waiting requests have no task of their own; connections end with the pool.
#[tokio::test]
async fn no_task_stays_behind() {
    let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let server = Scripted::start(|_| async { Reply::events().event("x").hang() }).await;
    let before = alive();
    let endpoint = endpoint(&server.url("/"));
    let mut streams = Vec::new();
    for _ in 0..5 {
        streams.push(super::events(post(&endpoint, "{}").await.unwrap()));
    }
    drop((streams, endpoint));
    soon(async {
        while alive() > before {
            tokio::task::yield_now().await;
        }
    })
    .await;
    soon(server.hung_up(5)).await;
}
