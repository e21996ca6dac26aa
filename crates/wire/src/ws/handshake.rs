//! The WebSocket upgrade: sends the HTTP request and checks the response.
//!
//! Used by `ws::connect_websocket`. Upgrades on the server side are in `gateway::face::ws`.

use http::header::{
    CONNECTION, HeaderName, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use reqwest::Upgraded;
use tokio_tungstenite::tungstenite::handshake::{client::generate_key, derive_accept_key};
use url::Url;

use super::WsOptions;
use super::error::WsError;
use crate::http::{
    EndpointOptions, HttpEndpoint, HttpError, HttpPool, RequestSummary, read_excerpt,
};

/// Requests a WebSocket. Returns the connection and the subprotocol that the server chose.
pub(super) async fn upgrade(
    pool: &HttpPool,
    url: &Url,
    options: WsOptions,
) -> Result<(Upgraded, Option<String>), WsError> {
    let doing = RequestSummary::new(Method::GET, url);
    let endpoint = HttpEndpoint::new(
        pool.clone(),
        http_url(url)?,
        EndpointOptions {
            headers: options.headers,
            credentials: options.credentials,
            first_byte: options.upgrade_timeout,
            ..EndpointOptions::default()
        },
    );
    let key = generate_key();
    let mut response = endpoint.upgrade(request_headers(&key)).await?;
    let status = response.status();
    if status != StatusCode::SWITCHING_PROTOCOLS {
        let text = read_excerpt(&mut response).await;
        return Err(WsError::NotUpgraded { doing, status, text });
    }
    if let Some(fault) = handshake_fault(response.headers(), &key) {
        return Err(WsError::Handshake { doing, fault });
    }
    let subprotocol = text(response.headers(), &SEC_WEBSOCKET_PROTOCOL).map(str::to_owned);
    let upgraded = response
        .upgrade()
        .await
        .map_err(|error| HttpError::Protocol { doing, source: error.without_url().into() })?;
    Ok((upgraded, subprotocol))
}

/// The URL with the scheme `http` or `https`.
fn http_url(url: &Url) -> Result<Url, WsError> {
    let scheme = match url.scheme() {
        "ws" => "http",
        "wss" => "https",
        other => {
            return Err(WsError::Scheme { scheme: other.to_owned() });
        }
    };
    let mut http = url.clone();
    match http.set_scheme(scheme) {
        Ok(()) => Ok(http),
        Err(()) => Err(WsError::Scheme { scheme: url.scheme().to_owned() }),
    }
}

fn request_headers(key: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("mcp"));
    if let Ok(key) = HeaderValue::from_str(key) {
        headers.insert(SEC_WEBSOCKET_KEY, key);
    }
    headers
}

fn handshake_fault(headers: &HeaderMap, key: &str) -> Option<&'static str> {
    let says = |name: &HeaderName, wanted: &str| {
        text(headers, name)
            .is_some_and(|value| value.split(',').any(|v| v.trim().eq_ignore_ascii_case(wanted)))
    };
    let expected = derive_accept_key(key.as_bytes());
    if !says(&UPGRADE, "websocket") || !says(&CONNECTION, "upgrade") {
        Some("it switched to something else")
    } else if text(headers, &SEC_WEBSOCKET_ACCEPT) != Some(expected.as_str()) {
        Some("its key is wrong")
    } else {
        None
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
