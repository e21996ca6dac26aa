//! What ends with a session, and when a workspace does.

use std::sync::Arc;

use switchboard_config::Scope;

use super::Inner;
use super::pool::Of;
use super::workspace::{Left, WorkspaceId};

// === impl Inner ===

impl Inner {
    /// A session has ended: its own connections go. Where it was the last one the workspace goes too: at once if an
    /// agent brought servers along, which are its session's; else after a while.
    pub(super) fn left(self: &Arc<Self>, workspace: &WorkspaceId, session: &str, left: Left) {
        self.claims.leave(workspace, session);
        self.memory.forget_session(session);
        self.unwish(self.wishes.leave(workspace, session));
        self.pool.release(|holder, _| {
            holder.workspace == *workspace && holder.of == Of::Session(session.to_owned())
        });
        match left {
            Left::Others => {}
            Left::Nobody(arrivals) if self.has_inline(workspace) => {
                self.end_if_deserted(workspace, arrivals);
            }
            Left::Nobody(arrivals) => self.end_later(workspace, arrivals),
        }
        self.changed();
    }

    fn has_inline(&self, workspace: &WorkspaceId) -> bool {
        self.standing(workspace).is_some_and(|standing| {
            standing.applied().placed.iter().any(|placed| placed.scope == Scope::Agent)
        })
    }

    fn end_later(self: &Arc<Self>, workspace: &WorkspaceId, arrivals: u64) {
        let Some(standing) = self.standing(workspace) else { return };
        let (engine, linger) = (Arc::downgrade(self), self.options.linger);
        let (closing, workspace) = (self.closing.clone(), workspace.clone());
        let waiting = self.tasks.spawn(closing.run_until_cancelled_owned(async move {
            tokio::time::sleep(linger).await;
            if let Some(engine) = engine.upgrade() {
                engine.end_if_deserted(&workspace, arrivals);
            }
        }));
        standing.ends_with(waiting);
    }

    /// Ends a workspace unless somebody has come since. Nobody can come in between: who attaches looks under the same
    /// lock.
    fn end_if_deserted(&self, workspace: &WorkspaceId, arrivals: u64) {
        let _changing = self.changing();
        {
            let mut standing = self.lock();
            if !standing.get(workspace).is_some_and(|standing| standing.is_deserted(arrivals)) {
                return;
            }
            standing.remove(workspace);
        }
        self.let_go(workspace);
    }

    /// Ends a workspace, whoever is there.
    pub(super) fn end(&self, workspace: &WorkspaceId) {
        let _changing = self.changing();
        self.lock().remove(workspace);
        self.let_go(workspace);
    }

    fn let_go(&self, workspace: &WorkspaceId) {
        self.claims.end(workspace);
        self.pool.release(|holder, _| holder.workspace == *workspace);
        self.changed();
    }
}
