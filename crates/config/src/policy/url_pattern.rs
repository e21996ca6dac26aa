//! URL patterns, compared part by part.
//!
//! Used by policy rules. A pattern is parsed as a URL is, so a `*` in the host never reaches into the path,
//! and user information cannot pose as a host. An absent part errs to the safe side: an allow rule without a
//! port means the scheme's default port, a deny rule without a port means every port; an absent path
//! likewise.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use url::Url;

use super::glob_matches;

/// Stands for `*` while the URL parser reads a host.
const WILDCARD_PLACEHOLDER: &str = "zzwildcardzz";

/// A URL pattern such as `https://*.example.com/mcp/*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlPattern {
    written: String,
    scheme: String,
    host: String,
    port: PortPattern,
    path: Option<String>,
    query: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PortPattern {
    /// Not given.
    Absent,
    /// `*`.
    Any,
    Exactly(Option<u16>),
}

/// The error for a text that is no URL pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` is not a URL pattern: {why}")]
pub struct InvalidUrlPattern {
    pattern: String,
    why: String,
}

impl UrlPattern {
    /// Whether an allow rule with this pattern covers `url`.
    pub fn allows(&self, url: &str) -> bool {
        let Some(url) = UrlParts::parse(url) else {
            return false;
        };
        let port = match self.port {
            PortPattern::Any => true,
            PortPattern::Absent => url.port == default_port(&url.scheme),
            PortPattern::Exactly(port) => port.or_else(|| default_port(&url.scheme)) == url.port,
        };
        let path = self.path.as_deref().unwrap_or("/");
        port && self.matches(&url)
            && glob_matches(path, &url.path)
            && glob_matches(&decode_slashes(path), &url.loose_path)
    }

    /// Whether a deny rule with this pattern covers `url`. A text that is no URL is covered by every deny
    /// rule.
    pub fn denies(&self, url: &str) -> bool {
        let Some(url) = UrlParts::parse(url) else {
            return true;
        };
        let port = match self.port {
            PortPattern::Any | PortPattern::Absent => true,
            PortPattern::Exactly(port) => port.or_else(|| default_port(&url.scheme)) == url.port,
        };
        let path = self.path.as_deref().unwrap_or("*");
        port && self.matches(&url)
            && (glob_matches(path, &url.path)
                || glob_matches(&decode_slashes(path), &url.loose_path))
    }

    fn matches(&self, url: &UrlParts) -> bool {
        (self.scheme == "*" || self.scheme == url.scheme)
            && glob_matches(&self.host, &url.host)
            && self.query.as_ref().is_none_or(|query| url.query.as_ref() == Some(query))
    }
}

impl FromStr for UrlPattern {
    type Err = InvalidUrlPattern;

    fn from_str(pattern: &str) -> Result<Self, InvalidUrlPattern> {
        let bad =
            |why: &str| InvalidUrlPattern { pattern: pattern.to_owned(), why: why.to_owned() };
        let (scheme, rest) = pattern.split_once("://").unwrap_or(("*", pattern));
        let end = rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at(end);
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let (host, port) = split_port(host);
        if host.contains(WILDCARD_PLACEHOLDER) || host.is_empty() {
            return Err(bad("it has no host"));
        }
        let port = parse_port(port).ok_or_else(|| bad("its port is not a number"))?;
        // All web schemes parse alike; the parser only has to see one of them.
        let parser_scheme = if scheme == "*" { "https" } else { scheme };
        let text = format!("{parser_scheme}://{}{tail}", host.replace('*', WILDCARD_PLACEHOLDER));
        let url = Url::parse(&text).map_err(|error| bad(&error.to_string()))?;
        let parts = UrlParts::of_url(&url).ok_or_else(|| bad("it is not a web URL"))?;
        Ok(Self {
            written: pattern.to_owned(),
            scheme: if scheme == "*" { "*".to_owned() } else { parts.scheme },
            host: parts.host.replace(WILDCARD_PLACEHOLDER, "*"),
            port,
            path: (!tail.is_empty() && !tail.starts_with(['?', '#'])).then_some(parts.path),
            query: parts.query,
        })
    }
}

fn split_port(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        // A colon inside brackets belongs to an IPv6 address.
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (host, None),
    }
}

fn parse_port(port: Option<&str>) -> Option<PortPattern> {
    match port {
        None => Some(PortPattern::Absent),
        Some("*") => Some(PortPattern::Any),
        Some("") => Some(PortPattern::Exactly(None)),
        Some(digits) => digits.parse().ok().map(|number| PortPattern::Exactly(Some(number))),
    }
}

/// A URL in the form in which two are compared.
struct UrlParts {
    scheme: String,
    host: String,
    port: Option<u16>,
    path: String,
    /// The path as a server reads it that takes an escaped slash for a slash.
    loose_path: String,
    query: Option<String>,
}

impl UrlParts {
    fn parse(url: &str) -> Option<Self> {
        Self::of_url(&Url::parse(url).ok()?)
    }

    fn of_url(url: &Url) -> Option<Self> {
        Some(Self {
            scheme: url.scheme().to_owned(),
            host: url.host_str()?.trim_end_matches('.').to_ascii_lowercase(),
            port: url.port_or_known_default(),
            path: normalize_escapes(url.path()),
            loose_path: loose_path(url),
            query: url.query().map(normalize_escapes),
        })
    }
}

fn loose_path(url: &Url) -> String {
    let path = normalize_escapes(url.path());
    if !path.contains("%2F") && !path.contains("%5C") {
        return path;
    }
    let mut loose = url.clone();
    loose.set_path(&self::decode_slashes(&path));
    normalize_escapes(loose.path())
}

fn decode_slashes(path: &str) -> String {
    path.replace("%2F", "/").replace("%5C", "/")
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" | "ws" => Some(80),
        "https" | "wss" => Some(443),
        _ => None,
    }
}

/// Decodes escapes of unreserved characters, and writes the others in upper case.
fn normalize_escapes(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        result.push_str(&rest[..at]);
        let escape = rest.get(at..at + 3).unwrap_or("%");
        match u8::from_str_radix(escape.trim_start_matches('%'), 16).map(char::from) {
            Ok(c) if escape.len() == 3 && (c.is_ascii_alphanumeric() || "-._~".contains(c)) => {
                result.push(c);
            }
            _ => result.push_str(&escape.to_ascii_uppercase()),
        }
        rest = &rest[at + escape.len()..];
    }
    result.push_str(rest);
    result
}

impl fmt::Display for UrlPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

impl JsonSchema for UrlPattern {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "UrlPattern".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<String>()
    }
}
