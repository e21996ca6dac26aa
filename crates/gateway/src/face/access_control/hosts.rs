//! The check of `Host` and `Origin` headers, against DNS rebinding and foreign web pages.
//!
//! Used by `access_control`, and by `hub::access` for `--allow-host`. A web page can point its own name at this
//! machine, and the browser then sends requests under that name; so other names than our own are refused. Pages are
//! refused too, unless they come from the very host and port that they ask (our console), or `--allow-origin` names
//! them: another port of this machine is another program, and may serve any page. It does not identify clients.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, HeaderValue, StatusCode, Uri, header, uri::Authority};
use url::{Host, Url};

use crate::face::refusal::{HttpRefusal, RefusalReason};

/// The allowed hosts and origins.
#[derive(Debug)]
pub(super) struct AllowedHosts {
    bound: IpAddr,
    names: Vec<String>,
    origins: Vec<String>,
}

/// The origin of the page that sent a request, which may read the response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RequestOrigin(pub(super) HeaderValue);

// === impl AllowedHosts ===

impl AllowedHosts {
    pub(super) fn new(bound: SocketAddr, names: &[String], origins: &[String]) -> Self {
        let plain = |text: &String| text.trim().trim_end_matches(['.', '/']).to_ascii_lowercase();
        Self {
            bound: bound.ip(),
            names: names.iter().map(plain).collect(),
            origins: origins.iter().map(plain).collect(),
        }
    }

    /// Checks the `Host` header. `local` is the local address of the connection.
    pub(super) fn check_host(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        local: Option<IpAddr>,
    ) -> Result<(), HttpRefusal> {
        let mut named = headers.get_all(header::HOST).iter();
        let in_header = named.next().and_then(|host| host.to_str().ok());
        let twice = named.next().is_some();
        let host = uri.authority().map(Authority::as_str).or(in_header).filter(|_| !twice);
        match host.and_then(|host| host.parse::<Authority>().ok()) {
            Some(host) if self.is_ours(host.host(), Some(host.as_str()), local) => Ok(()),
            Some(_) => Err(HttpRefusal::new(
                RefusalReason::Host,
                StatusCode::FORBIDDEN,
                "`Host` is none of this server's names; allow it with `--allow-host`",
            )),
            None => Err(HttpRefusal::new(
                RefusalReason::Host,
                StatusCode::BAD_REQUEST,
                "`Host` must name the server, once",
            )),
        }
    }

    /// Checks the `Origin` header. Returns the origin, if there is one and it is allowed.
    pub(super) fn check_origin(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Option<RequestOrigin>, HttpRefusal> {
        let mut said = headers.get_all(header::ORIGIN).iter();
        let Some(origin) = said.next() else {
            return Ok(None);
        };
        let text = origin.to_str().unwrap_or_default().to_ascii_lowercase();
        let is_listed = || self.origins.iter().any(|listed| listed == "*" || *listed == text);
        if said.next().is_none() && (is_listed() || is_same_origin(&text, uri, headers)) {
            return Ok(Some(RequestOrigin(origin.clone())));
        }
        let text = "pages of this `Origin` are not served; allow it with `--allow-origin`";
        Err(HttpRefusal::new(RefusalReason::Origin, StatusCode::FORBIDDEN, text))
    }

    /// Whether a host, with its port if one was given, is one of ours.
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

/// Whether the requested host and port served the page. `Host` has been checked before.
fn is_same_origin(origin: &str, uri: &Uri, headers: &HeaderMap) -> bool {
    let named = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let asked = uri.authority().map(Authority::as_str).or(named);
    let Ok(page) = Url::parse(origin) else { return false };
    let of_the_web = matches!(page.scheme(), "http" | "https");
    // A host without a port means the port of the page's scheme, also where a proxy terminates TLS.
    let asked = asked.and_then(|host| Url::parse(&format!("{}://{host}", page.scheme())).ok());
    asked.is_some_and(|asked| {
        of_the_web
            && is_bare(&page)
            && is_bare(&asked)
            && page.host() == asked.host()
            && page.port_or_known_default() == asked.port_or_known_default()
    })
}

/// Whether other machines can use a name of `--allow-host`. Then a proxy or another machine may stand between us and
/// clients, so the user at the other end of a connection proves nothing about a client.
pub fn is_public_name(name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase();
    let host = match name.parse::<Authority>() {
        Ok(authority) => authority.host().to_owned(),
        Err(_) => name,
    };
    let host = host.trim_end_matches('.');
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = bare.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback());
    !(is_loopback || host == "localhost" || host.ends_with(".localhost"))
}

/// Whether a URL is an origin only: scheme, host and port.
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

    fn hosts(bound: &str) -> AllowedHosts {
        let names = ["hub.example".to_owned(), "Other.Example:81".to_owned()];
        let origins = ["https://app.example".to_owned()];
        AllowedHosts::new(bound.parse().unwrap(), &names, &origins)
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
            ("other.example:82", Err(RefusalReason::Host)),
            ("other.example", Err(RefusalReason::Host)),
            ("evil.example.com", Err(RefusalReason::Host)),
            ("localhost.evil.example", Err(RefusalReason::Host)),
            ("evil.localhost.example", Err(RefusalReason::Host)),
            ("127.0.0.1.evil.example", Err(RefusalReason::Host)),
            ("192.0.2.8", Err(RefusalReason::Host)),
            ("0.0.0.0:7420", Err(RefusalReason::Host)),
            ("[::]", Err(RefusalReason::Host)),
            ("user@localhost@evil.example", Err(RefusalReason::Host)),
            ("", Err(RefusalReason::Host)),
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
    fn pages_that_are_served() {
        const ASKED: &str = "127.0.0.1:7420";
        for (host, origin, expected) in [
            (ASKED, None, Ok(false)),
            (ASKED, Some("http://127.0.0.1:7420"), Ok(true)),
            ("localhost:7420", Some("http://localhost:7420"), Ok(true)),
            ("LocalHost:7420", Some("http://LOCALHOST:7420"), Ok(true)),
            ("[::1]:7420", Some("http://[::1]:7420"), Ok(true)),
            ("hub.example", Some("https://hub.example"), Ok(true)),
            ("hub.example:8443", Some("https://hub.example:8443"), Ok(true)),
            (ASKED, Some("https://app.example"), Ok(true)),
            (ASKED, Some("HTTPS://App.Example"), Ok(true)),
            (ASKED, Some("http://localhost:7420"), Err(RefusalReason::Origin)),
            (ASKED, Some("http://localhost:6274"), Err(RefusalReason::Origin)),
            (ASKED, Some("http://127.0.0.1:6274"), Err(RefusalReason::Origin)),
            (ASKED, Some("http://127.0.0.1"), Err(RefusalReason::Origin)),
            (ASKED, Some("http://localhost"), Err(RefusalReason::Origin)),
            (ASKED, Some("http://[::1]:7420"), Err(RefusalReason::Origin)),
            (ASKED, Some("http://hub.example"), Err(RefusalReason::Origin)),
            ("hub.example:8443", Some("https://hub.example"), Err(RefusalReason::Origin)),
            (ASKED, Some("http://app.example"), Err(RefusalReason::Origin)),
            (ASKED, Some("https://app.example:444"), Err(RefusalReason::Origin)),
            (ASKED, Some("http://evil.example.com"), Err(RefusalReason::Origin)),
            (ASKED, Some("http://127.0.0.1:7420.evil.example"), Err(RefusalReason::Origin)),
            (ASKED, Some("http://127.0.0.1:7420@evil.example"), Err(RefusalReason::Origin)),
            (ASKED, Some("http://evil@127.0.0.1:7420"), Err(RefusalReason::Origin)),
            (ASKED, Some("http://127.0.0.1:7420/path"), Err(RefusalReason::Origin)),
            (ASKED, Some("chrome-extension://127.0.0.1:7420"), Err(RefusalReason::Origin)),
            (ASKED, Some("file://"), Err(RefusalReason::Origin)),
            (ASKED, Some("null"), Err(RefusalReason::Origin)),
            (ASKED, Some(""), Err(RefusalReason::Origin)),
        ] {
            let host_header = (header::HOST, HeaderValue::from_static(host));
            let mut headers = HeaderMap::from_iter([host_header]);
            headers.extend(origin.map(|o| (header::ORIGIN, HeaderValue::from_static(o))));
            let checked = hosts("127.0.0.1:7420").check_origin(&Uri::from_static("/mcp"), &headers);
            let checked = checked.map(|origin| origin.is_some()).map_err(|refusal| refusal.reason);
            assert_eq!(checked, expected, "{origin:?} asks {host}");
        }
    }

    #[test]
    fn names_that_others_can_use() {
        for (name, expected) in [
            ("localhost", false),
            ("LOCALHOST:7420", false),
            ("hub.localhost", false),
            ("127.0.0.1", false),
            ("127.9.9.9:7420", false),
            ("[::1]", false),
            ("[::1]:7420", false),
            ("::1", false),
            ("hub.example", true),
            ("hub.example:443", true),
            ("localhost.evil.example", true),
            ("192.0.2.7", true),
            ("[2001:db8::1]:443", true),
            ("laptop", true),
            ("*", true),
        ] {
            assert_eq!(is_public_name(name), expected, "{name}");
        }
    }
}
