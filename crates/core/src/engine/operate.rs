//! Servers, for the person who looks after them: checked, started anew, signed in to, their processes.

use std::sync::Arc;

use futures_util::future::join_all;
use switchboard_process::{Process, ProcessInfo};
use switchboard_wire::http::SignOutOutcome;

use crate::connection::{Connection, ConnectionState, SignInError};
use crate::engine::workspace::principal::PrincipalView;
use crate::engine::{Engine, PrincipalLease, WorkspaceId};

// === impl Engine ===

impl Engine {
    /// Connects to a server anew for every principal and session, with nothing remembered of it. `false` if none of that
    /// name is to be started.
    pub fn reconnect_server(&self, workspace: &WorkspaceId, server: &str) -> bool {
        let is_started = self.default_connection(workspace, server).is_some();
        let all =
            if is_started { self.0.pool.connections_of(workspace, server) } else { Vec::new() };
        for connection in all {
            connection.reconnect();
        }
        is_started
    }

    /// Looks closely at every server of a workspace, for the local person: one that is down is tried again, and one that
    /// is connected is asked whether it still answers. Returns when the attempts have begun and the answers are known;
    /// attempts on connections besides the usual ones are waited for as long as answers are.
    pub async fn check_servers(&self, workspace: &WorkspaceId) {
        let Some(standing) = self.0.workspace_state(workspace) else { return };
        let all = self.principal_connections(workspace, standing.local());
        let checks = all.iter().map(|(is_usual, connection)| async {
            if *is_usual {
                connection.check().await;
            } else {
                connection.check_to_the_end().await;
            }
        });
        join_all(checks).await;
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

    /// Has the servers of a workspace that are down tried again now, for the local person who looks at it.
    pub fn retry_failed(&self, workspace: &WorkspaceId) {
        let Some(standing) = self.0.workspace_state(workspace) else { return };
        for (_, connection) in self.principal_connections(workspace, standing.local()) {
            connection.retry();
        }
    }

    /// Has the servers of a principal that are down tried again now, for a client that lists what they offer. Whether
    /// there are any; returns when the attempts have begun.
    pub async fn retry_failed_for(&self, principal: &PrincipalLease) -> bool {
        let ago = self.0.options.timing.between_listed;
        let all = self.principal_connections(&principal.workspace().id, principal.view());
        let retrying = all.iter().map(|(_, connection)| connection.retry_if_failed(ago));
        join_all(retrying).await.contains(&true)
    }

    /// Every connection of a principal, and whether it is the usual one of its server.
    fn principal_connections(
        &self,
        workspace: &WorkspaceId,
        view: &PrincipalView,
    ) -> Vec<(bool, Arc<Connection>)> {
        let all = self.0.all_connections(workspace, view, &view.applied());
        let all = all.into_iter().map(|(_, connections)| connections.into_iter().enumerate());
        all.flatten().map(|(position, connection)| (position == 0, connection)).collect()
    }

    /// Begins to sign in to a server, and gives the address of the page where somebody goes on. The server is connected
    /// to by itself once they are done. `None` if none of that name is to be started.
    pub async fn sign_in(
        &self,
        workspace: &WorkspaceId,
        server: &str,
    ) -> Option<Result<String, SignInError>> {
        Some(self.default_connection(workspace, server)?.sign_in().await)
    }

    /// Looks whether a person has signed in to servers of a workspace or out of them, in whichever process, and has
    /// those connect anew. Whether there are any. Calls need not do so: each looks by itself.
    pub async fn follow_sign_ins(&self, workspace: &WorkspaceId) -> bool {
        let Some(standing) = self.0.workspace_state(workspace) else { return false };
        // Every principal's: the sign-ins are those of the local one.
        let applied: Vec<_> = standing.views().iter().map(|view| view.applied()).collect();
        let placed = applied.iter().flat_map(|applied| applied.placed.iter());
        let following = placed.map(|placed| placed.connection.follow_sign_in());
        join_all(following).await.contains(&true)
    }

    /// Signs out of a server. `None` if none of that name is to be started.
    pub async fn sign_out(
        &self,
        workspace: &WorkspaceId,
        server: &str,
    ) -> Option<Result<SignOutOutcome, SignInError>> {
        Some(self.default_connection(workspace, server)?.sign_out().await)
    }

    /// Every process of a server in a workspace, those that sessions have to themselves among them. Reads files: not
    /// for the runtime's own thread. `None` if none of that name is to be started.
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
