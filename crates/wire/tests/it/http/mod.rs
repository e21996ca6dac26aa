//! Tests of the HTTP client against scripted servers on loopback.

mod body;
mod credentials;
mod exchange;
mod keep_alive;
mod parser;
mod proxy;
mod reach;
mod redirect;
mod stream;
pub(crate) mod tls;

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use switchboard_wire::http::{
    EndpointOptions, HttpEndpoint, HttpError, HttpPool, HttpPoolOptions, HttpResponse,
    ProxySettings, ResponseBody, SseStream, TlsOptions,
};

/// Longer than any test that does not hang.
const BOUND: Duration = Duration::from_secs(20);

/// Fails instead of hanging.
pub(crate) async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(BOUND, future).await.expect("it hangs")
}

/// Without the platform's certificates: loading them for each test would only cost time.
pub(crate) fn pool_options() -> HttpPoolOptions {
    HttpPoolOptions {
        tls: TlsOptions { platform_roots: false, ..TlsOptions::default() },
        proxies: ProxySettings::Off,
        ..HttpPoolOptions::default()
    }
}

pub(crate) fn pool() -> HttpPool {
    HttpPool::new(&pool_options()).unwrap()
}

pub(crate) fn endpoint(url: &str) -> HttpEndpoint {
    endpoint_with(url, EndpointOptions::default())
}

pub(crate) fn endpoint_with(url: &str, options: EndpointOptions) -> HttpEndpoint {
    HttpEndpoint::new(pool(), url.parse().unwrap(), options)
}

pub(crate) fn header(name: &'static str, value: &'static str) -> HeaderMap {
    let pair = (HeaderName::from_static(name), HeaderValue::from_static(value));
    HeaderMap::from_iter([pair])
}

pub(crate) async fn post(
    endpoint: &HttpEndpoint,
    body: &'static str,
) -> Result<HttpResponse, HttpError> {
    soon(endpoint.post(Bytes::from_static(body.as_bytes()), HeaderMap::new())).await
}

pub(crate) fn json(answer: HttpResponse) -> String {
    match answer.body {
        ResponseBody::Json(text) => String::from_utf8(text.to_vec()).unwrap(),
        other => panic!("not JSON: {other:?}"),
    }
}

pub(crate) fn events(answer: HttpResponse) -> SseStream {
    match answer.body {
        ResponseBody::Events(stream) => stream,
        other => panic!("not events: {other:?}"),
    }
}
