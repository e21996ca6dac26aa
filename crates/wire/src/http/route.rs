//! Routes of a pool: whether a request goes directly or through a proxy, and with which `reqwest` client.
//!
//! Used by `pool`, `send` and `endpoint`. It does not check addresses (`address_filter`).

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::Client;
use reqwest::dns::Resolve;
use url::Url;

use super::address_filter::{AddressFilter, FilteringResolver, ProxyExemptResolver, ProxyNames};
use super::error::HttpError;
use super::pool::{HttpPoolOptions, ProxySettings, build_clients};

/// A client for plain HTTP and one for upgrades.
#[derive(Clone)]
pub(super) struct HttpClients {
    /// HTTP/2 where TLS negotiates it.
    pub(super) http: Client,
    /// HTTP/1.1, the only version that can be upgraded to WebSocket.
    pub(super) upgrade: Client,
}

/// Selects one of the [`HttpClients`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestPurpose {
    Exchange,
    Upgrade,
}

/// The clients for direct and for proxied requests.
pub(super) struct Routes {
    /// Decides which URLs go through a proxy, by the rules that the clients follow too.
    matcher: Matcher,
    clients: HttpClients,
    /// Separate clients for proxies, if addresses are restricted; `clients` then use no proxy.
    restricted: Option<RestrictedRoutes>,
}

struct RestrictedRoutes {
    judging: FilteringResolver,
    proxied: HttpClients,
    proxies: ProxyNames,
}

// === impl Routes ===

impl Routes {
    pub(super) fn new(options: &HttpPoolOptions) -> Result<Self, HttpError> {
        let matcher = matcher(&options.proxies);
        let judging = || FilteringResolver {
            resolver: options.resolver.clone(),
            reach: options.reach.clone(),
        };
        if let AddressFilter::Anywhere = options.reach {
            let clients = build_clients(options, &options.proxies, &resolver(judging()))?;
            return Ok(Self { matcher, clients, restricted: None });
        }
        let proxies = ProxyNames::default();
        let exempting = ProxyExemptResolver { judging: judging(), proxies: proxies.clone() };
        let restricted = RestrictedRoutes {
            judging: judging(),
            proxied: build_clients(options, &options.proxies, &resolver(exempting))?,
            proxies,
        };
        let clients = build_clients(options, &ProxySettings::Off, &resolver(judging()))?;
        Ok(Self { matcher, clients, restricted: Some(restricted) })
    }

    /// Returns the client for a request to `url`, or an error if the address is forbidden.
    pub(super) async fn client(&self, url: &Url, purpose: RequestPurpose) -> io::Result<Client> {
        let Some(restricted) = &self.restricted else {
            return Ok(self.clients.for_purpose(purpose));
        };
        restricted.judging.judge_literal(url)?;
        match self.proxy(url) {
            None => Ok(self.clients.for_purpose(purpose)),
            Some(proxy) => {
                restricted.judging.judge_proxied(url).await?;
                restricted.proxies.add(&proxy);
                Ok(restricted.proxied.for_purpose(purpose))
            }
        }
    }

    /// Returns the address like `remote`, but only if addresses are restricted: no other caller needs it.
    pub(super) fn remote_if_restricted(
        &self,
        url: &Url,
        response: &reqwest::Response,
    ) -> Option<IpAddr> {
        self.restricted.as_ref().and_then(|_| self.remote(url, response))
    }

    /// The server's address in `response` to a request to `url`; `None` behind a proxy.
    pub(super) fn remote(&self, url: &Url, response: &reqwest::Response) -> Option<IpAddr> {
        match self.proxy(url) {
            Some(_) => None,
            None => response.remote_addr().map(|address| address.ip()),
        }
    }

    /// The host of the proxy for `url`.
    fn proxy(&self, url: &Url) -> Option<String> {
        let target: Uri = url.as_str().parse().ok()?;
        let proxy = self.matcher.intercept(&target)?;
        Some(proxy.uri().host().unwrap_or_default().to_owned())
    }
}

fn resolver(resolver: impl Resolve + 'static) -> Arc<dyn Resolve> {
    Arc::new(resolver)
}

fn matcher(proxies: &ProxySettings) -> Matcher {
    match proxies {
        ProxySettings::System => Matcher::from_system(),
        ProxySettings::Off => Matcher::builder().build(),
        ProxySettings::Variables(vars) => {
            let text = |variable: &Option<String>| variable.clone().unwrap_or_default();
            Matcher::builder()
                .http(text(&vars.http))
                .https(text(&vars.https))
                .all(text(&vars.all))
                .no(text(&vars.no_proxy))
                .build()
        }
    }
}

// === impl HttpClients ===

impl HttpClients {
    fn for_purpose(&self, purpose: RequestPurpose) -> Client {
        match purpose {
            RequestPurpose::Exchange => self.http.clone(),
            RequestPurpose::Upgrade => self.upgrade.clone(),
        }
    }
}
