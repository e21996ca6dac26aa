//! One attempt to fetch the catalogue.

use std::sync::Arc;

use http::header::AUTHORIZATION;
use http::{HeaderMap, StatusCode};
use serde_json::Value;
use switchboard_config::is_encrypted_or_local;
use switchboard_process::Guard;
use switchboard_wire::http::{
    Body, Endpoint, EndpointOptions, HttpError, Limits, Pool, StaticHeaders,
};
use switchboard_wire::sanitize;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::error::Error;
use super::wanted::Wanted;
use crate::options::Timing;

/// No catalogue is larger; it is what the configuration reads of a file.
pub(super) const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The words of an answer that are shown.
const SHOWN: usize = 80;

/// Fetches the catalogue. `stop` ends the helper early; the exchange itself may simply be dropped.
pub(super) async fn fetch(
    wanted: &Wanted,
    pool: &Pool,
    guard: &Guard,
    timing: &Timing,
    stop: &CancellationToken,
) -> Result<String, Error> {
    let url = address(&wanted.url)?;
    let mut headers = HeaderMap::new();
    if let Some(helper) = &wanted.helper {
        let authorization = helper.authorization(guard, timing.helper, stop).await?;
        headers.insert(AUTHORIZATION, authorization);
    }
    let options = EndpointOptions {
        credentials: Arc::new(StaticHeaders::new(headers)),
        limits: Limits { max_body: MAX_BYTES, ..Limits::default() },
        ..EndpointOptions::default()
    };
    let endpoint = Endpoint::new(pool.clone(), url, options);
    let after = timing.fetch;
    tokio::select! {
        text = timeout(after, text(&endpoint)) => text.map_err(|_| Error::TooSlow { after })?,
        () = stop.cancelled() => Err(Error::Abandoned),
    }
}

fn address(url: &str) -> Result<Url, Error> {
    let url = Url::parse(url).map_err(|source| Error::Url { source })?;
    match url.scheme() {
        "http" if !is_encrypted_or_local(url.as_str()) => Err(Error::Plain),
        "http" | "https" => Ok(url),
        scheme => Err(Error::Scheme { scheme: scheme.to_owned() }),
    }
}

async fn text(endpoint: &Endpoint) -> Result<String, Error> {
    let answer = endpoint.get(HeaderMap::new()).await.map_err(failed)?;
    if answer.status != StatusCode::OK {
        return Err(Error::Status { status: answer.status });
    }
    let body = match answer.body {
        Body::Json(body) => body,
        Body::Empty => return Err(Error::NotACatalogue),
        Body::Events(_) => return Err(not_json("text/event-stream")),
        Body::Other { content_type, .. } => return Err(not_json(&content_type)),
    };
    let text = String::from_utf8(body.into()).map_err(|_| Error::NotACatalogue)?;
    if is_catalogue(&text) { Ok(text) } else { Err(Error::NotACatalogue) }
}

/// A refusal carries the beginning of its body, which may repeat what we sent.
fn failed(error: HttpError) -> Error {
    match error {
        HttpError::Refused { status, .. } => Error::Status { status },
        source => Error::Http { source },
    }
}

fn not_json(content_type: &str) -> Error {
    let shown: String = content_type.chars().take(SHOWN).collect();
    Error::NotJson { content_type: sanitize::line(&shown).into_owned() }
}

/// Whether the text lists servers: by name, or each with its name. What is wrong with a single one is found later; an
/// answer of another kind must not take the place of the last copy.
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
            assert!(address(url).is_ok(), "{url}");
        }
        for url in ["http://a.example", "http://10.0.0.1/", "http://localhost.example/"] {
            assert!(matches!(address(url), Err(Error::Plain)), "{url}");
        }
        for url in ["file:///etc/passwd", "ftp://a.example", "ws://a.example", "data:,[]"] {
            assert!(matches!(address(url), Err(Error::Scheme { .. })), "{url}");
        }
        assert!(matches!(address("a.example"), Err(Error::Url { .. })));
    }
}
