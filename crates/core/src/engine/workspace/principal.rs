//! Principals of a workspace: the person who runs the engine, and everyone else that a face authenticated.
//!
//! Used by sessions and faces, which hold a [`PrincipalLease`]. Every principal has its own connections in a
//! workspace, and sees their lists, so that state in a server's memory never passes from one principal to another.
//! Only servers with `sharePrincipals` in their entry are shared. No principal is given a credential of the local one,
//! unless `signIn` in the entry lends it (`guest_access`).
//!
//! It does not authenticate principals.

use std::fmt;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use crate::connection::{Connection, ConnectionLimit};
use crate::engine::Inner;
use crate::engine::session::bindings::SessionViews;
use crate::engine::snapshot::WorkspaceSnapshot;
use crate::engine::supervisor::applied::{
    AppliedServer, AppliedServers, AppliedState, ConnectionKind,
};
use crate::engine::supervisor::pool::{ConnectionHolder, HoldRequest, HoldScope};
use crate::engine::workspace::guest_access::{Guest, GuestAccess, desired_for_guests};
use crate::engine::workspace::state::{WorkspaceId, WorkspaceState};
use crate::permission::RulePrincipal;

/// One principal's view of a workspace.
pub(crate) struct PrincipalView {
    pub(in crate::engine) principal: Arc<str>,
    applied: RwLock<Arc<AppliedState>>,
    /// The last snapshot, and the revision it was made at.
    pub(in crate::engine) shown: Mutex<Option<(u64, Arc<WorkspaceSnapshot>)>>,
    /// The views of sessions that use other connections.
    pub(in crate::engine) seated: SessionViews,
}

/// Keeps a principal's connections in a workspace. Clones share it. Some time after the last one is dropped, the
/// connections of a principal other than the local one are stopped.
#[derive(Clone)]
pub struct PrincipalLease(Arc<LeasedPrincipal>);

struct LeasedPrincipal {
    view: Arc<PrincipalView>,
    workspace: Arc<WorkspaceState>,
}

/// Why a session cannot be attached to a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AttachError {
    /// No state was applied to the workspace, or it has ended.
    #[error("the workspace has ended; connect again")]
    Ended,
    /// The principal would have too many connections.
    #[error(transparent)]
    Limit(#[from] ConnectionLimit),
}

// === impl PrincipalView ===

impl PrincipalView {
    pub(in crate::engine) fn new(principal: Arc<str>, applied: Arc<AppliedState>) -> Self {
        Self {
            principal,
            applied: RwLock::new(applied),
            shown: Mutex::default(),
            seated: SessionViews::default(),
        }
    }

    pub(crate) fn applied(&self) -> Arc<AppliedState> {
        self.applied.read().clone()
    }

    pub(in crate::engine) fn replace(&self, applied: Arc<AppliedState>) {
        *self.applied.write() = applied;
        *self.shown.lock() = None;
    }

    /// Returns the principal's connections, by server.
    pub(in crate::engine) fn connections(&self) -> Vec<(String, Arc<Connection>)> {
        let applied = self.applied();
        let of =
            |placed: &Arc<AppliedServer>| (placed.name.clone(), Arc::clone(&placed.connection));
        applied.placed.iter().map(of).collect()
    }
}

// === impl PrincipalLease ===

impl PrincipalLease {
    pub(in crate::engine) fn new(view: Arc<PrincipalView>, workspace: Arc<WorkspaceState>) -> Self {
        Self(Arc::new(LeasedPrincipal { view, workspace }))
    }

    pub(crate) fn view(&self) -> &Arc<PrincipalView> {
        &self.0.view
    }

    pub(crate) fn workspace(&self) -> &Arc<WorkspaceState> {
        &self.0.workspace
    }
}

impl fmt::Debug for PrincipalLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrincipalLease({})", self.0.view.principal)
    }
}

impl Drop for LeasedPrincipal {
    fn drop(&mut self) {
        self.workspace.return_lease(&self.view.principal);
    }
}

// === impl Inner ===

impl Inner {
    /// Leases a principal's place in a workspace, with connections of its own if it has none yet.
    pub(in crate::engine) fn lease_principal(
        &self,
        workspace: &WorkspaceId,
        principal: &str,
    ) -> Result<PrincipalLease, AttachError> {
        if let Some(lease) = self.known_principal(workspace, principal)? {
            return Ok(lease);
        }
        let _changing = self.lock_changes();
        if let Some(lease) = self.known_principal(workspace, principal)? {
            return Ok(lease);
        }
        let standing = self.workspace_state(workspace).ok_or(AttachError::Ended)?;
        let principal: Arc<str> = principal.into();
        let hold = |request| self.pool.hold_within_limits(request, &self.listener);
        let guest = Guest { principal: &principal, credentials: &*self.options.credentials };
        let applied = standing.applied().for_principal(workspace, guest, None, hold);
        let applied = applied.inspect_err(|_| self.release_principal(workspace, &principal))?;
        let lease = standing.add_guest(PrincipalView::new(principal, Arc::new(applied)));
        self.mark_changed();
        Ok(lease)
    }

    fn known_principal(
        &self,
        workspace: &WorkspaceId,
        principal: &str,
    ) -> Result<Option<PrincipalLease>, AttachError> {
        let standing = self.lock();
        let standing = standing.get(workspace).ok_or(AttachError::Ended)?;
        Ok(standing.lease_principal(principal))
    }

    /// Stops the connections of a principal that has left a workspace.
    pub(in crate::engine) fn release_principal(&self, workspace: &WorkspaceId, principal: &str) {
        self.release(|holder, _| {
            let of = &holder.of;
            holder.workspace == *workspace
                && matches!(of, HoldScope::Principal(other) if **other == *principal)
        });
    }
}

// === impl AppliedState ===

impl AppliedState {
    /// Returns this state with one principal's connections, which `hold` provides; servers that all principals
    /// share stay as they are, and servers that the principal may not use are blocked. Existing connections of the
    /// principal keep their capability classes.
    pub(in crate::engine) fn for_principal<E>(
        &self,
        workspace: &WorkspaceId,
        guest: Guest<'_>,
        before: Option<&Self>,
        hold: impl Fn(HoldRequest) -> Result<Arc<Connection>, E>,
    ) -> Result<Self, E> {
        let own = |placed: &Arc<AppliedServer>| {
            if placed.spec.principal.is_none() {
                return Ok(Some(Arc::clone(placed)));
            }
            let Some(mut spec) = guest.spec(&placed.guest_access, &self.desired, &placed.spec)
            else {
                return Ok(None);
            };
            let entry_key = match placed.guest_access {
                GuestAccess::SeparateSignIn => spec.entry_key(),
                _ => placed.connection.entry_key(),
            };
            let known = before.and_then(|before| before.kind_of(&placed.name, entry_key));
            if let Some(ConnectionKind { era, class }) = known {
                (spec.era, spec.class) = (era, class);
            }
            let holder = ConnectionHolder {
                workspace: workspace.clone(),
                server: placed.name.clone(),
                of: HoldScope::Principal(Arc::clone(guest.principal)),
            };
            let connection = hold(HoldRequest { spec, entry_key, holder })?;
            Ok(Some(Arc::new(placed.with_connection(connection))))
        };
        let placed: AppliedServers = self
            .placed
            .iter()
            .filter_map(|placed| own(placed).transpose())
            .collect::<Result<_, E>>()?;
        let all = self.placed.iter().map(|placed| (&*placed.name, &placed.guest_access));
        let desired = desired_for_guests(&self.desired, all);
        let principal = RulePrincipal::new(Arc::clone(guest.principal));
        Ok(Self { desired, placed, principal, ..self.clone() })
    }
}
