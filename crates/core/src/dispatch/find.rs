//! Resolves the name of a tool or prompt to its server, and waits for servers with lists that are still coming.
//!
//! Used by `dispatch::tool`, `prompts_and_resources` and `tasks`. The names are in `catalog::catalog_names`. A
//! request for one server (`Request::of_server`) comes from a client that sees only that server. Other servers are
//! then neither waited for nor mentioned: the answer is only *not found*.

use std::sync::Arc;

use futures_util::future::join_all;
use switchboard_config::{DesiredServer, ServerReadiness};
use switchboard_wire::client::ListKind;
use tokio::time::{Instant, timeout_at};

use super::{CallError, Stage};
use crate::catalog::{
    CatalogNames, ConfiguredServer, ListedPrompt, ListedTool, NameStyle,
    normalize_configured_server,
};
use crate::connection::{Connection, ConnectionState};
use crate::engine::{AppliedServer, WorkspaceSnapshot};

/// How often a connection may be replaced while it is waited for.
const MAX_REPLACEMENTS: usize = 4;

/// A tool or prompt, and its server.
pub(super) struct ResolvedItem<T> {
    pub(super) item: T,
    pub(super) placed: Arc<AppliedServer>,
}

/// A kind of item that requests name.
pub(super) trait NamedItem: Sized {
    /// The list that its names stand in.
    const LIST: ListKind;

    /// The item of this name, and its server.
    fn find<'c>(named: CatalogNames<'c>, name: &str) -> Option<(&'c str, Self)>;

    /// Names that may have been meant.
    fn suggest(named: CatalogNames<'_>, name: &str, server: Option<&str>) -> Vec<String>;
}

impl NamedItem for Arc<ListedTool> {
    const LIST: ListKind = ListKind::Tools;

    fn find<'c>(named: CatalogNames<'c>, name: &str) -> Option<(&'c str, Self)> {
        named.tool(name).map(|listed| (listed.server(), Arc::clone(listed)))
    }

    fn suggest(named: CatalogNames<'_>, name: &str, server: Option<&str>) -> Vec<String> {
        named.suggest_tools(name, server)
    }
}

impl NamedItem for ListedPrompt {
    const LIST: ListKind = ListKind::Prompts;

    fn find<'c>(named: CatalogNames<'c>, name: &str) -> Option<(&'c str, Self)> {
        named.prompt(name).map(|listed| (listed.server(), listed.clone()))
    }

    fn suggest(named: CatalogNames<'_>, name: &str, server: Option<&str>) -> Vec<String> {
        named.suggest_prompts(name, server)
    }
}

// === impl Stage ===

impl Stage {
    pub(super) fn snapshot(&self) -> Arc<WorkspaceSnapshot> {
        self.engine.session_snapshot(&self.caller)
    }

    /// Finds the tool or prompt `name` in the session's style, of `server` if given. Waits for the lists of servers
    /// that the name could belong to.
    pub(super) async fn find<T: NamedItem>(
        &self,
        name: &str,
        server: Option<&str>,
    ) -> Result<ResolvedItem<T>, CallError> {
        let style = self.caller.session().names;
        self.find_in(style, name, server).await
    }

    /// Like [`Self::find`], by a name of another style than the session's.
    pub(super) async fn find_in<T: NamedItem>(
        &self,
        style: NameStyle,
        name: &str,
        server: Option<&str>,
    ) -> Result<ResolvedItem<T>, CallError> {
        if let Some(found) = self.lookup(style, name, server)? {
            return Ok(found);
        }
        let mut missing = None;
        // While one server is waited for, the connection of another may be replaced.
        for _ in 0..MAX_REPLACEMENTS {
            missing = Box::pin(self.await_owners(style, name, server)).await;
            if let Some(found) = self.lookup(style, name, server)? {
                return Ok(found);
            }
            if self.owners(style, name, server).all(|placed| self.is_known(placed)) {
                break;
            }
        }
        let owners: Vec<_> = self.owners(style, name, server).cloned().collect();
        if Box::pin(self.confirm_owners(owners, T::LIST)).await?
            && let Some(found) = self.lookup(style, name, server)?
        {
            return Ok(found);
        }
        Err(missing.unwrap_or_else(|| self.not_found_error::<T>(style, name, server)))
    }

    /// Waits for the lists of every server that could have `name`. Returns the error of a server that has no lists.
    async fn await_owners(
        &self,
        style: NameStyle,
        name: &str,
        server: Option<&str>,
    ) -> Option<CallError> {
        let waits = self.owners(style, name, server).map(|placed| self.await_lists(placed));
        join_all(waits).await.into_iter().filter_map(Result::err).last()
    }

    /// The servers that could have `name`.
    fn owners<'a>(
        &'a self,
        style: NameStyle,
        name: &'a str,
        server: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Arc<AppliedServer>> {
        self.applied.placed.iter().filter(move |placed| {
            is_meant(server, &placed.name) && could_be_of(style, name, &placed.normal)
        })
    }

    /// Whether the lists of a server are known.
    fn is_known(&self, placed: &AppliedServer) -> bool {
        let connection = self.caller.bound_connection(placed);
        let is_coming = matches!(
            connection.state(),
            ConnectionState::Pending(_) | ConnectionState::Connected(_) | ConnectionState::Idle(_)
        );
        !is_coming || self.engine.knows_lists_of(&connection)
    }

    pub(super) fn lookup<T: NamedItem>(
        &self,
        style: NameStyle,
        name: &str,
        meant: Option<&str>,
    ) -> Result<Option<ResolvedItem<T>>, CallError> {
        let snapshot = self.snapshot();
        let found = T::find(snapshot.catalog.names(style), name);
        let found = found.filter(|(server, _)| is_meant(meant, server));
        let Some((server, item)) = found else { return Ok(None) };
        let placed = self.applied_server(server)?;
        Ok(Some(ResolvedItem { item, placed }))
    }

    /// Finds a tool among those that the session's mode keeps out of its list.
    pub(super) fn find_in_any_mode(
        &self,
        name: &str,
        meant: Option<&str>,
    ) -> Option<ResolvedItem<Arc<ListedTool>>> {
        let catalog = self.engine.catalog_of_any_mode(&self.caller)?;
        let listed = catalog.names(self.caller.session().names).tool(name)?;
        let placed = self.applied.server(listed.server()).filter(|it| is_meant(meant, &it.name))?;
        Some(ResolvedItem { item: Arc::clone(listed), placed: Arc::clone(placed) })
    }

    /// Returns the server of this name, if it is started.
    pub(super) fn applied_server(&self, server: &str) -> Result<Arc<AppliedServer>, CallError> {
        if let Some(placed) = self.applied.server(server) {
            return Ok(placed.clone());
        }
        match self.applied.desired.servers_named(server).next() {
            Some(known) => Err(not_started(known)),
            None => Err(CallError::NotFound { name: server.to_owned(), similar: Vec::new() }),
        }
    }

    /// Waits until the lists of a server are known.
    pub(super) async fn await_lists(&self, placed: &AppliedServer) -> Result<(), CallError> {
        let mut waited = Ok(());
        // A connection may be replaced by one of another kind while it is waited for.
        for _ in 0..MAX_REPLACEMENTS {
            let connection = self.caller.bound_connection(placed);
            waited = self.await_lists_of(placed, &connection).await;
            if self.caller.bound_connection(placed).key() == connection.key() {
                break;
            }
        }
        waited
    }

    async fn await_lists_of(
        &self,
        placed: &AppliedServer,
        connection: &Connection,
    ) -> Result<(), CallError> {
        // Lists from before a needed sign-in cannot be used.
        if self.engine.knows_lists_of(connection) && !connection.awaits_sign_in() {
            return Ok(());
        }
        let not_ready = |error| CallError::not_connected(&placed.name, error);
        connection.ready().await.map_err(not_ready)?;
        let deadline = Instant::now() + self.engine.connect_timeout();
        let mut revisions = self.engine.revisions();
        let known = async {
            while !self.engine.knows_lists_of(connection)
                && matches!(connection.state(), ConnectionState::Connected(_))
            {
                if revisions.changed().await.is_err() {
                    return;
                }
            }
        };
        // A server without lists has no item of that name.
        let _ = timeout_at(deadline, known).await;
        Ok(())
    }

    fn not_found_error<T: NamedItem>(
        &self,
        style: NameStyle,
        name: &str,
        meant: Option<&str>,
    ) -> CallError {
        let applied = &self.applied;
        let unstarted = applied.desired.servers.iter().find(|server| {
            let normal = normalize_configured_server(ConfiguredServer {
                name: &server.name,
                scope: server.scope,
            });
            is_meant(meant, &server.name)
                && applied.server(&server.name).is_none()
                && (style != NameStyle::Bare || applied.desired.servers.len() == 1)
                && could_be_of(style, name, &normal)
        });
        if let Some(server) = unstarted {
            return not_started(server);
        }
        let similar = T::suggest(self.snapshot().catalog.names(style), name, meant);
        CallError::NotFound { name: name.to_owned(), similar }
    }
}

/// The error for a server that is not started.
fn not_started(server: &DesiredServer) -> CallError {
    let is_told = matches!(server.state, ServerReadiness::Blocked(_) | ServerReadiness::Invalid(_));
    let why = server.state.reason().filter(|_| is_told).map(|reason| reason.why.clone());
    CallError::NotStarted { server: server.name.clone(), state: server.state.name(), why }
}

/// Whether an item of `owner` can be meant by a request for `server`, or for any server.
pub(super) fn is_meant(server: Option<&str>, owner: &str) -> bool {
    server.is_none_or(|server| server == owner)
}

/// Whether a shown name could belong to a server. A bare name could belong to any.
fn could_be_of(style: NameStyle, name: &str, normal: &str) -> bool {
    let shown = match style {
        NameStyle::Full => name.strip_prefix("mcp__").unwrap_or(name),
        NameStyle::Gateway => name,
        NameStyle::Bare => return true,
    };
    let whole = shown.strip_prefix(normal).is_some_and(|rest| rest.starts_with("__"));
    whole || left_of_cut(shown).is_some_and(|beginning| normal.starts_with(beginning))
}

/// The beginning of a name that was cut within its server's part, before the hash. The shortest cut names are the
/// gateway's, at 46 characters.
fn left_of_cut(shown: &str) -> Option<&str> {
    const MARK: usize = "_01234567".len();
    let at = shown.len().checked_sub(MARK).filter(|at| *at >= 46 - MARK)?;
    let (beginning, mark) = shown.split_at_checked(at)?;
    let digits = mark.strip_prefix('_')?;
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(beginning)
}

#[cfg(test)]
mod tests {
    use super::{NameStyle, could_be_of};

    #[test]
    fn a_name_is_of_the_servers_that_it_begins_with() {
        let long = "a".repeat(60);
        let check_in = |style: NameStyle, name: &str, server: &str, expected: bool| {
            assert_eq!(could_be_of(style, name, server), expected, "{name} of {server}");
        };
        check_in(NameStyle::Gateway, "s1__echo", "s1", true);
        check_in(NameStyle::Gateway, "mcp__echo", "mcp", true);
        check_in(NameStyle::Gateway, "mcp__s1__echo", "s1", false);
        check_in(NameStyle::Bare, "echo", "s1", true);
        let check = |name: &str, server: &str, expected: bool| {
            check_in(NameStyle::Full, name, server, expected);
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
