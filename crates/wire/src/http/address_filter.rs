//! Which addresses may be connected to.
//!
//! A name is judged when it is resolved for the very connection that is made, so a name that means another address a
//! moment later gains nothing. A proxy is exempt: the user chose it. What lies behind a proxy is judged by the address in
//! the URL, or by what its name means here; a name that means nothing here is the proxy's to resolve and to judge.

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// Says whether a host, by its name or address in a URL, may be reached at an address.
pub type AddressPredicate = Arc<dyn Fn(&str, IpAddr) -> bool + Send + Sync>;

/// Which addresses are connected to.
#[derive(Clone, Default)]
pub enum AddressFilter {
    /// All of them.
    #[default]
    Anywhere,
    /// Those that this says yes to.
    Only(AddressPredicate),
}

/// Finds the addresses of a name.
pub trait NameResolver: Send + Sync + 'static {
    /// The addresses, none or an error where there are none.
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The operating system's resolver.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

/// Resolves for a client that connects directly.
pub(super) struct FilteringResolver {
    pub(super) resolver: Arc<dyn NameResolver>,
    pub(super) reach: AddressFilter,
}

/// Resolves for a client that goes through proxies. With some kinds of proxy the target's name comes here too.
pub(super) struct ProxyExemptResolver {
    pub(super) judging: FilteringResolver,
    pub(super) proxies: ProxyNames,
}

/// Names of the proxies that requests were sent through.
#[derive(Clone, Default)]
pub(super) struct ProxyNames(Arc<Mutex<HashSet<String>>>);

// === impl AddressFilter ===

impl AddressFilter {
    fn allows(&self, host: &str, address: IpAddr) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Only(judge) => judge(host, address),
        }
    }
}

impl fmt::Debug for AddressFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Anywhere => "Anywhere",
            Self::Only(_) => "Only(..)",
        })
    }
}

// === impl SystemResolver ===

impl NameResolver for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            Ok(tokio::net::lookup_host((name, 0)).await?.map(|found| found.ip()).collect())
        })
    }
}

// === impl FilteringResolver ===

impl FilteringResolver {
    /// Refuses an address in a URL that may not be reached. Names are judged when they are resolved.
    pub(super) fn judge_literal(&self, url: &Url) -> io::Result<()> {
        let address = match url.host() {
            Some(Host::Ipv4(address)) => IpAddr::V4(address),
            Some(Host::Ipv6(address)) => IpAddr::V6(address),
            Some(Host::Domain(_)) | None => return Ok(()),
        };
        let host = url.host_str().unwrap_or_default();
        if self.reach.allows(host, address) { Ok(()) } else { Err(forbidden(host)) }
    }

    /// Refuses a name that a proxy is to resolve, if any address that it has here may not be reached.
    pub(super) async fn judge_proxied(&self, url: &Url) -> io::Result<()> {
        let Some(Host::Domain(name)) = url.host() else { return Ok(()) };
        let Ok(found) = self.resolver.resolve(name).await else { return Ok(()) };
        let is_fine = found.into_iter().all(|address| self.reach.allows(name, address));
        if is_fine { Ok(()) } else { Err(forbidden(name)) }
    }

    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let mut found = self.resolver.resolve(name).await?;
        let is_known = !found.is_empty();
        found.retain(|address| self.reach.allows(name, *address));
        if found.is_empty() && is_known { Err(forbidden(name)) } else { Ok(found) }
    }
}

fn forbidden(host: &str) -> io::Error {
    let why = format!("`{host}` has no address that may be reached");
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

impl Resolve for FilteringResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let judging = Self { resolver: self.resolver.clone(), reach: self.reach.clone() };
        Box::pin(async move { Ok(addrs(judging.addresses(name.as_str()).await?)) })
    }
}

// === impl ProxyExemptResolver ===

impl Resolve for ProxyExemptResolver {
    fn resolve(&self, name: Name) -> Resolving {
        if !self.proxies.contains(name.as_str()) {
            return Resolve::resolve(&self.judging, name);
        }
        let resolver = self.judging.resolver.clone();
        Box::pin(async move { Ok(addrs(resolver.resolve(name.as_str()).await?)) })
    }
}

fn addrs(found: Vec<IpAddr>) -> Addrs {
    Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)))
}

// === impl ProxyNames ===

impl ProxyNames {
    pub(super) fn add(&self, name: &str) {
        self.lock().insert(name.to_ascii_lowercase());
    }

    fn contains(&self, name: &str) -> bool {
        self.lock().contains(&name.to_ascii_lowercase())
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, HashSet<String>> {
        self.0.lock()
    }
}
