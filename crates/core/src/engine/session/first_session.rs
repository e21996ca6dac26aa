//! Starts servers that wait for their first session.
//!
//! Used by `Engine::attach`, by `supervisor::apply` and where lists are waited for. A legacy server learns the
//! capabilities of its client in the handshake. So a server without a kept catalog is not started before the first
//! session of a workspace has declared them: it would be started once more for that session. It does not choose
//! connections for calls (`choose_connection` does).

use std::sync::Arc;

use switchboard_config::ServerSharing;
use switchboard_wire::Era;

use crate::connection::ConnectionSpec;
use crate::engine::session::choose_connection::declared_class;
use crate::engine::workspace::principal::PrincipalView;
use crate::engine::workspace::state::WorkspaceState;
use crate::engine::{AppliedServer, Caller, Inner};

// === impl Inner ===

impl Inner {
    /// Starts the servers that wait for a session, as connections of this session's class.
    pub(in crate::engine) fn start_for_session(&self, caller: &Caller) {
        let is_unstarted = |placed: &&Arc<AppliedServer>| placed.connection.is_unstarted();
        if !caller.applied().placed.iter().any(|placed| is_unstarted(&placed)) {
            return;
        }
        let _changing = self.lock_changes();
        let applied = caller.applied();
        for placed in applied.placed.iter().filter(is_unstarted) {
            self.start_with_class(caller, placed);
        }
        // The class may have a kept catalog, which this session sees at once.
        self.parse_kept_lists(&caller.applied());
    }

    fn start_with_class(&self, caller: &Caller, placed: &AppliedServer) {
        let class = declared_class(caller, placed);
        let spec = placed.connection.spec();
        let has_other_class = spec.class != class && spec.era != Some(Era::Modern);
        // A connection that all principals share is a part of all their states.
        if has_other_class && placed.share != ServerSharing::Always && spec.principal.is_some() {
            let spec = ConnectionSpec { class, ..spec.clone() };
            self.swap_default(caller, &caller.applied(), placed, spec);
        } else {
            placed.connection.start_now();
        }
        if caller.session().era.is_some() {
            caller.workspace().reserve(&caller.session().id, &placed.name);
        }
    }
}

/// Starts the servers of a principal that wait for a session, without one: a person looks at them.
pub(in crate::engine) fn start_without_session(view: &PrincipalView) {
    for placed in view.applied().placed.iter() {
        placed.connection.start_now();
    }
}

/// Starts new servers of principals that have clients, after a changed configuration.
pub(in crate::engine) fn start_for_present_sessions(standing: &WorkspaceState) {
    for view in standing.views() {
        if standing.has_client(&view.principal) {
            start_without_session(&view);
        }
    }
}
