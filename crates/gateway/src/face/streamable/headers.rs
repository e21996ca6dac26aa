//! The check that the headers of a modern request agree with its body.
//!
//! Used by `streamable` and `mirrored`. A proxy may have routed or filtered the request by its
//! headers alone. It does not check arguments in headers (`mirrored`).

use base64::{Engine, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::json;
use switchboard_wire::{
    Era, Version,
    envelope::{Request, code},
    json::{JsonKind, Raw},
    meta::{self, method},
};

use crate::face::refusal::{HttpRefusal, RefusalReason};

pub(super) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const METHOD_HEADER: HeaderName = HeaderName::from_static("mcp-method");
const NAME_HEADER: HeaderName = HeaderName::from_static("mcp-name");

/// Whether a header is required.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HeaderNeed {
    Yes,
    No,
}

/// The version in a request's header.
pub(super) struct NamedVersion<'h> {
    /// The value of the header, if it is there.
    said: Option<&'h str>,
    /// The version, if it is known.
    version: Option<Version>,
}

// === impl NamedVersion ===

impl<'h> NamedVersion<'h> {
    pub(super) fn from_headers(headers: &'h HeaderMap) -> Self {
        let said = headers.get(PROTOCOL_VERSION);
        let said = said.map(|said| said.to_str().map(str::trim).unwrap_or_default());
        Self { said, version: said.and_then(|said| said.parse().ok()) }
    }

    /// Whether it is a known modern version.
    pub(super) fn is_modern(&self) -> bool {
        self.version.is_some_and(|version| version.era() == Era::Modern)
    }

    /// Checks a legacy request: a version in its header must exist.
    pub(super) fn check_legacy(&self) -> Result<(), HttpRefusal> {
        let Some(said) = self.said else { return Ok(()) };
        if self.version.is_some_and(|version| version.era() == Era::Legacy) {
            return Ok(());
        }
        let known = Version::ALL.map(Version::as_str);
        let text = format!("`MCP-Protocol-Version` names none of these: {}", known.join(", "));
        let refusal = HttpRefusal::new(RefusalReason::Version, StatusCode::BAD_REQUEST, text);
        let data = Raw::from(json!({ "supported": known, "requested": said }));
        Err(refusal.with_code(code::UNSUPPORTED_VERSION).with_data(data))
    }
}

/// Whether the metadata of a request says that it is modern.
pub(super) fn says_modern(params: Option<&Raw>) -> bool {
    params.is_some_and(|params| {
        !matches!(params.peek_path(&["_meta", meta::PROTOCOL_VERSION]), Ok(None))
    })
}

/// Checks the metadata of a modern request, and the headers that repeat parts of the body.
pub(super) fn check(headers: &HeaderMap, request: &Request) -> Result<(), HttpRefusal> {
    let params = request.params();
    let member = |path: &[&str]| params.as_ref()?.get_path(path).ok()?;
    let text = |path: &[&str]| member(path)?.to_text();
    let version = text(&["_meta", meta::PROTOCOL_VERSION])
        .ok_or_else(|| missing_meta(meta::PROTOCOL_VERSION))?;
    member(&["_meta", meta::CLIENT_CAPABILITIES])
        .filter(|capabilities| capabilities.kind() == JsonKind::Object)
        .ok_or_else(|| missing_meta(meta::CLIENT_CAPABILITIES))?;
    check_header(headers, &PROTOCOL_VERSION, Some(&version), HeaderNeed::Yes)?;
    check_header(headers, &METHOD_HEADER, Some(&request.method()), HeaderNeed::Yes)?;
    match request.method().as_ref() {
        method::TOOLS_CALL | method::PROMPTS_GET => {
            check_header(headers, &NAME_HEADER, text(&["name"]).as_deref(), HeaderNeed::Yes)
        }
        method::RESOURCES_READ => {
            check_header(headers, &NAME_HEADER, text(&["uri"]).as_deref(), HeaderNeed::Yes)
        }
        method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL => {
            check_header(headers, &NAME_HEADER, text(&["taskId"]).as_deref(), HeaderNeed::No)
        }
        _ => Ok(()),
    }
}

fn missing_meta(key: &str) -> HttpRefusal {
    let text = format!("`_meta` must hold `{key}`");
    HttpRefusal::new(RefusalReason::Headers, StatusCode::BAD_REQUEST, text)
        .with_code(code::INVALID_PARAMS)
}

fn check_header(
    headers: &HeaderMap,
    name: &HeaderName,
    in_body: Option<&str>,
    needed: HeaderNeed,
) -> Result<(), HttpRefusal> {
    match (single_value(headers, name)?, in_body) {
        (None, None) => Ok(()),
        (None, Some(_)) if needed == HeaderNeed::No => Ok(()),
        (None, Some(_)) => Err(mismatch(format!("the header `{name}` is missing"))),
        (Some(said), Some(in_body)) if said == in_body => Ok(()),
        (Some(_), _) => Err(mismatch(format!("the header `{name}` is not what the body says"))),
    }
}

/// The decoded value of a header that may occur once.
pub(super) fn single_value(
    headers: &HeaderMap,
    name: &HeaderName,
) -> Result<Option<String>, HttpRefusal> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(mismatch(format!("the header `{name}` occurs more than once")));
    }
    let decoded = decode(value)
        .ok_or_else(|| mismatch(format!("the header `{name}` holds what no header may")))?;
    Ok(Some(decoded))
}

/// Decodes plain visible text, or Base64 between markers.
fn decode(value: &HeaderValue) -> Option<String> {
    let text = value.to_str().ok()?.trim_matches([' ', '\t']);
    let marked = text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    match marked {
        None => Some(text.to_owned()),
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
    }
}

pub(super) fn mismatch(text: String) -> HttpRefusal {
    HttpRefusal::new(RefusalReason::Headers, StatusCode::BAD_REQUEST, text)
        .with_code(code::HEADER_MISMATCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded() {
        for (value, expected) in [
            ("plain", Some("plain")),
            (" padded\t", Some("padded")),
            ("=?base64?SGVsbG8sIOS4lueVjA==?=", Some("Hello, 世界")),
            ("=?base64?IHBhZGRlZCA=?=", Some(" padded ")),
            ("=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", Some("=?base64?literal?=")),
            ("=?BASE64?SGVsbG8=?=", Some("=?BASE64?SGVsbG8=?=")),
            ("=?base64?***?=", None),
            ("=?base64?/w==?=", None),
        ] {
            let header = HeaderValue::from_static(value);
            assert_eq!(decode(&header).as_deref(), expected, "{value}");
        }
        assert_eq!(decode(&HeaderValue::from_bytes(b"\xff").unwrap()), None);
    }
}
