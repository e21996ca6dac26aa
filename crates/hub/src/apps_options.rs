//! [`AppsOptions`]: where the frames of apps are served, and the origin under which a browser reaches them.
//!
//! Used by `serve --apps-origin` and `--apps-listen`, and by `admin::apps`. It does not listen.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use url::{Host, Url};

/// Where the frames of apps are served.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AppsOptions {
    /// The origin under which browsers reach the listener, if that is not an address of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<AppsOrigin>,
    /// The loopback address to listen at; any free port if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<SocketAddr>,
}

/// An origin: scheme, host and port of a URL, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct AppsOrigin(Url);

/// A text that is no origin.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not an origin: write scheme, host and port, such as `https://apps.example.com`")]
pub struct InvalidAppsOrigin(String);

// === impl AppsOrigin ===

impl AppsOrigin {
    /// The host, with the port if the origin names one: a name for the check of `Host`.
    pub(crate) fn host(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        self.0.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Whether a browser on this machine reaches it without a network.
    pub(crate) fn is_loopback(&self) -> bool {
        match self.0.host() {
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            None => false,
        }
    }

    /// The origin of a loopback `port` for frames of a page at this origin. Cookies do not know ports, and a browser
    /// may run two ports of one host in one process: so the frames get the other of the two names.
    pub(crate) fn other_loopback_name(&self, port: u16) -> String {
        match self.0.host() {
            Some(Host::Domain(_)) => format!("http://127.0.0.1:{port}"),
            _ => format!("http://localhost:{port}"),
        }
    }
}

impl fmt::Display for AppsOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.origin().ascii_serialization())
    }
}

impl FromStr for AppsOrigin {
    type Err = InvalidAppsOrigin;

    fn from_str(text: &str) -> Result<Self, InvalidAppsOrigin> {
        let invalid = || InvalidAppsOrigin(text.to_owned());
        let url = Url::parse(text).map_err(|_| invalid())?;
        let is_bare = url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none();
        let is_of_the_web = matches!(url.scheme(), "http" | "https") && url.has_host();
        if is_bare && is_of_the_web { Ok(Self(url)) } else { Err(invalid()) }
    }
}

impl TryFrom<String> for AppsOrigin {
    type Error = InvalidAppsOrigin;

    fn try_from(text: String) -> Result<Self, InvalidAppsOrigin> {
        text.parse()
    }
}

impl From<AppsOrigin> for String {
    fn from(origin: AppsOrigin) -> Self {
        origin.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_origin_is_one() {
        for (text, origin) in [
            ("https://apps.example.com", Some("https://apps.example.com")),
            ("https://apps.example.com/", Some("https://apps.example.com")),
            ("http://127.0.0.1:7421", Some("http://127.0.0.1:7421")),
            ("https://apps.example.com/x", None),
            ("https://u:p@apps.example.com", None),
            ("ftp://apps.example.com", None),
            ("apps.example.com", None),
            ("null", None),
            ("", None),
        ] {
            let parsed = text.parse::<AppsOrigin>().ok().map(|origin| origin.to_string());
            assert_eq!(parsed.as_deref(), origin, "{text}");
        }
    }

    #[test]
    fn frames_have_another_host_than_the_console() {
        for (console, frames) in [
            ("http://127.0.0.1:7420", "http://localhost:9"),
            ("http://localhost:7420", "http://127.0.0.1:9"),
            ("http://[::1]:7420", "http://localhost:9"),
        ] {
            let console: AppsOrigin = console.parse().unwrap();
            assert!(console.is_loopback());
            assert_eq!(console.other_loopback_name(9), frames);
        }
        assert!(!"https://hub.example".parse::<AppsOrigin>().unwrap().is_loopback());
    }
}
