//! The end of sessions, principals and workspaces: which connections are released, and when.
//!
//! Called when a session or a lease is dropped; used by `Engine::end_workspace`. It does not start connections
//! (`engine::workspace::principal` does).

use std::sync::Arc;

use switchboard_config::Scope;

use crate::connection::ConnectionKey;
use crate::engine::Inner;
use crate::engine::supervisor::pool::ConnectionHolder;
use crate::engine::workspace::state::{Departure, RemainingSessions, WorkspaceId};

// === impl Inner ===

impl Inner {
    /// Handles the departure of a session or a principal.
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

    /// Stops the connections of a principal without sessions after a while.
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

    /// Stops a principal's connections unless the principal has come back. It cannot come back in between: a lease
    /// of an unknown principal is made under this lock.
    fn end_principal(&self, workspace: &WorkspaceId, principal: &str, arrivals: u64) {
        let _changing = self.lock_changes();
        let Some(standing) = self.workspace_state(workspace) else { return };
        if standing.guests().remove(principal, arrivals) {
            self.release_principal(workspace, principal);
            self.mark_changed();
        }
    }

    /// Ends a session: releases its own connections. After the last session the workspace ends too: at once if an
    /// agent brought servers, which belong to its session; else after a while.
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

    /// Ends a workspace unless a session has come since. None can come in between: attaching takes this lock too.
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

    /// Ends a workspace, even with sessions in it.
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

    /// Releases the connections for which `is_over` is true, and the subscriptions on those that end.
    pub(in crate::engine) fn release(
        &self,
        is_over: impl Fn(&ConnectionHolder, &ConnectionKey) -> bool,
    ) {
        let ended = self.pool.release(is_over);
        self.wishes.remove_connections(&ended);
        self.log_levels.remove_connections(&ended);
        self.written.remove_connections(&ended);
    }
}
