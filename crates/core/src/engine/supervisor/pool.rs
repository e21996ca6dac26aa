//! The connection pool: all connections, and who holds each.
//!
//! Used by `supervisor::apply`, `engine::session` and `engine::workspace`. Equal keys share a connection; a
//! connection without a holder is stopped.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio_util::task::TaskTracker;

use crate::catalog::ServerLists;
use crate::connection::{
    Connection, ConnectionContext, ConnectionKey, ConnectionLimit, ConnectionListener,
    ConnectionSpec, ConnectionTarget, EntryKey, RawLists,
};
use crate::engine::workspace::state::WorkspaceId;
use crate::principal::LOCAL_PRINCIPAL;
use crate::principal_share::has_used_up_share;

/// A holder of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ConnectionHolder {
    pub(crate) workspace: WorkspaceId,
    pub(crate) server: String,
    pub(crate) of: HoldScope,
}

/// The part of a workspace that holds a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum HoldScope {
    /// The whole workspace: the entry is configured there.
    Everyone,
    /// One principal other than the local one.
    Principal(Arc<str>),
    /// One session of a principal.
    Session { principal: Arc<str>, session: String },
}

/// A request to hold a connection.
pub(in crate::engine) struct HoldRequest {
    pub(in crate::engine) spec: ConnectionSpec,
    pub(in crate::engine) entry_key: EntryKey,
    pub(in crate::engine) holder: ConnectionHolder,
}

/// How many connections principals and sessions may have besides the configured ones. Servers of this process do
/// not count. A principal other than the local one has at most as many as are free for all others.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct ConnectionLimits {
    pub(in crate::engine) per_principal: usize,
    pub(in crate::engine) in_all: usize,
}

/// All connections of an engine.
pub(in crate::engine) struct ConnectionPool {
    shared: Arc<ConnectionContext>,
    limits: ConnectionLimits,
    kept: Mutex<HashMap<ConnectionKey, PooledConnection>>,
    stopping: TaskTracker,
}

struct PooledConnection {
    connection: Arc<Connection>,
    holders: HashSet<ConnectionHolder>,
    lists: ParsedLists,
    /// Locked while the connection's lists are parsed.
    turn: Arc<Mutex<()>>,
}

/// The parsed lists of a connection.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct ParsedLists {
    pub(in crate::engine) lists: Arc<ServerLists>,
    /// The generation of the raw lists that were parsed; 0: none yet.
    pub(in crate::engine) generation: u64,
    /// The raw lists that were parsed.
    pub(in crate::engine) raw: Option<Arc<RawLists>>,
}

// === impl ConnectionPool ===

impl ConnectionPool {
    pub(in crate::engine) fn new(shared: Arc<ConnectionContext>, limits: ConnectionLimits) -> Self {
        Self { shared, limits, kept: Mutex::default(), stopping: TaskTracker::new() }
    }

    /// Holds the connection of a server, and starts it if necessary.
    pub(in crate::engine) fn hold(
        &self,
        request: HoldRequest,
        listener: &Arc<dyn ConnectionListener>,
    ) -> Arc<Connection> {
        self.add(&mut self.lock(), request, listener)
    }

    /// Like [`Self::hold`], for a principal or a session that wants a connection for itself, within the limits.
    pub(in crate::engine) fn hold_within_limits(
        &self,
        request: HoldRequest,
        listener: &Arc<dyn ConnectionListener>,
    ) -> Result<Arc<Connection>, ConnectionLimit> {
        let mut kept = self.lock();
        let key = request.spec.key_at(request.entry_key);
        if !kept.contains_key(&key) && counts_toward_limits(&request.spec) {
            self.limits.check(&kept, request.holder.of.principal())?;
        }
        Ok(self.add(&mut kept, request, listener))
    }

    fn add(
        &self,
        kept: &mut HashMap<ConnectionKey, PooledConnection>,
        request: HoldRequest,
        listener: &Arc<dyn ConnectionListener>,
    ) -> Arc<Connection> {
        let HoldRequest { spec, entry_key, holder } = request;
        let (shared, listener) = (self.shared.clone(), listener.clone());
        let kept = kept.entry(spec.key_at(entry_key)).or_insert_with(|| PooledConnection {
            connection: Connection::start_keyed(entry_key, spec, shared, listener),
            holders: HashSet::new(),
            lists: ParsedLists::default(),
            turn: Arc::default(),
        });
        kept.holders.insert(holder);
        kept.connection.clone()
    }

    /// Releases all holds for which `is_over` is true, and stops connections without a holder. Returns their keys.
    pub(in crate::engine) fn release(
        &self,
        is_over: impl Fn(&ConnectionHolder, &ConnectionKey) -> bool,
    ) -> Vec<ConnectionKey> {
        let mut over = Vec::new();
        self.lock().retain(|key, kept| {
            kept.holders.retain(|holder| !is_over(holder, key));
            if kept.holders.is_empty() {
                over.push(kept.connection.clone());
            }
            !kept.holders.is_empty()
        });
        let keys = over.iter().map(|connection| connection.key()).collect();
        for connection in over {
            self.stopping.spawn(async move { connection.stop().await });
        }
        keys
    }

    /// Stops all connections and waits until they are gone.
    pub(in crate::engine) async fn shutdown(&self) {
        self.release(|_, _| true);
        self.stopping.close();
        self.stopping.wait().await;
    }

    pub(in crate::engine) fn get(&self, key: &ConnectionKey) -> Option<Arc<Connection>> {
        self.lock().get(key).map(|kept| kept.connection.clone())
    }

    /// Returns every connection that is held for a server of a workspace, the one of its entry first.
    pub(in crate::engine) fn connections_of(
        &self,
        workspace: &WorkspaceId,
        server: &str,
    ) -> Vec<Arc<Connection>> {
        let is_it = |of: &ConnectionHolder| of.workspace == *workspace && of.server == server;
        let is_own =
            |kept: &PooledConnection| kept.holders.iter().all(|of| of.of != HoldScope::Everyone);
        let mut found: Vec<_> = {
            let kept = self.lock();
            let held = kept.values().filter(|kept| kept.holders.iter().any(is_it));
            held.map(|kept| (is_own(kept), kept.connection.clone())).collect()
        };
        found.sort_by_key(|(is_own, _)| *is_own);
        found.into_iter().map(|(_, connection)| connection).collect()
    }

    /// Returns every connection that is held for a principal in a workspace, by server.
    pub(in crate::engine) fn connections_by_server(
        &self,
        workspace: &WorkspaceId,
        principal: &str,
    ) -> HashMap<String, Vec<Arc<Connection>>> {
        let is_it = |of: &&ConnectionHolder| {
            let whose = of.of.principal().map_or(LOCAL_PRINCIPAL, |principal| principal);
            of.workspace == *workspace && whose == principal
        };
        let mut found: HashMap<String, Vec<Arc<Connection>>> = HashMap::new();
        for kept in self.lock().values() {
            // Equal entries share a connection.
            let servers: HashSet<&String> =
                kept.holders.iter().filter(is_it).map(|of| &of.server).collect();
            for server in servers {
                found.entry(server.clone()).or_default().push(Arc::clone(&kept.connection));
            }
        }
        found
    }

    pub(in crate::engine) fn calls_in_flight(&self) -> usize {
        self.lock().values().map(|kept| kept.connection.stats().calls_in_flight).sum()
    }

    pub(in crate::engine) fn holders(&self, key: &ConnectionKey) -> Vec<ConnectionHolder> {
        self.lock().get(key).map(|kept| kept.holders.iter().cloned().collect()).unwrap_or_default()
    }

    /// Returns the lock for parsing a connection's lists.
    pub(in crate::engine) fn parse_lock(&self, key: &ConnectionKey) -> Arc<Mutex<()>> {
        self.lock().get(key).map(|kept| kept.turn.clone()).unwrap_or_default()
    }

    pub(in crate::engine) fn parsed_lists(&self, key: &ConnectionKey) -> ParsedLists {
        self.lock().get(key).map(|kept| kept.lists.clone()).unwrap_or_default()
    }

    /// Stores the parsed lists of a connection, unless newer ones are there.
    pub(in crate::engine) fn store_lists(&self, key: &ConnectionKey, parsed: ParsedLists) {
        if let Some(kept) = self.lock().get_mut(key)
            && kept.lists.generation < parsed.generation
        {
            kept.lists = parsed;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ConnectionKey, PooledConnection>> {
        self.kept.lock()
    }
}

// === impl HoldScope ===

impl HoldScope {
    /// Whether the hold belongs to this session.
    pub(in crate::engine) fn is_session(&self, session: &str) -> bool {
        matches!(self, Self::Session { session: other, .. } if other == session)
    }

    /// The principal of the hold; `None`: the entry is configured for all.
    fn principal(&self) -> Option<&Arc<str>> {
        match self {
            Self::Everyone => None,
            Self::Principal(principal) | Self::Session { principal, .. } => Some(principal),
        }
    }
}

// === impl ConnectionLimits ===

impl ConnectionLimits {
    /// Checks whether a principal may have one more connection.
    fn check(
        self,
        kept: &HashMap<ConnectionKey, PooledConnection>,
        principal: Option<&Arc<str>>,
    ) -> Result<(), ConnectionLimit> {
        let is_extra = |kept: &&PooledConnection| {
            counts_toward_limits(kept.connection.spec())
                && kept.holders.iter().all(|holder| holder.of != HoldScope::Everyone)
        };
        let is_theirs = |kept: &&PooledConnection| {
            kept.holders.iter().any(|holder| holder.of.principal() == principal)
        };
        let extra = kept.values().filter(is_extra);
        let held = extra.clone().filter(is_theirs).count();
        if held >= self.per_principal {
            return Err(ConnectionLimit::PerPrincipal { limit: self.per_principal });
        }
        let free = self.in_all.saturating_sub(extra.count());
        if free == 0 {
            return Err(ConnectionLimit::InAll { limit: self.in_all });
        }
        if principal.is_some_and(|principal| has_used_up_share(principal, held, free)) {
            return Err(ConnectionLimit::Share { held });
        }
        Ok(())
    }
}

/// Whether a connection costs a process, or a session at a remote server.
fn counts_toward_limits(spec: &ConnectionSpec) -> bool {
    matches!(spec.reach, ConnectionTarget::Entry(_))
}
