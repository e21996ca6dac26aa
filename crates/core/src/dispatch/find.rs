//! From a name to a tool or prompt of a server, waiting for a server that may still bring it.
//!
//! A request that is meant for one server (`Request::of_server`) comes from a client that sees only that one. Other
//! servers are then neither waited for nor spoken of: not found is all that is said.

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
        self.engine.snapshot(self.caller.workspace(), self.caller.view())
    }

    /// What `look` finds in the catalog under `name`, of `server` where one is meant. A server whose lists are not there
    /// yet and whose name fits is waited for, and no other.
    pub(super) async fn find<T>(
        &self,
        name: &str,
        server: Option<&str>,
        look: impl Fn(&Catalog) -> Option<(&str, T)>,
    ) -> Result<Found<T>, CallError> {
        if let Some(found) = self.look(server, &look)? {
            return Ok(found);
        }
        let mut missing = None;
        let fitting =
            self.applied.placed.iter().filter(|placed| {
                is_meant(server, &placed.name) && could_be_of(name, &placed.normal)
            });
        for placed in fitting {
            if let Err(error) = Box::pin(self.await_lists(placed)).await {
                missing = Some(error);
            }
        }
        match self.look(server, &look)? {
            Some(found) => Ok(found),
            None => Err(missing.unwrap_or_else(|| self.not_found(name, server))),
        }
    }

    fn look<T>(
        &self,
        meant: Option<&str>,
        look: impl Fn(&Catalog) -> Option<(&str, T)>,
    ) -> Result<Option<Found<T>>, CallError> {
        let snapshot = self.snapshot();
        let found = look(&snapshot.catalog).filter(|(server, _)| is_meant(meant, server));
        let Some((server, item)) = found else { return Ok(None) };
        let placed = self.placed(server)?;
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
        // What it offered before somebody had to sign in again is of no use to anybody.
        if self.engine.knows(connection) && !connection.awaits_sign_in() {
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

    fn not_found(&self, name: &str, meant: Option<&str>) -> CallError {
        let applied = &self.applied;
        let unstarted = applied.desired.servers.iter().find(|server| {
            let normal = normal_server(Configured { name: &server.name, scope: server.scope });
            is_meant(meant, &server.name)
                && applied.placed(&server.name).is_none()
                && could_be_of(name, &normal)
        });
        if let Some(server) = unstarted {
            let state = server.state.name();
            return CallError::NotStarted { server: server.name.clone(), state };
        }
        let catalog = &self.snapshot().catalog;
        let similar = match meant {
            Some(server) => catalog.suggest_of(server, name),
            None => catalog.suggest(name),
        };
        CallError::NotFound { name: name.to_owned(), similar }
    }
}

/// Whether something of `owner` is what a request for `server`, or for any, can mean.
pub(super) fn is_meant(server: Option<&str>, owner: &str) -> bool {
    server.is_none_or(|server| server == owner)
}

/// Whether a name as shown could belong to a server.
fn could_be_of(name: &str, normal: &str) -> bool {
    let shown = name.strip_prefix("mcp__").unwrap_or(name);
    let whole = shown.strip_prefix(normal).is_some_and(|rest| rest.starts_with("__"));
    whole || left_of_cut(shown).is_some_and(|beginning| normal.starts_with(beginning))
}

/// What is left of a name that was cut so far that its server's is no longer whole: the beginning, before the mark
/// that tells it apart. The shortest names that are cut are the gateway's, at 46.
fn left_of_cut(shown: &str) -> Option<&str> {
    const MARK: usize = "_01234567".len();
    let at = shown.len().checked_sub(MARK).filter(|at| *at >= 46 - MARK)?;
    let (beginning, mark) = shown.split_at_checked(at)?;
    let digits = mark.strip_prefix('_')?;
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(beginning)
}

#[cfg(test)]
mod tests {
    use super::could_be_of;

    #[test]
    fn a_name_is_of_the_servers_that_it_begins_with() {
        let long = "a".repeat(60);
        let check = |name: &str, server: &str, expected: bool| {
            assert_eq!(could_be_of(name, server), expected, "{name} of {server}");
        };
        check("mcp__s1__echo", "s1", true);
        check("s1__echo", "s1", true);
        check("mcp__s1__echo", "s", false);
        check("mcp__s1__a_longer_name", "s2", false);
        check("mcp__s1__a_01234567", "s2", false);
        check("ééééééééé", "s1", false);
        check(&format!("mcp__{}_01234567", "a".repeat(50)), &long, true);
        check(&format!("mcp__{}_01234567", "a".repeat(50)), &long[..50], true);
        check(&format!("{}_89abcdef", "a".repeat(37)), &long, true);
        check(&format!("{}_89abcdex", "a".repeat(37)), &long, false);
        check(&format!("{}_89abcdef", "b".repeat(37)), &long, false);
    }
}
