//! The guest principals of a workspace: every principal but the local one, with its view and its leases.
//!
//! Used by `WorkspaceState`, which holds them. It does not start their connections (`principal` does) or stop them
//! (`departure` does).

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::task::JoinHandle;
use tokio_util::task::AbortOnDropHandle;

use crate::engine::workspace::principal::PrincipalView;

/// The principals that hold a lease, or did a while ago, by name.
#[derive(Default)]
pub(in crate::engine) struct GuestPrincipals(Mutex<HashMap<Arc<str>, GuestPrincipal>>);

struct GuestPrincipal {
    view: Arc<PrincipalView>,
    leases: usize,
    /// Counts leases, so that a departure can tell whether the principal came back.
    arrivals: u64,
    /// The task that will stop the principal's connections; a new one replaces it.
    ending: Option<AbortOnDropHandle<Option<()>>>,
}

// === impl GuestPrincipals ===

impl GuestPrincipals {
    pub(in crate::engine) fn views(&self) -> Vec<Arc<PrincipalView>> {
        self.lock().values().map(|guest| Arc::clone(&guest.view)).collect()
    }

    /// Adds a principal with its first lease.
    pub(in crate::engine) fn add(&self, view: Arc<PrincipalView>) {
        let principal = Arc::clone(&view.principal);
        let guest = GuestPrincipal { view, leases: 1, arrivals: 1, ending: None };
        self.lock().insert(principal, guest);
    }

    /// Adds a lease of a known principal.
    pub(in crate::engine) fn lease(&self, principal: &str) -> Option<Arc<PrincipalView>> {
        let mut guests = self.lock();
        let guest = guests.get_mut(principal)?;
        guest.leases += 1;
        guest.arrivals += 1;
        guest.ending = None;
        Some(Arc::clone(&guest.view))
    }

    /// Returns a lease. The count of arrivals if it was the last one.
    pub(in crate::engine) fn return_lease(&self, principal: &str) -> Option<u64> {
        let mut guests = self.lock();
        let guest = guests.get_mut(principal)?;
        guest.leases -= 1;
        (guest.leases == 0).then_some(guest.arrivals)
    }

    /// Sets the task that will stop the connections of a principal that left at this count of its arrivals.
    pub(in crate::engine) fn end_with(
        &self,
        principal: &str,
        arrivals: u64,
        waiting: JoinHandle<Option<()>>,
    ) {
        let waiting = AbortOnDropHandle::new(waiting);
        if let Some(guest) = self.lock().get_mut(principal).filter(|guest| guest.is_gone(arrivals))
        {
            guest.ending = Some(waiting);
        }
    }

    /// Removes a principal unless it has come back since. `false` if it has.
    pub(in crate::engine) fn remove(&self, principal: &str, arrivals: u64) -> bool {
        let mut guests = self.lock();
        let is_gone = guests.get(principal).is_some_and(|guest| guest.is_gone(arrivals));
        if is_gone {
            guests.remove(principal);
        }
        is_gone
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, GuestPrincipal>> {
        self.0.lock()
    }
}

// === impl GuestPrincipal ===

impl GuestPrincipal {
    /// Whether the principal has not come back since it left at this count of its arrivals.
    fn is_gone(&self, arrivals: u64) -> bool {
        self.leases == 0 && self.arrivals == arrivals
    }
}
