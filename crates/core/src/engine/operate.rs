//! Operations on servers, for the person who runs the engine: reconnect, check, sign in, sign out, list processes.
//!
//! Used by the hub's admin interface, the gateway and the commands.

use std::sync::Arc;

use futures_util::future::join_all;
use switchboard_process::{Process, ProcessInfo};
use switchboard_wire::http::{SignInInfo, SignOutOutcome};

use crate::connection::{Connection, ConnectionState, SignInError, StateChange};
use crate::engine::workspace::principal::PrincipalView;
use crate::engine::{Engine, PrincipalLease, WorkspaceId};

// === impl Engine ===

impl Engine {
    /// Reconnects a server for every principal and session, and forgets everything learnt about it. `false` if no
    /// server of that name is started.
    pub fn reconnect_server(&self, workspace: &WorkspaceId, server: &str) -> bool {
        let is_started = self.default_connection(workspace, server).is_some();
        let all =
            if is_started { self.0.pool.connections_of(workspace, server) } else { Vec::new() };
        for connection in all {
            connection.reconnect();
        }
        is_started
    }

    /// Checks every server of a workspace, for the local principal: tries servers that are down, and asks connected
    /// ones whether they still answer. Returns when the attempts have begun and the answers are known; attempts on
    /// connections besides the default ones are waited for as long as answers are.
    pub async fn check_servers(&self, workspace: &WorkspaceId) {
        let Some(standing) = self.0.workspace_state(workspace) else { return };
        let all = self.principal_connections(workspace, standing.local());
        let checks = all.iter().map(|(is_usual, connection)| async {
            connection.start_now();
            if *is_usual {
                connection.check().await;
            } else {
                connection.check_to_the_end().await;
            }
        });
        join_all(checks).await;
    }

    /// Starts every server of a workspace that is idle, for the local principal. Returns when the attempts have
    /// begun.
    pub async fn start_idle_servers(&self, workspace: &WorkspaceId) {
        let Some(standing) = self.0.workspace_state(workspace) else { return };
        let all = self.principal_connections(workspace, standing.local());
        let usual = all.iter().filter(|(is_usual, _)| *is_usual);
        join_all(usual.map(|(_, connection)| connection.start_if_idle())).await;
    }

    /// Asks one server of a workspace whether it still answers, on every connection of the local person that is up,
    /// and waits until that is known. Starts nothing. `false` if no server of that name is to be started.
    pub async fn check_answers(&self, workspace: &WorkspaceId, server: &str) -> bool {
        let Some(standing) = self.0.workspace_state(workspace) else { return false };
        let view = standing.local();
        let all = self.0.all_connections(workspace, view, &view.applied());
        let Some((_, connections)) = all.into_iter().find(|(placed, _)| placed.name == server)
        else {
            return false;
        };
        join_all(connections.iter().map(|connection| connection.check_answer())).await;
        true
    }

    /// Tries servers of a workspace that are down again, for the local principal.
    pub fn retry_failed(&self, workspace: &WorkspaceId) {
        let Some(standing) = self.0.workspace_state(workspace) else { return };
        for (_, connection) in self.principal_connections(workspace, standing.local()) {
            connection.retry();
        }
    }

    /// Tries servers of a principal that are down again, for a client that lists tools. Returns whether there are
    /// any, when the attempts have begun.
    pub async fn retry_failed_for(&self, principal: &PrincipalLease) -> bool {
        let ago = self.0.options.timing.between_listed;
        let all = self.principal_connections(&principal.workspace().id, principal.view());
        let retrying = all.iter().map(|(_, connection)| connection.retry_if_failed(ago));
        join_all(retrying).await.contains(&true)
    }

    /// Every connection of a principal, and whether it is the default one of its server.
    fn principal_connections(
        &self,
        workspace: &WorkspaceId,
        view: &PrincipalView,
    ) -> Vec<(bool, Arc<Connection>)> {
        let all = self.0.all_connections(workspace, view, &view.applied());
        let all = all.into_iter().map(|(_, connections)| connections.into_iter().enumerate());
        all.flatten().map(|(position, connection)| (position == 0, connection)).collect()
    }

    /// Begins a sign-in to a server, and returns the address of the page where a person goes on. After that the
    /// server is connected automatically. `None` if no server of that name is started.
    pub async fn sign_in(
        &self,
        workspace: &WorkspaceId,
        server: &str,
    ) -> Option<Result<String, SignInError>> {
        Some(self.default_connection(workspace, server)?.sign_in().await)
    }

    /// Checks whether a person has signed in to or out of servers of a workspace, in any process, and reconnects
    /// those servers. Returns whether there are any. Calls make this check on their own.
    pub async fn follow_sign_ins(&self, workspace: &WorkspaceId) -> bool {
        let Some(standing) = self.0.workspace_state(workspace) else { return false };
        // For every principal: sign-ins belong to the local one.
        let applied: Vec<_> = standing.views().iter().map(|view| view.applied()).collect();
        let placed = applied.iter().flat_map(|applied| applied.placed.iter());
        let following = placed.map(|placed| placed.connection.follow_sign_in());
        join_all(following).await.contains(&true)
    }

    /// The stored sign-in to a server, if there is one. `None` if no server of that name is started.
    pub async fn sign_in_info(
        &self,
        workspace: &WorkspaceId,
        server: &str,
    ) -> Option<Option<SignInInfo>> {
        Some(self.default_connection(workspace, server)?.sign_in_info().await)
    }

    /// Signs out of a server. `None` if no server of that name is started.
    pub async fn sign_out(
        &self,
        workspace: &WorkspaceId,
        server: &str,
    ) -> Option<Result<SignOutOutcome, SignInError>> {
        Some(self.default_connection(workspace, server)?.sign_out().await)
    }

    /// Returns every process of a server in a workspace, including those of single sessions. Reads files, so not
    /// for the runtime's threads. `None` if no server of that name is started.
    pub fn processes(&self, workspace: &WorkspaceId, server: &str) -> Option<Vec<ProcessInfo>> {
        self.default_connection(workspace, server)?;
        let all = self.0.pool.connections_of(workspace, server);
        Some(
            all.iter()
                .filter_map(|connection| process(connection))
                .flat_map(|process| process.process_tree())
                .collect(),
        )
    }

    /// Returns the latest changes of state of a server's connections, oldest first; `None` if no server of that name
    /// is started.
    pub fn state_history(&self, workspace: &WorkspaceId, server: &str) -> Option<Vec<StateChange>> {
        self.default_connection(workspace, server)?;
        let all = self.0.pool.connections_of(workspace, server);
        let mut changes: Vec<_> = all.iter().flat_map(|each| each.state_history()).collect();
        changes.sort_by_key(|change| change.at);
        Some(changes)
    }

    fn default_connection(&self, workspace: &WorkspaceId, server: &str) -> Option<Arc<Connection>> {
        let applied = self.0.workspace_state(workspace)?.applied();
        applied.server(server).map(|placed| Arc::clone(&placed.connection))
    }
}

fn process(connection: &Connection) -> Option<Process> {
    match connection.state() {
        ConnectionState::Connected(live) => live.client.process().cloned(),
        _ => None,
    }
}
