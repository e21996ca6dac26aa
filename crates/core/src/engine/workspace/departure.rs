//! What ends with a session, and when a workspace does.

use std::sync::Arc;

use switchboard_config::Scope;

use crate::connection::ConnectionKey;
use crate::engine::Inner;
use crate::engine::supervisor::pool::ConnectionHolder;
use crate::engine::workspace::state::{Departure, RemainingSessions, WorkspaceId};

// === impl Inner ===

impl Inner {
    /// A session or a principal has left.
    pub(in crate::engine) fn handle_departure(
        self: &Arc<Self>,
        workspace: &WorkspaceId,
        departure: Departure<'_>,
    ) {
        match departure {
            Departure::Session { session, left } => self.end_session(workspace, session, left),
            Departure::Principal { principal, arrivals } => {
                self.end_principal_later(workspace, principal, arrivals);
            }
        }
    }

    /// A principal has no session any more: its connections are stopped after a while.
    fn end_principal_later(
        self: &Arc<Self>,
        workspace: &WorkspaceId,
        principal: &str,
        arrivals: u64,
    ) {
        let Some(standing) = self.workspace_state(workspace) else { return };
        let (engine, linger) = (Arc::downgrade(self), self.options.principal_linger);
        let (closing, workspace) = (self.closing.clone(), workspace.clone());
        let leaving = principal.to_owned();
        let waiting = self.tasks.spawn(closing.run_until_cancelled_owned(async move {
            tokio::time::sleep(linger).await;
            if let Some(engine) = engine.upgrade() {
                engine.end_principal(&workspace, &leaving, arrivals);
            }
        }));
        standing.guests().end_with(principal, arrivals, waiting);
    }

    /// Stops a principal's connections unless it has come back. It cannot come back in between: a lease of a principal
    /// that is not known is made under the same lock.
    fn end_principal(&self, workspace: &WorkspaceId, principal: &str, arrivals: u64) {
        let _changing = self.lock_changes();
        let Some(standing) = self.workspace_state(workspace) else { return };
        if standing.guests().remove(principal, arrivals) {
            self.release_principal(workspace, principal);
            self.mark_changed();
        }
    }

    /// A session has ended: its own connections go. Where it was the last one the workspace goes too: at once if an
    /// agent brought servers along, which are its session's; else after a while.
    fn end_session(
        self: &Arc<Self>,
        workspace: &WorkspaceId,
        session: &str,
        left: RemainingSessions,
    ) {
        self.claims.leave(workspace, session);
        self.memory.forget_session(session);
        self.end_subscriptions(self.wishes.remove_session(workspace, session));
        self.end_session_log_levels(workspace, session);
        self.release(|holder, _| holder.workspace == *workspace && holder.of.is_session(session));
        match left {
            RemainingSessions::Others => {}
            RemainingSessions::Nobody(arrivals) if self.has_agent_servers(workspace) => {
                self.end_if_deserted(workspace, arrivals);
            }
            RemainingSessions::Nobody(arrivals) => self.end_later(workspace, arrivals),
        }
        self.mark_changed();
    }

    fn has_agent_servers(&self, workspace: &WorkspaceId) -> bool {
        self.workspace_state(workspace).is_some_and(|standing| {
            standing.applied().placed.iter().any(|placed| placed.scope == Scope::Agent)
        })
    }

    fn end_later(self: &Arc<Self>, workspace: &WorkspaceId, arrivals: u64) {
        let Some(standing) = self.workspace_state(workspace) else { return };
        let (engine, linger) = (Arc::downgrade(self), self.options.linger);
        let (closing, workspace) = (self.closing.clone(), workspace.clone());
        let waiting = self.tasks.spawn(closing.run_until_cancelled_owned(async move {
            tokio::time::sleep(linger).await;
            if let Some(engine) = engine.upgrade() {
                engine.end_if_deserted(&workspace, arrivals);
            }
        }));
        standing.set_ending(waiting);
    }

    /// Ends a workspace unless somebody has come since. Nobody can come in between: who attaches looks under the same
    /// lock.
    fn end_if_deserted(&self, workspace: &WorkspaceId, arrivals: u64) {
        let _changing = self.lock_changes();
        {
            let mut standing = self.lock();
            if !standing.get(workspace).is_some_and(|standing| standing.is_deserted(arrivals)) {
                return;
            }
            standing.remove(workspace);
        }
        self.release_workspace(workspace);
    }

    /// Ends a workspace, whoever is there.
    pub(in crate::engine) fn end_workspace(&self, workspace: &WorkspaceId) {
        let _changing = self.lock_changes();
        self.lock().remove(workspace);
        self.release_workspace(workspace);
    }

    fn release_workspace(&self, workspace: &WorkspaceId) {
        self.claims.end(workspace);
        self.release(|holder, _| holder.workspace == *workspace);
        self.mark_changed();
    }

    /// Lets go of the connections that `is_over` says are over, and of what was wanted of those that end with it.
    pub(in crate::engine) fn release(
        &self,
        is_over: impl Fn(&ConnectionHolder, &ConnectionKey) -> bool,
    ) {
        let ended = self.pool.release(is_over);
        self.wishes.remove_connections(&ended);
        self.log_levels.remove_connections(&ended);
    }
}
