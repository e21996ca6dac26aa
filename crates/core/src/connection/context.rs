//! What all connections of a hub have in common.

use std::{fmt, io, path::PathBuf, sync::Arc};

use parking_lot::Mutex;
use switchboard_process::{ProcessGuard, StderrOptions};
use switchboard_wire::{
    client::{EraCache, Implementation},
    http::{HttpPool, HttpPoolOptions, ProxySettings, ProxyVariables},
};

use super::{
    connect_permits::ConnectPermits, key::ConnectionKey, lists::RawLists, spec::ConnectionSpec,
    timing::ConnectionTiming,
};

/// Lists kept of servers that are no longer configured.
const MAX_FORMER_LISTS: usize = 20;
/// Pools kept, each for other proxies: as many as there are kinds of environments, which are few.
const MAX_POOLS: usize = 16;

/// What all connections of a hub have in common.
pub struct ConnectionContext {
    /// Who we say we are.
    pub client: Implementation,
    /// Who sees to it that no process outlives us.
    pub guard: ProcessGuard,
    /// This program's own file, to tell that a server is us.
    pub program: Option<PathBuf>,
    /// Which era each server was last reached in.
    pub eras: Arc<EraCache>,
    /// Where a server's standard error goes.
    pub stderr: Arc<dyn Fn(&ConnectionSpec) -> StderrOptions + Send + Sync>,
    /// How connections over HTTP are made. Proxies of the system stand for those that each caller's environment names.
    pub http: HttpPoolOptions,
    /// Every number.
    pub timing: ConnectionTiming,
    pub(super) slots: ConnectPermits,
    pub(super) former: FormerLists,
    pools: Mutex<Vec<(ProxyVariables, HttpPool)>>,
}

/// The lists of servers that were taken out of the configuration, should they come back: the most recent
/// ones.
#[derive(Debug, Default)]
pub(super) struct FormerLists(Mutex<Vec<(ConnectionKey, Arc<RawLists>)>>);

// === impl ConnectionContext ===

impl ConnectionContext {
    /// For a client of this name; processes are under `guard`.
    pub fn new(client: Implementation, guard: ProcessGuard, timing: ConnectionTiming) -> Self {
        Self {
            client,
            guard,
            program: None,
            eras: Arc::default(),
            stderr: Arc::new(|_| StderrOptions::default()),
            http: HttpPoolOptions::default(),
            slots: ConnectPermits::new(&timing),
            timing,
            former: FormerLists::default(),
            pools: Mutex::default(),
        }
    }

    /// For a client of this name whose program is also its guard.
    pub fn of_this_program(client: Implementation, timing: ConnectionTiming) -> io::Result<Self> {
        let mut shared = Self::new(client, ProcessGuard::this_program()?, timing);
        shared.program = Some(std::env::current_exe()?);
        Ok(shared)
    }

    /// The pool of all connections that go through these proxies; its certificates take a moment to load, so it is made
    /// when first needed.
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
            // Connections that use it keep it.
            pools.remove(0);
        }
        pools.push((proxies.clone(), pool.clone()));
        Ok(pool)
    }

    /// How connections through these proxies are made.
    pub(super) fn network(&self, proxies: &ProxyVariables) -> HttpPoolOptions {
        let proxies = match &self.http.proxies {
            ProxySettings::System => ProxySettings::Given(proxies.clone()),
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
