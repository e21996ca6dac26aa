//! Which way a request takes: directly, or through a proxy.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::Client;
use reqwest::dns::Resolve;
use url::Url;

use super::error::HttpError;
use super::pool::{PoolOptions, Proxies, build_clients};
use super::reach::{ExemptProxies, Judging, ProxyNames, Reach};

/// Clients that differ in what may become of a connection.
#[derive(Clone)]
pub(super) struct Clients {
    /// HTTP/2 where TLS negotiates it.
    pub(super) http: Client,
    /// HTTP/1.1, which alone can be upgraded to another protocol.
    pub(super) upgrade: Client,
}

/// Which of them a request wants.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Exchange,
    Upgrade,
}

/// The ways there are.
pub(super) struct Routes {
    /// Says which URLs go through a proxy, by the rules that the clients follow too.
    matcher: Matcher,
    clients: Clients,
    /// Where the reach is restricted, proxies have clients of their own, and `clients` know none.
    restricted: Option<Restricted>,
}

struct Restricted {
    judging: Judging,
    proxied: Clients,
    proxies: ProxyNames,
}

// === impl Routes ===

impl Routes {
    pub(super) fn new(options: &PoolOptions) -> Result<Self, HttpError> {
        let matcher = matcher(&options.proxies);
        let judging =
            || Judging { resolver: options.resolver.clone(), reach: options.reach.clone() };
        if let Reach::Anywhere = options.reach {
            let clients = build_clients(options, &options.proxies, &resolver(judging()))?;
            return Ok(Self { matcher, clients, restricted: None });
        }
        let proxies = ProxyNames::default();
        let exempting = ExemptProxies { judging: judging(), proxies: proxies.clone() };
        let restricted = Restricted {
            judging: judging(),
            proxied: build_clients(options, &options.proxies, &resolver(exempting))?,
            proxies,
        };
        let clients = build_clients(options, &Proxies::Off, &resolver(judging()))?;
        Ok(Self { matcher, clients, restricted: Some(restricted) })
    }

    /// The client for a request to `url`; an error where that may not be reached.
    pub(super) async fn client(&self, url: &Url, purpose: Purpose) -> io::Result<Client> {
        let Some(restricted) = &self.restricted else { return Ok(self.clients.of(purpose)) };
        restricted.judging.judge_literal(url)?;
        match self.proxy(url) {
            None => Ok(self.clients.of(purpose)),
            Some(proxy) => {
                restricted.judging.judge_proxied(url).await?;
                restricted.proxies.add(&proxy);
                Ok(restricted.proxied.of(purpose))
            }
        }
    }

    /// The same, where anyone asks: only those who restrict the reach do.
    pub(super) fn remote_if_restricted(
        &self,
        url: &Url,
        response: &reqwest::Response,
    ) -> Option<IpAddr> {
        self.restricted.as_ref().and_then(|_| self.remote(url, response))
    }

    /// The address that `response` to a request to `url` came from; nothing where a proxy stands between.
    pub(super) fn remote(&self, url: &Url, response: &reqwest::Response) -> Option<IpAddr> {
        match self.proxy(url) {
            Some(_) => None,
            None => response.remote_addr().map(|address| address.ip()),
        }
    }

    /// The host of the proxy that a request to `url` goes through.
    fn proxy(&self, url: &Url) -> Option<String> {
        let target: Uri = url.as_str().parse().ok()?;
        let proxy = self.matcher.intercept(&target)?;
        Some(proxy.uri().host().unwrap_or_default().to_owned())
    }
}

fn resolver(resolver: impl Resolve + 'static) -> Arc<dyn Resolve> {
    Arc::new(resolver)
}

fn matcher(proxies: &Proxies) -> Matcher {
    match proxies {
        Proxies::System => Matcher::from_system(),
        Proxies::Off => Matcher::builder().build(),
        Proxies::Given(vars) => {
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

// === impl Clients ===

impl Clients {
    fn of(&self, purpose: Purpose) -> Client {
        match purpose {
            Purpose::Exchange => self.http.clone(),
            Purpose::Upgrade => self.upgrade.clone(),
        }
    }
}
