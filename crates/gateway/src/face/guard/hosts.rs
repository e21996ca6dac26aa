//! The names we answer to, and the pages we answer.
//!
//! A web page can have its own name point at this machine; then the browser sends us its requests
//! under that name. So names other than our own are refused, and pages other than our own too.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, HeaderValue, StatusCode, Uri, header, uri::Authority};
use url::{Host, Url};

use crate::face::refusal::{Reason, Refusal};

/// What is allowed.
#[derive(Debug)]
pub(super) struct Hosts {
    bound: IpAddr,
    names: Vec<String>,
    origins: Vec<String>,
}

/// The page that a request came from, which may read the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin(pub(super) HeaderValue);

// === impl Hosts ===

impl Hosts {
    pub(super) fn new(bound: SocketAddr, names: &[String], origins: &[String]) -> Self {
        let plain = |text: &String| text.trim().trim_end_matches(['.', '/']).to_ascii_lowercase();
        Self {
            bound: bound.ip(),
            names: names.iter().map(plain).collect(),
            origins: origins.iter().map(plain).collect(),
        }
    }

    /// `local` is the address that the connection came in at.
    pub(super) fn check_host(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        local: Option<IpAddr>,
    ) -> Result<(), Refusal> {
        let mut named = headers.get_all(header::HOST).iter();
        let in_header = named.next().and_then(|host| host.to_str().ok());
        let twice = named.next().is_some();
        let host = uri.authority().map(Authority::as_str).or(in_header).filter(|_| !twice);
        match host.and_then(|host| host.parse::<Authority>().ok()) {
            Some(host) if self.is_ours(host.host(), Some(host.as_str()), local) => Ok(()),
            Some(_) => Err(Refusal::new(
                Reason::Host,
                StatusCode::FORBIDDEN,
                "`Host` is none of this server's names; allow it with `--allow-host`",
            )),
            None => Err(Refusal::new(
                Reason::Host,
                StatusCode::BAD_REQUEST,
                "`Host` must name the server, once",
            )),
        }
    }

    /// The origin, if there is one and it is allowed.
    pub(super) fn check_origin(
        &self,
        headers: &HeaderMap,
        local: Option<IpAddr>,
    ) -> Result<Option<Origin>, Refusal> {
        let mut said = headers.get_all(header::ORIGIN).iter();
        let Some(origin) = said.next() else {
            return Ok(None);
        };
        let text = origin.to_str().unwrap_or_default().to_ascii_lowercase();
        if said.next().is_none() && self.is_allowed(&text, local) {
            return Ok(Some(Origin(origin.clone())));
        }
        let text = "pages of this `Origin` are not served; allow it with `--allow-origin`";
        Err(Refusal::new(Reason::Origin, StatusCode::FORBIDDEN, text))
    }

    fn is_allowed(&self, origin: &str, local: Option<IpAddr>) -> bool {
        if self.origins.iter().any(|allowed| allowed == "*" || allowed == origin) {
            return true;
        }
        let Ok(url) = Url::parse(origin) else {
            return false;
        };
        let of_the_web = matches!(url.scheme(), "http" | "https");
        let host = url.host_str().filter(|_| of_the_web && is_bare(&url));
        host.is_some_and(|host| self.is_ours(host, None, local))
    }

    /// Whether a host, with its port where one was named, is one of ours.
    fn is_ours(&self, host: &str, with_port: Option<&str>, local: Option<IpAddr>) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let with_port = with_port.map(str::to_ascii_lowercase);
        let allowed = |name: &String| *name == host || Some(name) == with_port.as_ref();
        if host == "localhost" || self.names.iter().any(allowed) {
            return true;
        }
        let address = match Host::parse(&host) {
            Ok(Host::Ipv4(address)) => IpAddr::V4(address),
            Ok(Host::Ipv6(address)) => IpAddr::V6(address),
            _ => return false,
        };
        address.is_loopback()
            || address == self.bound && !address.is_unspecified()
            || local.is_some_and(|local| local.to_canonical() == address.to_canonical())
    }
}

/// An origin is a scheme, a host and a port.
fn is_bare(url: &Url) -> bool {
    url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none()
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn hosts(bound: &str) -> Hosts {
        let names = ["hub.example".to_owned(), "Other.Example:81".to_owned()];
        let origins = ["https://app.example".to_owned()];
        Hosts::new(bound.parse().unwrap(), &names, &origins)
    }

    const LOCAL: Option<IpAddr> = Some(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7)));

    #[test]
    fn names_that_are_ours() {
        for (host, expected) in [
            ("localhost", Ok(())),
            ("LOCALHOST:7420", Ok(())),
            ("localhost.:7420", Ok(())),
            ("127.0.0.1:7420", Ok(())),
            ("127.9.9.9", Ok(())),
            ("[::1]:7420", Ok(())),
            ("192.0.2.7:7420", Ok(())),
            ("hub.example", Ok(())),
            ("hub.example:99", Ok(())),
            ("other.example:81", Ok(())),
            ("other.example:82", Err(Reason::Host)),
            ("other.example", Err(Reason::Host)),
            ("evil.example.com", Err(Reason::Host)),
            ("localhost.evil.example", Err(Reason::Host)),
            ("evil.localhost.example", Err(Reason::Host)),
            ("127.0.0.1.evil.example", Err(Reason::Host)),
            ("192.0.2.8", Err(Reason::Host)),
            ("0.0.0.0:7420", Err(Reason::Host)),
            ("[::]", Err(Reason::Host)),
            ("user@localhost@evil.example", Err(Reason::Host)),
            ("", Err(Reason::Host)),
        ] {
            let headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]);
            let checked =
                hosts("0.0.0.0:7420").check_host(&Uri::from_static("/mcp"), &headers, LOCAL);
            assert_eq!(checked.map_err(|refusal| refusal.reason), expected, "{host}");
        }
    }

    #[test]
    fn a_name_is_needed_once() {
        let at = |headers: HeaderMap, uri: &'static str| {
            hosts("127.0.0.1:1").check_host(&Uri::from_static(uri), &headers, None).is_ok()
        };
        assert!(!at(HeaderMap::new(), "/"));
        assert!(at(HeaderMap::new(), "http://localhost/"));
        assert!(!at(HeaderMap::new(), "http://evil.example/"));
        let name = |name| (header::HOST, HeaderValue::from_static(name));
        let mut twice = HeaderMap::from_iter([name("localhost")]);
        twice.append(header::HOST, HeaderValue::from_static("evil.example"));
        assert!(!at(twice, "/"));
    }

    #[test]
    fn pages_that_are_ours() {
        for (origin, expected) in [
            (None, Ok(false)),
            (Some("http://localhost"), Ok(true)),
            (Some("http://localhost:6274"), Ok(true)),
            (Some("https://127.0.0.1:1"), Ok(true)),
            (Some("http://[::1]:1"), Ok(true)),
            (Some("http://hub.example"), Ok(true)),
            (Some("https://app.example"), Ok(true)),
            (Some("HTTPS://App.Example"), Ok(true)),
            (Some("http://app.example"), Err(Reason::Origin)),
            (Some("https://app.example:444"), Err(Reason::Origin)),
            (Some("http://evil.example.com"), Err(Reason::Origin)),
            (Some("http://localhost.evil.example"), Err(Reason::Origin)),
            (Some("http://localhost@evil.example"), Err(Reason::Origin)),
            (Some("http://evil@localhost"), Err(Reason::Origin)),
            (Some("chrome-extension://localhost"), Err(Reason::Origin)),
            (Some("file://"), Err(Reason::Origin)),
            (Some("null"), Err(Reason::Origin)),
            (Some(""), Err(Reason::Origin)),
        ] {
            let mut headers = HeaderMap::new();
            headers.extend(origin.map(|o| (header::ORIGIN, HeaderValue::from_static(o))));
            let checked = hosts("127.0.0.1:7420").check_origin(&headers, None);
            let checked = checked.map(|origin| origin.is_some()).map_err(|refusal| refusal.reason);
            assert_eq!(checked, expected, "{origin:?}");
        }
    }
}
