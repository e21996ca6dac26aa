//! Detection of reverse proxies by the headers that they add.
//!
//! Used by `access_control` before it admits a client because of its user: a reverse proxy on this machine connects
//! as its own user, for clients anywhere. A proxy that adds no header cannot be recognised; `--allow-host` and
//! `--auth token` are for those.

use http::{HeaderMap, HeaderName};

/// Headers that proxies, load balancers and tunnels add, and clients do not.
const FORWARDING_HEADERS: [&str; 16] = [
    "forwarded",
    "forwarded-for",
    "via",
    "cdn-loop",
    "client-ip",
    "fastly-client-ip",
    "fly-client-ip",
    "true-client-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-host",
    "x-original-host",
    "x-originating-ip",
    "x-real-ip",
    "x-remote-addr",
    "x-remote-ip",
];

/// Prefixes of further forwarding headers.
const FORWARDING_PREFIXES: [&str; 8] = [
    "cf-",
    "tailscale-",
    "x-appengine-",
    "x-azure-",
    "x-envoy-",
    "x-forwarded",
    "x-original-forwarded",
    "x-proxyuser-",
];

/// The first header that only a proxy adds.
pub(super) fn forwarding_header(headers: &HeaderMap) -> Option<&HeaderName> {
    headers.keys().find(|name| {
        let name = name.as_str();
        FORWARDING_HEADERS.contains(&name)
            || FORWARDING_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn headers_of_proxies_and_of_clients() {
        for (name, expected) in [
            ("Forwarded", true),
            ("Via", true),
            ("X-Forwarded-For", true),
            ("X-Forwarded-Host", true),
            ("X-Forwarded-Proto", true),
            ("X-Forwarded", true),
            ("X-Real-IP", true),
            ("CF-Connecting-IP", true),
            ("True-Client-IP", true),
            ("Tailscale-User-Login", true),
            ("Host", false),
            ("Accept", false),
            ("Authorization", false),
            ("Mcp-Session-Id", false),
            ("Mcp-Param-Region", false),
            ("User-Agent", false),
            ("X-Custom", false),
            ("Traceparent", false),
        ] {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            let headers = HeaderMap::from_iter([(name.clone(), HeaderValue::from_static("x"))]);
            assert_eq!(forwarding_header(&headers).is_some(), expected, "{name}");
        }
    }
}
