//! Workspaces: the applied state, rules, leases and principals of each.
//!
//! Used by the rest of the engine to look workspaces up. It does not talk to servers.

pub(super) mod call_limits;
pub(super) mod departure;
pub(super) mod guest_access;
pub(super) mod guest_principals;
pub(super) mod in_process;
pub(super) mod principal;
pub(super) mod state;
