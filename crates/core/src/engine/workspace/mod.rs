//! Workspaces: the applied state, rules, leases and principals of each.
//!
//! The rest of the engine looks workspaces up here. Nothing here speaks to a server.

pub(super) mod call_limits;
pub(super) mod departure;
pub(super) mod guest_principals;
pub(super) mod in_process;
pub(super) mod principal;
pub(super) mod state;
