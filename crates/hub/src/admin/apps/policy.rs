//! [`AppPolicy`]: the content security policy of one app, from the `_meta.ui.csp` and `permissions` that its server
//! declares.
//!
//! Used by `frames`. Every value comes from a server, so each is parsed as an origin; a value that is none is left out
//! and reported, and no value can add a directive. It does not read the metadata from a result (the console does).

use serde::Serialize;
use serde_json::{Map, Value};
use switchboard_wire::sanitize;

/// The most origins of one list; the rest is left out.
const MAX_ORIGINS: usize = 64;
/// The most bytes of one origin: a host name has 253 at most.
const MAX_ORIGIN_BYTES: usize = 280;
/// The most characters of a left-out value that the report shows.
const MAX_SHOWN_CHARS: usize = 80;

/// The origins of one list of `_meta.ui.csp`, by the directives that they fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OriginList {
    Connect,
    Resource,
    Frame,
    BaseUri,
}

/// The policy of one app.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AppPolicy {
    /// The origins that apply.
    pub(super) csp: AppOrigins,
    /// The browser features that the app asks for, as in `allow` of a frame.
    pub(super) permissions: Vec<&'static str>,
    /// The values that do not apply.
    pub(super) dropped: Vec<DroppedValue>,
}

/// The origins that an app may use, by the members of `_meta.ui.csp`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct AppOrigins {
    #[serde(rename = "connectDomains")]
    pub(super) connect: Vec<String>,
    #[serde(rename = "resourceDomains")]
    pub(super) resource: Vec<String>,
    #[serde(rename = "frameDomains")]
    pub(super) frame: Vec<String>,
    #[serde(rename = "baseUriDomains")]
    pub(super) base_uri: Vec<String>,
}

/// A value that does not apply, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct DroppedValue {
    /// Where it was, for example `csp.connectDomains`.
    pub(super) member: String,
    /// The start of the value.
    pub(super) value: String,
    pub(super) reason: &'static str,
}

/// The members of `_meta.ui.permissions`, and the features of the browser that they name.
const PERMISSIONS: [(&str, &str); 4] = [
    ("camera", "camera"),
    ("microphone", "microphone"),
    ("geolocation", "geolocation"),
    ("clipboardWrite", "clipboard-write"),
];

// === impl AppPolicy ===

impl AppPolicy {
    /// The policy for a server's declaration; `null` declares nothing.
    pub(super) fn from_declared(csp: &Value, permissions: &Value) -> Self {
        let mut policy = Self::default();
        for (name, declared) in policy.object("csp", csp) {
            match OriginList::from_member(&name) {
                Some(list) => policy.add_list(list, &format!("csp.{name}"), &declared),
                None => policy.drop_value(&format!("csp.{name}"), &declared, "unknown member"),
            }
        }
        for (name, declared) in policy.object("permissions", permissions) {
            let known = PERMISSIONS.iter().find(|(member, _)| *member == name);
            match known {
                Some((_, feature)) if declared.is_object() => policy.permissions.push(feature),
                Some(_) => {
                    policy.drop_value(&format!("permissions.{name}"), &declared, "not an object");
                }
                None => {
                    policy.drop_value(&format!("permissions.{name}"), &declared, "unknown member");
                }
            }
        }
        policy
    }

    /// The header for the frame of the app. The app's document inherits it, because the frame hands it in without a
    /// response of its own. `'self'` stands nowhere: it would mean the listener of the frames, which has nothing for
    /// apps.
    pub(super) fn to_header(&self, console_origin: &str) -> String {
        let AppOrigins { connect, resource, frame, base_uri } = &self.csp;
        let or_none = |origins: &[String]| match origins {
            [] => "'none'".to_owned(),
            origins => origins.join(" "),
        };
        let with = |fixed: &str| match resource.as_slice() {
            [] => fixed.to_owned(),
            origins => format!("{fixed} {}", origins.join(" ")),
        };
        [
            "default-src 'none'".to_owned(),
            format!("script-src {}", with("'unsafe-inline'")),
            format!("style-src {}", with("'unsafe-inline'")),
            format!("img-src {}", with("data:")),
            format!("media-src {}", with("data:")),
            format!("font-src {}", or_none(resource)),
            format!("connect-src {}", or_none(connect)),
            format!("frame-src {}", or_none(frame)),
            format!("base-uri {}", or_none(base_uri)),
            "object-src 'none'".to_owned(),
            "form-action 'none'".to_owned(),
            format!("frame-ancestors {console_origin}"),
        ]
        .join("; ")
    }

    /// The members of a declared object; another value is reported.
    fn object(&mut self, member: &str, declared: &Value) -> Map<String, Value> {
        match declared {
            Value::Null => Map::new(),
            Value::Object(members) => members.clone(),
            other => {
                self.drop_value(member, other, "not an object");
                Map::new()
            }
        }
    }

    fn add_list(&mut self, list: OriginList, member: &str, declared: &Value) {
        let Value::Array(values) = declared else {
            self.drop_value(member, declared, "not a list");
            return;
        };
        for (index, value) in values.iter().enumerate() {
            if index >= MAX_ORIGINS {
                let rest = Value::from(format!("{} more", values.len() - MAX_ORIGINS));
                self.drop_value(member, &rest, "too many origins");
                return;
            }
            let parsed = value.as_str().ok_or("not a text").and_then(|text| list.parse(text));
            match parsed {
                Ok(origin) => {
                    let origins = self.csp.list_mut(list);
                    if !origins.contains(&origin) {
                        origins.push(origin);
                    }
                }
                Err(reason) => self.drop_value(member, value, reason),
            }
        }
    }

    fn drop_value(&mut self, member: &str, value: &Value, reason: &'static str) {
        if self.dropped.len() >= MAX_ORIGINS {
            return;
        }
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let shown: String = text.chars().take(MAX_SHOWN_CHARS).collect();
        let (member, value) = (clean(member), clean(&shown));
        self.dropped.push(DroppedValue { member, value, reason });
    }
}

// === impl AppOrigins ===

impl AppOrigins {
    fn list_mut(&mut self, list: OriginList) -> &mut Vec<String> {
        match list {
            OriginList::Connect => &mut self.connect,
            OriginList::Resource => &mut self.resource,
            OriginList::Frame => &mut self.frame,
            OriginList::BaseUri => &mut self.base_uri,
        }
    }
}

// === impl OriginList ===

impl OriginList {
    fn from_member(name: &str) -> Option<Self> {
        Some(match name {
            "connectDomains" => Self::Connect,
            "resourceDomains" => Self::Resource,
            "frameDomains" => Self::Frame,
            "baseUriDomains" => Self::BaseUri,
            _ => return None,
        })
    }

    /// Parses `scheme://host[:port]`, whose host may begin with `*.`.
    fn parse(self, text: &str) -> Result<String, &'static str> {
        if text.len() > MAX_ORIGIN_BYTES {
            return Err("too long");
        }
        let lower = text.trim_end_matches('/').to_ascii_lowercase();
        let (scheme, rest) = lower.split_once("://").ok_or("not an origin with its scheme")?;
        match scheme {
            "https" | "http" => {}
            "wss" | "ws" if self == Self::Connect => {}
            _ => return Err("a scheme that apps may not use here"),
        }
        let (host, port) = match rest.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (rest, None),
        };
        if port.is_some_and(|port| port.parse::<u16>().is_err()) {
            return Err("not a port");
        }
        let name = host.strip_prefix("*.").unwrap_or(host);
        if name.contains('*') {
            return Err("a wildcard may only stand for the first part of a host's name");
        }
        let is_label = |label: &str| {
            let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            !label.is_empty()
                && label.len() <= 63
                && label.bytes().all(is_inner)
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        if !name.split('.').all(is_label) {
            return Err("not an origin: only a scheme, a host and a port");
        }
        Ok(lower)
    }
}

fn clean(text: &str) -> String {
    sanitize::sanitize_line(text).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const CONSOLE: &str = "http://127.0.0.1:7420";

    #[test]
    fn without_metadata_an_app_reaches_nothing() {
        let policy = AppPolicy::from_declared(&Value::Null, &Value::Null);
        assert_eq!(
            policy.to_header(CONSOLE),
            "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; \
             media-src data:; font-src 'none'; connect-src 'none'; frame-src 'none'; base-uri 'none'; \
             object-src 'none'; form-action 'none'; frame-ancestors http://127.0.0.1:7420"
        );
        assert!(policy.dropped.is_empty() && policy.permissions.is_empty());
    }

    #[test]
    fn declared_origins_fill_their_directives() {
        let csp = json!({
            "connectDomains": ["https://api.example.com", "WSS://live.example.com:8443/", "https://api.example.com"],
            "resourceDomains": ["https://*.example.org"],
            "frameDomains": ["https://player.example.net"],
            "baseUriDomains": ["https://base.example.net"],
        });
        let permissions =
            json!({ "camera": {}, "clipboardWrite": {}, "midi": {}, "microphone": true });
        let policy = AppPolicy::from_declared(&csp, &permissions);
        let header = policy.to_header(CONSOLE);
        for directive in [
            "connect-src https://api.example.com wss://live.example.com:8443;",
            "script-src 'unsafe-inline' https://*.example.org;",
            "style-src 'unsafe-inline' https://*.example.org;",
            "img-src data: https://*.example.org;",
            "media-src data: https://*.example.org;",
            "font-src https://*.example.org;",
            "frame-src https://player.example.net;",
            "base-uri https://base.example.net;",
        ] {
            assert!(header.contains(directive), "{directive} is not in {header}");
        }
        assert_eq!(policy.permissions, ["camera", "clipboard-write"]);
        let mut dropped: Vec<_> = policy.dropped.iter().map(|each| &*each.member).collect();
        dropped.sort_unstable();
        assert_eq!(dropped, ["permissions.microphone", "permissions.midi"]);
    }

    /// One line for each value that a hostile or careless server could declare.
    #[test]
    fn a_value_that_is_no_origin_is_left_out_and_reported() {
        let default = AppPolicy::default().to_header(CONSOLE);
        for (value, reason) in [
            (
                json!("https://a.example; script-src 'unsafe-eval'"),
                "not an origin: only a scheme, a host and a port",
            ),
            (
                json!("https://a.example, default-src data"),
                "not an origin: only a scheme, a host and a port",
            ),
            (
                json!("https://a.example 'unsafe-eval'"),
                "not an origin: only a scheme, a host and a port",
            ),
            (json!("https://a.example\r\nSet-Cookie: a=b"), "not a port"),
            (json!("https://a.example/path"), "not an origin: only a scheme, a host and a port"),
            (json!("https://a.example?x"), "not an origin: only a scheme, a host and a port"),
            (json!("https://user@a.example"), "not an origin: only a scheme, a host and a port"),
            (json!("https://ä.example"), "not an origin: only a scheme, a host and a port"),
            (json!("https://"), "not an origin with its scheme"),
            (json!("https://-a.example"), "not an origin: only a scheme, a host and a port"),
            (json!("https://a..example"), "not an origin: only a scheme, a host and a port"),
            (json!("https://[::1]"), "not a port"),
            (json!("https://a.example:99999"), "not a port"),
            (json!("https://a.example:*"), "not a port"),
            (json!("https://*"), "a wildcard may only stand for the first part of a host's name"),
            (
                json!("https://a.*.example"),
                "a wildcard may only stand for the first part of a host's name",
            ),
            (json!("*"), "not an origin with its scheme"),
            (json!("https:"), "not an origin with its scheme"),
            (json!("'self'"), "not an origin with its scheme"),
            (json!("data:"), "not an origin with its scheme"),
            (json!("a.example"), "not an origin with its scheme"),
            (json!("javascript://a.example"), "a scheme that apps may not use here"),
            (json!("wss://a.example"), "a scheme that apps may not use here"),
            (json!(""), "not an origin with its scheme"),
            (json!(7), "not a text"),
            (json!("https://".to_owned() + &"a".repeat(300)), "too long"),
        ] {
            let csp = json!({ "resourceDomains": [value] });
            let policy = AppPolicy::from_declared(&csp, &Value::Null);
            let reasons: Vec<_> = policy.dropped.iter().map(|each| each.reason).collect();
            assert_eq!(reasons, [reason], "{value}");
            assert_eq!(policy.to_header(CONSOLE), default, "{value}");
        }
    }

    #[test]
    fn metadata_of_another_type_is_reported() {
        for (csp, permissions, member) in [
            (json!([]), Value::Null, "csp"),
            (json!({ "connectDomains": "https://a.example" }), Value::Null, "csp.connectDomains"),
            (json!({ "scriptSrc": ["*"] }), Value::Null, "csp.scriptSrc"),
            (Value::Null, json!("camera"), "permissions"),
        ] {
            let policy = AppPolicy::from_declared(&csp, &permissions);
            let dropped: Vec<_> = policy.dropped.iter().map(|each| &*each.member).collect();
            assert_eq!(dropped, [member]);
        }
        let many: Vec<_> = (0..10_000).map(|number| format!("https://h{number}.example")).collect();
        let policy = AppPolicy::from_declared(&json!({ "connectDomains": many }), &Value::Null);
        assert_eq!(policy.csp.connect.len(), MAX_ORIGINS);
        assert_eq!(policy.dropped[0].value, "9936 more");
    }
}
