//! Address filter: which addresses an HTTP pool may connect to.
//!
//! Used by `auth::fetch`, which must not be led into private networks, and by `pool` and `route`. A name is checked
//! when it is resolved for the very connection, so that a later DNS change gains nothing. A proxy is exempt, since
//! the user chose it. A target behind a proxy is checked by the address in its URL, or by the local resolution of its
//! name; a name that does not resolve locally is left to the proxy. It does not decide which addresses are private
//! (`auth`).

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// Returns whether a host, by its name or address in a URL, may be reached at an address.
pub type AddressPredicate = Arc<dyn Fn(&str, IpAddr) -> bool + Send + Sync>;

/// The addresses that a pool may connect to.
#[derive(Clone, Default)]
pub enum AddressFilter {
    /// All addresses.
    #[default]
    Anywhere,
    /// The addresses that the predicate accepts.
    Only(AddressPredicate),
}

/// Finds the addresses of a name.
pub trait NameResolver: Send + Sync + 'static {
    /// Returns the addresses of `name`; an empty list or an error if it has none.
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The resolver of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

/// Resolves names for a client that connects directly.
pub(super) struct FilteringResolver {
    pub(super) resolver: Arc<dyn NameResolver>,
    pub(super) reach: AddressFilter,
}

/// Resolves names for a client that uses proxies. Some kinds of proxy also resolve the target's name here.
pub(super) struct ProxyExemptResolver {
    pub(super) judging: FilteringResolver,
    pub(super) proxies: ProxyNames,
}

/// Host names of the proxies in use.
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
    /// Refuses a forbidden literal address in a URL. Names are checked when they are resolved.
    pub(super) fn judge_literal(&self, url: &Url) -> io::Result<()> {
        let address = match url.host() {
            Some(Host::Ipv4(address)) => IpAddr::V4(address),
            Some(Host::Ipv6(address)) => IpAddr::V6(address),
            Some(Host::Domain(_)) | None => return Ok(()),
        };
        let host = url.host_str().unwrap_or_default();
        if self.reach.allows(host, address) { Ok(()) } else { Err(forbidden(host)) }
    }

    /// Refuses a name that a proxy is to resolve, if one of its local addresses is forbidden.
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

    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
