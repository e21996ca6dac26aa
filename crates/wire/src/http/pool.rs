//! The pool of HTTP connections that all endpoints share, with its TLS, proxy and resolver options.
//!
//! Used by every `HttpEndpoint` and WebSocket. It does not choose between direct and proxied
//! connections (`route`).

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::Resolve;
use reqwest::{Client, NoProxy, Proxy};

use super::address_filter::{AddressFilter, NameResolver, SystemResolver};
use super::classify;
use super::error::HttpError;
use super::route::{HttpClients, Routes};
use super::tls::TlsOptions;

/// The most idle connections per host; further ones are closed when they become idle.
const MAX_IDLE_PER_HOST: usize = 32;
/// How often an HTTP/2 connection with open streams is pinged.
const HTTP2_PING_INTERVAL: Duration = Duration::from_secs(30);
/// How long the answer to an HTTP/2 ping may take.
const HTTP2_PONG_TIMEOUT: Duration = Duration::from_secs(20);

/// Options of a pool.
#[derive(Clone)]
pub struct HttpPoolOptions {
    /// Trusted certificates and the client certificate.
    pub tls: TlsOptions,
    /// How long one connection may take, including name resolution and TLS (10 s).
    pub connect_timeout: Duration,
    /// The proxies to use.
    pub proxies: ProxySettings,
    /// The addresses that may be connected to.
    pub reach: AddressFilter,
    /// The resolver for host names.
    pub resolver: Arc<dyn NameResolver>,
    /// The `User-Agent` of every request.
    pub user_agent: String,
}

/// The source of proxy settings.
#[derive(Clone, Debug, Default)]
pub enum ProxySettings {
    /// `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` of this process, and the system's
    /// settings.
    #[default]
    System,
    /// These variables of another environment, for example a client's.
    Variables(ProxyVariables),
    /// No proxies.
    Off,
}

/// Proxy settings as environment variables hold them. `Debug` shows which are set and no value:
/// proxy URLs hold passwords.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct ProxyVariables {
    /// The proxy for `http` URLs.
    pub http: Option<String>,
    /// The proxy for `https` URLs.
    pub https: Option<String>,
    /// The proxy for both schemes, where the others are not set.
    pub all: Option<String>,
    /// Hosts that are reached directly, separated by commas.
    pub no_proxy: Option<String>,
}

/// One shared connection pool; cheap to clone. Keep-alive, HTTP/2 where TLS negotiates it,
/// `TCP_NODELAY`.
#[derive(Clone)]
pub struct HttpPool(Arc<Routes>);

// === impl HttpPool ===

impl HttpPool {
    /// A pool without connections. It loads the platform's certificates, which takes some
    /// milliseconds: a program that must start fast creates its pool on first use.
    pub fn new(options: &HttpPoolOptions) -> Result<Self, HttpError> {
        Routes::new(options).map(Arc::new).map(Self)
    }

    pub(super) fn routes(&self) -> &Routes {
        &self.0
    }
}

/// Clients that use `proxies` and `resolver`.
pub(super) fn build_clients(
    options: &HttpPoolOptions,
    proxies: &ProxySettings,
    resolver: &Arc<dyn Resolve>,
) -> Result<HttpClients, HttpError> {
    let mut tls = options.tls.config()?;
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let mut upgrade_tls = tls.clone();
    // An upgrade to WebSocket exists in HTTP/1.1 only.
    upgrade_tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    let client = |tls| proxies.apply(client(options, tls).dns_resolver(Arc::clone(resolver)));
    let http = client(tls)?
        .http2_keep_alive_interval(HTTP2_PING_INTERVAL)
        .http2_keep_alive_timeout(HTTP2_PONG_TIMEOUT);
    let upgrade = client(upgrade_tls)?.http1_only();
    Ok(HttpClients { http: build(http)?, upgrade: build(upgrade)? })
}

fn client(options: &HttpPoolOptions, tls: rustls::ClientConfig) -> reqwest::ClientBuilder {
    Client::builder()
        .tls_backend_preconfigured(tls)
        .connect_timeout(options.connect_timeout)
        .tcp_nodelay(true)
        .pool_max_idle_per_host(MAX_IDLE_PER_HOST)
        // `redirect` decides about redirects, since it knows the method and the credentials.
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(&options.user_agent)
}

fn build(builder: reqwest::ClientBuilder) -> Result<Client, HttpError> {
    builder.build().map_err(|error| classify::setup_error("the HTTP client", error))
}

impl fmt::Debug for HttpPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pool(..)")
    }
}

// === impl HttpPoolOptions ===

impl Default for HttpPoolOptions {
    fn default() -> Self {
        Self {
            tls: TlsOptions::default(),
            connect_timeout: Duration::from_secs(10),
            proxies: ProxySettings::default(),
            reach: AddressFilter::default(),
            resolver: Arc::new(SystemResolver),
            user_agent: concat!("switchboard/", env!("CARGO_PKG_VERSION")).into(),
        }
    }
}

impl fmt::Debug for HttpPoolOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolOptions")
            .field("tls", &self.tls)
            .field("connect_timeout", &self.connect_timeout)
            .field("proxies", &self.proxies)
            .field("reach", &self.reach)
            .field("user_agent", &self.user_agent)
            .finish_non_exhaustive()
    }
}

// === impl ProxySettings ===

impl ProxySettings {
    fn apply(&self, builder: reqwest::ClientBuilder) -> Result<reqwest::ClientBuilder, HttpError> {
        match self {
            Self::System => Ok(builder),
            Self::Off => Ok(builder.no_proxy()),
            Self::Variables(vars) => vars.apply(builder.no_proxy()),
        }
    }
}

// === impl ProxyVariables ===

impl ProxyVariables {
    /// Reads the variables through `lookup`: each in lower case first, then in upper case.
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let read = |name: &str| {
            lookup(name)
                .or_else(|| lookup(&name.to_ascii_uppercase()))
                .filter(|value| !value.is_empty())
        };
        Self {
            http: read("http_proxy"),
            https: read("https_proxy"),
            all: read("all_proxy"),
            no_proxy: read("no_proxy"),
        }
    }

    fn apply(&self, builder: reqwest::ClientBuilder) -> Result<reqwest::ClientBuilder, HttpError> {
        let proxies = [
            self.http.as_deref().map(with_scheme).map(|url| Proxy::http(&*url)),
            self.https.as_deref().map(with_scheme).map(|url| Proxy::https(&*url)),
            self.all.as_deref().map(with_scheme).map(|url| Proxy::all(&*url)),
        ];
        let except = self.no_proxy.as_deref().and_then(NoProxy::from_string);
        let mut builder = builder;
        for proxy in proxies.into_iter().flatten() {
            let proxy = proxy.map_err(|error| classify::setup_error("a proxy", error))?;
            builder = builder.proxy(proxy.no_proxy(except.clone()));
        }
        Ok(builder)
    }
}

/// The address of a proxy as a URL. Without a scheme it is an HTTP proxy, as in other programs.
fn with_scheme(address: &str) -> Cow<'_, str> {
    if address.contains("://") {
        Cow::Borrowed(address)
    } else {
        Cow::Owned(format!("http://{address}"))
    }
}

impl fmt::Debug for ProxyVariables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyVars")
            .field("http", &self.http.is_some())
            .field("https", &self.https.is_some())
            .field("all", &self.all.is_some())
            .field("no_proxy", &self.no_proxy)
            .finish()
    }
}
