//! One attempt to fetch the connector catalog: token helper, request, checks of the answer.
//!
//! Used by `connectors::refresh`. It does not retry (`connectors::refresh`) and does not parse entries
//! (`switchboard_config`).

use std::sync::Arc;

use http::header::AUTHORIZATION;
use http::{HeaderMap, StatusCode};
use serde_json::Value;
use switchboard_config::is_encrypted_or_local;
use switchboard_process::ProcessGuard;
use switchboard_wire::http::{
    EndpointOptions, HttpEndpoint, HttpError, HttpPool, ResponseBody, ResponseLimits, StaticHeaders,
};
use switchboard_wire::sanitize;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::error::ConnectorsError;
use super::request::ConnectorRequest;
use crate::options::SourcesTiming;

/// The largest catalog; also the largest file that the configuration reads.
pub(super) const MAX_CATALOG_BYTES: usize = 4 * 1024 * 1024;

/// How many characters of the answer's content type are shown.
const MAX_SHOWN_CHARS: usize = 80;

/// Fetches the connector catalog. `stop` ends the helper early; dropping the future cancels the exchange.
pub(super) async fn fetch(
    wanted: &ConnectorRequest,
    pool: &HttpPool,
    guard: &ProcessGuard,
    timing: &SourcesTiming,
    stop: &CancellationToken,
) -> Result<String, ConnectorsError> {
    let url = parse_address(&wanted.url)?;
    let mut headers = HeaderMap::new();
    if let Some(helper) = &wanted.helper {
        let authorization = helper.authorization(guard, timing.helper, stop).await?;
        headers.insert(AUTHORIZATION, authorization);
    }
    let options = EndpointOptions {
        credentials: Arc::new(StaticHeaders::new(headers)),
        limits: ResponseLimits { max_body: MAX_CATALOG_BYTES, ..ResponseLimits::default() },
        ..EndpointOptions::default()
    };
    let endpoint = HttpEndpoint::new(pool.clone(), url, options);
    let after = timing.fetch;
    tokio::select! {
        text = timeout(after, read_text(&endpoint)) => text.map_err(|_| ConnectorsError::TooSlow { after })?,
        () = stop.cancelled() => Err(ConnectorsError::Abandoned),
    }
}

fn parse_address(url: &str) -> Result<Url, ConnectorsError> {
    let url = Url::parse(url).map_err(|source| ConnectorsError::Url { source })?;
    match url.scheme() {
        "http" if !is_encrypted_or_local(url.as_str()) => Err(ConnectorsError::Plain),
        "http" | "https" => Ok(url),
        scheme => Err(ConnectorsError::Scheme { scheme: scheme.to_owned() }),
    }
}

async fn read_text(endpoint: &HttpEndpoint) -> Result<String, ConnectorsError> {
    let answer = endpoint.get(HeaderMap::new()).await.map_err(to_fetch_error)?;
    if answer.status != StatusCode::OK {
        return Err(ConnectorsError::Status { status: answer.status });
    }
    let body = match answer.body {
        ResponseBody::Json(body) => body,
        ResponseBody::Empty => return Err(ConnectorsError::NotACatalogue),
        ResponseBody::Events(_) => return Err(not_json_error("text/event-stream")),
        ResponseBody::Other { content_type, .. } => return Err(not_json_error(&content_type)),
    };
    let text = String::from_utf8(body.into()).map_err(|_| ConnectorsError::NotACatalogue)?;
    if is_catalogue(&text) { Ok(text) } else { Err(ConnectorsError::NotACatalogue) }
}

/// Drops the beginning of the body from a refusal, because it may repeat the token.
fn to_fetch_error(error: HttpError) -> ConnectorsError {
    match error {
        HttpError::Refused { status, .. } => ConnectorsError::Status { status },
        source => ConnectorsError::Http { source },
    }
}

fn not_json_error(content_type: &str) -> ConnectorsError {
    let shown: String = content_type.chars().take(MAX_SHOWN_CHARS).collect();
    ConnectorsError::NotJson { content_type: sanitize::sanitize_line(&shown).into_owned() }
}

/// Whether the text lists servers: by name, or each with its name. Single bad entries are found later; an
/// answer of another kind must not replace the cached copy.
pub(super) fn is_catalogue(text: &str) -> bool {
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return false;
    };
    let list = value.get("mcpServers").or_else(|| value.get("servers"));
    match list.unwrap_or(&value) {
        Value::Object(servers) => servers.values().all(Value::is_object),
        Value::Array(servers) => {
            servers.iter().all(|server| server.get("name").is_some_and(Value::is_string))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_a_catalogue_from_another_answer() {
        for text in [
            r#"{"mcpServers": {"a": {"url": "https://a.example/mcp"}}}"#,
            r#"{"servers": [{"name": "a", "url": "https://a.example/mcp"}]}"#,
            r#"[{"name": "a"}]"#,
            r#"{"a": {}}"#,
            "[]",
            "{}",
        ] {
            assert!(is_catalogue(text), "{text}");
        }
        for text in ["", "<html>", "null", "7", r#"{"error": "no"}"#, r#"["a"]"#, "[{}]"] {
            assert!(!is_catalogue(text), "{text}");
        }
    }

    #[test]
    fn fetches_over_http_only() {
        for url in
            ["https://a.example/x", "http://127.0.0.1:1/", "http://[::1]/", "http://localhost/"]
        {
            assert!(parse_address(url).is_ok(), "{url}");
        }
        for url in ["http://a.example", "http://10.0.0.1/", "http://localhost.example/"] {
            assert!(matches!(parse_address(url), Err(ConnectorsError::Plain)), "{url}");
        }
        for url in ["file:///etc/passwd", "ftp://a.example", "ws://a.example", "data:,[]"] {
            assert!(matches!(parse_address(url), Err(ConnectorsError::Scheme { .. })), "{url}");
        }
        assert!(matches!(parse_address("a.example"), Err(ConnectorsError::Url { .. })));
    }
}
