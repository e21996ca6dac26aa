//! Every connection there is, and who holds it. Equal keys share; a connection that nobody holds is stopped.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::task::TaskTracker;

use super::workspace::WorkspaceId;
use crate::catalog::Lists;
use crate::connection::{Connection, Key, Listener, RawLists, Shared, Spec};

/// Who holds a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Holder {
    pub(crate) workspace: WorkspaceId,
    pub(crate) server: String,
    pub(crate) of: Of,
}

/// What of a workspace a connection is held for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Of {
    /// All of it.
    Everyone,
    /// One session.
    Session(String),
}

/// Every connection there is.
pub(super) struct Pool {
    shared: Arc<Shared>,
    kept: Mutex<HashMap<Key, Kept>>,
    stopping: TaskTracker,
}

struct Kept {
    connection: Arc<Connection>,
    holders: HashSet<Holder>,
    lists: Parsed,
    /// Held by whoever makes something of the connection's lists.
    turn: Arc<Mutex<()>>,
}

/// What was made of a connection's lists.
#[derive(Debug, Clone, Default)]
pub(super) struct Parsed {
    pub(super) lists: Arc<Lists>,
    /// Which of the connection's lists it was made from; 0: none yet.
    pub(super) generation: u64,
    /// Those lists.
    pub(super) raw: Option<Arc<RawLists>>,
}

// === impl Pool ===

impl Pool {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, kept: Mutex::default(), stopping: TaskTracker::new() }
    }

    /// The connection of a server, started if it is not there yet.
    pub(super) fn hold(
        &self,
        spec: Spec,
        holder: Holder,
        listener: &Arc<dyn Listener>,
    ) -> Arc<Connection> {
        let key = spec.key();
        let mut kept = self.lock();
        let kept = kept.entry(key).or_insert_with(|| Kept {
            connection: Connection::start(spec, self.shared.clone(), listener.clone()),
            holders: HashSet::new(),
            lists: Parsed::default(),
            turn: Arc::default(),
        });
        kept.holders.insert(holder);
        kept.connection.clone()
    }

    /// Lets go of everything that `is_over` says is over; what nobody holds any more is stopped.
    pub(super) fn release(&self, is_over: impl Fn(&Holder, &Key) -> bool) {
        let mut over = Vec::new();
        self.lock().retain(|key, kept| {
            kept.holders.retain(|holder| !is_over(holder, key));
            if kept.holders.is_empty() {
                over.push(kept.connection.clone());
            }
            !kept.holders.is_empty()
        });
        for connection in over {
            self.stopping.spawn(async move { connection.stop().await });
        }
    }

    /// Stops everything and waits until nothing is left.
    pub(super) async fn shutdown(&self) {
        self.release(|_, _| true);
        self.stopping.close();
        self.stopping.wait().await;
    }

    pub(super) fn get(&self, key: &Key) -> Option<Arc<Connection>> {
        self.lock().get(key).map(|kept| kept.connection.clone())
    }

    /// Every connection that is held for a server of a workspace, the one that all share first.
    pub(super) fn of(&self, workspace: &WorkspaceId, server: &str) -> Vec<Arc<Connection>> {
        let is_it = |of: &Holder| of.workspace == *workspace && of.server == server;
        let is_own = |kept: &Kept| kept.holders.iter().all(|of| of.of != Of::Everyone);
        let mut found: Vec<_> = {
            let kept = self.lock();
            let held = kept.values().filter(|kept| kept.holders.iter().any(is_it));
            held.map(|kept| (is_own(kept), kept.connection.clone())).collect()
        };
        found.sort_by_key(|(is_own, _)| *is_own);
        found.into_iter().map(|(_, connection)| connection).collect()
    }

    pub(super) fn calls_in_flight(&self) -> usize {
        self.lock().values().map(|kept| kept.connection.stats().calls_in_flight).sum()
    }

    pub(super) fn holders(&self, key: &Key) -> Vec<Holder> {
        self.lock().get(key).map(|kept| kept.holders.iter().cloned().collect()).unwrap_or_default()
    }

    /// What is held while something is made of a connection's lists.
    pub(super) fn turn(&self, key: &Key) -> Arc<Mutex<()>> {
        self.lock().get(key).map(|kept| kept.turn.clone()).unwrap_or_default()
    }

    pub(super) fn parsed(&self, key: &Key) -> Parsed {
        self.lock().get(key).map(|kept| kept.lists.clone()).unwrap_or_default()
    }

    /// Keeps what was made of a connection's lists, unless something newer is there.
    pub(super) fn keep(&self, key: &Key, parsed: Parsed) {
        if let Some(kept) = self.lock().get_mut(key)
            && kept.lists.generation < parsed.generation
        {
            kept.lists = parsed;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
