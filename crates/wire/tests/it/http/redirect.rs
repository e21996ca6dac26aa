//! Tests of redirects: unchanged origin, unchanged method, five at most.

use http::HeaderMap;
use switchboard_testkit::http::{Reply, Scripted};
use switchboard_wire::http::{EndpointOptions, HttpEndpoint, HttpError, RedirectRefusal};

use super::{endpoint, endpoint_with, header, json, post, soon};

async fn redirecting(status: u16, location: &'static str) -> Scripted {
    Scripted::start(move |request| {
        let reply = match request.path.as_str() {
            "/end" => Reply::json(200, format!("{:?}", request.text())),
            _ => Reply::redirect(status, location),
        };
        std::future::ready(reply)
    })
    .await
}

async fn refusal(endpoint: &HttpEndpoint) -> (String, RedirectRefusal) {
    match post(endpoint, "{}").await.unwrap_err() {
        HttpError::Redirect { to, reason, .. } => (to, reason),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_post_keeps_method_and_body() {
    for status in [307, 308] {
        let server = redirecting(status, "/end").await;
        let answer = post(&endpoint(&server.url("/start")), "again").await.unwrap();
        assert_eq!(json(answer), "\"again\"");
        assert_eq!(server.requests()[1].method, "POST");
    }
}

#[tokio::test]
async fn a_post_does_not_become_a_get() {
    for status in [301, 302, 303] {
        let server = redirecting(status, "/end?code=s3cret").await;
        let (to, reason) = refusal(&endpoint(&server.url("/start"))).await;
        assert_eq!((to, reason), (server.url("/end"), RedirectRefusal::MethodWouldChange));
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_get_follows_any() {
    for status in [301, 302, 303, 307, 308] {
        let server = redirecting(status, "/end").await;
        let answer = soon(endpoint(&server.url("/start")).get_events(HeaderMap::new(), None)).await;
        assert_eq!(json(answer.unwrap()), "\"\"");
    }
}

#[tokio::test]
async fn another_origin_is_refused_and_learns_nothing() {
    let other = Scripted::start(|_| async { Reply::empty(200) }).await;
    let target = other.url("/end");
    let server = Scripted::start({
        let target = target.clone();
        move |_| std::future::ready(Reply::redirect(307, &target))
    })
    .await;
    let options = EndpointOptions {
        headers: header("authorization", "Bearer s3cret"),
        ..EndpointOptions::default()
    };
    let (to, reason) = refusal(&endpoint_with(&server.url("/"), options)).await;
    assert_eq!((to, reason), (target, RedirectRefusal::OtherOrigin));
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn the_sixth_is_too_many() {
    let server = redirecting(307, "/again").await;
    let (_, reason) = refusal(&endpoint(&server.url("/"))).await;
    assert_eq!(reason, RedirectRefusal::TooMany);
    assert_eq!(server.requests().len(), 6);
}

#[tokio::test]
async fn nowhere_is_refused() {
    let server = Scripted::start(|_| async { Reply::empty(307) }).await;
    let (to, reason) = refusal(&endpoint(&server.url("/"))).await;
    assert_eq!((to.as_str(), reason), ("", RedirectRefusal::NoLocation));
}
