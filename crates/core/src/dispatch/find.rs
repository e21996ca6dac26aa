//! From a name to a tool or prompt of a server, waiting for a server that may still bring it.

use std::sync::Arc;

use tokio::time::{Instant, timeout_at};

use super::{CallError, Stage};
use crate::catalog::{Catalog, Configured, normal_server};
use crate::connection::State;
use crate::engine::{Placed, Snapshot};

/// Something found under a name, and whose it is.
pub(super) struct Found<T> {
    pub(super) item: T,
    pub(super) placed: Arc<Placed>,
}

// === impl Stage ===

impl Stage {
    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        self.engine.snapshot(self.caller.workspace())
    }

    /// What `look` finds in the catalog under `name`. A server whose lists are not there yet and whose name fits is
    /// waited for, and no other.
    pub(super) async fn find<T>(
        &self,
        name: &str,
        look: impl Fn(&Catalog) -> Option<(String, T)>,
    ) -> Result<Found<T>, CallError> {
        if let Some(found) = self.look(&look)? {
            return Ok(found);
        }
        let mut missing = None;
        for placed in self.applied.placed.iter().filter(|placed| could_be_of(name, &placed.normal))
        {
            if let Err(error) = self.await_lists(placed).await {
                missing = Some(error);
            }
        }
        match self.look(&look)? {
            Some(found) => Ok(found),
            None => Err(missing.unwrap_or_else(|| self.not_found(name))),
        }
    }

    fn look<T>(
        &self,
        look: impl Fn(&Catalog) -> Option<(String, T)>,
    ) -> Result<Option<Found<T>>, CallError> {
        let snapshot = self.snapshot();
        let Some((server, item)) = look(&snapshot.catalog) else { return Ok(None) };
        let placed = self.placed(&server)?;
        Ok(Some(Found { item, placed }))
    }

    /// The server of that name, if it is to be started.
    pub(super) fn placed(&self, server: &str) -> Result<Arc<Placed>, CallError> {
        if let Some(placed) = self.applied.placed(server) {
            return Ok(placed.clone());
        }
        match self.applied.desired.named(server).next() {
            Some(known) => {
                Err(CallError::NotStarted { server: server.to_owned(), state: known.state.name() })
            }
            None => Err(CallError::NotFound { name: server.to_owned(), similar: Vec::new() }),
        }
    }

    /// Waits until it is known what a server offers.
    pub(super) async fn await_lists(&self, placed: &Placed) -> Result<(), CallError> {
        let connection = &placed.connection;
        if self.engine.knows(connection) {
            return Ok(());
        }
        let not_ready = |error| CallError::not_connected(&placed.name, error);
        connection.ready().await.map_err(not_ready)?;
        let deadline = Instant::now() + self.engine.connect_timeout();
        let mut revisions = self.engine.revisions();
        let known = async {
            while !self.engine.knows(connection)
                && matches!(connection.state(), State::Connected(_))
            {
                if revisions.changed().await.is_err() {
                    return;
                }
            }
        };
        // A server that does not list is one that has nothing of that name.
        let _ = timeout_at(deadline, known).await;
        Ok(())
    }

    fn not_found(&self, name: &str) -> CallError {
        let applied = &self.applied;
        let unstarted = applied.desired.servers.iter().find(|server| {
            let normal = normal_server(Configured { name: &server.name, scope: server.scope });
            applied.placed(&server.name).is_none() && could_be_of(name, &normal)
        });
        if let Some(server) = unstarted {
            let state = server.state.name();
            return CallError::NotStarted { server: server.name.clone(), state };
        }
        let similar = self.snapshot().catalog.suggest(name);
        CallError::NotFound { name: name.to_owned(), similar }
    }
}

/// Whether a name as shown could belong to a server: names of more than the limit are cut.
fn could_be_of(name: &str, normal: &str) -> bool {
    let shown = name.strip_prefix("mcp__").unwrap_or(name);
    match shown.strip_prefix(normal) {
        Some(rest) => rest.starts_with("__"),
        // Of a long name only the beginning is left, before the mark that tells it apart.
        None => shown.len() > 9 && normal.starts_with(&shown[..shown.len() - 9]),
    }
}
