//! The state that all connections of an engine share: client name, process guard, era cache, HTTP pools, timing.
//!
//! Made by `engine`; used by `connection::task` and `connection::target`. It does not hold the state of a single
//! connection (`connection::state` does).

use std::{fmt, path::PathBuf, sync::Arc};

use parking_lot::Mutex;
use switchboard_config::StartPolicy;
use switchboard_process::{ProcessGuard, StderrOptions};
use switchboard_wire::{
    client::{EraCache, Implementation},
    http::{HttpPool, HttpPoolOptions, ProxySettings, ProxyVariables},
};

use super::{
    catalog_store::CatalogStore, connect_permits::ConnectPermits, key::ConnectionKey,
    lists::RawLists, spec::ConnectionSpec, timing::ConnectionTiming,
};

/// How many lists of servers are kept that are no longer configured.
const MAX_FORMER_LISTS: usize = 20;
/// How many HTTP pools are kept, one for each set of proxies; clients' environments differ little in these.
const MAX_POOLS: usize = 16;

/// The state that all connections of an engine share.
pub struct ConnectionContext {
    /// The name and version that are sent to servers.
    pub client: Implementation,
    /// Ends the processes of servers together with this process.
    pub guard: ProcessGuard,
    /// The file of this program, to detect a server that would start it again.
    pub program: Option<PathBuf>,
    /// The era in which each server was last reached.
    pub eras: Arc<EraCache>,
    /// Where a server's standard error goes.
    pub stderr: Arc<dyn Fn(&ConnectionSpec) -> StderrOptions + Send + Sync>,
    /// The options of HTTP connections. System proxies stand for the proxies in each caller's environment.
    pub http: HttpPoolOptions,
    /// Timeouts and limits.
    pub timing: ConnectionTiming,
    /// Whether entries decide when a server with a kept catalog is started; `Eager`: all start at once.
    pub start: StartPolicy,
    /// The kept catalogs of servers.
    pub catalogs: Arc<CatalogStore>,
    pub(super) slots: ConnectPermits,
    pub(super) former: FormerLists,
    pools: Mutex<Vec<(ProxyVariables, HttpPool)>>,
}

/// The lists of servers that were removed from the configuration, in case they come back; only the most recent
/// ones.
#[derive(Debug, Default)]
pub(super) struct FormerLists(Mutex<Vec<(ConnectionKey, Arc<RawLists>)>>);

// === impl ConnectionContext ===

impl ConnectionContext {
    /// Makes the context of a client of this name; `guard` ends its processes.
    pub fn new(client: Implementation, guard: ProcessGuard, timing: ConnectionTiming) -> Self {
        Self {
            client,
            guard,
            program: None,
            eras: Arc::default(),
            stderr: Arc::new(|_| StderrOptions::default()),
            http: HttpPoolOptions::default(),
            start: StartPolicy::Lazy,
            catalogs: Arc::default(),
            slots: ConnectPermits::new(&timing),
            timing,
            former: FormerLists::default(),
            pools: Mutex::default(),
        }
    }

    /// Returns the HTTP pool for these proxies. Loading certificates takes a moment, so the pool is made when first
    /// needed.
    pub(super) fn pool(
        &self,
        proxies: &ProxyVariables,
    ) -> Result<HttpPool, switchboard_wire::Error> {
        let mut pools = self.pools.lock();
        if let Some((_, pool)) = pools.iter().find(|(other, _)| other == proxies) {
            return Ok(pool.clone());
        }
        let pool = HttpPool::new(&self.network(proxies))?;
        if pools.len() >= MAX_POOLS {
            // Connections that use the pool keep it alive.
            pools.remove(0);
        }
        pools.push((proxies.clone(), pool.clone()));
        Ok(pool)
    }

    /// Returns the options of HTTP connections through these proxies.
    pub(super) fn network(&self, proxies: &ProxyVariables) -> HttpPoolOptions {
        let proxies = match &self.http.proxies {
            ProxySettings::System => ProxySettings::Variables(proxies.clone()),
            other => other.clone(),
        };
        HttpPoolOptions { proxies, ..self.http.clone() }
    }
}

impl fmt::Debug for ConnectionContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("client", &self.client)
            .field("timing", &self.timing)
            .finish_non_exhaustive()
    }
}

// === impl FormerLists ===

impl FormerLists {
    pub(super) fn keep(&self, key: ConnectionKey, lists: Arc<RawLists>) {
        let mut kept = self.0.lock();
        kept.retain(|(other, _)| *other != key);
        kept.push((key, lists));
        let surplus = kept.len().saturating_sub(MAX_FORMER_LISTS);
        kept.drain(..surplus);
    }

    pub(super) fn take(&self, key: &ConnectionKey) -> Option<Arc<RawLists>> {
        let mut kept = self.0.lock();
        let at = kept.iter().position(|(other, _)| other == key)?;
        Some(kept.remove(at).1)
    }
}
